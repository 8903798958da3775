"""Quality checks of the clock: length, order, duplicates, gaps, jitter."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from trueup.signals._samples import GAP_STEPS, Array
from trueup.signals.checks.finding import Found, found, note, refuse, warn
from trueup.signals.checks.recorded import Recorded
from trueup.signals.clocks.run_starts import FAR_LONGER, run_starts
from trueup.signals.clocks.steps import unusable_steps

FEWEST_SAMPLES = 10
"""Minimum number of samples of a recording."""

_FEW_SAMPLES = 50
_JITTER_WORTH_A_WARNING = 0.05
_SHOWN = 6


def length(recorded: Recorded) -> Iterator[Found]:
    """Find a recording with too few samples."""
    count = recorded.times.size
    figures: dict[str, Any] = {"count": count, "needed": FEWEST_SAMPLES}
    if count < FEWEST_SAMPLES:
        yield refuse(
            f"The recording has {count} samples: at least {FEWEST_SAMPLES} are needed.", **figures
        )
    elif count < _FEW_SAMPLES:
        yield warn(
            f"The recording has only {count} samples: all estimates will be uncertain.", **figures
        )


def order(recorded: Recorded) -> Iterator[Found]:
    """Find times that are not finite, too close or far apart for slopes, or run backwards."""
    times = recorded.times
    broken = np.flatnonzero(~np.isfinite(times))
    if broken.size:
        yield refuse(
            f"{broken.size} times are NaN or infinite, the first at "
            f"{recorded.place(int(broken[0]))}: remove those rows.",
            count=broken.size,
            first_index=broken[0],
        )
    elif unusable := unusable_steps(times):
        yield refuse(f"The clock has {unusable}.")
        return
    starts = run_starts(times) if not broken.size else np.zeros(0, np.intp)
    if starts.size:
        where = int(starts[0])
        often = "once" if starts.size == 1 else f"{starts.size} times"
        yield refuse(
            f"The clock starts again {often}, first from {times[where - 1]:.6g} s to "
            f"{times[where]:.6g} s at {recorded.place(where)}: {starts.size + 1} runs in one log. "
            f"Give the recording once for each, with run: 1 to run: {starts.size + 1}, or the "
            "period of a counter as rollover. Never sort the rows, which mixes the runs.",
            count=starts.size,
            first_index=where,
        )
        return
    with np.errstate(invalid="ignore"):
        backwards = np.flatnonzero(np.diff(times) < 0)
    if backwards.size:
        where = int(backwards[0])
        often = "once" if backwards.size == 1 else f"{backwards.size} times"
        yield refuse(
            f"Time runs backwards {often}, first from {times[where]:.6g} s to "
            f"{times[where + 1]:.6g} s at {recorded.place(where + 1)}: repair: true sorts the "
            "rows.",
            count=backwards.size,
            first_index=where + 1,
        )


def duplicates(recorded: Recorded) -> Iterator[Found]:
    """Find times that occur twice."""
    times = recorded.times
    with np.errstate(invalid="ignore"):
        equal = np.flatnonzero(np.diff(times) == 0) + 1
    if equal.size == 0:
        return
    word, first = recorded.place(int(equal[0])).split()
    others = ", ".join(recorded.place(int(index)).split()[1] for index in equal[1:_SHOWN])
    shown = f"{word}{'s' if equal.size > 1 else ''} {', '.join(filter(None, (first, others)))}"
    more = f" and {equal.size - _SHOWN} more" if equal.size > _SHOWN else ""
    yield refuse(
        f"{equal.size} of {times.size} times repeat the one before: {shown}{more}; repair: true "
        "keeps one row of each.",
        count=equal.size,
        first_index=equal[0],
    )


def description(recorded: Recorded) -> Iterator[Found]:
    """Report the number of samples, the duration and the sampling rate."""
    times, typical = recorded.times, recorded.typical_step
    duration = float(times[-1] - times[0])
    yield note(
        f"{times.size} samples in {duration:.4g} s, one every {1e3 * typical:.4g} ms "
        f"({1.0 / typical:.4g} Hz).",
        count=times.size,
        duration=duration,
        median_step=typical,
    )


def gaps(recorded: Recorded) -> Iterator[Found]:
    """Find gaps: steps far longer than the median."""
    times, typical = recorded.times, recorded.typical_step
    steps = np.diff(times)
    long = np.flatnonzero(steps > GAP_STEPS * typical)
    if long.size == 0:
        return
    longest = int(long[np.argmax(steps[long])])
    lost = float(np.sum(steps[long]))
    covered = float(times[-1] - times[0]) - lost
    figures = {
        "count": long.size,
        "longest": steps[longest],
        "start_of_longest": times[longest],
        "total": lost,
    }
    if steps[longest] > FAR_LONGER * covered:
        yield refuse(
            f"The clock jumps by {steps[longest]:.4g} s, from {times[longest]:.6g} s to "
            f"{times[longest + 1]:.6g} s, where the samples cover {covered:.3g} s: split the "
            f"recording there, into a part that ends at {times[longest]:.6g} s and one that starts "
            f"at {times[longest + 1]:.6g} s.",
            **figures,
        )
    else:
        yield warn(
            f"{long.size} {'gap' if long.size == 1 else 'gaps'} of more than {GAP_STEPS:g} steps, "
            f"{lost:.3g} s in total; the longest lasts {steps[longest]:.3g} s, from "
            f"{times[longest]:.6g} s. {_longest_part(times, long)}",
            **figures,
        )


def _longest_part(times: Array, long: np.ndarray) -> str:
    """The longest part without a gap, as the key that selects it."""
    edges = np.concatenate([[0], long + 1, [times.size]])
    lasts = times[edges[1:] - 1] - times[edges[:-1]]
    part = int(np.argmax(lasts))
    start, end = times[edges[part]], times[edges[part + 1] - 1]
    return (
        "Commands are held over them; the longest part without one is "
        f"trim: {{start: {start:.6g}, end: {end:.6g}}}."
    )


def jitter(recorded: Recorded) -> Iterator[Found]:
    """Measure the jitter: the deviation of the steps from their median, without gaps."""
    times, typical = recorded.times, recorded.typical_step
    steps = np.diff(times)
    regular = steps[steps <= GAP_STEPS * typical]
    spread = float(np.std(regular))
    largest = float(np.max(np.abs(regular - typical)))
    # Jitter below a thousandth of a step has no effect on any later use of the samples, and times
    # far from zero are rounded to a few units in the last place.
    if largest <= max(1e-3 * typical, 8.0 * float(np.spacing(np.max(np.abs(times))))):
        return
    yield found(
        "warning" if spread > _JITTER_WORTH_A_WARNING * typical else "info",
        f"The clock jitters: its steps differ from the median of {1e3 * typical:.4g} ms by "
        f"{1e3 * largest:.3g} ms at most (standard deviation {1e3 * spread:.3g} ms, "
        f"{100.0 * spread / typical:.2g} % of a step).",
        median_step=typical,
        standard_deviation=spread,
        largest=largest,
    )
