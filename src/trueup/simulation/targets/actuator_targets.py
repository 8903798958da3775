"""Targets of each type of actuator, named as in MuJoCo's XML reference."""

from typing import Any

import mujoco
import numpy as np

from trueup.errors import TargetError, did_you_mean, listing
from trueup.simulation.targets.actuator_types import actuator_type
from trueup.simulation.targets.attributes import ATTRIBUTES, Attribute, Part

_Place = tuple[str, int, float]
"""Field without its prefix, index and factor: ``("biasprm", 1, -1.0)``."""


def _span(*places: _Place, count: int = 0, **options: Any) -> Attribute:
    """Attribute with the same value at one or several entries, of ``count`` numbers each."""

    def part(place: _Place) -> Part:
        field, first, factor = place
        name = f"actuator_{field}"

        def locate(model: mujoco.MjModel, element: int) -> np.ndarray:
            start = element * getattr(model, name).shape[1] + first
            return start + np.arange(max(count, 1))

        return Part(name, locate, factor)

    def write(actuator: Any, index: int, value: float) -> None:
        for field, first, factor in places:
            values = np.array(getattr(actuator, field), float)
            values[first + (index if count else 0)] = factor * value
            setattr(actuator, field, values)

    return Attribute(tuple(part(p) for p in places), write, shared=not count, **options)


def _needs(field: str, entry: int, advice: str) -> dict[str, Any]:
    """Options of an attribute that acts, or has a state, only if another is set in the MJCF."""

    def acts(model: mujoco.MjModel, element: int) -> bool:
        return bool(getattr(model, f"actuator_{field}")[element, entry])

    return {"acts": acts, "needs_advice": advice}


def _scaled_by_mass(model: mujoco.MjModel, muscle: int) -> bool:
    """Whether the peak force of a muscle is computed from its scale."""
    return bool(model.actuator_gainprm[muscle, 2] < 0)


_POSITIVE: dict[str, Any] = {"lowest": 0.0, "strict": True}
# the compiler takes a positive biasprm[2] as a damping ratio
_KV = _span(("biasprm", 2, -1.0), lowest=0.0)
_KP = _span(("gainprm", 0, 1.0), ("biasprm", 1, -1.0))
_INTEGRAL = _needs("gainprm", 0, "give the actuator a ki above 0 in the MJCF, which adds its state")
_SLEW = _needs("dynprm", 1, "give the actuator a slewmax above 0 in the MJCF, which adds its state")
_FILTER: dict[str, Any] = {
    "needs": "actuator_dyntype",
    "needs_advice": "give the actuator a timeconst above 0 in the MJCF, which adds its state",
}
_THERMAL = _needs("dynprm", 2, "give the actuator thermal in the MJCF, which adds its state")
_LUGRE = _needs("dynprm", 5, "give the actuator lugre in the MJCF, which adds its state")
_COGGING = _needs("biasprm", 0, "give the actuator cogging in the MJCF, with a first amplitude")
_CURRENT = _needs("dynprm", 0, "give the actuator inductance in the MJCF, which adds its state")
_MUSCLE = ("force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax")

