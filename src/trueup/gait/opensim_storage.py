"""OpenSim's storage files, ``.mot`` and ``.sto``: a header, names of columns, rows of numbers."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trueup._input_files import LARGEST_TEXT, check_regular
from trueup.errors import GaitError, listing
from trueup.runs.store import atomic

ENDINGS = (".mot", ".sto")
"""File suffixes."""


@dataclass(frozen=True)
class Storage:
    """A table of OpenSim.

    Attributes:
      name: name.
      columns: names of the columns; the first one is ``time``.
      values: ``(rows, columns)``; unit of angles by :attr:`degrees`.
      degrees: whether angles are in degrees; otherwise in radians.
    """

    name: str
    columns: tuple[str, ...]
    values: np.ndarray
    degrees: bool = False

    def column(self, name: str) -> np.ndarray:
        """A column by its name ``(rows,)``."""
        return self.values[:, self.columns.index(name)]

    def save(self, path: str | Path) -> Path:
        """Write the table; returns the path."""
        path = Path(path)
        rows, count = self.values.shape
        head = [
            self.name,
            "version=1",
            f"nRows={rows}",
            f"nColumns={count}",
            f"inDegrees={'yes' if self.degrees else 'no'}",
            "endheader",
            "\t".join(self.columns),
        ]
        lines = ["\t".join(f"{value:.9g}" for value in row) for row in self.values]
        atomic.write_text(path, "\n".join([*head, *lines]) + "\n")
        return path


def read_storage(path: str | Path) -> Storage:
    """Read a ``.mot`` or ``.sto`` file, also with headers of old OpenSim versions.

    Raises:
      GaitError: the file is missing, has no ``endheader``, no ``time``, repeated names, rows of
        different lengths, or values that are not finite.
    """
    path = Path(path)
    try:
        check_regular(path, LARGEST_TEXT)
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise GaitError(f"cannot read {path}: {error.strerror or error}") from error
    lines = text.splitlines()
    ends = [k for k, line in enumerate(lines) if line.strip().lower() == "endheader"]
    if not ends:
        raise GaitError(f"{path} is not an OpenSim storage file: it has no line 'endheader'")
    head, body = lines[: ends[0]], [line for line in lines[ends[0] + 1 :] if line.strip()]
    if len(body) < 2:
        raise GaitError(f"{path} has no rows below its header")
    columns = tuple(body[0].split("\t") if "\t" in body[0] else body[0].split())
    columns = tuple(name.strip() for name in columns if name.strip())
    if not columns or columns[0].lower() != "time":
        raise GaitError(f"{path}: the first column is {listing(columns[:1])}; expected 'time'")
    if twice := sorted({name for name in columns if columns.count(name) > 1}):
        raise GaitError(f"{path} has several columns named {listing(twice)}")
    rows = [line.split() for line in body[1:]]
    for number, row in enumerate(rows, 1):
        if len(row) != len(columns):
            raise GaitError(f"{path}: row {number} has {len(row)} values; expected {len(columns)}")
    try:
        values = np.array(rows, dtype=float)
    except ValueError as error:
        raise GaitError(f"{path} contains values that are not numbers: {error}") from error
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise GaitError(f"{path}: row {row + 1} of {columns[column]!r} is not finite")
    keys = _header(head)
    expected = keys.get("nrows", keys.get("datarows"))
    if expected is not None and expected.isdigit() and int(expected) != len(values):
        raise GaitError(
            f"{path} is truncated: expected {expected} rows by its header, found {len(values)}"
        )
    if (np.diff(values[:, 0]) <= 0.0).any():
        raise GaitError(f"{path}: time is not increasing")
    name = head[0].strip() if head else path.stem
    degrees = keys.get("indegrees", "no") in ("yes", "y", "true", "1")
    return Storage(name, columns, values, degrees)


def _header(lines: list[str]) -> dict[str, str]:
    """Keys and values of a header, such as ``nRows=50`` or ``datarows 50``, in lower case."""
    pairs = (re.split(r"[=\s]+", line.strip().lower(), maxsplit=1) for line in lines)
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}
