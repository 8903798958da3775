"""Reading and checks of the files from which a training resumes."""

import json
from numbers import Real
from pathlib import Path
from typing import Any

from trueup.errors import RunDirectoryError
from trueup.networks.model.network_file import read_network
from trueup.networks.training.run_files import FINISHED, HISTORY, NETWORK
from trueup.runs.store import atomic


def check_saved_files(folder: Path) -> None:
    """Check the saved files of all folds and members before any file is overwritten.

    Raises:
        RunDirectoryError: the record of a finished network, or a history, is damaged.
        DataError: a finished network is damaged.
    """
    for finished in sorted(folder.rglob(FINISHED)):
        read_seconds(finished)
        read_network(finished.parent / NETWORK)
    for history in sorted(folder.rglob(HISTORY)):
        read_history(history)


def read_seconds(path: Path) -> float:
    """Wall time of a finished training [s], from its ``training.json``.

    Raises:
        RunDirectoryError: the file is damaged.
    """
    record = atomic.read_json(path)
    seconds = record.get("seconds") if isinstance(record, dict) else None
    if not isinstance(seconds, Real):
        raise RunDirectoryError(
            f"{path} is damaged: the number 'seconds' is missing. Start the training again with "
            "--overwrite"
        )
    return float(seconds)


def read_history(path: Path) -> list[dict[str, Any]]:
    """Entries of a ``history.jsonl``, one per epoch.

    Raises:
        RunDirectoryError: a line is not the entry of an epoch.
    """
    entries = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or not all(
            isinstance(entry.get(key, 0), Real | None)
            for key in ("epoch", "val_rmse_epoch", "train_loss")
        ):
            raise RunDirectoryError(
                f"{path} is damaged: line {number} is not the entry of an epoch. Delete the line, "
                "or start the training again with --overwrite"
            )
        entries.append(entry)
    return entries
