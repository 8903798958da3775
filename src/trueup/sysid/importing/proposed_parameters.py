"""Proposed parameters of an experiment, with bounds around the model's values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import mujoco
import numpy as np

from trueup.signals.checks.statistics import noise_level
from trueup.simulation.targets.actuator_types import effort_gain
from trueup.sysid.importing.columns.matching import joint_of_actuator
from trueup.sysid.recordings.coupled_joints import CoupledJoint, coupled_joints

_HINGE, _SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)

_POSES = 20  # poses in which gravity and inertia are looked at
_SMALLEST_DRIVE = 0.1  # torque of the smallest drive of a robot, as a share of the largest weight

_APART = 2.0
"""Difference of the motions of coupled joints, relative to its noise, that tells them apart."""

_SLOWEST_START = 0.02
"""Largest armature by the torque of a drive: one over the slowest acceleration of a free motor
[s^2/rad]. Published arms reach 400 rad/s^2 and more."""


@dataclass(frozen=True)
class ProposedParameter:
    """One parameter of an experiment file."""

    name: str
    target: str
    """Attribute of the model; empty for a parameter of the measurement."""
    start: float | None
    """Start value; None: the value of the model."""
    lower: float
    upper: float
    log: bool
    unit: str
    also: tuple[str, ...] = ()
    """Further targets with the same value, such as the second finger of a gripper."""
    widens: bool = True
    """Whether the bounds are guesses, which a fit may widen."""


@dataclass(frozen=True)
class ProposedLink:
    """The unknown inertia of a body, with a prior at the model."""

    name: str
    body: str
    inertia_type: str
    """Parameterisation, a key of the experiment file."""
    prior: float
    """Standard deviation of the prior, as a share of the values of the model."""


@dataclass(frozen=True)
class FurtherUnknowns:
    """Unknowns whose effect the recordings show, and settings of the model that they need."""

    parameters: list[ProposedParameter | ProposedLink] = field(default_factory=list)
    model_lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    biases: dict[str, str] = field(default_factory=dict)
    """Parameter of the bias of a signal."""


def propose_parameters(
    model: mujoco.MjModel, joints: list[int], largest_torque: dict[int, float]
) -> list[ProposedParameter]:
    """Armature, damping and friction of joints.

    The inertia of a rotor counts by the square of its gear, so that the armature of a small wrist
    is often many times the inertia of its link. Damping and friction of a drive grow with its
    torque. Bounds are therefore those of a drive of the size of the robot, not of the link.

    Args:
      model: the compiled model.
      joints: joints of the parameters.
      largest_torque: joint -> largest commanded torque [N m] (force [N]), if known.
    """
    out: list[ProposedParameter] = []
    dofs = [int(model.jnt_dofadr[joint]) for joint in joints]
    inertias, weights = _inertias_and_weights(model)
    turns = model.jnt_type[joints] == _HINGE
    for joint, dof in zip(joints, dofs, strict=True):
        turning = int(model.jnt_type[joint]) == _HINGE
        # lengths and angles do not compare
        alike = [d for d, turn in zip(dofs, turns, strict=True) if turn == turning]
        name = model.joint(joint).name
        plain = name.replace("/", "_")
        inertia, largest = float(inertias[dof]), float(inertias[alike].max())
        torque = max(
            largest_torque.get(joint, 0.0),
            _torque_limit(model, joint),
            float(weights[dof]),
            _SMALLEST_DRIVE * float(weights[alike].max()),
            5.0 * inertia,
        )
        armature, damping, friction = (
            float(values[dof])
            for values in (model.dof_armature, model.dof_damping, model.dof_frictionloss)
        )
        out += [
            _scaled(f"{plain}_armature", f"joint/{name}/armature", armature)
            or _from_zero(
                f"{plain}_armature",
                f"joint/{name}/armature",
                max(0.1 * inertia, 1e-3 * largest),
                max(5.0 * inertia, largest, torque * _SLOWEST_START),
            ),
            _linear(f"{plain}_damping", f"joint/{name}/damping", damping, torque),
            _linear(f"{plain}_friction", f"joint/{name}/frictionloss", friction, torque),
        ]
        units = ("kg m^2", "N m s/rad", "N m") if turning else ("kg", "N s/m", "N")
        out[-3:] = [_with_unit(p, u) for p, u in zip(out[-3:], units, strict=True)]
    return out


def _inertias_and_weights(model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
    """Largest inertia [kg m^2, kg] and gravity load [N m, N] of each dof over poses ``(nv,)``."""
    data = mujoco.MjData(model)
    inertias, weights = model.dof_M0.copy(), np.zeros(model.nv)
    rng = np.random.default_rng(0)
    limited = model.jnt_limited.astype(bool)
    low = np.where(limited, model.jnt_range[:, 0], -np.pi)
    high = np.where(limited, model.jnt_range[:, 1], np.pi)
    scalar = np.isin(model.jnt_type, (_HINGE, _SLIDE))
    places = model.jnt_qposadr[scalar]
    for _ in range(_POSES):
        data.qpos[:] = model.qpos0
        data.qpos[places] = rng.uniform(low, high)[scalar]
        mujoco.mj_forward(model, data)
        own = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, own)
        inertias = np.maximum(inertias, np.diag(own))
        weights = np.maximum(weights, np.abs(data.qfrc_bias))
    return inertias, weights


def _torque_limit(model: mujoco.MjModel, joint: int) -> float:
    """Smallest limit of the torque [N m, N] of a joint; 0 without any."""
    limits = []
    if model.jnt_actfrclimited[joint]:
        limits.append(float(np.abs(model.jnt_actfrcrange[joint]).max()))
    for i in range(model.nu):
        if joint_of_actuator(model, i) == joint and model.actuator_forcelimited[i]:
            gear = abs(float(model.actuator_gear[i, 0]))
            limits.append(gear * float(np.abs(model.actuator_forcerange[i]).max()))
    return min(limits, default=0.0)


def with_coupled(
    model: mujoco.MjModel,
    parameters: Sequence[ProposedParameter],
    joints: Sequence[int],
    positions: Mapping[int, np.ndarray],
) -> list[ProposedParameter]:
    """Parameters of joints that are also those of equal joints that follow them.

    The fingers of a gripper move alike, so that their parameters act as one. Where several of them
    were measured, their motion tells the sum of two armatures, not each, unless it differs by more
    than noise.

    Args:
      model: the compiled model.
      parameters: parameters of the joints.
      joints: joints with parameters of their own.
      positions: recorded positions ``(n,)`` of joints, in any unit.
    """
    first: dict[int, int] = {}
    for joint in joints:
        if joint not in first:
            first[joint] = joint
            known = [int(model.jnt_qposadr[j]) for j in first]
            for each in coupled_joints(model, known):
                leader = first.get(each.leader)
                if leader is None or not _equal(model, each):
                    continue
                if not _move_apart(positions.get(each.joint), positions.get(leader)):
                    first.setdefault(each.joint, leader)
    alike: dict[str, list[str]] = {model.joint(j).name: [] for j, own in first.items() if j == own}
    for joint, own in first.items():
        if joint != own:
            alike[model.joint(own).name].append(model.joint(joint).name)
    out = []
    for p in parameters:
        kind, _, rest = p.target.partition("/")
        name, _, attribute = rest.rpartition("/")
        assert kind == "joint"
        if name in alike:
            out.append(replace(p, also=tuple(f"joint/{j}/{attribute}" for j in alike[name])))
    return out


def _move_apart(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Whether recorded positions ``(n,)`` of two coupled joints differ by more than noise."""
    if one is None or other is None:
        return False
    known = np.isfinite(one) & np.isfinite(other)
    line = np.stack([np.ones(int(known.sum())), other[known]], axis=1)
    apart = one[known] - line @ np.linalg.lstsq(line, one[known], rcond=None)[0]
    return bool(apart.std() > _APART * noise_level(apart))


