"""Check for samples that were repeated because no new one had arrived."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.signals._samples import Array
from trueup.signals.checks.finding import Found, warn
from trueup.signals.checks.recorded import Channel, Recorded
from trueup.signals.checks.statistics import runs

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
# Share of the repeated rows in which the other channels of a motor repeat too, where its frames are
# logged as a whole, and largest share of its other rows in which they do.
_TOGETHER = 0.9
_ALONE = 0.05
# Longest run of rows that is left out where the motion does not exclude it: longer ones are rest.
_LONGEST_RUN = 5
# A stuck encoder jumps by this many times the motion of the next samples, and is bridged over at
# most this many rows.
_JUMP = 3.0
_BRIDGED = 25
# Significant digits of a log that rounds on printing.
_FEW_DIGITS = (3, 4, 5, 6)


def stale(recorded: Recorded) -> Iterator[Found]:
    """Find positions that repeat the previous sample although the joint moves.

    A genuine sample moves on with the joint. Where the motion over some samples is larger per
    sample than resolution and noise of two samples together, an equal value is an old one. Slow
    motion of a coarse encoder, rest and rounded numbers repeat values too, and are not counted.
    """
    rows: dict[str, Repeats] = {}
    velocity_of = dict(recorded.pairs)
    for channel in recorded.of_role("position"):
        velocity = recorded.channel(velocity_of.get(channel.name, ""))
        found = repeats(
            channel, None if velocity is None else velocity.values, times=recorded.times
        )
        if found.rows.any():
            rows[channel.name] = found
    if not rows:
        return
    share = max(found.share for found in rows.values())
    first = min(int(np.argmax(found.rows)) for found in rows.values())
    most = max(int(np.count_nonzero(found.rows)) for found in rows.values())
    names = list(rows)
    shown = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    verb = "repeats" if len(names) == 1 else "repeat"
    yield warn(
        f"Stale frames: {shown} {verb} the previous sample in {100.0 * share:.2g} % of the rows "
        f"in which the joint moves ({most} rows, the first at {recorded.times[first]:.6g} s): old "
        "samples were logged again. leave_out: [repeats] replaces them.",
        shown if len(names) == 1 else "",
        share=share,
        count=most,
        first_time=float(recorded.times[first]),
    ).because("stale frames")


def stuck(recorded: Recorded) -> Iterator[Found]:
    """Find positions that stay where they are for long, and then jump to where the joint is."""
    for channel in recorded.of_role("position"):
        if not channel.moves:
            continue
        long = [run for run in _stuck_runs(channel) if run[1] - run[0] > _BRIDGED]
        if not long:
            continue
        begin, end = (float(recorded.times[i]) for i in max(long, key=lambda run: run[1] - run[0]))
        yield warn(
            f"{channel.name} is stuck {'once' if len(long) == 1 else f'{len(long)} times'}, the "
            f"longest from {begin:.6g} to {end:.6g} s, and then jumps to where the joint is: give "
            f"the recording twice, with trim: {{end: {begin:.6g}}} and trim: {{start: {end:.6g}}}.",
            channel.name,
            count=len(long),
            start=begin,
            end=end,
        ).because("a stuck encoder")


@dataclass(frozen=True)
class Repeats:
    """Rows that hold the last frame of a motor again."""

    rows: np.ndarray
    """``(n,)`` of bool."""
    share: float = 0.0
    """Their share of the rows in which they can be seen."""


def repeats(
    position: Channel,
    velocity: Array | None = None,
    others: Sequence[Array] = (),
    times: Array | None = None,
) -> Repeats:
    """Rows that hold the last frame of a motor again.

    The motion excludes some repetitions. Where these repeat the other channels of the motor too,
    and those never repeat alone, its frames are logged as a whole: then each row that repeats all
    channels is an old one, at slow motion too, unless the joint rests.

    Args:
        position: Position of the joint.
        velocity: Its velocity (n,); None if it was not recorded.
        others: Other channels of the same motor, such as its torque, each (n,).
        times: Sample times (n,) [s], to compare a repeated velocity with the motion.
    """
    size = position.values.size
    if not position.moves or size < 4 * _REACH:
        return Repeats(np.zeros(size, bool))
    repeated, moving = _repeats(position)
    count, of = int(np.count_nonzero(repeated)), int(np.count_nonzero(moving))
    stuck_rows = np.zeros(size, bool)
    for start, stop in _stuck_runs(position):
        stuck_rows[start:stop] = stop - start <= _BRIDGED
    if count < _FEWEST or count <= _LEAST_SHARE * of:
        return Repeats(stuck_rows, float(np.mean(stuck_rows)))
    # a channel that is constant says nothing
    own = _same(position.values)
    channels = [*([] if velocity is None else [velocity]), *others]
    same = [_same(values) for values in channels if np.ptp(values) > 0]
    whole = [s for s in same if np.mean(s[repeated]) >= _TOGETHER]
    if not whole or any(np.mean(s[moving & ~own]) > _ALONE for s in whole):
        return Repeats(repeated | stuck_rows, count / of)
    together = np.logical_and.reduce([own, *whole])
    starts, stops = runs(together)
    old = stops - starts <= _LONGEST_RUN
    jump, motion, noise = _jumps(position, starts, stops)
    old |= jump > motion + noise
    if velocity is not None and times is not None:
        lasts = times[np.minimum(stops, size - 1)] - times[np.maximum(starts - 1, 0)]
        old |= np.abs(velocity[starts]) * lasts > noise
    rows = repeated | stuck_rows
    for start, stop in zip(starts[old], stops[old], strict=True):
        rows[start:stop] = True
    return Repeats(rows, float(np.mean(rows)))


def _stuck_runs(position: Channel) -> list[tuple[int, int]]:
    """Runs of equal samples that end in a jump, as first index and index after the last.

    A joint that starts from rest moves less in its first sample than in the next ones; one whose
    sensor was stuck has moved on meanwhile.
    """
    starts, stops = runs(_same(position.values))
    chosen = (stops - starts > _LONGEST_RUN) & (stops < position.values.size - 1)
    starts, stops = starts[chosen], stops[chosen]
    jump, motion, noise = _jumps(position, starts, stops)
    stuck = jump > _JUMP * (motion + noise)
    return [(int(a), int(b)) for a, b in zip(starts[stuck], stops[stuck], strict=True)]


def _jumps(
    position: Channel, starts: np.ndarray, stops: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Jump at the end of each run, largest motion of a sample after it, and what noise explains."""
    values = position.values
    after = np.minimum(stops[:, None] + np.arange(4), values.size - 1)
    jump = np.abs(values[after[:, 0]] - values[stops - 1])
    motion = np.abs(np.diff(values[after], axis=1)).max(axis=1, initial=0.0)
    noise = np.sqrt(2.0) * _EXCLUDED * _noise(values, _same(values))
    return jump, motion, float(noise + _STEPS * _step(position))


def _same(values: Array) -> np.ndarray:
    """Whether each sample equals the one before."""
    same = np.zeros(values.size, bool)
    same[1:] = values[1:] == values[:-1]
    return same


def _repeats(channel: Channel) -> tuple[np.ndarray, np.ndarray]:
    """Samples that repeat the previous one although the motion excludes it, and all it excludes."""
    values = channel.values
    same = _same(values)
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
    # a motor that is read in every other row has its own samples only
    inside = curvature[fresh] if np.count_nonzero(fresh) >= 8 else np.diff(values[~same], n=2)
    if inside.size == 0:
        return 0.0
    return float(1.4826 * np.median(np.abs(inside - np.median(inside))) / np.sqrt(6.0))
