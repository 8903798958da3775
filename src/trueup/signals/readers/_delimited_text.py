"""Layout of a delimited text file: encoding, delimiter, header and rows."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from trueup.errors import RecordingError, listing
from trueup.signals.readers._clock_names import time_rank
from trueup.signals.readers._written_numbers import is_number

_CANDIDATES = ("\t", ";", "|", ",")
_SAMPLE_ROWS = 20
_COMMENT = re.compile(r"(^|\s)#(?!N/?A\b)")
_EXCEL = re.compile(r"\s*\"?sep=(.)\"?\s*", re.I)


@dataclass(frozen=True)
class Layout:
    """Layout of a text file.

    Attributes:
        encoding: Encoding of the text.
        delimiter: Delimiter, or None for white space.
        names: Column names.
        first_line: Line of the first row of values, counted from 1.
        quoted: Whether cells may be quoted.
        repeated: Name that the header repeats, by the name of the column.
    """

    encoding: str
    delimiter: str | None
    names: list[str]
    first_line: int
    quoted: bool
    repeated: dict[str, str] = field(default_factory=dict)


def open_text(path: Path, encoding: str) -> TextIO:
    """Open a text file; a byte that the encoding cannot read becomes a replacement character."""
    return path.open(encoding=encoding, errors="replace", newline=None)


def find_layout(path: Path, delimiter: str | None, header: bool | None) -> Layout:
    """Detect the layout of a file; arguments that are not None take precedence.

    Raises:
        RecordingError: Binary content, no rows, or a time column whose name occurs twice.
    """
    encoding = encoding_of(path)
    with open_text(path, encoding) as file:
        comment, lines, sample = _first_rows(file)
    if not sample:
        raise RecordingError(f"{path} contains no rows of values, only blank lines or comments.")
    stated = _EXCEL.fullmatch(sample[0])
    if stated and delimiter is None and len(sample) > 1:
        delimiter, sample, lines = stated[1], sample[1:], lines[1:]
    if delimiter is None:
        preferred = "\t" if path.suffix.lower() == ".tsv" else None
        found = _sniff(sample, preferred)
    elif len(delimiter) != 1:
        raise RecordingError(f"delimiter must be one character, found {delimiter!r}.")
    else:
        found = None if delimiter == " " else delimiter
    first = split_row(sample[0], found)
    if header is None:
        header = not all(looks_numeric(cell) for cell in first)
    if header:
        names = [cell.strip() for cell in first]
        if len(sample) == 1:
            raise RecordingError(f"{path} contains a header but no rows of values.")
    else:
        names = [""] * len(first)
        if comment:
            cells = split_row(comment, found)
            if len(cells) == len(first) and not any(looks_numeric(cell) for cell in cells):
                names = [cell.strip() for cell in cells]
    names = [name or str(place) for place, name in enumerate(names)]
    if not header and found == ",":
        _check_decimal_commas(path, [split_row(row, found) for row in sample])
    names, repeated = distinct_names(names)
    clocks = sorted(name for name in repeated.values() if time_rank(name) is not None)
    if clocks:
        raise RecordingError(
            f"{path} has several columns named {listing(clocks)}: give each its own name in line "
            f"{lines[0]}."
        )
    quoted = any('"' in row for row in sample[1 if header else 0 :])
    return Layout(encoding, found, names, lines[1 if header else 0], quoted, repeated)


def distinct_names(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Names in which a repetition has its number, ``q_d[0] (repeat 2)``, and what each repeats."""
    out: list[str] = []
    repeated: dict[str, str] = {}
    count: Counter[str] = Counter()
    for name in names:
        count[name] += 1
        if count[name] > 1:
            repeated[f"{name} (repeat {count[name]})"] = name
            name = f"{name} (repeat {count[name]})"
        out.append(name)
    return out, repeated


def encoding_of(path: Path) -> str:
    """Encoding of a text file, by its first bytes.

    Raises:
        RecordingError: Zero bytes, which no text contains.
    """
    with path.open("rb") as file:
        start = file.read(65536)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\x00" in start:
        raise RecordingError(
            f"{path} is not text: it contains zero bytes. Give its actual format, or record it "
            "again."
        )
    if start.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    try:
        # The block may end within a character.
        start[: max(start.rfind(b"\n"), 0) or len(start)].decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _first_rows(file: TextIO) -> tuple[str, list[int], list[str]]:
    """Return the last comment before the first row, and line numbers and text of some rows."""
    comment = ""
    lines: list[int] = []
    rows: list[str] = []
    for number, line in enumerate(file, start=1):
        text = line.strip("\n")
        if text.lstrip().startswith("#"):
            if not rows:
                comment = text.lstrip().lstrip("#").strip()
        elif text.strip():
            lines.append(number)
            rows.append(text)
            if len(rows) > _SAMPLE_ROWS:
                break
    return comment, lines, rows


def _sniff(rows: list[str], preferred: str | None) -> str | None:
    """Return the delimiter that splits all rows into equally many cells; None: white space."""
    # The last row may be truncated.
    complete = rows[:-1] if len(rows) > 2 else rows
    candidates = [preferred, *_CANDIDATES] if preferred else [*_CANDIDATES]
    counts = {c: [len(split_row(row, c)) for row in complete] for c in candidates}
    for candidate, cells in counts.items():
        if cells[0] > 1 and len(set(cells)) == 1:
            return candidate
    for candidate, cells in counts.items():
        if cells[0] > 1:
            return candidate
    if len(rows[0].split()) > 1:
        return None
    # one column with decimal commas
    values = [row for row in complete[1:] if is_number(row)]
    return ";" if any("," in row for row in values) and len(values) == len(complete) - 1 else ","


def _check_decimal_commas(path: Path, rows: list[list[str]]) -> None:
    """Raise RecordingError for rows such as ``0,05,1,5``: decimal commas as delimiters."""
    columns = [[cell.strip() for cell in cells] for cells in zip(*rows)]
    whole = all(cell.lstrip("+-").isdigit() for cells in columns for cell in cells)
    parts = [cell for cells in columns[1::2] for cell in cells]
    if whole and len(columns) % 2 == 0 and any(len(c) > 1 and c[0] == "0" for c in parts):
        raise RecordingError(
            f"{path}: cells such as {next(c for c in parts if len(c) > 1 and c[0] == '0')!r} look "
            "like the decimals of numbers split at decimal commas: write decimal points, or "
            "separate columns by semicolons."
        )


def split_row(row: str, delimiter: str | None) -> list[str]:
    """Split one row into its cells."""
    if delimiter is None:
        return row.split()
    if '"' not in row:
        return row.split(delimiter)
    return next(csv.reader([row], delimiter=delimiter), [])


def rows_of(file: TextIO, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each row of values."""
    for number, line in enumerate(file, start=1):
        if number < layout.first_line:
            continue
        text = line.rstrip("\n")
        if "#" in text and '"' not in text:
            text = _COMMENT.split(text, maxsplit=1)[0]
        if text.strip() and not text.lstrip().startswith("#"):
            yield number, split_row(text, layout.delimiter)


def looks_numeric(cell: str) -> bool:
    """Whether a cell is a value rather than a name: a number, true, false, or nothing."""
    return is_number(cell.strip().strip('"'))
