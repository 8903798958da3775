"""Broken clocks and missing values of a recording: an error, or repaired on request."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from trueup.errors import RecordingError, listing
from trueup.signals._samples import GAP_STEPS
from trueup.signals.checks.clock import FEWEST_SAMPLES
from trueup.signals.clocks.gaps import usual_step
from trueup.signals.clocks.run_starts import run_starts
from trueup.signals.recording import Recording, Stream


def check_usable(recording: Recording, how: str = "Use signals.repaired") -> None:
    """Check that a recording can be used without repair.

    Args:
        recording: As recorded.
        how: Advice for a repair, for messages.

    Raises:
        RecordingError: A clock does not increase, values are missing, a column contains no
            finite value, or there are fewer than two samples.
    """
    place = _place(recording)
    for stream in recording.streams:
        _check_samples(place, stream)
        times, steps = stream.times, np.diff(stream.times)
        _check_one_run(place, stream)
        if (steps <= 0).any():
            row = int(np.argmax(steps <= 0))
            what = "repeats" if steps[row] == 0 else "runs backwards"
            raise RecordingError(
                f"{place}: time {what} at {times[row + 1]:.10g} s (sample {row + 2}), "
                f"{np.count_nonzero(steps <= 0)} times in total. {how} to sort the rows and remove "
                "duplicate times"
            )
        for name, count in _missing(stream).items():
            first = times[int(np.argmin(np.isfinite(stream.columns[name])))]
            raise RecordingError(
                f"{place}: {count} of {len(times)} values of {name} are not finite, the "
                f"first at {first:.10g} s. {how} to bridge up to {GAP_STEPS:g} in a row from "
                "their neighbours, and to split the recording at longer gaps"
            )


def repaired(recording: Recording, held: Collection[str] = ()) -> Recording:
    """Return a recording with increasing clocks and finite values.

    Rows are sorted by time, times that were rounded onto the previous one are moved, and duplicates
    removed. Up to `GAP_STEPS` missing values in a row are bridged: commands are held,
    measurements interpolated. Rows of longer runs are removed, which makes a gap in the clock:
    see :func:`trueup.signals.split_at_gaps`. Each change is noted.

    Args:
        recording: As recorded.
        held: Columns that are commands.

    Raises:
        RecordingError: A column contains no finite value, there are fewer than two samples, too
            few remain between gaps, or a clock starts again, whose rows must not be sorted.
    """
    place, streams = _place(recording), []
    for stream in recording.streams:
        _check_samples(place, stream)
        _check_one_run(place, stream)
        stream, notes = _finite(place, *_increasing(stream), held)
        prefix = f"{stream.name}: " if len(recording.streams) > 1 and stream.name else ""
        for note in notes:
            recording = recording.noted(prefix + note)
        streams.append(stream)
    return replace(recording, streams=tuple(streams))


def _place(recording: Recording) -> str:
    return recording.source or f"recording {recording.name!r}"


def _check_samples(place: str, stream: Stream) -> None:
    if len(stream.times) < 2:
        raise RecordingError(f"{place}: expected at least 2 samples, found {len(stream.times)}")
    for name, values in stream.columns.items():
        if not np.isfinite(values).any():
            raise RecordingError(
                f"{place}: {name} contains no finite value: map another column, or omit the "
                "recording"
            )


def _check_one_run(place: str, stream: Stream) -> None:
    starts = run_starts(stream.times)
    if starts.size:
        row, times = int(starts[0]), stream.times
        raise RecordingError(
            f"{place}: the clock starts again at sample {row + 1}, from {times[row - 1]:.10g} to "
            f"{times[row]:.10g} s: {starts.size + 1} runs in one log, which sorting would mix. "
            "Read one of them with signals.runs_of, or give the period of a counter as rollover"
        )


def _increasing(stream: Stream) -> tuple[Stream, list[str]]:
    steps, notes = np.diff(stream.times), []
    if (steps > 0).all():
        return stream, notes
    if (steps < 0).any():
        stream = stream.rows(np.argsort(stream.times, kind="stable"))
        notes.append("rows sorted by time")
    times, moved = _unrounded(stream.times)
    if moved:
        stream = replace(stream, times=times)
        notes.append(f"{moved} times that were rounded onto the previous one moved")
    _, first = np.unique(stream.times, return_index=True)
    notes.append(f"{len(stream.times) - len(first)} rows with a duplicate time removed")
    return stream.rows(first), notes


def _unrounded(times: np.ndarray) -> tuple[np.ndarray, int]:
    """Return times in which a duplicate before a double step is moved to its middle."""
    steps = np.diff(times)
    typical = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
    repeated = (steps[:-1] == 0) & (np.abs(steps[1:] - 2.0 * typical) < 0.5 * typical)
    rows = np.flatnonzero(repeated) + 1
    times = times.copy()
    times[rows] = 0.5 * (times[rows - 1] + times[rows + 1])
    return times, len(rows)


def _missing(stream: Stream) -> dict[str, int]:
    """Number of values that are not finite, by column that has any."""
    counts = {n: int(np.count_nonzero(~np.isfinite(v))) for n, v in stream.columns.items()}
    return {name: count for name, count in counts.items() if count}


def _finite(
    place: str, stream: Stream, notes: list[str], held: Collection[str]
) -> tuple[Stream, list[str]]:
    missing = _missing(stream)
    if not missing:
        return stream, notes
    stream, left_out = _without_long_holes(place, stream, missing)
    notes = [*notes, *left_out]
    columns = dict(stream.columns)
    for name, values in stream.columns.items():
        good = np.isfinite(values)
        bad = np.count_nonzero(~good)
        if not bad:
            continue
        if name in held:
            # a command holds until the next one
            columns[name] = values[np.maximum.accumulate(np.where(good, np.arange(len(good)), 0))]
            notes.append(f"{bad} missing values of {name} held from the previous one")
        else:
            columns[name] = np.interp(stream.times, stream.times[good], values[good])
            notes.append(f"{bad} missing values of {name} bridged")
    return replace(stream, columns=columns), notes


def _without_long_holes(
    place: str, stream: Stream, missing: Mapping[str, int]
) -> tuple[Stream, list[str]]:
    """Remove rows in a run of missing values that is too long to bridge, or at an end.

    A run in the middle becomes a gap in the clock, where the recording is split.

    Raises:
        RecordingError: Too few rows remain.
    """
    # n values in a row span n + 1 steps; longer ones are gaps by the rule of `split_at_gaps`
    longest = (GAP_STEPS + 1.0) * usual_step(stream.times)
    rows = np.arange(len(stream.times))
    while len(rows) >= 2:
        dropped = np.zeros(len(rows), dtype=bool)
        for values in stream.columns.values():
            dropped |= _in_long_hole(stream.times[rows], np.isfinite(values[rows]), longest)
        if not dropped.any():
            break
        rows = rows[~dropped]  # a short run next to a removed one is long now
        rows = rows[_in_stretch(stream.times[rows], longest)]
    count = len(stream.times) - len(rows)
    names = listing(missing)
    if len(rows) < 2:
        raise RecordingError(
            f"{place}: values of {names} are missing for more than {GAP_STEPS:g} samples in a row, "
            f"and no {FEWEST_SAMPLES} samples in a row remain between such gaps: map other "
            "columns, or omit the recording"
        )
    if not count:
        return stream, []
    note = (
        f"{count} rows removed where values of {names} are missing at an end or for more than "
        f"{GAP_STEPS:g} samples in a row"
    )
    return stream.rows(rows), [note]


def _in_stretch(times: np.ndarray, longest: float) -> np.ndarray:
    """Whether each sample is in a run of enough samples without a step above ``longest`` [s].

    Short runs are not usable, and many of them would change the median step.
    """
    if not len(times):
        return np.zeros(0, dtype=bool)
    stretch = np.concatenate([[0], np.cumsum(np.diff(times) > longest)])
    return np.bincount(stretch)[stretch] >= FEWEST_SAMPLES


def _in_long_hole(times: np.ndarray, good: np.ndarray, longest: float) -> np.ndarray:
    """Whether each sample lies between two finite values more than ``longest`` apart [s]."""
    edges = np.diff(np.concatenate([[0], ~good, [0]]).astype(int))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    around = np.concatenate([[-np.inf], times, [np.inf]])
    long = around[ends + 1] - around[starts] > longest
    marks = np.zeros(len(times) + 1, dtype=int)
    marks[starts[long]], marks[ends[long]] = 1, -1
    return np.cumsum(marks)[:-1] > 0
