"""Streams with clocks of their own: the interval that all cover, and one clock for each kind.

Nothing is made up outside what was recorded: the part of a recording in which a stream is missing
is left out, and that is said.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trueup.errors import ExperimentError, RecordingError
from trueup.signals import InterpolationMethod, TimeSeries
from trueup.sysid.experiment.settings import Trim

Samples = tuple[np.ndarray, np.ndarray]
"""Times ``(n,)`` [s] and values ``(n,)`` of a column."""

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
    notes: tuple[str, ...]
    """What was left out, in sentences."""


def common_interval(
    name: str, measured: Mapping[str, Samples], controls: Mapping[str, Samples], trim: Trim
) -> CommonInterval:
    """Find the part of a recording that every measured signal and every control covers.

    A command holds until the next: the last one is taken to hold for as long as the longest time
    between two of its samples.

    Args:
      name: name of the recording, for messages.
      measured: samples of each measured signal; at least one.
      controls: samples of each actuator's command.
      trim: the part that was asked for.

    Raises:
      ExperimentError: a trim outside of the recording.
      RecordingError: the streams have no interval in common, or hardly any.
    """
    _check_trim(name, measured, trim)
    begins = {s: float(t[0]) for s, (t, _) in measured.items()}
    ends = {s: float(t[-1]) for s, (t, _) in measured.items()}
    asked = (
        min(begins.values()) if trim.start is None else max(trim.start, min(begins.values())),
        max(ends.values()) if trim.end is None else min(trim.end, max(ends.values())),
    )
    for actuator, (times, _) in controls.items():
        key = f"the control of {actuator}"
        begins[key] = float(times[0])
        ends[key] = float(times[-1] + np.diff(times).max(initial=0.0))
    late, early = max(begins, key=lambda s: begins[s]), min(ends, key=lambda s: ends[s])
    start, end = max(asked[0], begins[late]), min(asked[1], ends[early])
    span = asked[1] - asked[0]
    limits = f"{late} begins at {begins[late]:.6g} s and {early} ends at {ends[early]:.6g} s"
    if end - start < _LEAST_COMMON * span:
        common = f"only {start:.6g} to {end:.6g} s" if end > start else "no time"
        raise RecordingError(
            f"the recording {name!r}: of {asked[0]:.6g} to {asked[1]:.6g} s, all streams cover "
            f"{common}: {limits}. Leave a stream out, correct its clock, or name the part to use "
            f"with trim: {{start: ..., end: ...}}"
        )
    period = max(float(np.median(np.diff(t))) for t, _ in [*measured.values(), *controls.values()])
    begins_late = start > asked[0] + period
    notes = []
    if begins_late or end < asked[1] - period:
        parts = [f"{late} begins at {begins[late]:.6g} s"] if begins_late else []
        parts += [f"{early} ends at {ends[early]:.6g} s"] if end < asked[1] - period else []
        notes.append(
            f"{name}: only {start:.6g} to {end:.6g} s of {asked[0]:.6g} to {asked[1]:.6g} s is "
            f"used, the part that all streams cover: {' and '.join(parts)}."
        )
    return CommonInterval(start, end, begins_late, tuple(notes))


def _check_trim(name: str, measured: Mapping[str, Samples], trim: Trim) -> None:
    """Raise ExperimentError for a trim that begins or ends outside of what was recorded."""
    first = min(float(times[0]) for times, _ in measured.values())
    last = max(float(times[-1]) for times, _ in measured.values())
    # an end in round numbers may lie within a sample of the last one
    slack = max(float(np.median(np.diff(times))) for times, _ in measured.values())
    for which, given in (("start", trim.start), ("end", trim.end)):
        if given is not None and not first - slack <= given <= last + slack:
            raise ExperimentError(
                f"recording {name!r}: trim.{which} is {given:.9g} s, outside of the recording, "
                f"which runs from {first:.9g} to {last:.9g} s: correct it, or remove it"
            )


def on_slowest_clock(
    name: str, measured: Mapping[str, Samples], interval: CommonInterval, trim: Trim
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Measured signals at the times of the one with fewest samples in an interval.

    Args:
      name: name of the recording, for messages.
      measured: samples of each signal.
      interval: the part that is used; every signal covers it.
      trim: what was asked for, for messages.

    Returns:
      Times ``(n,)`` [s], values ``(n, signals)``, and notes.

    Raises:
      ExperimentError: fewer than three samples are left.
    """
    inside = {s: t[(t >= interval.start) & (t <= interval.end)] for s, (t, _) in measured.items()}
    slowest = min(inside, key=lambda s: len(inside[s]))
    clock = inside[slowest]
    if len(clock) < 3:
        times = measured[slowest][0]
        raise ExperimentError(
            f"recording {name!r}: the trimmed part (start: {trim.start}, end: {trim.end}) leaves "
            f"{len(clock)} samples; the recording runs from {times[0]:.6g} to {times[-1]:.6g} s"
        )
    columns = []
    for signal, (times, values) in measured.items():
        if np.array_equal(inside[signal], clock):
            columns.append(values[(times >= interval.start) & (times <= interval.end)])
        else:
            columns.append(TimeSeries(times, values[:, None]).interpolate(clock, "linear")[:, 0])
    notes = []
    fastest = max(inside, key=lambda s: len(inside[s]))
    if len(inside[fastest]) > _OTHER_RATE * len(clock):
        notes.append(
            f"{name}: {fastest} has {len(inside[fastest])} samples, {slowest} {len(clock)}: all "
            f"signals are compared at the times of {slowest}."
        )
    return clock, np.stack(columns, axis=1), notes


def on_all_clocks(
    controls: Mapping[str, Samples], start: float, end: float, method: InterpolationMethod
) -> Samples:
    """Controls at every time at which any of them was sampled, and at both ends of an interval.

    Args:
      controls: samples of each control; at least one.
      start: first time [s].
      end: last time [s].
      method: what a control is between its samples: ``zoh`` for held, or ``linear``.

    Returns:
      Times ``(n,)`` [s] and values ``(n, controls)``.
    """
    times = np.unique(np.concatenate([t for t, _ in controls.values()]))
    grid = np.concatenate([[start], times[(times > start) & (times < end)], [end]])
    columns = [
        TimeSeries(t, values[:, None]).interpolate(grid, method)[:, 0]
        for t, values in controls.values()
    ]
    return grid, np.stack(columns, axis=1)
