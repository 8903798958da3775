"""``trueup import``, also ``trueup init``: write an experiment file from the logs of a robot."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trueup.cli.output import Output
from trueup.cli.robot.check import exit_code, print_next, size_of
from trueup.errors import ExperimentError, listing
from trueup.runs.loop.progress import Progress
from trueup.sysid.importing.columns.matching import Match
from trueup.sysid.importing.display import HEADS, tables_of_import
from trueup.sysid.importing.import_log import Import
from trueup.sysid.importing.import_logs import import_logs

_SHOWN = 60  # maximum number of printed unused columns; --json lists all
_MODELS = (".xml", ".urdf", ".mjcf", ".xacro")


def run_import(
    files: Sequence[Path],
    model: Path | None,
    target: Path,
    overwrite: bool,
    check: bool,
    episodes: Sequence[int],
    rate: float | None,
    mirrored: Sequence[str],
    output: Output,
) -> int:
    """Run the command; returns the exit code."""
    model, logs = _model_and_logs(files, model)
    with Progress(not output.json) as progress:
        if message := size_of(logs):
            progress.message(message)
        found = import_logs(
            model,
            logs,
            target,
            overwrite=overwrite,
            check=check,
            episodes=episodes,
            rate=rate,
            mirrored=mirrored,
            on_progress=progress.update,
        )
    output.result(_record(target, found))
    _show(target, found, output)
    return exit_code(found.check)


def _model_and_logs(files: Sequence[Path], model: Path | None) -> tuple[Path, list[Path]]:
    """The model and the logs among the files of the command."""
    models = [] if model else [f for f in files if f.suffix.lower() in _MODELS]
    if len(models) > 1:
        raise ExperimentError(
            f"{listing(map(str, models))} are models: give one of them, and the logs"
        )
    logs = [f for f in files if f not in models]
    model = model or (models[0] if models else None)
    if model is None:
        first = files[0] if files else "run.csv"
        raise ExperimentError(
            f"the model is missing: give it with --model, as in  trueup import {first} --model "
            "robot.xml"
        )
    if not logs:
        raise ExperimentError(
            f"the log is missing: give at least one, as in  trueup import run.csv --model {model}"
        )
    return model, logs


def _record(target: Path, found: Import) -> dict[str, Any]:
    """JSON values of an import."""
    proposal = found.proposal
    return {
        "experiment": str(target),
        "signals": {m.place.name: _columns(m) for m in proposal.signals},
        "controls": {m.place.name: m.column.column for m in proposal.controls},
        "parameters": proposal.parameters,
        "open_points": proposal.open_points,
        "left_out": proposal.left_out,
        "roles": proposal.roles,
        "source": found.source,
        "joints": [dict(zip(HEADS, row, strict=True)) for row in found.rows],
        "check": found.check,
    }


def _columns(match: Match) -> str | list[str]:
    return match.columns if match.others else match.column.column


def _show(target: Path, found: Import, output: Output) -> None:
    """Print the evidence, the contents of the file, the conclusion of its check, what is next."""
    proposal = found.proposal
    if found.rows:
        output.text(f"Recognised: {found.source}")
    for heads, rows in tables_of_import(found):
        output.table(heads, rows)
    output.text(f"Unknowns: {', '.join(proposal.parameters) or 'none'}")
    for name, columns in proposal.left_out.items():
        output.text(f"Unused columns of {name}: {listing(columns, _SHOWN)}")
    if proposal.open_points:
        output.text("", "To look at in the file:")
        for point in proposal.open_points:
            output.text("  ! " + point.replace("\n", "\n    "))
    reasons = found.check["conclusion"]["reasons"] if found.check else []
    if reasons:
        output.text("", "Check:", *(f"  - {reason}" for reason in reasons))
    if found.check and found.check["notes"]:
        output.text("", "Assumed:", *(f"  - {note}" for note in found.check["notes"]))
    output.text("", f"Wrote {target}.")
    print_next(target, found.check, output)
