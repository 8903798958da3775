"""Broken clocks and missing values of a recording: refused, or repaired on request."""

from dataclasses import replace

import numpy as np

from trueup.errors import RecordingError
from trueup.networks._raw_signals import RawSignals


def usable(raw: RawSignals, repair: bool) -> RawSignals:
    """The signals with an increasing clock and finite values.

    Args:
        raw: as recorded.
        repair: sort rows, move times that were rounded onto the one before, drop repeated ones and
            bridge missing values; each is noted. Otherwise all of these are refused.

    Raises:
        RecordingError: a signal holds no finite value, there are fewer than two samples, or
            something is broken and ``repair`` is off.
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
    for name, values in raw.signals.items():
        good = np.isfinite(values)
        bad = np.count_nonzero(~good)
        if not bad:
            continue
        if not repair:
            raise RecordingError(
                f"{raw.file.path}: {name} holds {bad} of {len(values)} values that are not finite, "
                f"the first at {raw.times[int(np.argmin(good))]:.10g} s. Set data.repair=true to "
                "bridge them from their neighbours"
            )
        bridged = np.interp(raw.times, raw.times[good], values[good])
        raw = raw.with_note(
            f"{bad} missing values of {name} bridged", signals={**raw.signals, name: bridged}
        )
    return raw
