"""CSV, TSV and other delimited text."""

from pathlib import Path

import numpy as np

from trueup.errors import RecordingError
from trueup.signals.readers._delimited_text import Layout, find_layout, open_text, rows_of
from trueup.signals.readers._written_numbers import WrittenColumn, read_columns
from trueup.signals.readers.contents import Contents, Table


def read_delimited(
    path: Path, *, delimiter: str | None = None, header: bool | None = None
) -> Contents:
    """Read delimited text.

    Lines that begin with ``#`` are comments; one that names the columns, as numpy writes it, is
    taken as the header. Columns of text are skipped; empty cells are NaN; true and false are 1
    and 0. Without a header the columns are named ``0``, ``1`` and so on. Decimal commas and
    thousands separators are read where they are unambiguous.

    Args:
        path: The file.
        delimiter: Delimiter; detected if None. A blank matches any white space.
        header: Whether the first row names the columns; detected if None.

    Raises:
        RecordingError: Binary content, no rows, a truncated row, a cell that is not a number or is
            ambiguous; the message names line and column.
    """
    layout = find_layout(path, delimiter, header)
    try:
        values = np.loadtxt(
            str(path.resolve()),
            delimiter=layout.delimiter,
            skiprows=layout.first_line - 1,
            ndmin=2,
            comments=None,
            quotechar='"' if layout.quoted else None,
            encoding=layout.encoding,
        )
    except (ValueError, OverflowError):
        # The fast parser supports plain numbers only, and counts rows rather than lines.
        return _read_careful(path, layout)
    if values.shape[1] != len(layout.names):
        return _read_careful(path, layout)
    return Contents((Table(dict(zip(layout.names, values.T))),), _metadata(layout))


def _metadata(layout: Layout) -> dict[str, object]:
    """First line of values, and the columns whose names the header repeats."""
    repeated = {"repeated": layout.repeated} if layout.repeated else {}
    return {"first_line": layout.first_line, **repeated}


def _advice(layout: Layout, cells: int) -> str:
    if layout.delimiter == "," and cells == 2 * len(layout.names):
        return (
            "Commas are both column separators and decimal commas: write decimal points, or "
            "separate columns by semicolons."
        )
    return "Correct that line, or give the delimiter."


def _read_careful(path: Path, layout: Layout) -> Contents:
    """Read cell by cell: empty cells, texts, true and false; errors name line and column."""
    with open_text(path, layout.encoding) as file:
        numbered = list(rows_of(file, layout))
    if not numbered:
        raise RecordingError(f"{path} contains no rows of values.")
    names = list(layout.names)
    width = len(names)
    lines = [number for number, _ in numbered]
    rows = [row for _, row in numbered]
    if all(len(row) == width + 1 and not row[-1].strip() for row in rows):
        # Every row ends with a delimiter.
        rows = [row[:-1] for row in rows]
    for line, row in zip(lines, rows):
        if len(row) == width:
            continue
        if line == lines[-1] and len(row) < width:
            raise RecordingError(
                f"{path}, line {line}: the last row is truncated: expected {width} cells, found "
                f"{len(row)}. Delete that line, or record or copy the file again."
            )
        raise RecordingError(
            f"{path}, line {line}: expected {width} cells, found {len(row)}"
            f" ({', '.join(names[:6])}{', ...' if width > 6 else ''}). {_advice(layout, len(row))}"
        )
    written = {name: WrittenColumn(cells) for name, cells in zip(names, zip(*rows))}
    doubts, commas = read_columns({n: c for n, c in written.items() if not c.texts})
    if doubts:
        first = min(doubts, key=lambda doubt: doubt.place)
        raise RecordingError(
            f"{path}, line {lines[first.place]}, column {first.column!r}: {first.why}."
        )
    columns: dict[str, np.ndarray] = {}
    left_out: dict[str, str] = {}
    for place, (name, column) in enumerate(written.items()):
        empty = np.isnan(column.values).all()
        if name == str(place) and place == width - 1 and empty and not column.texts:
            continue
        if not column.texts:
            columns[name] = column.values
            continue
        cell = column.cells[column.texts[0]].strip()
        if np.isfinite(column.values).any() or column.decimals or column.open:
            raise RecordingError(
                f"{path}, line {lines[column.texts[0]]}, column {name!r}: {cell[:40]!r} is not a "
                "number."
            )
        left_out[name] = f"it contains text such as {cell[:40]!r}"
    metadata = _metadata(layout)
    if commas:
        metadata["decimal"] = ","
    if left_out:
        metadata["left_out"] = left_out
    return Contents((Table(columns),), metadata)
