"""Tables of OpenSim, ``.mot`` and ``.sto``: a header, names of columns, rows of values."""

import re
from collections import Counter
from pathlib import Path

import numpy as np

from trueup.errors import RecordingError, listing
from trueup.signals.readers._delimited_text import encoding_of, open_text
from trueup.signals.readers.contents import Contents, Table

ENDINGS = (".mot", ".sto")
"""Endings of the files."""

_YES = ("yes", "y", "true", "1")
_DERIVED = {"/value": "deg", "/speed": "deg/s"}  # last part of a column of states, and its unit
_NO_ANGLE = re.compile(
    r"(?:^|[_/.])(?:[tvp][xyz]|[fm][xyz])\d*$"  # translations, forces and their points, moments
    r"|force|torque|moment|power|energy|activation|excitation|emg|length|fiber|tendon|reserve",
    re.IGNORECASE,
)


def read_opensim(path: Path) -> Contents:
    """Read a table of OpenSim; headers of old versions too.

    Where the header states ``inDegrees=yes``, columns of angles have the unit deg. A table does not
    state which of its columns are angles: all are, except translations (``pelvis_tx``), forces,
    moments, powers and quantities of muscles, by their names. Vectors and quaternions (``1,2,3``)
    become the columns ``name/0``, ``name/1`` and so on.

    Raises:
        RecordingError: No line ``endheader``, no rows, a column name twice, a row of another
            length, a value that is not a number, or fewer rows than the header states.
    """
    with open_text(path, encoding_of(path)) as file:
        lines = file.read().split("\n")
    ends = next((k for k, line in enumerate(lines) if line.strip().lower() == "endheader"), None)
    if ends is None:
        raise RecordingError(
            f"{path} is not a table of OpenSim: it has no line 'endheader'. Give the format it "
            "really has."
        )
    header = _header(lines[:ends])
    numbered = [(k, line) for k, line in enumerate(lines[ends + 1 :], ends + 2) if line.strip()]
    if len(numbered) < 2:
        raise RecordingError(f"{path} contains no rows below its header.")
    line, names = numbered[0][0], _names(numbered[0][1])
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        raise RecordingError(
            f"{path} has several columns named {listing(twice)}: give each its own name in line "
            f"{line}."
        )
    columns = _columns(path, names, numbered[1:])
    stated = header.get("nrows", header.get("datarows", ""))
    if stated.isdigit() and int(stated) != len(numbered) - 1:
        raise RecordingError(
            f"{path} is cut short: its header states {stated} rows, and it has {len(numbered) - 1}."
            " Copy the file again, or correct the header."
        )
    degrees = header.get("indegrees", "no") in _YES
    units = {name: unit for name in names if degrees and (unit := _unit(name))}
    metadata: dict[str, object] = {}
    if "indegrees" in header:
        metadata["inDegrees"] = "yes" if degrees else "no"
    return Contents((Table(columns, units=units),), metadata)


def _unit(name: str) -> str:
    """Unit of a column of a table in degrees; empty for one that is not an angle."""
    ending = next((each for each in _DERIVED if name.endswith(each)), "/value")
    if name.lower() == "time" or _NO_ANGLE.search(name.removesuffix(ending)):
        return ""
    return _DERIVED[ending]


def _names(line: str) -> list[str]:
    """Names of the columns, which contain blanks only where tabs separate them."""
    cells = line.split("\t") if "\t" in line else line.split()
    return [name for cell in cells if (name := cell.strip())]


def _header(lines: list[str]) -> dict[str, str]:
    """Keys and values of a header, such as ``nRows=50`` or ``datarows 50``, in small letters."""
    pairs = (re.split(r"[=\s]+", line.strip().lower(), maxsplit=1) for line in lines)
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


def _columns(path: Path, names: list[str], rows: list[tuple[int, str]]) -> dict[str, np.ndarray]:
    """Values by column ``(n,)``, of vectors ``(n, k)``."""
    try:
        values = np.loadtxt([row for _, row in rows], ndmin=2, comments=None)
        if values.shape[1] == len(names):
            return dict(zip(names, values.T, strict=True))
    except ValueError:
        pass  # vectors, or an error that the loop below finds with its line
    cells: list[list[list[float]]] = [[] for _ in names]
    for line, row in rows:
        found = row.split()
        if len(found) != len(names):
            raise RecordingError(
                f"{path}, line {line}: {len(found)} values where {len(names)} columns are named. "
                "Correct that line."
            )
        for column, cell in enumerate(found):
            cells[column].append(_numbers(path, line, names[column], cell))
            if len(cells[column][-1]) != len(cells[column][0]):
                raise RecordingError(
                    f"{path}, line {line}, column {names[column]!r}: {cell[:40]!r} has "
                    f"{len(cells[column][-1])} values, those above have {len(cells[column][0])}."
                )
    arrays = {name: np.array(column) for name, column in zip(names, cells, strict=True)}
    return {name: each[:, 0] if each.shape[1] == 1 else each for name, each in arrays.items()}


def _numbers(path: Path, line: int, name: str, cell: str) -> list[float]:
    try:
        return [float(part) for part in cell.split(",")]
    except ValueError:
        raise RecordingError(
            f"{path}, line {line}, column {name!r}: {cell[:40]!r} is not a number."
        ) from None