def _equal(model: mujoco.MjModel, coupled: CoupledJoint) -> bool:
    """Whether a joint is as its leader: moves as far, with the same parameters in the model."""
    further = coupled.coefficients[1:]
    if abs(abs(further[0]) - 1.0) > 1e-6 or np.any(further[1:]):
        return False
    dofs = [int(model.jnt_dofadr[j]) for j in (coupled.joint, coupled.leader)]
    fields = (model.dof_armature, model.dof_damping, model.dof_frictionloss)
    return all(np.isclose(field[dofs[0]], field[dofs[1]]) for field in fields)


def actuated_joints(model: mujoco.MjModel) -> list[int]:
    """Hinge and slide joints with an actuator; all of them without actuators."""
    scalar = [
        j
        for j in range(model.njnt)
        if int(model.jnt_type[j]) in (_HINGE, _SLIDE) and model.joint(j).name
    ]
    moved = {joint_of_actuator(model, i) for i in range(model.nu)}
    return [j for j in scalar if j in moved] or scalar


def rounded(value: float, digits: int = 2) -> float:
    """A value rounded to few digits, for a readable bound."""
    return float(f"{value:.{digits}g}")


def _scaled(name: str, target: str, value: float) -> ProposedParameter | None:
    """Bounds by a factor of 20 around a positive value, on a log scale."""
    if value <= 0:
        return None
    return ProposedParameter(name, target, None, rounded(value / 20), rounded(value * 20), True, "")