ACTUATOR_TARGETS: dict[str, dict[str, Attribute]] = {
    "general": {},
    "motor": {},
    "position": {
        "kp": _KP,
        "kv": _KV,
        "timeconst": _span(("dynprm", 0, 1.0), **_POSITIVE, **_FILTER),
    },
    "velocity": {"kv": _span(("gainprm", 0, 1.0), ("biasprm", 2, -1.0))},
    "intvelocity": {"kp": _KP, "kv": _KV},
    "damper": {"kv": _span(("gainprm", 2, -1.0), lowest=0.0)},
    "cylinder": {
        "timeconst": _span(("dynprm", 0, 1.0), **_POSITIVE),
        "area": _span(("gainprm", 0, 1.0), **_POSITIVE),
        "bias": _span(("biasprm", 0, 1.0), count=3),
    },
    "muscle": {
        "timeconst": _span(("dynprm", 0, 1.0), count=2, **_POSITIVE),
        "tausmooth": _span(("dynprm", 2, 1.0), lowest=0.0),
        "range": _span(("gainprm", 0, 1.0), ("biasprm", 0, 1.0), count=2, **_POSITIVE),
        **{
            name: _span(("gainprm", k, 1.0), ("biasprm", k, 1.0), **_POSITIVE)
            for k, name in enumerate(_MUSCLE, start=2)
        },
        "scale": _span(
            ("gainprm", 3, 1.0),
            ("biasprm", 3, 1.0),
            acts=_scaled_by_mass,
            needs_advice="the muscle has an explicit force; the target is force",
            **_POSITIVE,
        ),
    },
    "adhesion": {"gain": _span(("gainprm", 0, 1.0), lowest=0.0)},
    "pid": {
        "kp": _span(("biasprm", 1, -1.0)),
        "ki": _span(("gainprm", 0, 1.0), lowest=0.0, **_INTEGRAL),
        "kv": _KV,
        "kd": _KV,
        "imax": _span(("dynprm", 0, 1.0), **_POSITIVE, **_INTEGRAL),
        "slewmax": _span(("dynprm", 1, 1.0), **_POSITIVE, **_SLEW),
    },
    "orientation": {"kp": _KP, "kv": _KV},
    "dcmotor": {
        "resistance": _span(("gainprm", 0, 1.0), **_POSITIVE),
        "motorconst": _span(("gainprm", 1, 1.0), **_POSITIVE),
        "timeconst": _span(("dynprm", 0, 1.0), **_POSITIVE, **_CURRENT),
        "current_rate": _span(("dynprm", 1, 1.0), **_POSITIVE, **_CURRENT),
        "kp": _span(("gainprm", 4, 1.0)),
        "ki": _span(
            ("gainprm", 5, 1.0),
            lowest=0.0,
            **_needs("gainprm", 5, "give its controller a ki above 0 in the MJCF"),
        ),
        "kd": _span(("gainprm", 6, 1.0)),
        "slewmax": _span(
            ("dynprm", 7, 1.0),
            **_POSITIVE,
            **_needs("dynprm", 7, "give its controller a slewmax above 0 in the MJCF"),
        ),
        "imax": _span(
            ("dynprm", 8, 1.0),
            **_POSITIVE,
            **_needs("gainprm", 5, "give its controller a ki above 0 in the MJCF"),
        ),
        "vmax": _span(("gainprm", 7, 1.0), **_POSITIVE),
        "cogging_amplitude": _span(("biasprm", 0, 1.0)),
        "cogging_poles": _span(("biasprm", 1, 1.0), **_COGGING),
        "cogging_phase": _span(("biasprm", 2, 1.0), **_COGGING),
        "thermal_resistance": _span(("dynprm", 2, 1.0), **_POSITIVE, **_THERMAL),
        "thermal_capacitance": _span(("dynprm", 3, 1.0), **_POSITIVE, **_THERMAL),
        "thermal_tempcoef": _span(("gainprm", 2, 1.0), **_THERMAL),
        "thermal_reftemp": _span(("gainprm", 3, 1.0), **_THERMAL),
        "thermal_ambient": _span(("dynprm", 4, 1.0), **_THERMAL),
        "lugre_stiffness": _span(("dynprm", 5, 1.0), **_POSITIVE, **_LUGRE),
        "lugre_damping": _span(("dynprm", 6, 1.0), lowest=0.0, **_LUGRE),
        "lugre_coulomb": _span(("biasprm", 3, 1.0), lowest=0.0, **_LUGRE),
        "lugre_static": _span(("biasprm", 4, 1.0), lowest=0.0, **_LUGRE),
        "lugre_stribeck": _span(("biasprm", 5, 1.0), **_POSITIVE, **_LUGRE),
    },
    "plugin": {},
}
"""Attributes of each type of actuator by name, in addition to those of every actuator."""

