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
    exponent = math.floor(math.log10(half_width))
    decimals = 1 - exponent
    largest = max(abs(value), half_width)
    if largest >= 1e6 or largest < 1e-4:
        power = math.floor(math.log10(largest))
        shown = max(decimals + power, 0)
        scale = 10.0**power
        return f"({value / scale:.{shown}f} ± {half_width / scale:.{shown}f})e{power:d}"
    if decimals < 0:
        return f"{round(value, decimals):.0f} ± {round(half_width, decimals):.0f}"
    return f"{value:.{decimals}f} ± {half_width:.{decimals}f}"


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
