"""Quality checks of a recording by the signals of its model."""

from dataclasses import replace

import mujoco
import numpy as np

from trueup.signals import Finding, QualityReport, TimeSeries, check_quality
from trueup.sysid.experiment.settings import ColumnPart, RecordingPart
from trueup.sysid.recordings.measured_state import state_columns
from trueup.sysid.recordings.model_limits import (
    commanded_positions,
    control_limits,
    position_limits,
)


def signal_quality(
    part: RecordingPart,
    model: mujoco.MjModel,
    measured: TimeSeries,
    control: TimeSeries,
    recorded_controls: list[str],
) -> QualityReport:
    """Check a recording: its clock, and its signals by their role in the model.

    Args:
      part: the recording in the experiment file, with its accepted checks.
      model: its model.
      measured: its signals.
      control: controls of all actuators.
      recorded_controls: actuators with a recorded control.
    """
    columns = state_columns(model, measured)
    position_column = {column: address for address, column in columns.positions.items()}
    velocity_column = {column: dof for dof, column in columns.velocities.items()}
    channels: dict[str, np.ndarray] = {}
    roles: dict[str, str] = {}
    units: dict[str, str] = {}
    label_of: dict[int, str] = {}
    for signal, (_, indices) in (measured.signal_mapping or {}).items():
        for k, column in enumerate(indices):
            label = signal if len(indices) == 1 else f"{signal}[{k}]"
            channels[label] = measured.data[:, column]
            label_of[int(column)] = label
            if int(column) in position_column:
                roles[label] = "position"
                units[label] = _position_unit(model, position_column[int(column)])
            elif int(column) in velocity_column:
                roles[label] = "velocity"
            else:
                roles[label] = "other"
    pairs = []
    for dof, column in columns.velocities.items():
        address = columns.position_of_velocity.get(dof)
        if address in columns.positions:
            pairs.append((label_of[columns.positions[address]], label_of[column]))
    on_clock = control.interpolate(measured.times, "zoh")
    for index in range(model.nu):
        actuator = model.actuator(index).name
        if actuator in recorded_controls:
            channels[f"{actuator} (control)"] = on_clock[:, index]
            roles[f"{actuator} (control)"] = "control"
    names = {p: f"{p} (control)" for p in recorded_controls}
    places = {
        joint: label_of[columns.positions[int(model.jnt_qposadr[joint])]]
        for joint in range(model.njnt)
        if int(model.jnt_qposadr[joint]) in columns.positions
    }
    targets = commanded_positions(model, names, places)
    report = check_quality(
        measured.times,
        channels,
        roles=roles,
        pairs=pairs,
        units=units,
        limits={**position_limits(model, places), **control_limits(model, names)},
        # a torque moves a joint by its inertia: only a commanded position has a delay
        responses=targets,
        targets=targets,
        accept=part.accept,
    )
    # the period of an angle that is continued tells its unit, however far it turns
    turning = {
        label
        for signal, given in part.signals.items()
        if isinstance(given, ColumnPart) and given.unwrap
        for label in channels
        if label.partition("[")[0] in (signal, f"{signal}_qpos")
    }
    kept = [f for f in report.findings if not (f.check == "units" and f.channel in turning)]
    return replace(report, findings=tuple(_lag_of_servo(f) for f in kept))


def _lag_of_servo(found: Finding) -> Finding:
    """A lag without a mark: servos lag too, and a fit or ``import`` tells what a delay is."""
    is_lag = found.check == "delay" and found.figures.get("delay", 0.0) > 0.0
    return replace(found, severity="info") if is_lag else found


def _position_unit(model: mujoco.MjModel, address: int) -> str:
    joint = int(np.argmax(model.jnt_qposadr == address)) if address in model.jnt_qposadr else -1
    if joint < 0:
        return ""
    hinge = int(mujoco.mjtJoint.mjJNT_HINGE)
    slide = int(mujoco.mjtJoint.mjJNT_SLIDE)
    return {hinge: "rad", slide: "m"}.get(int(model.jnt_type[joint]), "")
