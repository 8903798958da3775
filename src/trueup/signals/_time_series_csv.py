"""Time series as comma-separated text; an optional header keeps signal names and types.

A header cell is ``name:Type``, with the component in brackets where a signal is wider than one
column: ``time,elbow_pos:MjSensor,imu_acc[0]:MjSensor,imu_acc[1]:MjSensor``. A cell without a known
type is a custom observation of that name; an empty cell is a column without a name.
"""

import csv
import re
from pathlib import Path

import numpy as np

from trueup.errors import SignalError
from trueup.signals.signal_type import SignalMapping, SignalType

_COMPONENT = re.compile(r"^(?P<name>.*)\[(?P<component>\d+)\]$", re.DOTALL)


def write_csv(
    path: str | Path,
    times: np.ndarray,
    data: np.ndarray,
    signal_mapping: SignalMapping | None,
    header: bool,
) -> None:
    """Write times and columns, first column time [s], with 17 significant digits or more."""
    if data.ndim > 2:
        raise SignalError(
            f"CSV files support data of shape (n,) or (n, channels), found {data.shape}: "
            "use save_to_disk instead."
        )
    columns = data.reshape(len(times), -1)
    cells = _header(signal_mapping or {}, columns.shape[1]) if header else None
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        if cells is not None:
            csv.writer(file, lineterminator="\n").writerow(cells)
        np.savetxt(file, np.column_stack([times, columns]), delimiter=",")


def read_csv(path: str | Path) -> tuple[np.ndarray, np.ndarray, SignalMapping | None]:
    """Read ``(times, data, signal_mapping)``; the mapping is None without named columns.

    Raises:
        SignalError: missing or empty file, a cell that is not a number, rows of unequal length, or
            a header that does not match the columns.
    """
    path = Path(path)
    if not path.is_file():
        raise SignalError(f"No such file: {str(path)!r}.")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            first = next((row for row in csv.reader(file) if row), None)
            if first is None:
                raise SignalError(f"{str(path)!r} is empty: expected a time column and data.")
            has_header = not all(_is_number(cell) for cell in first)
            lines = file.readlines()
        rows = [] if has_header else [",".join(first)]
        rows += [line for line in lines if line.strip()]
        if not rows:
            raise SignalError(f"{str(path)!r} contains a header but no samples.")
        table = np.loadtxt(rows, delimiter=",", ndmin=2, comments=None)
    except (csv.Error, ValueError) as error:
        if isinstance(error, SignalError):
            raise
        raise SignalError(f"{str(path)!r} cannot be read as a time series: {error}.") from error
    if not has_header:
        return table[:, 0], table[:, 1:], None
    if len(first) != table.shape[1]:
        raise SignalError(
            f"{str(path)!r} has {len(first)} header cells but {table.shape[1]} columns."
        )
    return table[:, 0], table[:, 1:], _mapping(first[1:], path)


def _header(signal_mapping: SignalMapping, width: int) -> list[str]:
    cells = [""] * width
    for name, (signal_type, indices) in signal_mapping.items():
        indices = np.atleast_1d(indices)
        # A one-column signal with a name that ends like a component needs the component as well.
        numbered = len(indices) > 1 or _COMPONENT.match(name) is not None
        for component, column in enumerate(indices):
            if not 0 <= column < width:
                raise SignalError(
                    f"Signal {name!r} refers to column {column}, but the data has {width} columns."
                )
            if cells[column]:
                raise SignalError(
                    f"Column {column} belongs to {name!r} and to {cells[column]!r}: a header has "
                    "one name per column. Save with header=False or save_to_disk."
                )
            suffix = f"[{component}]" if numbered else ""
            cells[column] = f"{name}{suffix}:{signal_type.name}"
    return ["time", *cells]


def _mapping(cells: list[str], path: Path) -> SignalMapping | None:
    components: dict[str, tuple[SignalType, dict[int, int]]] = {}
    for column, cell in enumerate(cells):
        if not cell.strip():
            continue
        label, _, type_name = cell.rpartition(":")
        if label and type_name in SignalType.__members__:
            signal_type = SignalType[type_name]
            match = _COMPONENT.match(label)
            name = match["name"] if match else label
            component = int(match["component"]) if match else 0
        else:
            signal_type, name, component = SignalType.CustomObs, cell.strip(), 0
        known_type, places = components.setdefault(name, (signal_type, {}))
        if component in places or known_type is not signal_type:
            raise SignalError(
                f"The header of {str(path)!r} names {cell!r} twice, or with two types: each column "
                "needs its own name."
            )
        places[component] = column
    mapping: SignalMapping = {}
    for name, (signal_type, places) in components.items():
        order = sorted(places)
        if order != list(range(len(order))):
            raise SignalError(
                f"The header of {str(path)!r} contains components {order} of {name!r}: expected "
                f"0 to {len(order) - 1}."
            )
        mapping[name] = (signal_type, np.array([places[k] for k in order], dtype=int))
    return mapping or None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
