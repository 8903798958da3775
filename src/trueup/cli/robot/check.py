"""``trueup check``: data quality, settings that decide, identifiability, and a conclusion."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trueup.cli.output import Output
from trueup.runs.loop.progress import Progress
from trueup.sysid.assess.check_conclusion import STOP
from trueup.sysid.assess.checks import check_experiment
from trueup.sysid.experiment.file import load_experiment

STOPS = 3
"""Exit code of a check that concludes with stop."""

_LARGE = 1e8  # size of recordings above which a message is printed [bytes]
_MOST = 8  # maximum number of sentences on identifiability


def run_check(path: Path, output: Output) -> int:
    """Run the command; returns the exit code."""
    experiment = load_experiment(path)
    with Progress(not output.json) as progress:
        if message := size_of(path.parent / part.file for part in experiment.recordings):
            progress.message(message)
        result = check_experiment(experiment, path.parent, progress.update)
    output.result(result)
    _show(result, output)
    print_next(path, result, output)
    return exit_code(result)


def exit_code(result: dict[str, Any] | None) -> int:
    """Exit code of the result of a check; None: there was none."""
    return STOPS if result is not None and result["conclusion"]["decision"] == STOP else 0


def size_of(files: Iterable[Path]) -> str:
    """Message that the reading of some files takes long; empty if it does not."""
    size = sum(file.stat().st_size for file in files if file.is_file())
    return f"reading {size / 1e6:.0f} MB of recordings" if size > _LARGE else ""


def print_next(path: Path, result: dict[str, Any] | None, output: Output) -> None:
    """Print the conclusion of the check of an experiment file, and the commands that follow."""
    if result is None:
        commands = ["check", "identify"]
    else:
        output.text(result["conclusion"]["sentence"])
        commands = result["conclusion"]["next"]
    output.text("Next:", *(f"  trueup {command} {path}" for command in commands))


def _show(result: dict[str, Any], output: Output) -> None:
    for name, report in result["quality"].items():
        output.text(f"Recording {name}:")
        findings = report["findings"]
        for finding in findings:
            mark = {"info": " ", "warning": "-", "refuse": "!"}[finding["severity"]]
            output.text(f"  {mark} {finding['sentence']}")
        if not findings:
            output.text("  + no findings")
    output.text("", "Simulation:")
    for sentence in result["simulation"] or ["no findings"]:
        output.text(f"  - {sentence}")
    output.text("", "Identifiability:")
    found = result["identifiability"]
    for sentence in found["sentences"][:_MOST]:
        output.text(f"  {'+' if found['identifiable'] else '!'} {sentence}")
    if len(found["sentences"]) > _MOST:
        output.text(f"    and {len(found['sentences']) - _MOST} less severe ones (see --json)")
    if result["notes"]:
        output.text("", "Assumed:")
    for note in result["notes"]:
        output.text(f"  - {note}")
    output.text("")
