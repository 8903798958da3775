"""Single samples far from their neighbours, such as the bytes of another frame."""

from collections.abc import Iterator

import numpy as np
from scipy.ndimage import maximum_filter1d, median_filter

from trueup.signals._samples import Array
from trueup.signals.checks.finding import Found, warn
from trueup.signals.checks.recorded import Recorded
from trueup.signals.checks.statistics import noise_level, resolution

# Samples of the median that a spike does not change, and distance over which the motion bends.
_WIDTH = 7
_REACH = 6
_NOISE = 10.0
_MOTION = 3.0
_STEPS = 10.0
# Smallest spike, as a share of the range of the rest.
_SHARE = 0.02
# Share of the samples above which they are a second signal rather than spikes.
_MOST = 0.05


def spikes(recorded: Recorded) -> Iterator[Found]:
    """Find positions with single samples that the motion around them excludes."""
    for channel in recorded.of_role("position"):
        rows = np.flatnonzero(spike_rows(channel.values))
        if rows.size == 0:
            continue
        first = int(rows[0])
        which = "sample jumps" if rows.size == 1 else "samples jump"
        yield warn(
            f"{channel.name}: {rows.size} single {which} away and back, the first to "
            f"{channel.values[first]:.6g} at {recorded.times[first]:.6g} s: spikes, as of a "
            "foreign frame. leave_out: [spikes] replaces them.",
            channel.name,
            count=rows.size,
            first_time=float(recorded.times[first]),
        ).because("spikes")


def spike_rows(values: Array) -> np.ndarray:
    """Samples far from the motion around them, shape (n,) of bool.

    A spike leaves the median of seven samples as it is, and returns within three. A step or a
    corner bends the median within a few more samples, which bounds it.

    Args:
        values: Finite samples (n,).
    """
    none = np.zeros(values.size, bool)
    if values.size < 4 * _REACH:
        return none
    middle = median_filter(values, _WIDTH, mode="nearest")
    away = np.abs(values - middle)
    low, high = np.quantile(values, (0.005, 0.995))
    least = max(_NOISE * noise_level(values), _STEPS * resolution(middle), _SHARE * (high - low))
    if not (away > least).any():
        return none
    bent = np.zeros(values.size)
    bent[_REACH:-_REACH] = np.abs(
        middle[_REACH:-_REACH] - 0.5 * (middle[: -2 * _REACH] + middle[2 * _REACH :])
    )
    # a step bends by half of its size, on both sides of it
    bent[:_REACH], bent[-_REACH:] = bent[_REACH], bent[-_REACH - 1]
    motion = maximum_filter1d(bent, _WIDTH)
    found = away > np.maximum(least, _MOTION * motion)
    return found if np.count_nonzero(found) <= _MOST * values.size else none
