"""Check for samples that were repeated because no new one had arrived."""

from collections.abc import Iterator

import numpy as np

from trueup.signals._samples import Array
from trueup.signals.checks.finding import Found, warn
from trueup.signals.checks.recorded import Channel, Recorded

# Samples on either side over which the motion is averaged.
_REACH = 6
# Motion per sample that excludes a repeated value, in standard deviations of the difference of two
# samples, in addition to some steps of the resolution.
_EXCLUDED = 6.0
_STEPS = 1.5
# The same where noise exceeds the resolution by this factor: noise alone then excludes repetition.
_FINE = 50.0
_NOISY = 0.5
# Repeated samples among those that the motion excludes: fewer are single losses.
_FEWEST = 5
_LEAST_SHARE = 0.01
# Significant digits of a log that rounds on printing.
_FEW_DIGITS = (3, 4, 5, 6)


def stale(recorded: Recorded) -> Iterator[Found]:
    """Find positions that repeat the previous sample although the joint moves.

    A genuine sample moves on with the joint. Where the motion over some samples is larger per
    sample than resolution and noise of two samples together, an equal value is an old one. Slow
    motion of a coarse encoder, rest and rounded numbers repeat values too, and are not counted.
    """
    rows: dict[str, tuple[int, int, int]] = {}
    for channel in recorded.of_role("position"):
        if not channel.moves or channel.values.size < 4 * _REACH:
            continue
        repeated, moving = _repeats(channel)
        count, of = int(np.count_nonzero(repeated)), int(np.count_nonzero(moving))
        if count >= _FEWEST and count > _LEAST_SHARE * of:
            rows[channel.name] = (count, of, int(np.argmax(repeated)))
    if not rows:
        return
    share = max(count / of for count, of, _ in rows.values())
    first = min(place for _, _, place in rows.values())
    most = max(count for count, _, _ in rows.values())
    names = list(rows)
    shown = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    verb = "repeats" if len(names) == 1 else "repeat"
    yield warn(
        f"Stale frames: {shown} {verb} the previous sample in {100.0 * share:.2g} % of the rows "
        f"in which the joint moves ({most} rows, the first at {recorded.times[first]:.6g} s): old "
        "samples were logged again. Log each sample with its own time, or remove repeated rows.",
        shown if len(names) == 1 else "",
        share=share,
        count=most,
        first_time=float(recorded.times[first]),
    ).because("stale frames")


def _repeats(channel: Channel) -> tuple[np.ndarray, np.ndarray]:
    """Samples that repeat the previous one although the motion excludes it, and all it excludes."""
    values = channel.values
    same = np.zeros(values.size, bool)
    same[1:] = values[1:] == values[:-1]
    # the joint moves the same way before and after: it rests where it starts, stops or turns
    motion = _motion(values, _REACH)
    noise = _noise(values, same)
    step = _step(channel)
    # noise far above the step repeats a value with a probability of about step / (3.5 noise)
    sure = _NOISY if noise > _FINE * step else _EXCLUDED
    moving = motion > _STEPS * step + sure * np.sqrt(2.0) * noise
    return same & moving, moving


def _motion(values: Array, reach: int) -> Array:
    """Motion per sample over samples on either side, the smaller; zero where it turns."""
    at = np.arange(values.size)
    low, high = np.maximum(at - 1 - reach, 0), np.minimum(at + reach, values.size - 1)
    before = (values - values[low]) / np.maximum(at - low, 1)
    after = (values[high] - values) / np.maximum(high - at, 1)
    return np.where(before * after > 0, np.minimum(np.abs(before), np.abs(after)), 0.0)


def _step(channel: Channel) -> float:
    """Largest change that rounding, by an encoder or on printing, may hide."""
    values, step = channel.values, channel.resolution
    decade = np.floor(np.log10(np.maximum(np.abs(values), 1e-300)))
    for digits in _FEW_DIGITS:
        unit = 10.0 ** (decade + 1 - digits)
        if np.all(np.abs(values - np.round(values / unit) * unit) <= 1e-6 * unit):
            # digits of the largest value; steps of an encoder that printing has blurred
            printed = 10.0 ** (float(decade.max()) + 1 - digits)
            changes = np.abs(np.diff(values))
            blurred = 0.0 if step > 0 else 1.5 * float(np.quantile(changes[changes > 0], 0.25))
            return max(step, printed, blurred)
    return step


def _noise(values: Array, same: np.ndarray) -> float:
    """Standard deviation of noise, from second differences of samples that do not repeat."""
    curvature = np.diff(values, n=2)
    fresh = ~(same[1:-1] | same[2:] | same[:-2])
    if np.count_nonzero(fresh) < 8:
        return float(np.std(curvature) / np.sqrt(6.0))
    inside = curvature[fresh]
    return float(1.4826 * np.median(np.abs(inside - np.median(inside))) / np.sqrt(6.0))
