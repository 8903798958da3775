"""Proposal of a commented experiment file from a model and a recording."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import mujoco
import numpy as np

from trueup.errors import RecordingError, listing
from trueup.signals import Recording
from trueup.simulation.models.element_names import generated_names
from trueup.sysid.experiment.model_loading import load_model
from trueup.sysid.experiment.settings import ModelPart
from trueup.sysid.importing import proposed_parameters as proposals
from trueup.sysid.importing.clock import Clock, find_clock
from trueup.sysid.importing.columns.matching import (
    Match,
    Place,
    commandable,
    match_columns,
    measurable,
)
from trueup.sysid.importing.columns.units import suggest_units
from trueup.sysid.importing.further_logs import further_logs, renamed_points
from trueup.sysid.importing.further_unknowns import with_further_unknowns
from trueup.sysid.importing.proposed_parameters import FurtherUnknowns
from trueup.sysid.importing.template_text import experiment_text, plain_name


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
    """Names of the proposed parameters."""
    open_points: list[str]
    """Open points for the user, in sentences."""
    left_out: dict[str, list[str]]
    """Columns that are not used, by recording."""
    roles: dict[str, str] = field(default_factory=dict)
    """Roles of unused columns of joints, such as the command where torques drive the fit."""


def propose_experiment(
    model: Path,
    logs: Sequence[Path],
    folder: Path,
    unmatched: bool = False,
    rate: float | None = None,
) -> Proposal:
    """Propose an experiment.

    Columns are matched to sensors, joints and actuators by their names; units are suggested if the
    values are implausible in SI. The parameters are armature, damping and friction of the actuated
    joints.

    Args:
      model: MJCF or URDF file.
      logs: recordings with the same columns, in any format of :func:`trueup.signals.read`.
      folder: folder of the experiment file, to which its file names are relative.
      unmatched: propose a file to fill in if no column fits the model.
      rate: sampling rate [Hz] of a recording without a clock.

    Raises:
      ModelError: the model cannot be read or does not compile.
      RecordingError: a recording cannot be read, none of its columns fits the model, or
        recordings are inconsistent.
    """
    recording = logs[0]
    spec, notes = load_model(ModelPart(file=str(model.resolve())), Path("/"))
    compiled = spec.compile()
    clock, data = find_clock(recording, rate)
    signals, controls = match_columns(data, compiled, [clock.column])
    if not signals and not unmatched:
        raise RecordingError(_nothing_fits(recording, data, clock, model, compiled))
    used = {c for m in [*signals, *controls] for c in m.columns}
    later = further_logs(logs, data, clock, sorted(used) or data.columns)
    further = [each.recording for each in later]
    units = suggest_units(signals, data, compiled)
    points = [*([clock.note] if clock.note else []), *notes, *generated_names(compiled)]
    points += renamed_points(logs, clock, later)
    points += _unmatched(signals, controls, data, compiled, clock)
    points += [
        f"{m.place.name}: the column {m.column.column!r} is a guess; check it"
        for m in [*signals, *controls]
        if not m.sure
    ]
    commanded = {m.place.name: data.column(m.column.column)[1] for m in controls}
    unknowns = proposals.propose_parameters(
        compiled,
        proposals.actuated_joints(compiled),
        proposals.largest_torques(compiled, commanded),
    ) or proposals.propose_masses(compiled)
    described = partial(
        experiment_text,
        name=plain_name(recording.stem),
        model_file=relative_path(model, folder),
        recording_file=relative_path(recording, folder),
        clock=clock,
        signals=signals,
        controls=controls,
        units=units,
        unmatched_signals=_open(measurable(compiled), signals),
        unmatched_controls=_open(commandable(compiled), controls),
        free_columns=_free(data, signals, controls, clock),
        noise=noise_levels(data, signals),
        model=compiled,
        further=[relative_path(path, folder) for path in logs[1:]],
        later=later,
    )

    def proposal(extra: FurtherUnknowns) -> Proposal:
        known = [*unknowns, *extra.parameters]
        text = described(parameters=known, model_lines=extra.model_lines)
        unused = left_out([data, *further], used, clock)
        names = [p.name for p in known]
        return Proposal(text, signals, controls, names, [*points, *extra.notes], unused)

    return with_further_unknowns(proposal, folder, {recording.resolve(): data})


def _nothing_fits(
    path: Path, recording: Recording, clock: Clock, file: Path, model: mujoco.MjModel
) -> str:
    """Sentence on a log and a model without anything in common."""
    names = listing(dict.fromkeys(p.element for p in measurable(model)))
    return (
        f"no column of {path.name} fits a joint or sensor of {file.name}: the log has "
        f"{listing(c for c in recording.columns if c != clock.column)}, the model "
        f"{names or 'no named joint and no sensor'}. Rename the columns after the joints, such as "
        "elbow_pos, give the model of this robot, or fill in a file by hand (--no-check)"
    )


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
            f"omit them if they were zero; unused columns are {free}"
        )
    return points


def left_out(
    recordings: Sequence[Recording], used: Collection[str], clock: Clock
) -> dict[str, list[str]]:
    """Unused columns of each recording, including non-numeric ones.

    For a recording after the first, those that the first does not have.
    """
    out: dict[str, list[str]] = {}
    known: set[str] = {*used, clock.column}
    for recording in recordings:
        unread = recording.metadata.get("left_out")
        names = [*recording.columns, *(unread if isinstance(unread, dict) else ())]
        out[Path(recording.source).name] = [name for name in names if name not in known]
        known.update(names)
    return {name: columns for name, columns in out.items() if columns}


def noise_levels(recording: Recording, signals: list[Match]) -> dict[str, float]:
    """Noise of each matched column, in its unit, from its second differences.

    White noise of variance s^2 has second differences of variance 6 s^2; a smooth signal has none.
    """
    out = {}
    for match in signals:
        series = [recording.column(column)[1] for column in match.columns]
        if all(len(values) > 20 and np.isfinite(values).all() for values in series):
            medians = [float(np.median(np.abs(np.diff(values, 2)))) for values in series]
            out[match.place.name] = 1.4826 * max(medians) / np.sqrt(6)
    return out


def relative_path(path: Path, folder: Path) -> str:
    """Path of a file relative to the folder of an experiment file."""
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
