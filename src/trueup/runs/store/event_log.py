"""Event log of a run in JSON lines: ``log.jsonl``."""

import datetime
import json
import os
from pathlib import Path
from typing import Any

from trueup._secrets import masked
from trueup.errors import RunDirectoryError
from trueup.runs.store.atomic import to_json, to_plain


class EventLog:
    """Append events to a file of JSON lines.

    Each line is written in one call, so that a killed process truncates at most its last line; the
    next writer starts on a new line.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._path = Path(path)

    def write(self, event: str, **fields: Any) -> None:
        """Append an event with its time (UTC).

        Raises:
            RunDirectoryError: the file cannot be written.
        """
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        content = {"time": now, "event": event, **fields}
        line = to_json(masked(to_plain(content))) + "\n"
        try:
            with self._path.open("ab+") as file:
                size = file.seek(0, os.SEEK_END)
                if size:
                    file.seek(size - 1)
                    if file.read(1) != b"\n":
                        line = "\n" + line
                file.write(line.encode("utf-8", "replace"))
        except OSError as error:
            raise RunDirectoryError(
                f"cannot write {self._path}: {error.strerror or error}. Check the free space and "
                "the permissions of the folder"
            ) from error

    def read(self) -> list[dict[str, Any]]:
        """Return all events; a truncated line is skipped.

        Raises:
            RunDirectoryError: the file cannot be read.
        """
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise RunDirectoryError(f"cannot read {self._path}: {error.strerror}") from error
        return [event for event in map(_parsed, lines) if event is not None]


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None
