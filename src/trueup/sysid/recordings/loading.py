"""Recordings of an experiment file as time series in the model's names and SI units."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import mujoco
import numpy as np

from trueup.errors import (
    ExperimentError,
    RecordingError,
    SignalError,
    did_you_mean,
    listing,
)
from trueup.signals import (
    InterpolationMethod,
    QualityReport,
    Recording,
    TimeSeries,
    butterworth,
    read,
    savitzky_golay,
    select,
)
from trueup.signals.clocks.common import (
    CommonInterval,
    clocks_of,
    common_interval,
    every_clock,
    slowest_clock,
)
from trueup.signals.clocks.repair import repaired
from trueup.signals.quality import check_clocks
from trueup.simulation.engine.lead_in import LeadIn
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.experiment.settings import FilterPart, RecordingPart, Trim
from trueup.sysid.recordings.bad_samples import motors_of, outside, without_bad_samples
from trueup.sysid.recordings.clock_settings import clock_as_given
from trueup.sysid.recordings.columns import (
    check_components,
    check_units,
    column_mappings,
    with_signals,
)
from trueup.sysid.recordings.quality import signal_quality
from trueup.sysid.recordings.sequence_start import initial_state


@dataclass(frozen=True)
class CheckedRecording:
    """Checked metadata of a recording; its signals are in a :class:`SystemTrajectory`."""

    name: str
    part: RecordingPart
    path: Path
    quality: QualityReport
    begins_late: bool
    """Whether its beginning is excluded because a stream was missing there."""
    notes: tuple[str, ...]
    """Assumptions, in sentences."""

    @property
    def start_is_known(self) -> bool:
        """Whether the experiment gives the initial state, rather than the measured signals."""
        return self.part.initial not in ("measured", "estimated") and not self.begins_late


def load_recording(
    recording: Recording,
    part: RecordingPart,
    path: Path,
    model: mujoco.MjModel,
    filters: Mapping[str, FilterPart],
    method: InterpolationMethod = "zoh",
) -> tuple[CheckedRecording, SystemTrajectory]:
    """Convert a recording to the model's names and SI units, and check its quality.

    Findings of the quality checks do not raise an error here.

    Args:
      recording: the recording as it was read.
      part: the recording in the experiment file.
      path: its file.
      model: the model whose signals it holds.
      filters: filters by pattern of signal names.
      method: interpolation of controls: ``zoh`` for held, or ``linear``.

    Returns:
      Metadata of the recording, and the recording: controls of all actuators (zero if not
      recorded), measured signals, the state at the first sample.

    Raises:
      RecordingError: the overlap of the streams is too short, or a clock is invalid.
      ColumnError: a column is missing.
      UnitError: an unknown unit, or one of another quantity than the signal's.
      SignalError: a signal or actuator that the model does not have.
      ExperimentError: a filter that matches no signal, or an empty trim.
    """
    name = part.name or path.stem
    recording = clock_as_given(recording, part, name)
    part, guessed = with_signals(part, recording, model, name)
    mappings = {signal: column_mappings(given) for signal, given in part.signals.items()}
    commands = {actuator: f"the control of {actuator}" for actuator in part.controls}
    wanted = {
        **{f"{s}{label}": one for s, each in mappings.items() for label, one in each.items()},
        **{commands[a]: column_mappings(given)[""] for a, given in part.controls.items()},
    }
    chosen = replace(select(recording, wanted), name=name)
    check_components(name, model, recording, mappings)
    if part.repair:
        chosen = repaired(chosen, list(commands.values()))
    check_clocks(chosen)
    _check_actuators(part, model, name)
    compared = list(wanted)[: len(wanted) - len(commands)]
    interval = _interval(chosen, list(commands.values()), compared, part.trim)
    times, note = slowest_clock(chosen, compared, interval)
    _check_length(chosen, compared, times, part.trim)
    measured = TimeSeries.from_names(times, chosen.at(times, compared), model, list(part.signals))
    motors = motors_of(model, measured, compared, commands)
    chosen, unread = without_bad_samples(chosen, motors, part.leave_out)
    measured = replace(measured, data=chosen.at(times, compared))
    notes = [f"{name}: {said}." for said in (*chosen.notes, interval.note, note) if said]
    if interval.begins_late and part.initial not in ("measured", "estimated"):
        notes.append(
            f"{name}: the initial state of the file is that of the excluded beginning; the "
            f"measured state at {times[0]:.6g} s is used instead."
        )
    check_units(name, model, recording, mappings, measured)
    start, end = float(times[0]), float(times[-1])
    control = _all_controls(model, chosen, commands, start, end, method)
    clocks = clocks_of(chosen, list(commands.values())).values()
    first = max([float(t[0]) for t in clocks], default=start)
    earlier = None
    if first < start:
        earlier = _since_gap(_all_controls(model, chosen, commands, first, start, method))
    measured = _filtered(name, measured, filters)
    quality = signal_quality(part, model, measured, control, list(part.controls))
    measured = _rows(measured, outside(measured.times, unread))
    notes = (*guessed, *notes, *_without_control(part, model, name))
    facts = CheckedRecording(name, part, path, quality, interval.begins_late, notes)
    state = initial_state(part.initial, name, model, measured, interval.begins_late)
    lead_in = None
    # the model's default is complete: no lead-in is required
    if earlier is not None and (part.initial != "default" or interval.begins_late):
        lead_in = LeadIn(earlier, state)
    return facts, SystemTrajectory(model, control, measured, state, name=name, lead_in=lead_in)


def _rows(measured: TimeSeries, rows: np.ndarray) -> TimeSeries:
    """Some rows of signals ``(n,)`` of bool."""
    if rows.all():
        return measured
    return replace(measured, times=measured.times[rows], data=measured.data[rows])


def read_recording(path: Path, part: RecordingPart) -> Recording:
    """Read the file of a recording with the clock settings of the experiment.

    Raises:
      RecordingError: the file does not exist or cannot be read.
      ColumnError: the time column does not exist.
    """
    if not path.exists():
        near = sorted(p.name for p in path.parent.iterdir())[:8] if path.parent.is_dir() else []
        also = f"; in that folder: {listing(near)}" if near else ""
        raise RecordingError(f"no such recording: {part.file}{also}")
    return read(
        path,
        time=part.time,
        rate=part.rate,
        time_unit=part.time_unit,
        rollover=part.rollover,
        header=part.header,
        episode=part.episode,
    )


def _interval(
    recording: Recording, commands: list[str], compared: list[str], trim: Trim
) -> CommonInterval:
    """Part of the requested ``trim`` of a recording that all streams cover.

    Raises:
      ExperimentError: a trim outside the recording.
      RecordingError: the common interval of the streams is empty or too short.
    """
    clocks = list(clocks_of(recording, compared).values())
    first, last = min(float(t[0]) for t in clocks), max(float(t[-1]) for t in clocks)
    # a rounded end may be up to a sample after the last one
    slack = max(float(np.median(np.diff(times))) for times in clocks)
    for which, given in (("start", trim.start), ("end", trim.end)):
        if given is not None and not first - slack <= given <= last + slack:
            raise ExperimentError(
                f"recording {recording.name!r}: trim.{which} is {given:.9g} s, outside the "
                f"recording from {first:.9g} to {last:.9g} s: correct or remove it"
            )
    try:
        return common_interval(recording, commands, trim.start, trim.end)
    except RecordingError as error:
        raise RecordingError(
            f"{error}, or select a part with trim: {{start: ..., end: ...}}"
        ) from error


def _check_length(recording: Recording, compared: list[str], times: np.ndarray, trim: Trim) -> None:
    """Raise ExperimentError for a trim to fewer than three samples."""
    if len(times) < 3:
        whole = recording.column(compared[0])[0]
        raise ExperimentError(
            f"recording {recording.name!r}: the trimmed part (start: {trim.start}, end: "
            f"{trim.end}) has {len(times)} samples, at least 3 are required; the recording covers "
            f"{whole[0]:.6g} to {whole[-1]:.6g} s"
        )


def _all_controls(
    model: mujoco.MjModel,
    recording: Recording,
    commands: Mapping[str, str],
    start: float,
    end: float,
    method: InterpolationMethod,
) -> TimeSeries:
    """Controls of all actuators within an interval; unrecorded ones are zero.

    ``commands`` are actuators and their columns of the recording.
    """
    grid, full = np.array([start, end]), np.zeros((2, model.nu))
    if commands:
        names, columns = _actuators(model), list(commands.values())
        grid = every_clock(recording, columns, start, end)
        full = np.zeros((len(grid), model.nu))
        places = [names.index(actuator) for actuator in commands]
        full[:, places] = recording.at(grid, columns, method)
    return TimeSeries.from_control_names(grid, full, model)


def _since_gap(control: TimeSeries) -> TimeSeries | None:
    """Commands after the last sample that is not finite; None if there are none."""
    broken = np.flatnonzero(np.logical_not(np.isfinite(control.data).all(axis=1)))
    rows = slice(int(broken[-1]) + 1 if broken.size else 0, None)
    if len(control.times[rows]) < 2:
        return None
    return TimeSeries(control.times[rows], control.data[rows], control.signal_mapping)


def _without_control(part: RecordingPart, model: mujoco.MjModel, name: str) -> list[str]:
    missing = [a for a in _actuators(model) if a not in part.controls]
    if not missing:
        return []
    if part.controls:
        return [f"{name}: no control was recorded for {listing(missing)}; zero is assumed."]
    return [f"{name}: no control was recorded; all {model.nu} are assumed to be zero."]


def _actuators(model: mujoco.MjModel) -> list[str]:
    return [model.actuator(i).name for i in range(model.nu)]


def _check_actuators(part: RecordingPart, model: mujoco.MjModel, name: str) -> None:
    actuators = _actuators(model)
    unknown = [a for a in part.controls if a not in actuators]
    if unknown:
        raise ExperimentError(
            f"recording {name!r}: controls names {listing(unknown)}, which are not actuators of "
            "the "
            f"model; available: {listing(actuators)}.{did_you_mean(unknown[0], actuators)}"
        )


def _filtered(recording: str, series: TimeSeries, filters: Mapping[str, FilterPart]) -> TimeSeries:
    mapping = series.signal_mapping or {}
    data = series.data.copy()
    for pattern, part in filters.items():
        matches = [name for name in mapping if fnmatchcase(name, pattern)]
        if not matches:
            raise ExperimentError(
                f"measurement.filters: {pattern!r} matches no signal; available: "
                f"{listing(mapping)}."
                f"{did_you_mean(pattern, mapping)}"
            )
        for name in matches:
            columns = mapping[name][1]
            try:
                data[:, columns] = _smoothed(series, columns, pattern, part)
            except SignalError as error:
                raise SignalError(f"recording {recording!r}, {name}: {error}") from error
    return TimeSeries(series.times, data, series.signal_mapping)


def _smoothed(
    series: TimeSeries, columns: np.ndarray, pattern: str, part: FilterPart
) -> np.ndarray:
    """Filtered values of some columns ``(n, columns)``."""
    values = series.data[:, columns]
    if part.kind == "butterworth":
        if part.cutoff is None:
            raise ExperimentError(f"measurement.filters.{pattern}: cutoff [Hz] is missing")
        return butterworth(
            series.times, values, cutoff=part.cutoff, order=part.order, irregular="resample"
        )
    if part.window is None:
        raise ExperimentError(f"measurement.filters.{pattern}: window [s] is missing")
    return savitzky_golay(
        series.times, values, window=part.window, polynomial=part.order, irregular="resample"
    )
