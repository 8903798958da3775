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
    QualityReport,
    Recording,
    TimeSeries,
    butterworth,
    check_quality,
    read,
    savitzky_golay,
    select,
)
from trueup.sysid.experiment import FilterPart, RecordingPart, SignalPart
from trueup.sysid.measured_state import state_columns

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
    notes: tuple[str, ...] = field(default=())
    """What was assumed, in sentences."""


def load_recording(
    part: RecordingPart,
    folder: Path,
    model: mujoco.MjModel,
    filters: Mapping[str, FilterPart],
) -> LoadedRecording:
    """Read a recording, convert it, and check its quality; nothing is refused yet.

    Raises:
      RecordingError: the file cannot be read, or a column is missing.
      UnitError: an unknown unit.
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
    wanted = {
        **_columns(part.signals),
        **{f"{a}_ctrl": c for a, c in _columns(part.controls).items()},
    }
    chosen = select(recording, wanted)
    _check_clocks(name, chosen)
    signals = list(part.signals)
    measured_times, measured = _merge(chosen, signals)
    control_times, control = _merge(chosen, [f"{a}_ctrl" for a in part.controls], hold=True)
    measured_series = TimeSeries.from_names(
        *_trimmed(part, name, measured_times, measured), model, signals
    )
    full, notes = _all_controls(part, model, name, control_times, control, measured_series)
    measured_series = _filtered(measured_series, filters)
    quality = _quality(part, name, model, measured_series, full, list(part.controls))
    return LoadedRecording(name, part, path, full, measured_series, quality, tuple(notes))


def _check_clocks(name: str, recording: Recording) -> None:
    """Raise RecordingError where a clock is too short, runs backwards or stands still."""
    for stream in recording.streams:
        found = check_quality(stream.times, {}).of_severity("refuse")
        broken = [f.sentence for f in found if f.check in _CLOCK_CHECKS]
        if broken:
            raise RecordingError(f"the recording {name!r} cannot be used: {' '.join(broken)}")


def _columns(parts: Mapping[str, SignalPart | str]) -> dict[str, Any]:
    return {
        name: {"column": part} if isinstance(part, str) else part.model_dump(exclude_none=True)
        for name, part in parts.items()
    }


def _merge(
    recording: Recording, names: list[str], hold: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Times ``(n,)`` and values ``(n, len(names))`` of channels, on the slowest of their clocks."""
    if not names:
        return np.zeros(0), np.zeros((0, 0))
    pairs = [recording.column(name) for name in names]
    clock = min((times for times, _ in pairs), key=len)
    columns = []
    for times, values in pairs:
        if times is clock or (len(times) == len(clock) and np.array_equal(times, clock)):
            columns.append(values)
            continue
        series = TimeSeries(times, values[:, None])
        columns.append(series.interpolate(clock, "zoh" if hold else "linear")[:, 0])
    return clock, np.stack(columns, axis=1)


def _trimmed(
    part: RecordingPart, name: str, times: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    keep = np.ones(len(times), bool)
    if part.trim.start is not None:
        keep &= times >= part.trim.start
    if part.trim.end is not None:
        keep &= times <= part.trim.end
    if keep.sum() < 3:
        raise ExperimentError(
            f"recording {name!r}: the trimmed part (start: {part.trim.start}, end: "
            f"{part.trim.end}) leaves {int(keep.sum())} samples; the recording runs from "
            f"{times[0]:.6g} to {times[-1]:.6g} s"
        )
    return times[keep], values[keep]


def _all_controls(
    part: RecordingPart,
    model: mujoco.MjModel,
    name: str,
    times: np.ndarray,
    values: np.ndarray,
    measured: TimeSeries,
) -> tuple[TimeSeries, list[str]]:
    """Controls of all actuators over the measured time; those not recorded are zero."""
    actuators = [model.actuator(i).name for i in range(model.nu)]
    unknown = [a for a in part.controls if a not in actuators]
    if unknown:
        raise ExperimentError(
            f"recording {name!r}: controls names {listing(unknown)}, which are no actuators of the "
            f"model; it has {listing(actuators)}.{did_you_mean(unknown[0], actuators)}"
        )
    start, end = measured.times[0], measured.times[-1]
    if len(times) == 0:
        grid = measured.times
        held = np.zeros((len(grid), 0))
    else:
        inner = times[(times > start) & (times < end)]
        grid = np.concatenate([[start], inner, [end]])
        held = TimeSeries(times, values).interpolate(grid, "zoh")
    full = np.zeros((len(grid), model.nu))
    for column, actuator in enumerate(part.controls):
        full[:, actuators.index(actuator)] = held[:, column]
    missing = [a for a in actuators if a not in part.controls]
    notes = []
    if missing and part.controls:
        notes.append(
            f"{name}: no control was recorded for {listing(missing)}; it is taken as zero."
        )
    elif missing:
        notes.append(f"{name}: no control was recorded; all {model.nu} are taken as zero.")
    return TimeSeries.from_control_names(grid, full, model), notes


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