def _from_zero(name: str, target: str, start: float, upper: float) -> ProposedParameter:
    upper = rounded(max(upper, 1e-6))
    return ProposedParameter(name, target, rounded(min(start, upper)), 0.0, upper, False, "")


def _linear(name: str, target: str, value: float, torque: float) -> ProposedParameter:
    """Bounds from zero; ``torque`` is the size of the drive [N m, N], at 1 rad/s or 1 m/s."""
    upper = rounded(max(10 * value, torque, 1e-6))
    if value > 0:
        return ProposedParameter(name, target, None, 0.0, upper, False, "")
    return _from_zero(name, target, 0.01 * torque, torque)


def _with_unit(p: ProposedParameter, unit: str) -> ProposedParameter:
    return ProposedParameter(p.name, p.target, p.start, p.lower, p.upper, p.log, unit)


def largest_torques(model: mujoco.MjModel, controls: dict[str, np.ndarray]) -> dict[int, float]:
    """Largest commanded torque of motors, by joint."""
    out: dict[int, float] = {}
    for i in range(model.nu):
        joint, name = joint_of_actuator(model, i), model.actuator(i).name
        unit = effort_gain(model, i)
        if joint >= 0 and unit is not None and name in controls:
            values = controls[name][np.isfinite(controls[name])]
            gain = abs(float(model.actuator_gear[i, 0]) * unit)
            out[joint] = max(out.get(joint, 0.0), gain * float(np.max(np.abs(values), initial=0)))
    return out


def propose_masses(model: mujoco.MjModel, most: int = 4) -> list[ProposedParameter]:
    """Masses of moving bodies, for a model without hinges and slides.

    Args:
      model: the compiled model.
      most: maximum number of bodies, heaviest first.
    """
    moving = [i for i in range(1, model.nbody) if model.body(i).name and model.body_mass[i] > 0]
    moving = sorted(moving, key=lambda i: -float(model.body_mass[i]))[:most]
    return [
        ProposedParameter(
            f"{model.body(i).name.replace('/', '_')}_mass",
            f"body/{model.body(i).name}/mass",
            None,
            rounded(float(model.body_mass[i]) / 3),
            rounded(float(model.body_mass[i]) * 3),
            False,
            "kg",
        )
        for i in moving
    ]
