"""Recordings of an experiment file as time series in the model's names and SI units."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from trueup.errors import (
    ColumnError,
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
    check_quality,
    read,
    savitzky_golay,
    select,
)
from trueup.signals.model_signals import OBSERVATION_TYPES, resolve_signals
from trueup.simulation.engine.lead_in import LeadIn
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.experiment.settings import ColumnPart, FilterPart, RecordingPart
from trueup.sysid.importing.column_matching import match_columns, measurable
from trueup.sysid.recordings.channel_units import check_unit
from trueup.sysid.recordings.common_interval import (
    Samples,
    common_interval,
    on_all_clocks,
    on_slowest_clock,
)
from trueup.sysid.recordings.measured_state import state_columns
from trueup.sysid.recordings.sequence_start import initial_state

_CLOCK_CHECKS = ("samples", "time order", "duplicate times")


Mappings = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Signal -> label of each component, empty for the only one -> what :func:`select` takes."""


@dataclass(frozen=True)
class CheckedRecording:
    """Facts about a recording that was read; its signals are in a :class:`SystemTrajectory`."""

    name: str
    part: RecordingPart
    path: Path
    quality: QualityReport
    begins_late: bool
    """Whether its beginning is left out because a stream was missing there."""
    notes: tuple[str, ...]
    """What was assumed, in sentences."""

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

    A finding of the quality checks refuses nothing yet.

    Args:
      recording: the recording as it was read.
      part: the recording in the experiment file.
      path: its file.
      model: the model whose signals it holds.
      filters: filters by pattern of signal names.
      method: what a control is between its samples: ``zoh`` for held, or ``linear``.

    Returns:
      Facts about the recording, and the recording: controls of all actuators (zero where none was
      recorded), measured signals, the state at the first sample.

    Raises:
      RecordingError: the streams hardly overlap, or a clock cannot be used.
      ColumnError: a column is missing.
      UnitError: an unknown unit, or one of another quantity than the signal's.
      SignalError: a signal or actuator that the model does not have.
      ExperimentError: a filter that fits no signal, or a trim that leaves nothing.
    """
    name = part.name or path.stem
    part, guessed = _with_signals(part, recording, model, name)
    mappings = {signal: _column_mappings(given) for signal, given in part.signals.items()}
    wanted = {
        **{f"{s}{label}": one for s, each in mappings.items() for label, one in each.items()},
        **{f"{a}_ctrl": _column_mappings(given)[""] for a, given in part.controls.items()},
    }
    chosen = select(recording, wanted)
    _check_components(name, model, recording, mappings)
    _check_clocks(name, chosen)
    _check_actuators(part, model, name)
    columns = {
        f"{signal}{label}": chosen.column(f"{signal}{label}")
        for signal, each in mappings.items()
        for label in each
    }
    controls = {actuator: chosen.column(f"{actuator}_ctrl") for actuator in part.controls}
    interval = common_interval(name, columns, controls, part.trim)
    times, values, notes = on_slowest_clock(name, columns, interval, part.trim)
    measured = TimeSeries.from_names(times, values, model, list(part.signals))
    if interval.begins_late and part.initial not in ("measured", "estimated"):
        notes.append(
            f"{name}: the initial state of the file belongs to the beginning that is left out; the "
            f"measured state at {times[0]:.6g} s is taken instead."
        )
    _check_units(name, model, recording, mappings, measured)
    start, end = float(times[0]), float(times[-1])
    control = _all_controls(model, controls, start, end, method)
    first = max([float(t[0]) for t, _ in controls.values()], default=start)
    earlier = None
    if first < start:
        earlier = _since_gap(_all_controls(model, controls, first, start, method))
    measured = _filtered(name, measured, filters)
    quality = _quality(part, name, model, measured, control, list(part.controls))
    notes = (*guessed, *interval.notes, *notes, *_without_control(part, model, name))
    facts = CheckedRecording(name, part, path, quality, interval.begins_late, notes)
    state = initial_state(part.initial, name, model, measured, interval.begins_late)
    lead_in = None
    # the model's default is complete: it needs no time before it
    if earlier is not None and (part.initial != "default" or interval.begins_late):
        lead_in = LeadIn(earlier, state)
    return facts, SystemTrajectory(model, control, measured, state, name=name, lead_in=lead_in)


def _with_signals(
    part: RecordingPart, recording: Recording, model: mujoco.MjModel, name: str
) -> tuple[RecordingPart, list[str]]:
    """A recording that names its signals: by the names of its columns where the file does not.

    Raises:
      ColumnError: no column is clearly that of a signal.
    """
    if part.signals:
        return part, []
    taken = [part.time] if part.time else []
    signals, controls = (
        [m for m in matches if m.sure] for matches in match_columns(recording, model, taken)
    )
    if not signals:
        wanted = [place.name for place in measurable(model)]
        raise ColumnError(
            f"recording {name!r}: no column is named after a signal of the model, which has "
            f"{listing(wanted)}; its columns are {listing(recording.columns)}. "
            "Say which is which, such as\n"
            f"    - file: {part.file}\n"
            f"      signals: {{{next(iter(wanted), 'joint_qpos')}: {recording.columns[-1]}}}"
        )
    named = {m.place.name: m.columns if m.others else m.column.column for m in signals}
    commands = part.controls or {m.place.name: m.column.column for m in controls}
    pairs = ", ".join(f"{signal} from {column}" for signal, column in {**named, **commands}.items())
    note = f"{name}: signals and controls follow from the names of the columns: {pairs}."
    return part.model_copy(update={"signals": named, "controls": commands}), [note]


def read_recording(path: Path, part: RecordingPart) -> Recording:
    """Read the file of a recording with the clock that the experiment gives it.

    Raises:
      RecordingError: the file does not exist or cannot be read.
      ColumnError: the time column does not exist.
    """
    if not path.exists():
        near = sorted(p.name for p in path.parent.iterdir())[:8] if path.parent.is_dir() else []
        also = f"; in that folder: {listing(near)}" if near else ""
        raise RecordingError(f"the recording {part.file} does not exist{also}")
    return read(path, time=part.time, rate=part.rate, time_unit=part.time_unit, header=part.header)


def _check_clocks(name: str, recording: Recording) -> None:
    """Raise RecordingError where a clock is too short, runs backwards or stands still."""
    for stream in recording.streams:
        found = check_quality(stream.times, {}).of_severity("refuse")
        broken = [f.sentence for f in found if f.check in _CLOCK_CHECKS]
        if broken:
            raise RecordingError(f"the recording {name!r} cannot be used: {' '.join(broken)}")


def _all_controls(
    model: mujoco.MjModel,
    controls: Mapping[str, Samples],
    start: float,
    end: float,
    method: InterpolationMethod,
) -> TimeSeries:
    """Controls of all actuators from one time to another; those not recorded are zero."""
    grid, full = np.array([start, end]), np.zeros((2, model.nu))
    if controls:
        grid, values = on_all_clocks(controls, start, end, method)
        actuators = _actuators(model)
        full = np.zeros((len(grid), model.nu))
        full[:, [actuators.index(actuator) for actuator in controls]] = values
    return TimeSeries.from_control_names(grid, full, model)


def _since_gap(control: TimeSeries) -> TimeSeries | None:
    """Commands after the last sample that is not finite; None where that leaves no time."""
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
        return [f"{name}: no control was recorded for {listing(missing)}; it is taken as zero."]
    return [f"{name}: no control was recorded; all {model.nu} are taken as zero."]


def _actuators(model: mujoco.MjModel) -> list[str]:
    return [model.actuator(i).name for i in range(model.nu)]


def _check_actuators(part: RecordingPart, model: mujoco.MjModel, name: str) -> None:
    actuators = _actuators(model)
    unknown = [a for a in part.controls if a not in actuators]
    if unknown:
        raise ExperimentError(
            f"recording {name!r}: controls names {listing(unknown)}, which are no actuators of the "
            f"model; it has {listing(actuators)}.{did_you_mean(unknown[0], actuators)}"
        )


def _filtered(recording: str, series: TimeSeries, filters: Mapping[str, FilterPart]) -> TimeSeries:
    mapping = series.signal_mapping or {}
    data = series.data.copy()
    for pattern, part in filters.items():
        matches = [name for name in mapping if fnmatchcase(name, pattern)]
        if not matches:
            raise ExperimentError(
                f"measurement.filters: {pattern!r} fits no signal; signals are {listing(mapping)}."
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


def _quality(
    part: RecordingPart,
    name: str,
    model: mujoco.MjModel,
    measured: TimeSeries,
    control: TimeSeries,
    recorded_controls: list[str],
) -> QualityReport:
    columns = state_columns(model, measured)
    position_column = {column: address for address, column in columns.positions.items()}
    velocity_column = {column: dof for dof, column in columns.velocities.items()}
    channels: dict[str, np.ndarray] = {}
    roles: dict[str, str] = {}
    units: dict[str, str] = {}
    label_of: dict[int, str] = {}
    for signal, (_, indices) in (measured.signal_mapping or {}).items():
        for k, column in enumerate(indices):
            label = signal if len(indices) == 1 else f"{signal}[{k}]"
            channels[label] = measured.data[:, column]
            label_of[int(column)] = label
            if int(column) in position_column:
                roles[label] = "position"
                units[label] = _position_unit(model, position_column[int(column)])
            elif int(column) in velocity_column:
                roles[label] = "velocity"
            else:
                roles[label] = "other"
    pairs = []
    for dof, column in columns.velocities.items():
        address = columns.position_of_velocity.get(dof)
        if address in columns.positions:
            pairs.append((label_of[columns.positions[address]], label_of[column]))
    on_clock = control.interpolate(measured.times, "zoh")
    for index in range(model.nu):
        actuator = model.actuator(index).name
        if actuator in recorded_controls:
            channels[f"{actuator} (control)"] = on_clock[:, index]
            roles[f"{actuator} (control)"] = "control"
    return check_quality(
        measured.times, channels, roles=roles, pairs=pairs, units=units, accept=part.accept
    )


def _position_unit(model: mujoco.MjModel, address: int) -> str:
    joint = int(np.argmax(model.jnt_qposadr == address)) if address in model.jnt_qposadr else -1
    if joint < 0:
        return ""
    hinge = int(mujoco.mjtJoint.mjJNT_HINGE)
    slide = int(mujoco.mjtJoint.mjJNT_SLIDE)
    return {hinge: "rad", slide: "m"}.get(int(model.jnt_type[joint]), "")


def _column_mappings(given: ColumnPart | str | list[str]) -> dict[str, dict[str, Any]]:
    """Mapping of each component of a signal, by its label."""
    common = given.model_dump(exclude_none=True) if isinstance(given, ColumnPart) else {}
    columns = common.pop("column", given)
    if isinstance(columns, str):
        return {"": {"column": columns, **common}}
    return {f"[{k}]": {"column": column, **common} for k, column in enumerate(columns)}


def _check_components(
    name: str, model: mujoco.MjModel, recording: Recording, mappings: Mappings
) -> None:
    """Raise ExperimentError where a signal has not one column for each of its components."""
    for signal, each in mappings.items():
        ((full, (_, components)),) = resolve_signals(model, [signal], OBSERVATION_TYPES).items()
        if len(each) != len(components):
            columns = [one["column"] for one in each.values()]
            width = len(components)
            example = ", ".join(f"column_{k + 1}" for k in range(width))
            takes = f"{width} columns, one for each component" if width > 1 else "one column"
            raise ExperimentError(
                f"recording {name!r}: the signal {full!r} takes {takes}; given are {len(columns)} "
                f"({listing(columns)}). Write {signal}: {f'[{example}]' if width > 1 else 'column'}"
                f"; the recording has the columns {listing(recording.columns)}"
            )


def _check_units(
    name: str,
    model: mujoco.MjModel,
    recording: Recording,
    mappings: Mappings,
    measured: TimeSeries,
) -> None:
    """Raise UnitError for a unit of another quantity than that of its signal."""
    for each, signal in zip(mappings.values(), measured.signal_mapping or {}, strict=True):
        for one in each.values():
            stream, column = recording.find(one["column"])
            unit = one.get("unit", stream.units.get(column))
            if unit:
                check_unit(model, name, signal, column, unit)
