"""How evenly logs were sampled: intervals between samples, their spread and the samples missing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.actuators.logs.servo_log import Array, ServoLog
from trueup.errors import RecordingError
from trueup.reports import Figure, histogram_figure

_LATE = 1.5  # of the median interval: from there on a sample counts as missing
_BINS = 100


@dataclass(frozen=True)
class IntervalStatistics:
    """Times between the samples of a log, or of several ones [s]."""

    name: str
    """Name of the log."""
    intervals: int
    """Number of intervals, one less than samples."""
    rate: float
    """Samples a second, from the mean interval [Hz]."""
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
    """Interval that 99 % of the intervals do not exceed [s]."""
    late: int
    """Number of intervals longer than one and a half times the median."""


@dataclass(frozen=True, eq=False)
class Jitter:
    """Intervals between the samples of logs."""

    logs: tuple[IntervalStatistics, ...]
    """One entry a log."""
    total: IntervalStatistics
    """All intervals together."""
    counts: np.ndarray
    """Histogram of all intervals, (100,); one bin where they are all the same."""
    edges: Array
    """Edges of its bins [s], one more than bins."""
    intervals: Array
    """All intervals [s], log after log."""


def jitter(logs: Sequence[ServoLog]) -> Jitter:
    """Measure how evenly logs were sampled.

    Args:
        logs: raw logs; resampled ones have no jitter left.

    Raises:
        RecordingError: there is no log.
    """
    if not logs:
        raise RecordingError("no log is given whose intervals could be measured")
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
    """Draw the histogram of all intervals, for a page of :mod:`trueup.reports`."""
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
