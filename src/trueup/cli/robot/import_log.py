"""``trueup import``: write an experiment file from the logs of a robot."""

from pathlib import Path

from trueup.cli.output import Output
from trueup.cli.robot.init import check_target, proposal_record, show_proposal
from trueup.errors import ExperimentError
from trueup.runs.store import atomic
from trueup.sysid.importing.import_log import Import, propose_import


def run_import(model: Path, logs: list[Path], target: Path, overwrite: bool, output: Output) -> int:
    """Run the command; returns the exit code."""
    if not logs:
        raise ExperimentError("the log is missing: give at least one, as in  trueup import run.csv")
    for log in logs:
        check_target(target, model, log, overwrite)
    found = propose_import(model, logs, target.parent)
    target.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_text(target, found.proposal.text)
    output.result(_plain(target, found))
    _show(target, found, output)
    return 0


_HEADS = ("joint", "column", "order", "unit", "sign", "zero", "velocity")


def _plain(target: Path, found: Import) -> dict[str, object]:
    return {
        **proposal_record(target, found.proposal),
        "source": found.source,
        "joints": [dict(zip(_HEADS, row, strict=True)) for row in found.rows],
    }


def _show(target: Path, found: Import, output: Output) -> None:
    if found.rows:
        output.text(f"Recognised: {found.source}")
        output.table(list(_HEADS), [list(row) for row in found.rows])
    show_proposal(target, found.proposal, output)
