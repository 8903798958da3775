"""``trueup check``: data quality and identifiability at the start values."""

from pathlib import Path
from typing import Any

from trueup.cli.output import Output
from trueup.sysid.assess.checks import check_experiment
from trueup.sysid.experiment.experiment_file import load_experiment

_MOST = 8  # sentences about identifiability that are shown


def run_check(path: Path, output: Output) -> int:
    """Run the command; returns the exit code."""
    result = check_experiment(load_experiment(path), path.parent)
    output.result(result)
    _show(result, output)
    return 0


def _show(result: dict[str, Any], output: Output) -> None:
    for name, report in result["quality"].items():
        output.text(f"Recording {name}:")
        findings = report["findings"]
        for finding in findings:
            mark = {"info": " ", "warning": "-", "refuse": "!"}[finding["severity"]]
            output.text(f"  {mark} {finding['sentence']}")
        if not findings:
            output.text("  + no complaint")
    output.text("", "Simulation:")
    for sentence in result["simulation"] or ["no complaint"]:
        output.text(f"  - {sentence}")
    output.text("", "Identifiability at the start values:")
    found = result["identifiability"]
    for sentence in found["sentences"][:_MOST]:
        output.text(f"  {'+' if found['identifiable'] else '!'} {sentence}")
    if len(found["sentences"]) > _MOST:
        output.text(f"    and {len(found['sentences']) - _MOST} weaker ones (all with --json)")
    if result["notes"]:
        output.text("", "Assumed:")
    for note in result["notes"]:
        output.text(f"  - {note}")
