"""Causes of a gap between simulation and recording: the unknowns that each frees.

A cause is an entry of :data:`CAUSES`: its label, the unknowns that it frees around the
values of the model, and how to check it on the machine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.explain.situation import LONGEST_DELAY, Situation
from trueup.parameters import InertiaType, Parameter
from trueup.simulation.targets.actuator_targets import actuator_value
from trueup.simulation.targets.actuator_types import actuator_type, velocity_gain
from trueup.sysid.causes.machine_candidates import GAINS, gain_names
from trueup.sysid.model_modifier import body_inertia_param

_GAIN = 4.0  # largest factor of a gain
_DAMPING = {"position": "kv", "intvelocity": "kv", "pid": "kv", "dcmotor": "kd"}
"""Damping gain with lower bound zero, by type of actuator."""
_ARMATURE = 20.0  # largest factor of a reflected inertia
_FRICTION = 10.0  # largest multiple of a friction
_MASS = (0.2, 5.0)
_CENTRE = 0.15  # shift of a centre of mass [m]
_ZERO = {"rad": 0.3, "m": 0.1}  # shift of an encoder
_CONTACT = 8.0  # largest factor of a friction coefficient
_LEAST_LIMIT = 0.05  # smallest limit, as a fraction of the largest simulated force
_GUESSES = 96  # start values of limits in a search, over all limits


@dataclass(frozen=True)
class Unknown:
    """A parameter that a cause frees."""

    parameter: Parameter
    """Parameter, started at the value of the model."""
    guesses: tuple[float, ...] = ()
    """Start values for the line search along each element; default: spread over the bounds.
        A limit above all forces has zero gradient, so a descent alone does not find it."""
    elements: tuple[tuple[str, str], ...] = ()
    """Name and unit of each element of a vector."""
    offset: float = 0.0
    """Offset of the parameter from the value that it represents."""


@dataclass(frozen=True)
class Cause:
    """A cause of a gap."""

    label: str
    """Name in reports, such as "joint friction"."""
    unknowns: Callable[[Situation], Sequence[Unknown]]
    """Unknowns of a situation; none if the model has no such element."""
    check: str
    """Check on the machine, as an imperative."""


def _delay(now: Situation) -> list[Unknown]:
    step, delays = float(now.model.opt.timestep), now.model.actuator_delay
    own = [f"actuator/{now.actuator(i)}/delay" for i in now.actuators]
    values = [float(delays[i]) for i in now.actuators]
    if len(set(values)) == 1:  # a common delay, as a bus or a computer adds it
        found = {"command_delay": (values[0], own)}
    else:
        names = [f"{now.actuator(i)}_delay" for i in now.actuators]
        found = {n: (v, [t]) for n, v, t in zip(names, values, own, strict=True)}
    return [
        Unknown(
            Parameter(name, value, step, step + LONGEST_DELAY, target=targets, unit="s"),
            offset=step,
        )
        for name, (value, targets) in found.items()
    ]


def _gains(now: Situation) -> list[Unknown]:
    out, model = [], now.model
    for i in now.actuators:
        name, kind, gains = now.actuator(i), actuator_type(model, i), gain_names(model, i)
        if gains:
            for gain in gains:
                if (value := actuator_value(model, i, gain)) > 0:
                    target = f"actuator/{name}/{gain}"
                    out.append(_scaled(f"{name}_{gain}", target, value, _GAIN))
            # a motor that is commanded by voltage has no controller
            gain = None if gains == GAINS["voltage"] else _DAMPING.get(kind)
            if gain:
                damping = actuator_value(model, i, gain)
                upper = max(_FRICTION * damping, now.damping(now.joint_of(i)))
                out.append(_upward(f"{name}_{gain}", f"actuator/{name}/{gain}", damping, upper))
            continue
        factor, damping = float(model.actuator_gainprm[i, 0]), velocity_gain(model, i)
        if factor > 0:
            out.append(_scaled(f"{name}_gain", f"actuator/{name}/gainprm/0", factor, _GAIN))
        if damping > 0:
            low, high = sorted((-damping / _GAIN, -damping * _GAIN))
            target = f"actuator/{name}/biasprm/2"
            out.append(Unknown(Parameter(f"{name}_kv", -damping, low, high, target=target)))
    return out


def _friction(now: Situation) -> list[Unknown]:
    out = []
    for joint in now.joints:
        name, dof = now.joint(joint), now.dof(joint)
        damping = float(now.model.dof_damping[dof])
        loss = float(now.model.dof_frictionloss[dof])
        force, per_speed = ("N m", "N m s/rad") if now.turns(joint) else ("N", "N s/m")
        upper = max(_FRICTION * damping, now.damping(joint))
        out.append(_upward(f"{name}_damping", f"joint/{name}/damping", damping, upper, per_speed))
        upper = max(_FRICTION * loss, now.force(joint))
        out.append(_upward(f"{name}_friction", f"joint/{name}/frictionloss", loss, upper, force))
    return out


def _armature(now: Situation) -> list[Unknown]:
    out = []
    for joint in now.joints:
        name, dof = now.joint(joint), now.dof(joint)
        value, target = float(now.model.dof_armature[dof]), f"joint/{name}/armature"
        unit = "kg m^2" if now.turns(joint) else "kg"
        if value > 0:
            out.append(_scaled(f"{name}_armature", target, value, _ARMATURE, unit))
        else:
            upper = 2.0 * float(now.model.dof_M0[dof])
            out.append(_upward(f"{name}_armature", target, 0.0, upper, unit))
    return out


def _inertia(now: Situation) -> list[Unknown]:
    """Mass of each moving part; of the distal ones, which carry loads, also the centre of mass."""
    out = []
    for body, carries in now.moving_parts():
        name = now.body(body)
        found = body_inertia_param(
            None,  # type: ignore[arg-type]  # the inertia of a body is read from the compiled model
            now.model,
            name,
            InertiaType.MassIpos if carries else InertiaType.Mass,
            scale_rot_inertia=True,
            mass_bound_mult=np.array(_MASS),
            ipos_bound_off=np.array([-_CENTRE, _CENTRE]),
            param_name=f"{name}_inertia" if carries else f"{name}_mass",
        )
        parts = [(f"{name}_mass", "kg"), *((f"{name}_centre_{axis}", "m") for axis in "xyz")]
        out.append(Unknown(found, elements=tuple(parts) if carries else ()))
    return out


def _encoder_zero(now: Situation) -> list[Unknown]:
    """Reference angle of each measured joint: an offset of encoder and controller relative to
    the geometry."""
    out = []
    for joint in now.measured_joints:
        name, unit = now.joint(joint), "rad" if now.turns(joint) else "m"
        value = float(now.model.qpos0[now.model.jnt_qposadr[joint]])
        low, high = value - _ZERO[unit], value + _ZERO[unit]
        target = f"joint/{name}/ref"
        out.append(Unknown(Parameter(f"{name}_zero", value, low, high, target=target, unit=unit)))
    return out


def _contact(now: Situation) -> list[Unknown]:
    """Sliding friction of the geoms that touch, one parameter for those with the same value."""
    out: list[Unknown] = []
    for kind, groups in now.touching().items():
        for number, (value, targets) in enumerate(groups.items()):
            # MuJoCo uses the larger coefficient of two geoms: equal ones are changed together
            name = f"{kind}_friction" if len(groups) == 1 else f"{kind}_friction_{number + 1}"
            found = _scaled(name, "", value, _CONTACT)
            found.parameter.targets = tuple(targets)
            out.append(found)
    return out


def _limits(now: Situation) -> list[Unknown]:
    out, limits = [], list(now.limits())
    shares = _shares(int(np.clip(_GUESSES // max(len(limits), 1), 8, 32)))
    for i, kind, name, limit in limits:
        force = now.peak_of_limit(i, kind)
        if force <= 0 or limit <= 0:
            continue
        attribute = "forcelimit" if kind == "actuator" else "actfrclimit"
        low, high = min(_LEAST_LIMIT * force, 0.5 * limit), 4.0 * max(force, limit)
        joint = i if kind == "joint" else now.joint_of(i)
        parameter = Parameter(
            f"{name}_limit",
            limit,
            low,
            high,
            target=f"{kind}/{name}/{attribute}",
            scale="log",
            unit="N m" if now.turns(joint) else "N",
        )
        guesses = (*(shares * force).tolist(), 1.5 * force)
        out.append(Unknown(parameter, tuple(g for g in guesses if low < g < high)))
    return out


def _shares(count: int) -> np.ndarray:
    """Fractions of the largest force as start values of a limit: denser where a log reaches it only
    briefly, which is the usual case."""
    close = count // 2
    return np.concatenate(
        [np.linspace(0.98, 0.7, close), np.geomspace(0.65, 1.2 * _LEAST_LIMIT, count - close)]
    )


def _scaled(name: str, target: str, value: float, factor: float, unit: str = "") -> Unknown:
    """A positive value bounded by a factor, on a log scale."""
    low, high = value / factor, value * factor
    return Unknown(Parameter(name, value, low, high, target=target or None, scale="log", unit=unit))


def _upward(name: str, target: str, value: float, upper: float, unit: str = "") -> Unknown:
    """A value between zero and an upper bound."""
    upper = max(upper, 2.0 * value, 1e-9)
    return Unknown(Parameter(name, value, 0.0, upper, target=target, unit=unit))


CAUSES: dict[str, Cause] = {
    "delay": Cause(
        "delay of commands",
        _delay,
        "compare the time stamps of command and first motion in a step response",
    ),
    "gains": Cause(
        "gains of the controller",
        _gains,
        "read the gains from the drives, and the torque constant from their data sheet",
    ),
    "friction": Cause(
        "joint friction",
        _friction,
        "move each joint slowly at several constant speeds and record the torque",
    ),
    "armature": Cause(
        "armature (reflected inertia of rotors)",
        _armature,
        "compute rotor inertia times gear ratio squared from the data sheet",
    ),
    "inertia": Cause(
        "inertia and payload",
        _inertia,
        "weigh the parts and what they carry",
    ),
    "encoder-zero": Cause(
        "zero of the encoders",
        _encoder_zero,
        "drive each joint to a mechanical stop or a level, and compare the angle with the model",
    ),
    "contact-friction": Cause(
        "friction of contacts",
        _contact,
        "pull the robot, or a foot, over the floor with a spring scale",
    ),
    "limits": Cause(
        "limits of voltage, current or torque",
        _limits,
        "look for a flat top in recorded currents or torques, and at the supply voltage under load",
    ),
}
"""Causes by name."""
