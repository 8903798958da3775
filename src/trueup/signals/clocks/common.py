"""Streams with clocks of their own: the interval that all cover, and clocks that they share.

Nothing is made up outside what was recorded: the part of a recording in which a stream is missing
is left out, and that is said.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.errors import RecordingError
from trueup.signals.clocks.gaps import gap_ends
from trueup.signals.recording import Recording, Stream

_LEAST_COMMON = 0.1  # share of a recording below which its streams hardly belong together
_OTHER_RATE = 1.5  # ratio of sample counts from which the loss of samples is worth a note


@dataclass(frozen=True)
class CommonInterval:
    """The part of a recording that every stream in use covers."""

    start: float
    """First time [s]."""
    end: float
    """Last time [s]."""
    begins_late: bool
    """Whether a stream was missing at the beginning of what was asked for."""
    note: str
    """What was left out, in a sentence; empty where that is nothing."""

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

    A command holds until the next: the last one is taken to hold for as long as the longest time
    between two of its samples.

    Args:
        recording: A recording on clocks that increase.
        held: Columns that are commands. All others are measured; at least one is.
        start: First time that is wanted [s]; None for the first of any measured signal.
        end: Last time that is wanted [s]; None for the last of any measured signal.

    Raises:
        RecordingError: The streams have no interval in common, or hardly any.
    """
    measured = clocks_of(recording, [name for name in recording.columns if name not in held])
    if not measured:
        raise RecordingError(f"the recording {recording.name!r} holds commands, and no measurement")
    begins = {name: float(times[0]) for name, times in measured.items()}
    ends = {name: float(times[-1]) for name, times in measured.items()}
    first, last = min(begins.values()), max(ends.values())
    asked = (
        first if start is None else max(start, first),
        last if end is None else min(end, last),
    )
    commands = clocks_of(recording, held)
    for name, times in commands.items():
        begins[name] = float(times[0])
        ends[name] = float(times[-1] + np.diff(times).max(initial=0.0))
    late, early = max(begins, key=lambda s: begins[s]), min(ends, key=lambda s: ends[s])
    first, last = max(asked[0], begins[late]), min(asked[1], ends[early])
    if last - first < _LEAST_COMMON * (asked[1] - asked[0]):
        common = f"only {first:.6g} to {last:.6g} s" if last > first else "no time"
        raise RecordingError(
            f"the recording {recording.name!r}: of {asked[0]:.6g} to {asked[1]:.6g} s, all streams "
            f"cover {common}: {late} begins at {begins[late]:.6g} s and {early} ends at "
            f"{ends[early]:.6g} s. Leave a stream out or correct its clock"
        )
    # the ends of two clocks differ by a sample of the slower one without anything being missing
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
    """Times of the column with fewest samples in an interval: no sample is made up between others.

    Args:
        recording: The recording.
        columns: Columns that are compared; at least one.
        interval: The part that is used; every column covers it.

    Returns:
        Times (k,) [s], and a sentence on the samples that others lose by it; empty for none.
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
    """Every time at which one of some columns was sampled within an interval, and both its ends.

    Args:
        recording: The recording.
        columns: Columns, such as commands of which none may be missed; at least one.
        start: First time [s].
        end: Last time [s].
    """
    times = np.unique(np.concatenate(list(clocks_of(recording, columns).values())))
    return np.concatenate([[start], times[(times > start) & (times < end)], [end]])


def on_one_clock(recording: Recording, held: Sequence[str] = ()) -> Recording:
    """Put all columns on the fastest clock, over the interval that all cover.

    Times within a gap of another measured clock are left out, so that nothing is interpolated
    across one: :func:`trueup.signals.split_at_gaps` separates what is around it. A missing value
    stays one: unlike :meth:`Recording.merged`, this leaves it to the quality checks
    and to :func:`trueup.signals.clocks.repair.repaired`. A recording with one clock is returned as
    it is.

    Args:
        recording: A recording on clocks that increase.
        held: Columns that are commands, held between their samples; others are interpolated.

    Raises:
        RecordingError: The streams have no interval in common, or hardly any, or none is measured.
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
    note = f"{len(recording.streams)} clocks put on one of {len(times)} samples"
    note += f"; {interval.note}" if interval.note else ""
    stream = Stream("", times, {n: columns[n] for n in recording.columns}, recording.units)
    return recording.noted(note, streams=(stream,))


def clocks_of(recording: Recording, columns: Sequence[str]) -> dict[str, np.ndarray]:
    """Times (n,) [s] of each clock of some columns, under the first of them that has it."""
    found: dict[int, tuple[str, np.ndarray]] = {}
    for name in columns:
        stream, _ = recording.find(name)
        found.setdefault(id(stream), (name, stream.times))
    return dict(found.values())