_RATIO = "the compiler converts dampratio into kv at the masses of the file: the target is kv"
_INSTEAD: dict[str, dict[str, str]] = {
    "general": {
        "": "gainprm/0 is the factor of its command, -biasprm/1 its stiffness and -biasprm/2 its "
        "damping"
    },
    "motor": {
        "": "it has no feedback; gainprm/0 and gear/0 scale its torque, and damping and stiffness "
        "are those of its joint"
    },
    "position": {"kd": "its damping gain is kv", "dampratio": _RATIO},
    "velocity": {"kp": "its one gain is kv", "kd": "its one gain is kv"},
    "intvelocity": {"kd": "its damping gain is kv", "dampratio": _RATIO},
    "damper": {"kp": "its one gain is kv"},
    "cylinder": {
        "diameter": "the target is area",
        "": "area is the factor of its pressure, and bias/1 and bias/2 act on length and velocity",
    },
    "muscle": {"": "force is its peak force"},
    "adhesion": {"": "its one gain is gain"},
    "pid": {"dampratio": _RATIO},
    "orientation": {"kd": "its damping gain is kv", "dampratio": _RATIO},
    "dcmotor": {
        "kv": "the damping gain of its controller is kd",
        "nominal": "the compiler converts nominal into motorconst and resistance",
        "inductance": "the targets are timeconst, the inductance over the resistance, and "
        "current_rate",
        "saturation": "the targets are forcelimit and current_rate",
        "controller": "the targets are kp, ki, kd, slewmax, imax and vmax",
    },
    "plugin": {"": "its parameters are those of its plugin, which targets do not support"},
}
"""Sentence by type and name for an attribute that a type does not have; '' for any name."""


def find_attribute(
    target: str, model: mujoco.MjModel, kind: str, element: int, name: str
) -> Attribute:
    """Attribute of an element by its name, for actuators by their type.

    Raises:
      TargetError: the element has no such attribute; the message lists its attributes.
    """
    if name in ATTRIBUTES[kind]:
        return ATTRIBUTES[kind][name]
    if kind != "actuator":
        raise TargetError(
            f"target {target!r}: a {kind} has no attribute {name!r}; available: "
            f"{listing(ATTRIBUTES[kind], 20)}.{did_you_mean(name, ATTRIBUTES[kind])}"
        )
    found = actuator_type(model, element)
    own = ACTUATOR_TARGETS[found]
    if name in own:
        return own[name]
    names = [*own, *ATTRIBUTES[kind]]
    article = "an" if found[0] in "aeiou" else "a"
    advice = _advice(found, name)
    raise TargetError(
        f"target {target!r}: actuator {model.actuator(element).name!r} is of the type {found!r}, "
        f"and {article} {found} has no {name!r}{f': {advice}' if advice else ''}. Available: "
        f"{listing(names, 40)}.{'' if advice else did_you_mean(name, names)}"
    )


def actuator_value(model: mujoco.MjModel, actuator: int, name: str) -> float:
    """Value of an attribute of an actuator in a model, the first one of several.

    Raises:
      TargetError: an actuator of this type has no such attribute.
    """
    target = f"actuator/{model.actuator(actuator).name}/{name}"
    part = find_attribute(target, model, "actuator", actuator, name).parts[0]
    entry = part.locate(model, actuator)[0]
    # a factor of -1 gives a negative zero
    return float(getattr(model, part.field).reshape(-1)[entry] / part.factor) + 0.0


def _advice(found: str, name: str) -> str:
    """Advice for an attribute that the type does not have; '' for an unknown name."""
    parts = [other for other in ACTUATOR_TARGETS[found] if other.startswith(f"{name}_")]
    if parts:
        return f"the targets are {listing(parts, 20)}"
    if name in _INSTEAD[found]:
        return _INSTEAD[found][name]
    known = any(name in own for own in (*ACTUATOR_TARGETS.values(), *_INSTEAD.values()))
    return _INSTEAD[found].get("", "") if known else ""
