"""Log of a recording in progress: one line per sample, so that a crash loses no samples."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any, TextIO

from trueup.errors import RecordingError
from trueup.runs.store import atomic

SUFFIX = ".partial.jsonl"


class PartialLog:
    """Log that is written sample by sample, and converted to a raw log at the end.

    The first line is the header, each following line an entry. Each line is passed to the
    operating system immediately, so that it survives the end of the process. An existing partial
    log of an earlier recording is renamed.

    Args:
        path: future raw log; the partial log is written next to it.
        header: header of the log.

    Raises:
        RecordingError: the file cannot be written.
    """

    def __init__(self, path: Path, header: dict[str, Any]):
        self.path = path
        self.partial = partial_path(path)
        self._entries: list[dict[str, Any]] = []
        self._header = header
        try:
            self._has_made_folder = not path.parent.exists()
            path.parent.mkdir(parents=True, exist_ok=True)
            _rename_existing(self.partial)
            self._file: TextIO = self.partial.open("w", encoding="utf-8", buffering=1)
        except OSError as error:
            raise RecordingError(
                f"{self.partial}: cannot be written: {error.strerror or error}"
            ) from error
        self._write(header)

    def append(self, entry: dict[str, Any]) -> None:
        """Add a sample."""
        self._entries.append(entry)
        self._write(entry)

    def complete(self, further: dict[str, Any]) -> Path:
        """Write the raw log atomically and remove the partial one.

        Args:
            further: header values that are known at the end.
        """
        self._file.close()
        content = {**self._header, **further, "entries": self._entries}
        atomic.write_json(self.path, content, indent=None)
        self.partial.unlink()
        return self.path

    def close(self) -> None:
        """Stop writing; the partial log is kept if it contains a sample."""
        self._file.close()
        if not self._entries:
            self.partial.unlink(missing_ok=True)
            if self._has_made_folder:
                with contextlib.suppress(OSError):  # not empty
                    self.path.parent.rmdir()

    def _write(self, value: dict[str, Any]) -> None:
        try:
            self._file.write(atomic.to_json(value) + "\n")
        except OSError as error:
            raise RecordingError(
                f"{self.partial}: cannot be written: {error.strerror or error}"
            ) from error


def partial_path(path: str | os.PathLike[str]) -> Path:
    """Path of the partial log of a raw log."""
    return Path(path).with_suffix(SUFFIX)


def _rename_existing(partial: Path) -> None:
    """Rename the partial log of an earlier recording."""
    if not partial.exists():
        return
    stem = partial.name.removesuffix(SUFFIX)
    number = 1
    while (kept := partial.with_name(f"{stem}-{number}{SUFFIX}")).exists():
        number += 1
    partial.rename(kept)


def recover(partial: str | os.PathLike[str], path: str | os.PathLike[str] | None = None) -> Path:
    """Write a raw log from the partial log of an interrupted recording, which is kept.

    The header gets ``interrupted: true``. A truncated last line is dropped.

    Args:
        partial: the partial log.
        path: the raw log to write; None: next to it, with ``_interrupted`` in its name.

    Returns:
        The raw log.

    Raises:
        RecordingError: the file cannot be read, is not a partial log, contains fewer than two
            samples, or the raw log already exists.
    """
    partial = Path(partial)
    stem = partial.name.removesuffix(SUFFIX)
    target = partial.with_name(f"{stem}_interrupted.json") if path is None else Path(path)
    try:
        lines = partial.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise RecordingError(f"{partial}: cannot be read: {error.strerror or error}") from error
    objects: list[dict[str, Any]] = []
    for number, line in enumerate(
        lines[:-1], start=1
    ):  # text after the last line end is a truncated line
        try:
            value = json.loads(line)
        except ValueError as error:
            raise RecordingError(f"{partial}: line {number} is not JSON: {error}") from error
        if not isinstance(value, dict):
            raise RecordingError(f"{partial}: line {number} is not a JSON object")
        objects.append(value)
    if len(objects) < 3 or "motor" not in objects[0]:
        raise RecordingError(
            f"{partial}: not a partial log of at least two samples: it has {len(objects)} lines"
        )
    if target.exists():
        raise RecordingError(f"{target}: already exists: choose another file")
    header, *entries = objects
    return atomic.write_json(
        target, {**header, "interrupted": True, "entries": entries}, indent=None
    )
