"""Terms beyond M1 to M6: each a named parameter with bounds, absent unless asked for."""

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
            "time from a command to its effect, of goal and torque-enable alike",
        ),
        ModelParameter(
            "backlash",
            0.01,
            1e-4,
            0.1,
            "rad",
            "dead zone between motor and load side, whole width; the encoder is on the load side",
            log=True,
        ),
        ModelParameter(
            "winding_braking",
            0.5,
            0.0,
            1.0,
            "",
            "how far the winding is shorted while torque is off: 0 coasts, 1 brakes fully",
        ),
        ModelParameter(
            "measured_voltage",
            0.5,
            0.0,
            1.0,
            "",
            "weight of the measured bus voltage: 0 takes the constant one, 1 the measured one",
        ),
        ModelParameter(
            "supply_resistance",
            0.2,
            0.0,
            5.0,
            "ohm",
            "resistance of supply and cable: what the bridge draws lowers the bus voltage",
        ),
        ModelParameter(
            "resistance_temperature",
            0.004,
            0.0,
            0.02,
            "1/K",
            "growth of R with the measured temperature, R being that at 25 degrees C",
        ),
        ModelParameter(
            "torque_saturation",
            0.2,
            0.0,
            2.0,
            "1/A",
            "how the torque constant falls with the current I: kt / (1 + torque_saturation |I|), "
            "kt being that of small currents",
        ),
        ModelParameter(
            "max_velocity",
            6.0,
            0.5,
            60.0,
            "rad/s",
            "speed at which the firmware moves its target at most",
            log=True,
        ),
        ModelParameter(
            "current_limit", 1.5, 0.1, 10.0, "A", "current at which the firmware limits the duty"
        ),
    )
}
"""Name -> parameter of each term that a servo model may have beyond M1 to M6."""

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
}


def terms_for(law: str) -> tuple[str, ...]:
    """Names of the terms that make sense for a servo law."""
    return tuple(term for term, laws in _LAWS_WITH.items() if law in laws)


def check_terms(terms: Iterable[str], law: str, servo: str) -> tuple[str, ...]:
    """The terms, each once.

    Raises:
      FitError: a term does not exist, or has no meaning for the servo's law.
    """
    chosen = tuple(dict.fromkeys(terms))
    for term in chosen:
        if term not in EXTENDED_TERMS:
            raise FitError(
                f"there is no extended term {term!r}; there are {listing(EXTENDED_TERMS)}."
                f"{did_you_mean(term, EXTENDED_TERMS)}"
            )
        if law not in _LAWS_WITH[term]:
            raise FitError(
                f"the term {term!r} has no meaning for the servo {servo!r}, whose law is {law!r}; "
                f"for that law there are {listing(terms_for(law))}"
            )
    return chosen
