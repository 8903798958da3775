"""Candidate friction laws other than Coulomb and viscous friction, applied as forces.

MuJoCo's joints do not support them, so the force is a function of the recorded speed: a motor on
the joint with the shape of the friction as control and the gain as parameter.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from trueup.errors import TargetError
from trueup.parameters import Parameter, ParameterDict
from trueup.signals import SignalMapping, TimeSeries
from trueup.signals.model_signals import control_mapping
from trueup.simulation.engine.control_layout import control_in_model_order
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.causes.term_candidates import (
    PREFIX,
    SCALAR,
    TURNS,
    Candidate,
    Force,
    affine_actuators,
    taken_entries,
)
from trueup.sysid.recordings.measured_state import state_columns

FALLS = (0.1, 0.25, 0.6)
"""Candidate Stribeck velocities (decay to 1/e), relative to the root mean square speed."""

REST = 0.05
"""Share of the root mean square speed below which a joint is at rest, without a direction."""

GONE = 1.75
"""Multiple of the Stribeck velocity at which 5 % remain."""

_SMOOTH = 9  # window of the parabolic smoothing of a speed [samples]
_FEWEST = 5  # minimum window [samples]
_REACH = 1e3  # upper bound of a force relative to the inertia about the joint


@dataclass(frozen=True)
class Shape:
    """Dependence of a friction on the motion."""

    label: str
    """Its name, as the subject of a sentence."""
    units: tuple[str, str]
    """Unit for a hinge and for a slide."""
    power: int = 0
    """Power of the speed."""
    fall: float = 0.0
    """Stribeck velocity relative to the root mean square speed; 0 for none."""
    is_free: bool = False
    """Whether its sign is free; the total friction must be dissipative."""

    def force(self, speed: np.ndarray, size: float) -> np.ndarray:
        """Force of one unit of it.

        Args:
          speed: speed of the joint [rad/s, m/s].
          size: its root mean square.
        """
        direction = np.tanh(speed / (REST * size))
        if self.fall:
            return -direction * np.exp(-np.square(speed / (self.fall * size)))
        if self.power == 2:
            return -speed * np.abs(speed)
        return -np.abs(speed) if self.power else -np.square(direction)


SHAPES = {
    **{
        f"stribeck-{fall:g}": Shape(
            "friction that falls with speed (Stribeck)", ("N m", "N"), fall=fall
        )
        for fall in FALLS
    },
    "direction": Shape(
        "Coulomb friction that differs between the directions (or a constant force)",
        ("N m", "N"),
        is_free=True,
    ),
    "viscous-direction": Shape(
        "viscous friction that differs between the directions",
        ("N m s/rad", "N s/m"),
        power=1,
        is_free=True,
    ),
    "quadratic": Shape(
        "friction proportional to the square of speed", ("N m s^2/rad^2", "N s^2/m^2"), power=2
    ),
}
"""Shapes by name, in order of priority."""


@dataclass(frozen=True)
class _Joint:
    """A joint whose speed was recorded."""

    speed: float
    """Root mean square over all recordings [rad/s, m/s]."""
    inertia: float
    """Inertia about the joint [kg m^2, kg]."""
    turns: bool
    has_servo: bool
    """Whether the constant force of an actuator is already a candidate."""


def shape_candidates(
    groups: Sequence[ModelSequences], parameters: ParameterDict
) -> list[Candidate]:
    """Friction candidates of the joints with a recorded speed, by shape.

    Args:
      groups: the recordings.
      parameters: parameters of the experiment; no candidates if they address actuators by a
        pattern that matches the added ones.
    """
    joints = _joints(groups)
    out = []
    for kind, shape in SHAPES.items():
        for name, joint in joints.items():
            if kind == "direction" and joint.has_servo:
                continue
            actuator = f"{PREFIX}{kind} of {name}"
            upper = _REACH * joint.inertia / joint.speed**shape.power
            parameter = Parameter(
                actuator,
                0.0,
                -upper if shape.is_free else 0.0,
                upper,
                target=f"actuator/{actuator}/gainprm/0",
                unit=shape.units[0 if joint.turns else 1],
            )
            note = ""
            if shape.fall:
                unit = "rad/s" if joint.turns else "m/s"
                note = f" more at rest, gone above {GONE * shape.fall * joint.speed:.2g} {unit}"
            force = Force(name, actuator, kind, joint.speed)
            out.append(Candidate(kind, name, parameter, "", note, force))
    if not out:
        return []
    return out if _are_alone(groups, with_forces(groups, out), parameters) else []


def _are_alone(
    groups: Sequence[ModelSequences], wider: Sequence[ModelSequences], parameters: ParameterDict
) -> bool:
    """Whether the parameters do not write any added actuator."""
    for group, other in zip(groups, wider, strict=True):
        try:
            written = taken_entries(other.gt_model, parameters)
        except TargetError:  # a pattern for an attribute that motors do not have, such as kp
            return False
        if written != taken_entries(group.gt_model, parameters):
            return False
    return True


def with_forces(
    groups: Sequence[ModelSequences], candidates: Sequence[Candidate]
) -> list[ModelSequences]:
    """The same recordings, with a motor in the models for each candidate force."""
    forces = [c.force for c in candidates if c.force is not None]
    if not forces:
        return list(groups)
    out = []
    for group in groups:
        spec = group.spec.copy()
        for key in list(spec.keys):
            spec.delete(key)  # it has fewer controls than actuators
        for force in forces:
            spec.add_actuator(
                name=force.actuator,
                target=force.joint,
                trntype=mujoco.mjtTrn.mjTRN_JOINT,
                gaintype=mujoco.mjtGain.mjGAIN_FIXED,
                biastype=mujoco.mjtBias.mjBIAS_NONE,
                dyntype=mujoco.mjtDyn.mjDYN_NONE,
                gear=[1, 0, 0, 0, 0, 0],
                gainprm=[0.0] * mujoco.mjNGAIN,
                ctrllimited=False,
                forcelimited=False,
                delay=0.0,
                nsample=0,
            )
        names = control_mapping(spec.copy().compile())
        trajectories = [_driven(whole, forces, names) for whole in group.measured_rollout]
        out.append(
            ModelSequences.from_trajectories(
                group.name, spec, group.sequence_name, trajectories, True
            )
        )
    return out


def _driven(
    whole: SystemTrajectory, forces: Sequence[Force], names: SignalMapping
) -> SystemTrajectory:
    """A recording with the controls of additional motors, which are zero in its lead-in."""

    def wider(control: TimeSeries, more: np.ndarray) -> TimeSeries:
        own = control_in_model_order(whole.model, control)
        return TimeSeries(control.times, np.column_stack([own, more]), names)

    times = whole.control.times
    speeds = {f.joint: _speed(whole, f.joint) for f in forces}
    more = [
        np.interp(times, whole.sensordata.times, SHAPES[f.shape].force(speeds[f.joint], f.size))
        for f in forces
    ]
    lead_in = whole.lead_in
    if lead_in is not None:
        rest = np.zeros((len(lead_in.control.times), len(forces)))
        lead_in = replace(lead_in, control=wider(lead_in.control, rest))
    return whole.replace(control=wider(whole.control, np.column_stack(more)), lead_in=lead_in)


def _joints(groups: Sequence[ModelSequences]) -> dict[str, _Joint]:
    """Moving scalar joints with a known speed in all recordings."""
    out = {}
    model = groups[0].gt_model
    constant = {e.name for e in affine_actuators(model)}
    wholes = [whole for group in groups for whole in group.measured_rollout]
    for j in range(model.njnt):
        name, dof = model.joint(j).name, int(model.jnt_dofadr[j])
        if not name or int(model.jnt_type[j]) not in SCALAR:
            continue
        if not all(_is_known(whole, name) for whole in wholes):
            continue
        speed = np.concatenate([_speed(whole, name) for whole in wholes])
        size = float(np.sqrt(np.mean(np.square(speed))))
        if size > 0:
            has_servo = any(
                model.actuator(i).name in constant and int(model.actuator_trnid[i, 0]) == j
                for i in range(model.nu)
            )
            inertia = max(float(model.dof_M0[dof]), 1e-6)
            out[name] = _Joint(size, inertia, int(model.jnt_type[j]) == TURNS, has_servo)
    return out


def _is_known(whole: SystemTrajectory, name: str) -> bool:
    """Whether the speed of a joint was measured, or is determined by its position."""
    joint = mujoco.mj_name2id(whole.model, mujoco.mjtObj.mjOBJ_JOINT, name)
    if joint < 0 or len(whole.sensordata.times) < _FEWEST:
        return False
    columns = state_columns(whole.model, whole.sensordata)
    return columns.gives(int(whole.model.jnt_dofadr[joint]))


def _speed(whole: SystemTrajectory, name: str) -> np.ndarray:
    """Speed of a joint at the times of the recording, smoothed by a local parabola."""
    model, times = whole.model, whole.sensordata.times
    columns = state_columns(model, whole.sensordata)
    dof = int(model.jnt_dofadr[model.joint(name).id])
    column, order = columns.velocities.get(dof), 0
    if column is None:
        column, order = columns.positions[columns.position_of_velocity[dof]], 1
    count = min(_SMOOTH, len(times) - 1 + len(times) % 2)
    step = float(np.median(np.diff(times)))
    values = whole.sensordata.data[:, column]
    from scipy.signal import savgol_filter

    return np.asarray(savgol_filter(values, count, 2, deriv=order, delta=step))
