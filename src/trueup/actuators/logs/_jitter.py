"""Sampling jitter of servo logs: intervals between samples, their spread, missing samples."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.actuators.logs.servo_log import Array, ServoLog
from trueup.errors import RecordingError
from trueup.reports import Figure, histogram_figure

_LATE = 1.5  # ratio to the median interval above which a sample counts as missing
_BINS = 100


@dataclass(frozen=True)
class IntervalStatistics:
    """Statistics of the sampling intervals of one log or of several [s]."""

    name: str
    """Name of the log."""
    intervals: int
    """Number of intervals."""
    rate: float
    """Sampling rate: inverse of the mean interval [Hz]."""
    mean: float
    """Mean interval [s]."""
    std: float
    """Standard deviation of the intervals [s]."""
    median: float
    """Median interval [s]."""
    shortest: float
    """Shortest interval [s]."""
    longest: float
    """Longest interval [s]."""
    percentile_99: float
    """99th percentile of the intervals [s]."""
    late: int
    """Number of intervals longer than 1.5 medians."""


@dataclass(frozen=True, eq=False)
class Jitter:
    """Sampling intervals of several logs."""

    logs: tuple[IntervalStatistics, ...]
    """Statistics of each log."""
    total: IntervalStatistics
    """Statistics of all intervals."""
    counts: np.ndarray
    """Histogram of all intervals, ``(100,)``, or ``(1,)`` if all are equal."""
    edges: Array
    """Edges of the bins [s], ``(101,)`` or ``(2,)``."""
    intervals: Array
    """All intervals [s], log by log."""


def jitter(logs: Sequence[ServoLog]) -> Jitter:
    """Statistics of the sampling jitter of logs.

    Args:
        logs: raw logs; resampling removes the jitter.

    Raises:
        RecordingError: ``logs`` is empty.
    """
    if not logs:
        raise RecordingError("jitter requires at least one log")
    each = [np.diff(log.times) for log in logs]
    intervals = np.concatenate(each)
    counts, edges = np.histogram(intervals, bins=_bins(intervals))
    return Jitter(
        logs=tuple(_statistics(log.name, part) for log, part in zip(logs, each, strict=True)),
        total=_statistics("all logs", intervals),
        counts=counts,
        edges=edges,
        intervals=intervals,
    )


def jitter_figure(measured: Jitter) -> Figure:
    """Histogram of all intervals, as a report figure."""
    total = measured.total
    return histogram_figure(
        measured.intervals * 1e3,
        label="time between samples",
        unit="ms",
        bins=_bins(measured.intervals),
        normal=False,
        title="Time between samples",
        caption=f"{total.intervals} intervals of {len(measured.logs)} logs: mean "
        f"{total.mean * 1e3:.3f} ms, standard deviation {total.std * 1e3:.3f} ms, longest "
        f"{total.longest * 1e3:.3f} ms",
    )


def _bins(intervals: Array) -> int:
    spread = float(np.ptp(intervals))
    return _BINS if spread > 1e-9 * float(intervals.max()) else 1


def _statistics(name: str, intervals: Array) -> IntervalStatistics:
    median = float(np.median(intervals))
    return IntervalStatistics(
        name=name,
        intervals=intervals.size,
        rate=float(1 / intervals.mean()),
        mean=float(intervals.mean()),
        std=float(intervals.std()),
        median=median,
        shortest=float(intervals.min()),
        longest=float(intervals.max()),
        percentile_99=float(np.percentile(intervals, 99)),
        late=int((intervals > _LATE * median).sum()),
    )
