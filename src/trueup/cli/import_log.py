"""``trueup import``: writes an experiment file from the logs of a robot."""

from pathlib import Path

from trueup.cli.init import check_target, show_matches
from trueup.cli.output import Output
from trueup.errors import ExperimentError
from trueup.studies import atomic
from trueup.sysid.experiment.import_log import Import, propose_import
from trueup.sysid.recordings.column_matching import Match


def run_import(model: Path, logs: list[Path], target: Path, overwrite: bool, output: Output) -> int:
    """Run the command; returns the exit code."""
    if not logs:
        raise ExperimentError("no log is given: name one or more, such as  trueup import run.csv")
    for log in logs:
        check_target(target, model, log, overwrite)
    found = propose_import(model, logs, target.parent)
    target.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_text(target, found.proposal.text)
    output.result(_plain(target, found))
    _show(target, found, output)
    return 0


def _plain(target: Path, found: Import) -> dict[str, object]:
    proposal = found.proposal
    heads = ("joint", "column", "order", "unit", "sign", "zero", "velocity")
    return {
        "experiment": str(target),
        "source": found.source,
        "joints": [dict(zip(heads, row, strict=True)) for row in found.rows],
        "signals": {m.place.name: _columns(m) for m in proposal.signals},
        "controls": {m.place.name: m.column.column for m in proposal.controls},
        "parameters": proposal.parameters,
        "open_points": proposal.open_points,
    }


def _columns(match: Match) -> str | list[str]:
    return match.columns if match.others else match.column.column


def _show(target: Path, found: Import, output: Output) -> None:
    proposal = found.proposal
    if found.rows:
        output.text(f"Recognised: {found.source}")
        heads = ["joint", "column", "order", "unit", "sign", "zero", "velocity"]
        output.table(heads, [list(row) for row in found.rows])
    show_matches([*proposal.signals, *proposal.controls], output)
    output.text(f"Unknowns: {', '.join(proposal.parameters) or 'none'}")
    if proposal.open_points:
        output.text("", "To look at in the file:")
        for point in proposal.open_points:
            output.text("  ! " + point.replace("\n", "\n    "))
    output.text(
        "",
        f"Wrote {target}. Next:",
        f"  trueup check {target}",
        f"  trueup identify {target}",
    )
