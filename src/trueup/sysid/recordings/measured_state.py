"""The state of a model at an instant of a recording, from the signals that were measured.

Joint positions and velocities are read from ``jointpos`` and ``jointvel`` sensors and from state
signals. A noisy sample is no state: a local quadratic fit over a short stretch is used, which also
gives the velocity where only the position was measured.
"""

from dataclasses import dataclass, field

import mujoco
import numpy as np

from trueup.signals import SignalType, TimeSeries
from trueup.signals.model_signals import state_mappings
from trueup.simulation.engine.initial_state import create_initial_state, with_start_time
from trueup.sysid.recordings.coupled_joints import CoupledJoint, coupled_joints

_FEWEST = 5  # samples in a local fit of three coefficients


@dataclass(frozen=True)
class StateColumns:
    """Columns of a recording that hold positions, velocities and activations of the model."""

    positions: dict[int, int]
    """Index into qpos -> column."""
    velocities: dict[int, int]
    """Index into qvel -> column."""
    position_of_velocity: dict[int, int]
    """Index into qvel -> index into qpos of the same scalar joint."""
    from_sensors: frozenset[int] = frozenset()
    """Columns that a sensor of the model gives; the others are states."""
    activations: dict[int, int] = field(default_factory=dict)
    """Index into act -> column."""
    coupled: tuple[CoupledJoint, ...] = ()
    """Joints that were not measured and follow from measured ones."""

    def gives(self, dof: int) -> bool:
        """Whether a velocity was measured, or follows from a measured position."""
        return dof in self.velocities or self.position_of_velocity.get(dof) in self.positions

    def missing(self, model: mujoco.MjModel) -> list[str]:
        """Scalar joints whose position was not measured, by name."""
        names = []
        for joint in range(model.njnt):
            address = int(model.jnt_qposadr[joint])
            if int(model.jnt_type[joint]) in _SCALAR and address not in self.positions:
                names.append(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint) or "?")
        return names

    def unknown(self, model: mujoco.MjModel) -> list[str]:
        """Those of them that do not follow from measured ones either."""
        following = {model.joint(each.joint).name for each in self.coupled}
        return [name for name in self.missing(model) if name not in following]


_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


def state_columns(model: mujoco.MjModel, recorded: TimeSeries) -> StateColumns:
    """Find the columns of a recording that determine the state."""
    positions: dict[int, int] = {}
    velocities: dict[int, int] = {}
    activations: dict[int, int] = {}
    qpos, qvel, act, _ = state_mappings(model)
    scalar = [j for j in range(model.njnt) if int(model.jnt_type[j]) in _SCALAR]
    sensors: set[int] = set()
    twin = {int(model.jnt_dofadr[j]): int(model.jnt_qposadr[j]) for j in scalar}
    for name, (kind, columns) in (recorded.signal_mapping or {}).items():
        if kind is SignalType.MjStateQPos:
            positions.update(zip(map(int, qpos[name][1]), map(int, columns), strict=True))
        elif kind is SignalType.MjStateQVel:
            places = (int(i) - model.nq for i in qvel[name][1])
            velocities.update(zip(places, map(int, columns), strict=True))
        elif kind is SignalType.MjStateAct:
            places = (int(i) - model.nq - model.nv for i in act[name][1])
            activations.update(zip(places, map(int, columns), strict=True))
        elif kind is SignalType.MjSensor:
            sensor = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SENSOR, name)
            kind_of_sensor = int(model.sensor_type[sensor])
            joint = int(model.sensor_objid[sensor])
            sensors.update(map(int, columns))
            if kind_of_sensor == int(mujoco.mjtSensor.mjSENS_JOINTPOS):
                positions[int(model.jnt_qposadr[joint])] = int(columns[0])
            elif kind_of_sensor == int(mujoco.mjtSensor.mjSENS_JOINTVEL):
                velocities[int(model.jnt_dofadr[joint])] = int(columns[0])
    coupled = tuple(coupled_joints(model, positions))
    return StateColumns(positions, velocities, twin, frozenset(sensors), activations, coupled)


