"""Streams with separate clocks: the interval that all cover, and common clocks.

Streams are not extrapolated: the part of a recording in which a stream is missing is excluded and
reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.errors import RecordingError
from trueup.signals.clocks.gaps import gap_ends
from trueup.signals.recording import Recording, Stream

_LEAST_COMMON = 0.1  # minimum share of a recording that all its streams must cover
_OTHER_RATE = 1.5  # ratio of sample counts from which the loss of samples is reported


@dataclass(frozen=True)
class CommonInterval:
    """The part of a recording that every stream in use covers."""

    start: float
    """First time [s]."""
    end: float
    """Last time [s]."""
    begins_late: bool
    """Whether a stream was missing at the beginning of the requested interval."""
    note: str
    """Description of the excluded part; empty if nothing is excluded."""

    def inside(self, times: np.ndarray) -> np.ndarray:
        """The times within it."""
        return times[(times >= self.start) & (times <= self.end)]


def common_interval(
    recording: Recording,
    held: Sequence[str] = (),
    start: float | None = None,
    end: float | None = None,
) -> CommonInterval:
    """Find the part of a recording that every measured signal and every command covers.

    A command is held until the next: the last one is assumed to hold for the longest time between
    two of its samples, and the first one to act up to one period before it was logged.

    Args:
        recording: A recording on clocks that increase.
        held: Columns that are commands. All others are measured; at least one is.
        start: Requested first time [s]; None for the first of any measured signal.
        end: Requested last time [s]; None for the last of any measured signal.

    Raises:
        RecordingError: The common interval of the streams is empty or too short.
    """
    measured = clocks_of(recording, [name for name in recording.columns if name not in held])
    if not measured:
        raise RecordingError(f"recording {recording.name!r} contains commands but no measurement")
    begins = {name: float(times[0]) for name, times in measured.items()}
    ends = {name: float(times[-1]) for name, times in measured.items()}
    first, last = min(begins.values()), max(ends.values())
    asked = (
        first if start is None else max(start, first),
        last if end is None else min(end, last),
    )
    commands = clocks_of(recording, held)
    for name, times in commands.items():
        # a command that was logged within one period of the first sample acted at it too
        lag = float(times[0]) - first
        period = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
        begins[name] = first if 0.0 < lag < period else float(times[0])
        ends[name] = float(times[-1] + np.diff(times).max(initial=0.0))
    late, early = max(begins, key=lambda s: begins[s]), min(ends, key=lambda s: ends[s])
    first, last = max(asked[0], begins[late]), min(asked[1], ends[early])
    if last - first < _LEAST_COMMON * (asked[1] - asked[0]):
        common = (
            f"all streams cover only {first:.6g} to {last:.6g} s"
            if last > first
            else "no part is covered by all streams"
        )
        raise RecordingError(
            f"recording {recording.name!r}: of {asked[0]:.6g} to {asked[1]:.6g} s, {common}: "
            f"{late} begins at {begins[late]:.6g} s and {early} ends at {ends[early]:.6g} s. "
            "Omit a stream or correct its clock"
        )
    # the ends of two complete streams may differ by one sample of the slower clock
    clocks = [times for times in (*measured.values(), *commands.values()) if len(times) > 1]
    period = max([float(np.median(np.diff(times))) for times in clocks], default=0.0)
    begins_late, ends_early = first > asked[0] + period, last < asked[1] - period
    parts = [f"{late} begins at {begins[late]:.6g} s"] if begins_late else []
    parts += [f"{early} ends at {ends[early]:.6g} s"] if ends_early else []
    note = ""
    if parts:
        note = (
            f"only {first:.6g} to {last:.6g} s of {asked[0]:.6g} to {asked[1]:.6g} s is used, the "
            f"part that all streams cover: {' and '.join(parts)}"
        )
    return CommonInterval(first, last, begins_late, note)


def slowest_clock(
    recording: Recording, columns: Sequence[str], interval: CommonInterval
) -> tuple[np.ndarray, str]:
    """Times of the column with the fewest samples in an interval, so that none is interpolated.

    Args:
        recording: The recording.
        columns: Columns that are compared; at least one.
        interval: The interval to use; every column covers it.

    Returns:
        Times (k,) [s], and a sentence on the samples lost by other columns; empty for none.
    """
    inside = {n: interval.inside(t) for n, t in clocks_of(recording, columns).items()}
    slowest = min(inside, key=lambda name: len(inside[name]))
    fastest = max(inside, key=lambda name: len(inside[name]))
    note = ""
    if len(inside[fastest]) > _OTHER_RATE * len(inside[slowest]):
        note = (
            f"{fastest} has {len(inside[fastest])} samples, {slowest} {len(inside[slowest])}: all "
            f"signals are compared at the times of {slowest}"
        )
    return inside[slowest], note


def every_clock(
    recording: Recording, columns: Sequence[str], start: float, end: float
) -> np.ndarray:
    """Union of the sample times of some columns within an interval, and both its ends.

    Args:
        recording: The recording.
        columns: Columns, such as commands of which every change counts; at least one.
        start: First time [s].
        end: Last time [s].
    """
    times = np.unique(np.concatenate(list(clocks_of(recording, columns).values())))
    return np.concatenate([[start], times[(times > start) & (times < end)], [end]])


def on_one_clock(recording: Recording, held: Sequence[str] = ()) -> Recording:
    """Resample all columns to the fastest clock, over the interval that all cover.

    Times within a gap of another measured clock are excluded, so that nothing is interpolated
    across one: :func:`trueup.signals.split_at_gaps` separates the parts around it. Unlike
    :meth:`Recording.merged`, NaN is kept for the quality checks and for
    :func:`trueup.signals.clocks.repair.repaired`. A recording with one clock is returned
    unchanged.

    Args:
        recording: A recording on clocks that increase.
        held: Columns that are commands, held between their samples; others are interpolated.

    Raises:
        RecordingError: The common interval is empty or too short, or no stream is measured.
    """
    if len(recording.streams) == 1:
        return recording
    commands = [name for name in recording.columns if name in held]
    measured = [name for name in recording.columns if name not in held]
    interval = common_interval(recording, commands)
    inside = [interval.inside(times) for times in clocks_of(recording, recording.columns).values()]
    times = max(inside, key=len)
    for clock in clocks_of(recording, measured).values():
        begins_gap = np.zeros(len(clock), dtype=bool)
        begins_gap[gap_ends(clock)] = True
        before = np.searchsorted(clock, times, side="right") - 1
        times = times[~(begins_gap[before] & (times > clock[before]))]
    columns = dict(zip(measured, recording.at(times, measured).T, strict=True))
    if commands:
        columns |= dict(zip(commands, recording.at(times, commands, "zoh").T, strict=True))
    note = f"{len(recording.streams)} clocks resampled to one of {len(times)} samples"
    note += f"; {interval.note}" if interval.note else ""
    stream = Stream("", times, {n: columns[n] for n in recording.columns}, recording.units)
    return recording.noted(note, streams=(stream,))


def clocks_of(recording: Recording, columns: Sequence[str]) -> dict[str, np.ndarray]:
    """Times (n,) [s] of each clock of some columns, by the first column on it."""
    found: dict[int, tuple[str, np.ndarray]] = {}
    for name in columns:
        stream, _ = recording.find(name)
        found.setdefault(id(stream), (name, stream.times))
    return dict(found.values())
