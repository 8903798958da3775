"""Causes of a gap between simulation and recording: the unknowns that each frees.

A cause is an entry of :data:`CAUSES`: its label, the unknowns that it frees around the
values of the model, and how to check it on the machine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueup.explain.situation import Situation
from trueup.parameters import InertiaType, Parameter, ParameterDict
from trueup.simulation.targets.actuator_targets import actuator_value
from trueup.simulation.targets.actuator_types import (
    actuator_type,
    holds_position,
    velocity_gain,
)
from trueup.sysid.causes.machine_candidates import (
    CENTRE,
    GAINS,
    Addition,
    command_limits,
    force_limit,
    gain_names,
    gains,
    payloads,
    zeros,
)
from trueup.sysid.causes.recording_changes import LONGEST_DELAY
from trueup.sysid.causes.term_candidates import KINDS, Candidate, candidates
from trueup.sysid.model_modifier import body_inertia_param

_DAMPING = {"position": "kv", "intvelocity": "kv", "pid": "kv", "dcmotor": "kd"}
"""Damping gain with lower bound zero, by type of actuator."""
_FACTOR = 10.0  # largest factor of a gain or gear
_REACHED = 0.97  # share of the largest recorded torque below which no limit can be
_CONTACT = 8.0  # largest factor of a friction coefficient
_COMPENSATED = 1.5  # largest compensated fraction of the weight
_WIDEST_LOAD = 0.3  # largest radius of gyration of a payload [m]
_LEAST_INERTIA = 1e-12  # of a payload without one [kg m^2]
_TURNS = tuple(np.pi * np.array([-0.5, -0.25, 0.25, 0.5, 1.0]))
"""Tilts to start from [rad]: across a plane in which all joints turn, none has a slope at 0."""


@dataclass(frozen=True)
class Unknown:
    """A parameter that a cause frees."""

    parameter: Parameter
    """Parameter, started at the value of the model."""
    guesses: tuple[float, ...] = ()
    """Start values for a line search along each element; none: a descent from the model.
        A limit above all forces has zero gradient, so a descent alone does not find it."""
    elements: tuple[tuple[str, str], ...] = ()
    """Name and unit of each element of a vector, or name and unit in place of the parameter's."""
    offset: float = 0.0
    """Offset of the parameter from the value that it represents."""
    variant: str = ""
    """Variant of the cause to which it belongs, such as the link that carries a payload; a fit
        frees one variant."""
    follows: bool = False
    """Whether it has an effect only with another unknown of its variant."""
    extends: bool = False
    """Whether it is freed only where the other unknowns of its variant leave a gap."""
    addition: Addition | None = None
    """Elements that it requires in the model."""
    reach: tuple[float, float] = (np.nan, 1.0)
    """Value beyond which it has no effect in this log, such as the largest command, and the sign of
        the direction."""

    @property
    def link(self) -> str:
        """Body that carries the payload that it describes; empty for another unknown."""
        return self.addition.load[1] if self.addition and self.addition.load else ""


@dataclass(frozen=True)
class Cause:
    """A cause of a gap."""

    label: str
    """Name in reports, such as "joint friction"."""
    unknowns: Callable[[Situation], Sequence[Unknown]]
    """Unknowns of a situation; none if the model has no such element."""
    check: str
    """Check on the machine, as an imperative."""


# --- joints --------------------------------------------------------------------------------------


def _terms(now: Situation, *kinds: str) -> list[Unknown]:
    """Attributes of the joints that actuators move, bounded as in a search for missing terms."""
    names = [now.joint(joint) for joint in now.joints]
    found = candidates([now.model], ParameterDict(), kinds)
    found = [c for c in found if c.where in names]
    return [
        _renamed(c, f"{c.where}_{c.kind}")
        for c in sorted(found, key=lambda c: names.index(c.where))
    ]


def _renamed(candidate: Candidate, name: str) -> Unknown:
    candidate.parameter.name = name
    return Unknown(candidate.parameter, candidate.guesses)


def _friction(now: Situation) -> list[Unknown]:
    return _terms(now, "damping", "friction")


def _armature(now: Situation) -> list[Unknown]:
    return _terms(now, "armature")


def _encoder_zero(now: Situation) -> list[Unknown]:
    """Reference angle of each measured joint: an offset of encoder and controller relative to
    the geometry."""
    joints = {now.joint(j): now.turns(j) for j in now.measured_joints}
    return [_renamed(c, f"{c.where}_zero") for c in zeros(now.model, joints)]


def _joint_range(now: Situation) -> list[Unknown]:
    """Ends of the range of each joint that moved beyond it."""
    out, model = [], now.model
    for joint, recorded in now.position_spans.items():
        if not model.jnt_limited[joint]:
            continue
        name, own = now.joint(joint), model.jnt_range[joint]
        for side, sign in enumerate((-1.0, 1.0)):
            value, beyond = float(own[side]), sign * (recorded[side] - own[side])
            if beyond <= 0:
                continue
            far = value + sign * 2.0 * beyond
            low, high = min(value, far), max(value, far)
            target = f"joint/{name}/range/{side}"
            unit = "rad" if now.turns(joint) else "m"
            title = f"{name}_{'lowest' if not side else 'highest'}"
            parameter = Parameter(title, value, low, high, target=target, unit=unit)
            out.append(Unknown(parameter, (recorded[side], far), reach=(recorded[side], sign)))
    return out