def unmeasured_entries(model: mujoco.MjModel, columns: StateColumns | None) -> np.ndarray | None:
    """Entries of a state that a recording leaves open.

    Args:
      model: the model.
      columns: from :func:`state_columns`; None takes positions and velocities for known.

    Returns:
      ``(state size,)`` of bool for ``mjSTATE_FULLPHYSICS``, with the time, delay buffers and
      activations that were not measured; None where nothing but the time is left open.
    """
    entries = np.ones(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS), bool)
    if columns is None:
        entries[1 : 1 + model.nq + model.nv] = False
    else:
        entries[[1 + address for address in columns.positions]] = False
        entries[[1 + model.nq + dof for dof in range(model.nv) if columns.gives(dof)]] = False
        joints = [each.joint for each in columns.coupled]
        entries[1 + model.jnt_qposadr[joints]] = False
        entries[1 + model.nq + model.jnt_dofadr[joints]] = False
        entries[[1 + model.nq + model.nv + place for place in columns.activations]] = False
    return entries if entries[1:].any() else None


def measured_state(
    model: mujoco.MjModel,
    recorded: TimeSeries,
    columns: StateColumns,
    time: float,
    half_width: float,
    base: np.ndarray | None = None,
    sensor_lag: float = 0.0,
) -> np.ndarray:
    """State vector ``mjSTATE_FULLPHYSICS`` at an instant.

    Args:
      model: the model.
      recorded: measured signals.
      columns: from :func:`state_columns`.
      time: the instant [s].
      half_width: half width of the local fit [s]; widened until it holds five samples.
      base: state that gives what was not measured; the model's defaults where None.
      sensor_lag: how late sensors are labelled [s]: a time step by the toolbox's convention.
    """
    # delayed samples stay as old as they were
    base = create_initial_state(model, model.qpos0) if base is None else base
    state = with_start_time(model, base, time)
    qpos, qvel = state[1 : 1 + model.nq], state[1 + model.nq : 1 + model.nq + model.nv]
    value, slope = local_fit(recorded.times, recorded.data, time, half_width)
    if sensor_lag and columns.from_sensors:
        late = sorted(columns.from_sensors)
        value[late], slope[late] = local_fit(
            recorded.times, recorded.data[:, late], time + sensor_lag, half_width
        )
    for address, column in columns.positions.items():
        qpos[address] = value[column]
    for place, column in columns.activations.items():
        state[1 + model.nq + model.nv + place] = value[column]
    for dof in range(model.nv):
        if dof in columns.velocities:
            qvel[dof] = value[columns.velocities[dof]]
        elif columns.position_of_velocity.get(dof) in columns.positions:
            qvel[dof] = slope[columns.positions[columns.position_of_velocity[dof]]]
    for joint in columns.coupled:
        joint.follow(model, qpos, qvel)
    return state


def local_fit(
    times: np.ndarray, data: np.ndarray, time: float, half_width: float
) -> tuple[np.ndarray, np.ndarray]:
    """Value and slope of a quadratic fitted to the samples about an instant.

    Args:
      times: ``(n,)`` [s].
      data: ``(n, columns)``.
      time: the instant [s].
      half_width: samples within it are used, or the five nearest if those are fewer [s].

    Returns:
      Value ``(columns,)`` and slope ``(columns,)`` [1/s] at the instant. With fewer than three
      samples, the nearest value and a slope of zero.
    """
    distance = np.abs(times - time)
    if len(times) < 3:
        return data[int(np.argmin(distance))].copy(), np.zeros(data.shape[1])
    count = max(min(_FEWEST, len(times)), int(np.sum(distance <= half_width)))
    near = np.sort(np.argpartition(distance, count - 1)[:count])
    t = times[near] - time
    scale = max(np.abs(t).max(), 1e-12)
    basis = np.stack([np.ones_like(t), t / scale, (t / scale) ** 2], axis=1)
    coefficients = np.linalg.lstsq(basis, data[near], rcond=None)[0]
    return coefficients[0], coefficients[1] / scale
