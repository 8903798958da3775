"""``trueup init``: write a commented experiment file."""

from pathlib import Path

from trueup.cli.output import Output
from trueup.errors import ExperimentError, ModelError, listing
from trueup.runs.store import atomic
from trueup.sysid.importing.column_matching import Match
from trueup.sysid.importing.column_roles import BY_NAMES
from trueup.sysid.importing.import_log import propose_import
from trueup.sysid.importing.template import Proposal, propose_experiment

_SHOWN = 60  # maximum number of printed unused columns; --json lists all


def run_init(model: Path, recording: Path, target: Path, overwrite: bool, output: Output) -> int:
    """Run the command; returns the exit code."""
    check_target(target, model, recording, overwrite)
    proposal = _proposal(model, recording, target.parent)
    target.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_text(target, proposal.text)
    output.result(proposal_record(target, proposal))
    show_proposal(target, proposal, output)
    return 0


def proposal_record(target: Path, proposal: Proposal) -> dict[str, object]:
    """JSON values of a proposed experiment."""
    return {
        "experiment": str(target),
        "signals": {m.place.name: _columns(m) for m in proposal.signals},
        "controls": {m.place.name: m.column.column for m in proposal.controls},
        "parameters": proposal.parameters,
        "open_points": proposal.open_points,
        "left_out": proposal.left_out,
    }


def show_proposal(target: Path, proposal: Proposal, output: Output) -> None:
    """Print the contents of a proposed experiment, its open points and the next commands."""
    show_matches([*proposal.signals, *proposal.controls], output)
    output.text(f"Unknowns: {', '.join(proposal.parameters) or 'none'}")
    for name, columns in proposal.left_out.items():
        output.text(f"Unused columns of {name}: {listing(columns, _SHOWN)}")
    if proposal.open_points:
        output.text("", "To do in the file:")
        for point in proposal.open_points:
            output.text("  ! " + point.replace("\n", "\n    "))
    output.text(
        "",
        f"Wrote {target}. Next:",
        f"  trueup check {target}",
        f"  trueup identify {target}",
    )


def _proposal(model: Path, recording: Path, folder: Path) -> Proposal:
    """Proposal from the source of the recording, or if unknown, from the names of its columns."""
    try:
        found = propose_import(model, [recording], folder)
    except ModelError:
        return propose_experiment(model, [recording], folder)
    if found.source in ("", BY_NAMES):
        return propose_experiment(model, [recording], folder)
    return found.proposal


def _columns(match: Match) -> str | list[str]:
    return match.columns if match.others else match.column.column


def check_target(target: Path, model: Path, recording: Path, overwrite: bool) -> None:
    """Raise ExperimentError if a file must not be overwritten."""
    if target.is_dir():
        raise ExperimentError(f"{target} is a folder; give a file with --output")
    if target.exists() and not overwrite:
        raise ExperimentError(
            f"{target} exists; replace it with --overwrite, or give another --output"
        )
    for path, what in ((model, "model"), (recording, "recording")):
        if target.resolve() == path.resolve():
            raise ExperimentError(f"{target} is the {what} itself; give another --output")


def show_matches(matches: list[Match], output: Output) -> None:
    """Print the columns of signals and actuators."""
    rows = [
        [m.place.name, ", ".join(m.columns), "" if m.sure else "a guess", m.place.what]
        for m in matches
    ]
    if rows:
        output.table(["signal or actuator", "column", "", "description"], rows)