# --- actuators -----------------------------------------------------------------------------------


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
            Parameter(
                name, value, step, max(value, step) + LONGEST_DELAY, target=targets, unit="s"
            ),
            offset=step,
        )
        for name, (value, targets) in found.items()
    ]


def _is_motor(now: Situation, actuator: int) -> bool:
    """Whether an actuator applies its command as a torque or voltage, without a controller."""
    own = gain_names(now.model, actuator)
    if own:
        return own == GAINS["voltage"]
    return velocity_gain(now.model, actuator) == 0


def _gain_values(now: Situation, motors: bool) -> list[Unknown]:
    """Gains of motors, or of controllers."""
    chosen = {now.actuator(i): i for i in now.actuators if _is_motor(now, i) == motors}
    out = []
    for candidate in gains(now.model):
        name, attribute = candidate.where, candidate.parameter.targets[0].rsplit("/", 1)[1]
        if name in chosen:
            attribute = "gain" if attribute == "0" else attribute
            out.append(_renamed(candidate, f"{name}_{attribute}"))
    return out


def _torque_constant(now: Situation) -> list[Unknown]:
    return _gain_values(now, motors=True)


def _gains(now: Situation) -> list[Unknown]:
    out, model = _gain_values(now, motors=False), now.model
    for i in now.actuators:
        name, kind = now.actuator(i), actuator_type(model, i)
        if _is_motor(now, i):
            continue
        if gain_names(model, i):
            if gain := _DAMPING.get(kind):
                damping = actuator_value(model, i, gain)
                upper = max(_FACTOR * damping, now.damping(now.joint_of(i)))
                target = f"actuator/{name}/{gain}"
                out.append(Unknown(Parameter(f"{name}_{gain}", damping, 0.0, upper, target=target)))
        elif (damping := velocity_gain(model, i)) > 0:
            low, high = sorted((-damping / _FACTOR, -damping * _FACTOR))
            target = f"actuator/{name}/biasprm/2"
            out.append(Unknown(Parameter(f"{name}_kv", -damping, low, high, target=target)))
    return out


def _gear(now: Situation) -> list[Unknown]:
    """Gear of servos: scale and sign of their commands relative to the joint."""
    out = []
    for i in now.actuators:
        value = float(now.model.actuator_gear[i, 0])
        if value and holds_position(now.model, i):
            name, reach = now.actuator(i), _FACTOR * abs(value)
            target = f"actuator/{name}/gear/0"
            parameter = Parameter(f"{name}_gear", value, -reach, reach, target=target)
            out.append(Unknown(parameter, (-value,)))
    return out


def _limits(now: Situation) -> list[Unknown]:
    out = []
    for i, kind, name, limit in now.limits():
        force = now.peak_of_limit(i, kind)
        if force <= 0 or limit <= 0:
            continue
        attribute = "forcelimit" if kind == "actuator" else "actfrclimit"
        joint = i if kind == "joint" else now.joint_of(i)
        unit = "N m" if now.turns(joint) else "N"
        found = force_limit(name, f"{kind}/{name}/{attribute}", limit, force, unit)
        least = min(_REACHED * now.recorded_peak(i, kind), limit)
        if least > found.parameter.min_value[0]:  # a recorded torque exceeds smaller limits
            found.parameter.min_value[:] = least
            guesses = tuple(g for g in found.guesses if g > least)
            found = replace(found, guesses=guesses or (least,))
        out.append(replace(_renamed(found, f"{name}_limit"), reach=(np.inf, 1.0)))
    return out


def _command_range(now: Situation) -> list[Unknown]:
    """Smallest and largest command that acts."""
    out, model = [], now.model
    for i in now.actuators:
        name = now.actuator(i)
        low, high = now.command_spans.get(name, (0.0, 0.0))
        own = model.actuator_ctrlrange[i]
        limited = model.actuator_ctrllimited[i] and (low < own[0] or high > own[1])
        if not (holds_position(model, i) or limited):
            continue
        for found in command_limits(model, i, name, (low, high)):
            side = int(found.parameter.targets[0][-1])
            title = f"{name}_{('smallest', 'largest')[side]}_command"
            reach = (low, high)[side], 2.0 * side - 1.0
            cuts = reach[1] * (reach[0] - float(found.parameter.value[0])) > 0
            variant = "wider" if cuts else "narrower"  # of the range in the model
            out.append(replace(_renamed(found, title), reach=reach, variant=variant))
    return out


# --- links and world -----------------------------------------------------------------------------


