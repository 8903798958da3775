"""Formatting of numbers for texts and figures: few digits, without a visible loss."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

NOT_AVAILABLE = "–"
_SPAN_DIGITS = 5


def format_number(value: object, digits: int = 5) -> str:
    """Return ``value`` with ``digits`` significant digits.

    Integers keep all their digits, ``None`` is a dash, infinity is ``∞``, and a value that is not a
    number is given as ``str(value)``.
    """
    if value is None:
        return NOT_AVAILABLE
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    if math.isnan(number):
        return "n/a"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    text = f"{number:.{digits}g}"
    if "e" in text and 1 <= abs(number) < 1e7:
        return f"{number:.0f}"
    return "0" if text in ("-0", "0") else text


def format_interval(value: float, half_width: float) -> str:
    """Return ``value ± half_width``, both to the second significant digit of the half-width.

    An infinite half-width gives ``value ± ∞``; a half-width of zero or NaN gives the value alone.
    """
    if half_width is None or math.isnan(half_width) or half_width == 0:
        return format_number(float(value))
    if math.isinf(half_width):
        return f"{format_number(float(value), 4)} ± ∞"
    half_width = abs(half_width)
    decimals, power = _places(half_width, max(abs(value), half_width))
    text = f"{_at(value, decimals, power)} ± {_at(half_width, decimals, power)}"
    return f"({text})e{power:d}" if power else text


def format_rounded(value: float, half_width: float) -> str:
    """Return ``value`` alone, rounded as in :func:`format_interval`: to compare it with others."""
    value, half_width = float(value), abs(float(half_width))
    if not math.isfinite(value) or not math.isfinite(half_width) or 0 in (value, half_width):
        return format_number(value, 4)
    decimals, power = _places(half_width, max(abs(value), half_width))
    return f"{_at(value, decimals, power)}e{power:d}" if power else _at(value, decimals)


def format_estimate(value: float, low: float, high: float) -> str:
    """Return an estimate with its interval, rounded by the interval.

    ``0.3500 ± 0.0012``; ``0.012 (0.003 to 0.040)`` if the ends are not equally far away, and
    ``0.35`` without an interval. Two digits of the shorter side are significant.

    Args:
        value: the estimate.
        low: lower end of its interval; NaN for no interval, -inf for no limit.
        high: upper end.
    """
    below, above = value - low, high - value
    if not math.isfinite(value) or math.isnan(below) or math.isnan(above):
        return format_number(float(value), 4)
    if math.isinf(below) and math.isinf(above):
        return f"{format_number(float(value), 4)} (undetermined)"
    if below == above == 0:
        return format_number(float(value))
    if math.isfinite(below) and math.isfinite(above) and _is_symmetric(below, above):
        return format_interval(value, max(below, above))
    sides = [abs(side) for side in (below, above) if math.isfinite(side) and side]
    # an end on the value, such as a bound, says nothing about the digits
    finest = max(min(sides), 1e-3 * max(sides))
    ends = [abs(end) for end in (low, high) if math.isfinite(end)]
    decimals, power = _places(finest, max(abs(value), *ends))
    shown = [_end(number, decimals, power) for number in (value, low, high)]
    text = f"{shown[0]} ({shown[1]} to {shown[2]})"
    return f"{text} e{power:d}" if power else text


def format_range(low: float, high: float) -> str:
    """Return ``low to high``, both to the second significant digit of half their distance.

    ``anything`` without limits, ``none`` for NaN.
    """
    if math.isnan(low) or math.isnan(high):
        return "none"
    if math.isinf(low) and math.isinf(high):
        return "anything"
    half = 0.5 * (high - low)
    if not math.isfinite(half) or half <= 0:
        return f"{format_number(float(low))} to {format_number(float(high))}"
    decimals, power = _places(half, max(abs(low), abs(high)))
    text = f"{_end(low, decimals, power)} to {_end(high, decimals, power)}"
    return f"({text})e{power:d}" if power else text


def _end(number: float, decimals: int, power: int) -> str:
    """An end of an interval: a bound at zero is exact."""
    return "0" if number == 0 else _at(number, decimals, power)


def _is_symmetric(below: float, above: float) -> bool:
    """Whether both sides are the same in two significant digits, with a small allowance."""
    return below > 0 and above > 0 and abs(below - above) <= 0.15 * max(below, above)


def _places(width: float, largest: float) -> tuple[int, int]:
    """Decimals that show two significant digits of a width, and the power of ten to split off."""
    exponent = int(f"{width:.1e}".split("e")[1])  # of the rounded width: 0.0996 counts as 0.10
    if 1e-4 <= largest < 1e6:
        return 1 - exponent, 0
    power = math.floor(math.log10(largest))
    return 1 - exponent + power, power


def _at(number: float, decimals: int, power: int = 0) -> str:
    """A number over ``10**power`` with this many decimals; infinity is a sign."""
    if math.isinf(number):
        return format_number(number)
    number = number / 10.0**power
    if decimals < 0:
        text = f"{round(number, decimals):.0f}"
    else:
        text = f"{number:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def rounded_to_span(values: ArrayLike, digits: int = _SPAN_DIGITS) -> list[float | int | None]:
    """Return values as JSON numbers, rounded to ``10**-digits`` of their span (linear axes).

    Smaller differences are not visible in a figure. Values that are not finite become ``None``,
    which a figure draws as a gap.
    """
    array = np.asarray(values, dtype=float).ravel()
    finite = np.isfinite(array)
    if not finite.any():
        return [None] * array.size
    low, high = float(array[finite].min()), float(array[finite].max())
    reference = high - low or abs(high)
    # Rounding scales by a power of ten, which must be representable too.
    if 0 < reference < 1e-290 or not math.isfinite(reference):
        return _json_numbers(array, finite)
    decimals = 0 if reference == 0 else digits - math.floor(math.log10(reference))
    return _json_numbers(np.round(array, decimals), finite)


def rounded_significant(values: ArrayLike, digits: int = 6) -> list[float | int | None]:
    """Return values as JSON numbers with ``digits`` significant digits each (logarithmic axes)."""
    array = np.asarray(values, dtype=float).ravel()
    finite = np.isfinite(array)
    text = [float(f"{value:.{digits}g}") for value in np.where(finite, array, 0.0)]
    return _json_numbers(np.array(text), finite)


def _json_numbers(values: np.ndarray, finite: np.ndarray) -> list[float | int | None]:
    # Integers are written without ".0", which saves two characters for most time stamps.
    return [
        None if not ok else int(value) if value == int(value) and abs(value) < 1e15 else value
        for value, ok in zip(np.where(finite, values, 0.0).tolist(), finite.tolist())
    ]


def broadcast(value: object, count: int) -> Sequence[object]:
    """Return ``value`` repeated ``count`` times if it is one value, else the sequence itself."""
    if value is None or isinstance(value, str | bool | int | float | np.number):
        return [value] * count
    return list(value)  # type: ignore[call-overload]
