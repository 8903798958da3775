"""Broken clocks and missing values of a recording: refused, or repaired on request."""

from dataclasses import replace

import numpy as np

from trueup.errors import RecordingError, listing
from trueup.networks.data.clock_gaps import FEWEST_SAMPLES, GAP_STEPS
from trueup.networks.data.raw_signals import COMMANDS, RawSignals


def usable(raw: RawSignals, repair: bool) -> RawSignals:
    """The signals with an increasing clock and finite values.

    Args:
        raw: as recorded.
        repair: sort rows, move times that were rounded onto the one before, drop repeated ones and
            bridge up to `GAP_STEPS` missing values in a row: commands are held, measurements
            interpolated. Rows of longer holes are left out, which makes a gap in the clock. Each
            is noted. Otherwise all of these are refused.

    Raises:
        RecordingError: a signal holds no finite value, there are fewer than two samples, too few
            are left by the holes, or something is broken and ``repair`` is off.
    """
    path = raw.file.path
    if len(raw.times) < 2:
        raise RecordingError(f"{path} holds {len(raw.times)} samples; at least 2 are needed")
    for name, values in raw.signals.items():
        if not np.isfinite(values).any():
            raise RecordingError(
                f"{path}: {name} holds no finite value at all: map another column, or leave the "
                "recording out"
            )
    steps = np.diff(raw.times)
    if (steps <= 0).any():
        if not repair:
            row = int(np.argmax(steps <= 0))
            what = "repeats" if steps[row] == 0 else "runs backwards"
            raise RecordingError(
                f"{path}: time {what} at {raw.times[row + 1]:.10g} s (sample {row + 2}), "
                f"{np.count_nonzero(steps <= 0)} times in all. Set data.repair=true to sort the "
                "rows and keep one of each time"
            )
        raw = _increasing(raw)
    return _finite(raw, repair)


def _increasing(raw: RawSignals) -> RawSignals:
    if (np.diff(raw.times) < 0).any():
        order = np.argsort(raw.times, kind="stable")
        raw = _rows(raw, order).with_note("rows sorted by time")
    times, moved = _unrounded(raw.times)
    if moved:
        raw = raw.with_note(f"{moved} times rounded onto the one before moved", times=times)
    _, first = np.unique(raw.times, return_index=True)
    dropped = len(raw.times) - len(first)
    return _rows(raw, first).with_note(f"{dropped} rows with a repeated time dropped")


def _unrounded(times: np.ndarray) -> tuple[np.ndarray, int]:
    """Times where a repeat that is followed by a double step is put in the middle of it."""
    steps = np.diff(times)
    typical = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
    repeated = (steps[:-1] == 0) & (np.abs(steps[1:] - 2.0 * typical) < 0.5 * typical)
    rows = np.flatnonzero(repeated) + 1
    times = times.copy()
    times[rows] = 0.5 * (times[rows - 1] + times[rows + 1])
    return times, len(rows)


def _rows(raw: RawSignals, rows: np.ndarray) -> RawSignals:
    signals = {name: values[rows] for name, values in raw.signals.items()}
    return replace(raw, times=raw.times[rows], signals=signals)


def _finite(raw: RawSignals, repair: bool) -> RawSignals:
    missing = {n: int(np.count_nonzero(~np.isfinite(v))) for n, v in raw.signals.items()}
    missing = {name: count for name, count in missing.items() if count}
    if not missing:
        return raw
    if not repair:
        name = next(iter(missing))
        first = raw.times[int(np.argmin(np.isfinite(raw.signals[name])))]
        raise RecordingError(
            f"{raw.file.path}: {name} holds {missing[name]} of {len(raw.times)} values that are "
            f"not finite, the first at {first:.10g} s. Set data.repair=true to bridge up to "
            f"{GAP_STEPS:g} in a row from their neighbours, and to split the recording at longer "
            "holes"
        )
    raw = _without_long_holes(raw, missing)
    for name, values in raw.signals.items():
        good = np.isfinite(values)
        bad = np.count_nonzero(~good)
        if not bad:
            continue
        if name in COMMANDS:
            # as it was asked for until the next value came
            filled = values[np.maximum.accumulate(np.where(good, np.arange(len(good)), 0))]
            note = f"{bad} missing values of {name} held from the one before"
        else:
            filled = np.interp(raw.times, raw.times[good], values[good])
            note = f"{bad} missing values of {name} bridged"
        raw = raw.with_note(note, signals={**raw.signals, name: filled})
    return raw


def _without_long_holes(raw: RawSignals, missing: dict[str, int]) -> RawSignals:
    """The rows that are not in a hole too long to bridge, or in one at the start or the end.

    What was in the middle becomes a gap in the clock, where the recording is split.

    Raises:
        RecordingError: hardly a row is left.
    """
    # one step more than values in a row; longer ones are gaps by the rule of `stretches`
    longest = (GAP_STEPS + 1.0) * float(np.quantile(np.diff(raw.times), 0.5, method="lower"))
    rows = np.arange(len(raw.times))
    while len(rows) >= 2:
        dropped = np.zeros(len(rows), dtype=bool)
        for values in raw.signals.values():
            dropped |= _in_long_hole(raw.times[rows], np.isfinite(values[rows]), longest)
        if not dropped.any():
            break
        rows = rows[~dropped]  # a short hole beside a long one is a long one now
        rows = rows[_in_stretch(raw.times[rows], longest)]
    count = len(raw.times) - len(rows)
    names = listing(missing)
    if len(rows) < 2:
        raise RecordingError(
            f"{raw.file.path}: values of {names} are missing for more than {GAP_STEPS:g} samples "
            f"in a row, and no stretch of {FEWEST_SAMPLES} samples is left between such holes: map "
            "other columns, or leave the recording out"
        )
    if not count:
        return raw
    return _rows(raw, rows).with_note(
        f"{count} rows left out where values of {names} are missing at an end or for more than "
        f"{GAP_STEPS:g} samples in a row"
    )


def _in_stretch(times: np.ndarray, longest: float) -> np.ndarray:
    """Whether each sample is one of enough without a step above ``longest`` [s] between them.

    Few samples between holes are of no use, and many such would make their distance the usual step.
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