def _payload(now: Situation) -> list[Unknown]:
    """A point mass on one of the links, in a few places along it."""
    out = []
    parts = "mass", "x", "y", "z"
    most = 3.0 * float(now.model.body_mass.sum()) * _WIDEST_LOAD**2
    for addition in payloads(now.groups, ParameterDict(), last=False):
        assert addition.load is not None
        own, link, _ = addition.load
        for part, candidate in zip(parts, addition.candidates, strict=True):
            title = ((f"{link}_payload_{part}", candidate.parameter.unit),)
            out.append(
                Unknown(
                    candidate.parameter,
                    elements=title,
                    variant=own,
                    follows=candidate.follows,
                    addition=addition,
                )
            )
        inertia = Parameter(
            f"{own} inertia", _LEAST_INERTIA, _LEAST_INERTIA, most,
            target=[f"body/{own}/inertia/{k}" for k in range(3)], unit="kg m^2",
        )  # fmt: skip
        title = ((f"{link}_payload_inertia", "kg m^2"),)
        out.append(Unknown(inertia, elements=title, variant=own, extends=True, addition=addition))
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
            mass_bound_mult=np.array([1.0 / KINDS["mass"].reach, KINDS["mass"].reach]),
            ipos_bound_off=np.array([-CENTRE, CENTRE]),
            param_name=f"{name}_inertia" if carries else f"{name}_mass",
        )
        parts = [(f"{name}_mass", "kg"), *((f"{name}_centre_{axis}", "m") for axis in "xyz")]
        out.append(Unknown(found, elements=tuple(parts) if carries else ()))
    return out


def _gravity(now: Situation) -> list[Unknown]:
    """Direction of gravity, as components; :class:`trueup.explain.tilt.TiltedGravity` searches the
    tilts."""
    gravity = np.array(now.model.opt.gravity)
    size = float(np.linalg.norm(gravity))
    if size == 0:
        return []
    reach = 2.0 * size
    parameter = Parameter(
        GRAVITY, gravity, gravity - reach, gravity + reach, target="option/gravity", unit="m/s^2"
    )
    return [Unknown(parameter, _TURNS)]


GRAVITY = "gravity"
"""Name of the cause and of its parameter."""


def _gravity_compensation(now: Situation) -> list[Unknown]:
    """Compensated fraction of the weight, one for the bodies with the same one in the model."""
    model = now.model
    if not np.any(model.opt.gravity):
        return []
    bodies: dict[float, list[str]] = {}
    for body in range(1, model.nbody):
        if model.body_weldid[body] and model.body_mass[body] > 0:
            value = round(float(model.body_gravcomp[body]), 6)
            bodies.setdefault(value, []).append(f"body/{now.body(body)}/gravcomp")
    out = []
    for number, (value, targets) in enumerate(bodies.items()):
        name = "gravcomp" if len(bodies) == 1 else f"gravcomp_{number + 1}"
        upper = max(_COMPENSATED, value)
        out.append(Unknown(Parameter(name, value, 0.0, upper, target=targets)))
    return out


def _contact(now: Situation) -> list[Unknown]:
    """Sliding friction of the geoms that touch, one parameter for those with the same value."""
    out: list[Unknown] = []
    if not now.touches:
        return out
    for kind, groups in now.touching().items():
        for number, (value, targets) in enumerate(groups.items()):
            # MuJoCo uses the larger coefficient of two geoms: equal ones are changed together
            name = f"{kind}_friction" if len(groups) == 1 else f"{kind}_friction_{number + 1}"
            low, high = value / _CONTACT, value * _CONTACT
            out.append(Unknown(Parameter(name, value, low, high, target=targets, scale="log")))
    return out


CAUSES: dict[str, Cause] = {
    "delay": Cause(
        "delay of commands",
        _delay,
        "compare the time stamps of command and first motion in a step response",
    ),
    "gains": Cause(
        "gains of the controller",
        _gains,
        "read the gains from the drives, and the factor that their firmware applies",
    ),
    "torque-constant": Cause(
        "torque constant or gear of the motors",
        _torque_constant,
        "read the torque constant and the gear ratio from the data sheet of the drive",
    ),
    "gear": Cause(
        "gear, scale or sign of position commands",
        _gear,
        "command a known angle and measure the angle of the link",
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
    "payload": Cause(
        "payload",
        _payload,
        "weigh what the links carry, or take it off and record again",
    ),
    "inertia": Cause(
        "masses of the links",
        _inertia,
        "weigh the links and balance the last ones to find their centres of mass",
    ),
    GRAVITY: Cause(
        "direction of gravity (mounting of the base)",
        _gravity,
        "hold a level against the base",
    ),
    "gravity-compensation": Cause(
        "gravity compensation in the controller (gravcomp)",
        _gravity_compensation,
        "look in the settings of the controller whether it compensates gravity",
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
    "command-range": Cause(
        "range of the commands of the actuators (ctrlrange)",
        _command_range,
        "command a position beyond the range, and read where the joint stops",
    ),
    "joint-range": Cause(
        "range of the joints in the model",
        _joint_range,
        "move each joint to its stops, and read its position",
    ),
}
"""Causes by name."""

SUCCESSIVE = ("limits", "command-range")
"""Causes whose unknowns hide each other: the motion shows a limit once the others are known."""
