"""``trueup study list``."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueup.cli.output import Output
from trueup.errors import RunDirectoryError, TrueupError
from trueup.runs import RunState, state
from trueup.runs.loop.progress import duration

_SKIPPED = {".git", ".venv", "node_modules", "__pycache__"}


def run_study_list(folder: Path, output: Output) -> int:
    """Print the runs below a folder; returns the exit code."""
    folder = folder.expanduser()
    if not folder.is_dir():
        raise RunDirectoryError(f"{folder} is not a folder")
    runs: list[RunState] = []
    damaged: list[dict[str, str]] = []
    for path in runs_below(folder):
        try:
            runs.append(state(path))
        except (TrueupError, OSError, ValueError) as error:
            damaged.append({"directory": str(path), "message": " ".join(str(error).split())})
    runs.sort(key=lambda run: run.age)
    output.result({"runs": [_record(run) for run in runs], "damaged": damaged})
    rows = [
        [
            _shown(run.directory.path, folder),
            run.kind,
            run.state,
            "-" if run.cost is None else f"{run.cost:.6g}",
            str(run.evaluations),
            duration(run.age),
        ]
        for run in runs
    ]
    if rows:
        output.table(["run", "kind", "state", "best cost", "evaluations", "written ago"], rows)
    elif not damaged:
        output.text(f"No runs in {folder} or below it.")
    for entry in damaged:
        output.text(f"  not readable: {entry['directory']}: {entry['message']}")
    return 0


def runs_below(folder: Path) -> Iterator[Path]:
    """Run directories in and below a folder, in the order of their names."""
    for place, folders, files in os.walk(folder, onerror=None):
        if "run.json" in files:
            folders.clear()  # a run does not contain other runs
            yield Path(place)
            continue
        folders[:] = sorted(f for f in folders if f not in _SKIPPED and ".replaced-" not in f)


def _record(run: RunState) -> dict[str, Any]:
    return {
        "directory": str(run.directory.path),
        "kind": run.kind,
        "state": run.state,
        "cost": run.cost,
        "evaluations": run.evaluations,
        "failed_evaluations": run.failed,
        "seconds": run.seconds,
        "age_seconds": run.age,
    }


def _shown(path: Path, folder: Path) -> str:
    root = folder.resolve()
    return str(path.relative_to(root)) if path.is_relative_to(root) and path != root else str(path)
