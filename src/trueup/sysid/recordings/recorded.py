"""Recordings of an experiment file as time series in the model's names and SI units."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from trueup.errors import ExperimentError, RecordingError, did_you_mean, listing
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
from trueup.sysid.experiment.settings import FilterPart, RecordingPart
from trueup.sysid.recordings.column_mappings import check_components, check_units, column_mappings
from trueup.sysid.recordings.common_interval import (
    Samples,
    common_interval,
    on_all_clocks,
    on_slowest_clock,
)
from trueup.sysid.recordings.measured_state import state_columns

_CLOCK_CHECKS = ("samples", "time order", "duplicate times")


@dataclass(frozen=True)
class LoadedRecording:
    """A recording ready for a fit."""

    name: str
    part: RecordingPart
    path: Path
    control: TimeSeries
    """One column for each actuator; zero where none was recorded."""
    measured: TimeSeries
    quality: QualityReport
    earlier: TimeSeries | None = None
    """Controls before the measured time, up to its beginning; None where none were recorded."""
    begins_late: bool = False
    """Whether its beginning is left out because a stream was missing there."""
    notes: tuple[str, ...] = field(default=())
    """What was assumed, in sentences."""


def load_recording(
    part: RecordingPart,
    folder: Path,
    model: mujoco.MjModel,
    filters: Mapping[str, FilterPart],
    method: InterpolationMethod = "zoh",
) -> LoadedRecording:
    """Read a recording, convert it, and check its quality, for which nothing is refused yet.

    Args:
      part: what the experiment file says of the recording.
      folder: folder that its file name refers to.
      model: the model whose signals it holds.
      filters: filters by pattern of signal names.
      method: what a control is between its samples: ``zoh`` for held, or ``linear``.

    Raises:
      RecordingError: the file cannot be read, a column is missing, or the streams hardly overlap.
      UnitError: an unknown unit, or one of another quantity than the signal's.
      SignalError: a signal or actuator that the model does not have.
      ExperimentError: a filter that fits no signal, or a trim that leaves nothing.
    """
    path = folder / part.file
    name = part.name or path.stem
    if not path.exists():
        near = sorted(p.name for p in path.parent.iterdir())[:8] if path.parent.is_dir() else []
        also = f"; in that folder: {listing(near)}" if near else ""
        raise RecordingError(f"the recording {part.file} does not exist{also}")
    options: dict[str, Any] = {"time": part.time, "rate": part.rate, "time_unit": part.time_unit}
    if part.header is not None:
        options["header"] = part.header
    recording = read(path, **options)
    mappings = {signal: column_mappings(given) for signal, given in part.signals.items()}
    wanted = {
        **{f"{s}{label}": one for s, each in mappings.items() for label, one in each.items()},
        **{f"{a}_ctrl": column_mappings(given)[""] for a, given in part.controls.items()},
    }
    chosen = select(recording, wanted)
    check_components(name, model, recording, mappings)
    _check_clocks(name, chosen)
    _check_actuators(part, model, name)
    measured = [f"{signal}{label}" for signal, each in mappings.items() for label in each]
    columns = {key: chosen.column(key) for key in measured}
    controls = {actuator: chosen.column(f"{actuator}_ctrl") for actuator in part.controls}
    interval = common_interval(name, columns, controls, part.trim)
    times, values, notes = on_slowest_clock(name, columns, interval, part.trim)
    measured_series = TimeSeries.from_names(times, values, model, list(part.signals))
    if interval.begins_late and part.initial not in ("measured", "estimated"):
        notes.append(
            f"{name}: the initial state of the file belongs to the beginning that is left out; the "
            f"measured state at {times[0]:.6g} s is taken instead."
        )
    check_units(name, model, recording, mappings, measured_series)
    ends = float(measured_series.times[0]), float(measured_series.times[-1])
    full = _all_controls(model, controls, *ends, method)
    first = max([float(t[0]) for t, _ in controls.values()], default=ends[0])
    earlier = _all_controls(model, controls, first, ends[0], method) if first < ends[0] else None
    measured_series = _filtered(measured_series, filters)
    quality = _quality(part, name, model, measured_series, full, list(part.controls))
    return LoadedRecording(
        name,
        part,
        path,
        full,
        measured_series,
        quality,
        earlier,
        interval.begins_late,
        (*interval.notes, *notes, *_without_control(part, model, name)),
    )


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


def _filtered(series: TimeSeries, filters: Mapping[str, FilterPart]) -> TimeSeries:
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
            if part.kind == "butterworth":
                if part.cutoff is None:
                    raise ExperimentError(f"measurement.filters.{pattern}: cutoff [Hz] is missing")
                data[:, columns] = butterworth(
                    series.times,
                    series.data[:, columns],
                    cutoff=part.cutoff,
                    order=part.order,
                    irregular="resample",
                )
            else:
                if part.window is None:
                    raise ExperimentError(f"measurement.filters.{pattern}: window [s] is missing")
                data[:, columns] = savitzky_golay(
                    series.times,
                    series.data[:, columns],
                    window=part.window,
                    polynomial=part.order,
                    irregular="resample",
                )
    return TimeSeries(series.times, data, series.signal_mapping)


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
