"""Terms beyond M1 to M6: named parameters with bounds, absent by default."""

from collections.abc import Iterable

from trueup.actuators.equations.model_parameter import ModelParameter
from trueup.errors import FitError, did_you_mean, listing

_ELECTRIC = ("voltage", "current", "bus_current", "current_pd")
_EVERY = (*_ELECTRIC, "torque_pd")

EXTENDED_TERMS: dict[str, ModelParameter] = {
    p.name: p
    for p in (
        ModelParameter(
            "command_delay",
            0.005,
            0.0,
            0.05,
            "s",
            "delay from a command to its effect, for goal and torque enable",
        ),
        ModelParameter(
            "backlash",
            0.01,
            1e-4,
            0.1,
            "rad",
            "total dead zone between motor and load side; the encoder is on the load side",
            log=True,
        ),
        ModelParameter(
            "winding_braking",
            0.5,
            0.0,
            1.0,
            "",
            "share of short-circuit braking while torque is off: 0 coasts, 1 brakes fully",
        ),
        ModelParameter(
            "measured_voltage",
            0.5,
            0.0,
            1.0,
            "",
            "weight of the measured bus voltage: 0 is the constant voltage, 1 the measured one",
        ),
        ModelParameter(
            "supply_resistance",
            0.2,
            0.0,
            5.0,
            "ohm",
            "resistance of supply and cable: the current of the bridge lowers the bus voltage",
        ),
        ModelParameter(
            "resistance_temperature",
            0.004,
            0.0,
            0.02,
            "1/K",
            "temperature coefficient of R, with R at 25 degrees C",
        ),
        ModelParameter(
            "torque_saturation",
            0.2,
            0.0,
            2.0,
            "1/A",
            "saturation of the torque constant with the current I: kt / (1 + torque_saturation "
            "|I|), with kt at small currents",
        ),
        ModelParameter(
            "max_velocity",
            6.0,
            0.5,
            60.0,
            "rad/s",
            "maximum speed of the firmware's target",
            log=True,
        ),
        ModelParameter(
            "current_limit", 1.5, 0.1, 10.0, "A", "current at which the firmware limits the duty"
        ),
        ModelParameter(
            "error_gain_ratio",
            1.0,
            0.1,
            10.0,
            "",
            "ratio of the true to the nominal gain of the position error",
            log=True,
        ),
    )
}
"""Name -> parameter of each term available beyond M1 to M6."""

ABSENT = {
    "command_delay": 0.0,
    "backlash": 0.0,
    "winding_braking": 0.0,
    "measured_voltage": 0.0,
    "supply_resistance": 0.0,
    "resistance_temperature": 0.0,
    "torque_saturation": 0.0,
    "max_velocity": float("inf"),
    "current_limit": float("inf"),
    "error_gain_ratio": 1.0,
}
"""Value of each term at which it has no effect."""

_LAWS_WITH = {
    "command_delay": _EVERY,
    "backlash": _EVERY,
    "winding_braking": _ELECTRIC,
    "measured_voltage": _ELECTRIC,
    "supply_resistance": ("voltage",),
    "resistance_temperature": _ELECTRIC,
    "torque_saturation": _ELECTRIC,
    "max_velocity": _EVERY,
    "current_limit": ("voltage",),
    "error_gain_ratio": _ELECTRIC,
}


def terms_for(law: str) -> tuple[str, ...]:
    """Names of the terms that apply to a servo law."""
    return tuple(term for term, laws in _LAWS_WITH.items() if law in laws)


def check_terms(terms: Iterable[str], law: str, servo: str) -> tuple[str, ...]:
    """The terms without duplicates.

    Raises:
      FitError: unknown term, or one that does not apply to the servo's law.
    """
    chosen = tuple(dict.fromkeys(terms))
    for term in chosen:
        if term not in EXTENDED_TERMS:
            raise FitError(
                f"unknown extended term {term!r}; available: {listing(EXTENDED_TERMS)}."
                f"{did_you_mean(term, EXTENDED_TERMS)}"
            )
        if law not in _LAWS_WITH[term]:
            raise FitError(
                f"the term {term!r} does not apply to the law {law!r} of servo {servo!r}; "
                f"terms of that law: {listing(terms_for(law))}"
            )
    return chosen
