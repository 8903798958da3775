"""Limits of the step of a clock, given as a rate or measured.

Slopes divide by the step twice, and times multiply it by the number of samples: both overflow or
vanish long before the range of a double ends. No recorder resolves less than a nanosecond.
"""

import numpy as np

from trueup.errors import RecordingError

SHORTEST_STEP = 1e-9
"""Shortest usual step of a clock [s]."""
LONGEST_STEP = 1e9
"""Longest usual step of a clock [s]."""
HIGHEST_RATE, LOWEST_RATE = 1e9, 1e-9  # of these steps [Hz]


def check_rate(rate: float, name: str = "rate") -> None:
    """Refuse a rate [Hz] at which times or slopes cannot be represented.

    Raises:
        RecordingError: The rate is not positive, not finite, or out of bounds.
    """
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise RecordingError(
            f"{name} must be a positive number of samples per second, from {LOWEST_RATE:g} to "
            f"{HIGHEST_RATE:g}, found {rate:g}."
        )


def unusable_steps(times: np.ndarray) -> str:
    """Sentence on the usual step of times (n,) [s] if it is out of bounds; empty if it is not."""
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.abs(np.diff(times))
    steps = steps[steps > 0]
    if not steps.size:
        return ""
    usual = float(np.median(steps))
    if SHORTEST_STEP * (1 - 1e-3) <= usual <= LONGEST_STEP:
        return ""
    limit = "shorter than a nanosecond" if usual < SHORTEST_STEP else "longer than 30 years"
    return (
        f"times that are usually {usual:.3g} s apart, {limit}: give the unit of the time column, "
        "or the rate"
    )
