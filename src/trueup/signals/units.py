"""Units of recorded columns, and their conversion to SI."""

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import UnitError, did_you_mean, listing
from trueup.signals._suspect_units import suspect_units

__all__ = ["UNITS", "Unit", "convert", "find_unit", "si_unit", "suspect_units"]


@dataclass(frozen=True)
class Unit:
    """A unit: SI value = factor * value + shift.

    Attributes:
        quantity: What it measures, such as ``angle``.
        si: Name of the SI unit of that quantity; radians for angles.
        factor: Factor to SI.
        shift: Added after the factor, for degrees Celsius.
    """

    quantity: str
    si: str
    factor: float
    shift: float = 0.0


_DEGREE = math.pi / 180.0
_TURN = 2.0 * math.pi
_STANDARD_GRAVITY = 9.80665


def _family(quantity: str, si: str, factors: dict[str, float]) -> dict[str, Unit]:
    return {name: Unit(quantity, si, factor) for name, factor in factors.items()}


#: Every unit by name. A pure number (counts, percent, 1) has the SI unit ``1``.
UNITS: dict[str, Unit] = {
    **_family("angle", "rad", {"rad": 1.0, "mrad": 1e-3, "deg": _DEGREE, "turn": _TURN}),
    **_family(
        "angular velocity",
        "rad/s",
        {
            "rad/s": 1.0,
            "mrad/s": 1e-3,
            "deg/s": _DEGREE,
            "turn/s": _TURN,
            "rpm": _TURN / 60.0,
        },
    ),
    **_family("angular acceleration", "rad/s2", {"rad/s2": 1.0, "deg/s2": _DEGREE}),
    **_family(
        "time", "s", {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
    ),
    **_family("length", "m", {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "in": 0.0254}),
    **_family("velocity", "m/s", {"m/s": 1.0, "cm/s": 1e-2, "mm/s": 1e-3, "km/h": 1 / 3.6}),
    **_family("acceleration", "m/s2", {"m/s2": 1.0, "mm/s2": 1e-3, "gn": _STANDARD_GRAVITY}),
    **_family("force", "N", {"N": 1.0, "mN": 1e-3, "kN": 1e3, "kgf": _STANDARD_GRAVITY}),
    **_family(
        "torque",
        "N m",
        {"N m": 1.0, "mN m": 1e-3, "N cm": 1e-2, "N mm": 1e-3, "kgf cm": _STANDARD_GRAVITY / 100},
    ),
    **_family("current", "A", {"A": 1.0, "mA": 1e-3}),
    **_family("voltage", "V", {"V": 1.0, "mV": 1e-3}),
    **_family("mass", "kg", {"kg": 1.0, "g": 1e-3}),
    **_family("inertia", "kg m2", {"kg m2": 1.0, "kg cm2": 1e-4, "g cm2": 1e-7, "g mm2": 1e-9}),
    **_family("power", "W", {"W": 1.0, "mW": 1e-3}),
    "K": Unit("temperature", "K", 1.0),
    "degC": Unit("temperature", "K", 1.0, 273.15),
    **_family("number", "1", {"1": 1.0, "%": 1e-2, "counts": 1.0}),
}

_ALIASES = {
    "": "1",
    "radian": "rad",
    "radians": "rad",
    "degree": "deg",
    "degrees": "deg",
    "turns": "turn",
    "rev": "turn",
    "revs": "turn",
    "revolution": "turn",
    "revolutions": "turn",
    "rev/s": "turn/s",
    "turns/s": "turn/s",
    "RPM": "rpm",
    "rev/min": "rpm",
    "1/min": "rpm",
    "sec": "s",
    "second": "s",
    "seconds": "s",
    "msec": "ms",
    "milliseconds": "ms",
    "usec": "us",
    "microseconds": "us",
    "nsec": "ns",
    "nanoseconds": "ns",
    "meter": "m",
    "metre": "m",
    "Nm": "N m",
    "mNm": "mN m",
    "Nmm": "N mm",
    "Ncm": "N cm",
    "amp": "A",
    "volt": "V",
    "count": "counts",
    "tick": "counts",
    "ticks": "counts",
    "percent": "%",
}


def find_unit(name: str) -> Unit:
    """Return a unit by name. ``N m``, ``Nm``, ``N*m`` and ``N·m`` are the same; case matters.

    Raises:
        UnitError: The unit is unknown; the message lists all units and close matches.
    """
    plain = re.sub(r"\s*[·*.⋅]\s*|\s+", " ", name.strip())
    plain = plain.replace("²", "2").replace("^2", "2").replace("**2", "2")
    plain = plain.replace("µ", "u").replace("μ", "u").replace("°", "deg")
    plain = plain.replace("s 2", "s2").replace("/s/s", "/s2")
    for spelling in (plain, plain.replace(" ", "")):
        spelling = _ALIASES.get(spelling, spelling)
        if spelling in UNITS:
            return UNITS[spelling]
    known = [*UNITS, *(alias for alias in _ALIASES if alias)]
    raise UnitError(
        f"Unknown unit {name!r}.{did_you_mean(plain, known)} Available units: "
        f"{listing(UNITS, limit=len(UNITS))}. For another unit, omit unit and give its "
        "factor as scale."
    )


def si_unit(name: str) -> str:
    """Return the SI unit of the quantity of a unit: ``rad`` for ``deg``.

    Raises:
        UnitError: The unit is unknown.
    """
    return find_unit(name).si


def convert(values: ArrayLike, unit: str, offset: float = 0.0, scale: float = 1.0) -> np.ndarray:
    """Convert values of any shape to SI: unit((values - offset) * scale).

    Raw encoder counts, 4096 a turn with zero at 2048, are ``convert(raw, "turn", 2048, 1 / 4096)``.

    Args:
        values: Values as recorded.
        unit: Unit of the values after offset and scale; ``counts`` and ``1`` do not change
            them.
        offset: Subtracted first, in the recorded unit.
        scale: Factor applied next.

    Raises:
        UnitError: The unit is unknown, or offset or scale is not finite or scale is zero.
    """
    found = find_unit(unit)
    if not (math.isfinite(offset) and math.isfinite(scale)) or scale == 0:
        raise UnitError(
            f"Cannot convert with offset {offset} and scale {scale}: both must be finite, and "
            "scale must not be zero."
        )
    result = np.array(values, dtype=np.float64)
    if offset:
        result -= offset
    factor = scale * found.factor
    if factor != 1.0:
        result *= factor
    if found.shift:
        result += found.shift
    return result
