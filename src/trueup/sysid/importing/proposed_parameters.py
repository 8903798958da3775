"""Proposed parameters of an experiment, with bounds around the model's values."""

from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.simulation.targets.actuator_types import effort_gain
from trueup.sysid.importing.column_matching import joint_of_actuator

_HINGE, _SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)


@dataclass(frozen=True)
class ProposedParameter:
    """One parameter of an experiment file."""

    name: str
    target: str
    start: float | None
    """Start value; None: the value of the model."""
    lower: float
    upper: float
    log: bool
    unit: str


def propose_parameters(
    model: mujoco.MjModel, joints: list[int], largest_torque: dict[int, float]
) -> list[ProposedParameter]:
    """Armature, damping and friction of joints.

    Args:
      model: the compiled model.
      joints: joints of the parameters.
      largest_torque: joint -> largest commanded torque [N m] (force [N]), if known.
    """
    out: list[ProposedParameter] = []
    for joint in joints:
        turning = int(model.jnt_type[joint]) == _HINGE
        dof, name = int(model.jnt_dofadr[joint]), model.joint(joint).name
        plain = name.replace("/", "_")
        inertia = float(model.dof_M0[dof])
        torque = largest_torque.get(joint, 0.0) or 5.0 * inertia
        out += [
            _scaled(f"{plain}_armature", f"joint/{name}/armature", float(model.dof_armature[dof]))
            or _from_zero(
                f"{plain}_armature", f"joint/{name}/armature", 0.1 * inertia, 2 * inertia
            ),
            _linear(
                f"{plain}_damping",
                f"joint/{name}/damping",
                float(model.dof_damping[dof]),
                5 * inertia,
            ),
            _linear(
                f"{plain}_friction",
                f"joint/{name}/frictionloss",
                float(model.dof_frictionloss[dof]),
                0.5 * torque,
            ),
        ]
        units = ("kg m^2", "N m s/rad", "N m") if turning else ("kg", "N s/m", "N")
        out[-3:] = [_with_unit(p, u) for p, u in zip(out[-3:], units, strict=True)]
    return out


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


def _linear(name: str, target: str, value: float, otherwise: float) -> ProposedParameter:
    if value > 0:
        return ProposedParameter(name, target, None, 0.0, rounded(10 * value), False, "")
    return _from_zero(name, target, 0.1 * otherwise, otherwise)


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
