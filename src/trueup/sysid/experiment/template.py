"""Writes a commented experiment file from a model and a recording."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

import mujoco
import numpy as np

from trueup.errors import ColumnError, TrueupError, listing
from trueup.signals import Recording, read, suspect_units
from trueup.sysid.experiment import proposed_parameters as proposals
from trueup.sysid.experiment.experiment_file import parse_experiment
from trueup.sysid.experiment.model_loading import load_spec
from trueup.sysid.experiment.settings import Experiment, ModelPart
from trueup.sysid.experiment.template_text import experiment_text, plain_name
from trueup.sysid.recordings.column_matching import (
    Match,
    Place,
    commandable,
    match_columns,
    measurable,
)
from trueup.sysid.recordings.column_units import suggest_units

_TIME_WORDS = re.compile(r"(^|[^a-z])(t|time|stamp|timestamp|clock|sec|ms)([^a-z]|$)", re.I)


@dataclass(frozen=True)
class Clock:
    """Where the times of a recording come from."""

    column: str = ""
    """Time column; empty where the file has a clock of its own, or a rate is given."""
    unit: str = "s"
    rate: float | None = None
    note: str = ""
    """What has to be looked at, or empty."""


@dataclass(frozen=True)
class Proposal:
    """A proposed experiment file."""

    text: str
    """The file."""
    signals: list[Match]
    """Measured signals and their columns."""
    controls: list[Match]
    """Actuators and their columns."""
    parameters: list[str]
    """Names of the proposed unknowns."""
    open_points: list[str]
    """What a person has to fill in or look at, in sentences."""


def propose_experiment(model: Path, recording: Path, folder: Path) -> Proposal:
    """Propose an experiment.

    Columns are matched to sensors, joints and actuators by their names; units are suggested where
    the values do not look like SI. The unknowns are armature, damping and friction of the actuated
    joints.

    Args:
      model: MJCF or URDF file.
      recording: recording in any format that :func:`trueup.signals.read` knows.
      folder: folder of the experiment file, which its file names refer to.

    Raises:
      ModelError: the model cannot be read or does not compile.
      RecordingError: the recording cannot be read.
    """
    spec = load_spec(ModelPart(file=str(model.resolve())), Path("/"))
    compiled = spec.compile()
    data, clock = _read(recording)
    signals, controls = match_columns(data, compiled, [clock.column])
    units = suggest_units(signals, data, compiled)
    points = [clock.note] if clock.note else []
    points += _unmatched(signals, controls, data, compiled, clock)
    points += [
        f"{m.place.name}: the column {m.column.column!r} is a guess; look whether it is right"
        for m in [*signals, *controls]
        if not m.sure
    ]
    commanded = {m.place.name: data.column(m.column.column)[1] for m in controls}
    unknowns = proposals.propose_parameters(
        compiled,
        proposals.actuated_joints(compiled),
        proposals.largest_torques(compiled, commanded),
    ) or proposals.propose_masses(compiled)
    text = experiment_text(
        name=plain_name(recording.stem),
        model_file=_relative(model, folder),
        recording_file=_relative(recording, folder),
        clock=clock,
        signals=signals,
        controls=controls,
        units=units,
        unmatched_signals=_open(measurable(compiled), signals),
        unmatched_controls=_open(commandable(compiled), controls),
        free_columns=_free(data, signals, controls, clock),
        parameters=unknowns,
        noise=_noise_levels(data, signals),
        model=compiled,
    )
    proposal = Proposal(text, signals, controls, [p.name for p in unknowns], points)
    return _tried(proposal, folder)


def _read(path: Path) -> tuple[Recording, Clock]:
    """Read a recording; one without a known clock is read at a rate that has to be corrected."""
    try:
        recording = read(path)
    except ColumnError:
        return _without_clock(path)
    raw = read(path, rate=1.0)
    columns = [c for c in raw.columns if c not in recording.columns]
    if len(columns) != 1:
        return recording, Clock()
    times = recording.streams[0].times
    unit = _unit_of(raw.column(columns[0])[1], times)
    clock = Clock(columns[0], unit)
    return _in_seconds(recording, clock)


def _without_clock(path: Path) -> tuple[Recording, Clock]:
    raw = read(path, rate=1.0)
    for column in raw.columns:
        values = raw.column(column)[1]
        increases = len(values) > 2 and bool(np.all(np.diff(values) > 0))
        if increases and _TIME_WORDS.search(column):
            return _in_seconds(read(path, time=column), Clock(column))
    clock = Clock(
        rate=100.0,
        note="no time column was found: correct rate, the samples a second, or name the column "
        "with time",
    )
    return read(path, rate=100.0), clock


def _unit_of(raw: np.ndarray, times: np.ndarray) -> str:
    """Unit in which the reader took a time column."""
    spread = float(np.ptp(times))
    factor = float(np.ptp(raw)) / spread if spread > 0 and len(raw) == len(times) else 1.0
    units = {1.0: "s", 1e3: "ms", 1e6: "us", 1e9: "ns"}
    return next((u for f, u in units.items() if abs(factor / f - 1) < 1e-6), "s")


def _in_seconds(recording: Recording, clock: Clock) -> tuple[Recording, Clock]:
    """A clock whose values can hardly be seconds is taken in the unit that fits."""
    times = recording.streams[0].times
    says = suspect_units(clock.column, times, "time")
    found = re.search(r"the time unit as (\w+)", says or "")
    if clock.unit != "s" or found is None:
        return recording, clock
    factor = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}[found[1]]
    streams = tuple(replace(s, times=s.times * factor) for s in recording.streams)
    return replace(recording, streams=streams), replace(clock, unit=found[1])


def _open(places: list[Place], matches: list[Match]) -> list[Place]:
    matched = {m.place.name for m in matches}
    return [p for p in places if p.name not in matched]


def _free(
    recording: Recording, signals: list[Match], controls: list[Match], clock: Clock
) -> list[str]:
    used = {c for m in [*signals, *controls] for c in m.columns} | {clock.column}
    return [c for c in recording.columns if c not in used]


def _unmatched(
    signals: list[Match],
    controls: list[Match],
    recording: Recording,
    model: mujoco.MjModel,
    clock: Clock,
) -> list[str]:
    points = []
    free = listing(_free(recording, signals, controls, clock))
    if not signals:
        points.append(
            f"no column was matched to a sensor or joint: fill in signals; columns are {free}"
        )
    without = _open(commandable(model), controls)
    if without:
        points.append(
            f"no column was matched to {listing(p.name for p in without)}: fill in controls, or "
            f"leave them out if they were zero; columns left are {free}"
        )
    return points


def _noise_levels(recording: Recording, signals: list[Match]) -> dict[str, float]:
    """Noise of each matched column, in its own unit, from its second differences.

    White noise of variance s^2 has second differences of variance 6 s^2; a smooth signal has none.
    """
    out = {}
    for match in signals:
        series = [recording.column(column)[1] for column in match.columns]
        if all(len(values) > 20 and np.isfinite(values).all() for values in series):
            medians = [float(np.median(np.abs(np.diff(values, 2)))) for values in series]
            out[match.place.name] = 1.4826 * max(medians) / np.sqrt(6)
    return out


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _tried(proposal: Proposal, folder: Path) -> Proposal:
    """The proposal, with what still keeps it from being used among its open points."""
    from trueup.sysid.experiment.preparation import prepare

    try:
        experiment: Experiment = parse_experiment(proposal.text)
        prepare(experiment, folder)
    except TrueupError as error:
        if proposal.signals:
            return replace(proposal, open_points=[*proposal.open_points, str(error)])
    return proposal
