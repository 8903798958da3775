"""MAT files of MATLAB 5 and newer, but not 7.3."""

import struct
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import RecordingError
from trueup.signals.readers._mat_elements import BYTE_ORDERS, HEADER_BYTES, check_mat
from trueup.signals.readers.contents import Contents, Table
from trueup.signals.readers.hdf5 import BEGINS_WITH

# scipy returns MATLAB objects without plain values, such as timeseries and tables, as these.
_OPAQUE = ("MatlabOpaque", "MatlabFunction")

_TAG_BYTES = 8


def read_mat(path: Path) -> Contents:
    """Read the variables of a MAT file; fields of a struct become ``struct/field``.

    Single numbers and texts become metadata.

    Raises:
        RecordingError: The file is of version 7.3, which is HDF5.
    """
    with path.open("rb") as file:
        is_hdf5 = file.read(HEADER_BYTES).startswith(BEGINS_WITH)
    if is_hdf5:
        raise RecordingError(
            f"{path} is a MAT file of version 7.3, which is HDF5: read it with format='hdf5', or "
            "save it in MATLAB with  save(..., '-v7')."
        )
    _check_whole(path)
    check_mat(path)
    from scipy.io import loadmat

    variables = loadmat(str(path), simplify_cells=True)
    columns: dict[str, np.ndarray] = {}
    metadata: dict[str, object] = {}
    left_out: dict[str, str] = {}
    for name, value in variables.items():
        if name == "__function_workspace__":
            left_out["timeseries, table or object variables"] = (
                "MATLAB stores them in a proprietary format: save their numbers as arrays"
            )
        elif not name.startswith("__"):
            _collect(name, value, columns, metadata, left_out)
    if left_out:
        metadata["left_out"] = left_out
    return Contents((Table(columns),), metadata)


def _check_whole(path: Path) -> None:
    """Refuse a MATLAB 5 file that ends before its last variable does; scipy can crash on those."""
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
        order = BYTE_ORDERS.get(header[126:128])
        if not header.startswith(b"MATLAB") or order is None:
            return
        size = path.stat().st_size
        position = HEADER_BYTES
        while position < size:
            file.seek(position)
            tag = file.read(_TAG_BYTES)
            length = struct.unpack(f"{order}II", tag)[1] if len(tag) == _TAG_BYTES else size
            position += _TAG_BYTES + length
    if position != size or size == HEADER_BYTES:
        raise RecordingError(
            f"{path} is truncated or damaged: its variables need "
            f"{position if position > size else 'more'} bytes, found {size}. Copy it again, or "
            "save it again."
        )


def _collect(
    name: str,
    value: Any,
    columns: dict[str, np.ndarray],
    metadata: dict[str, object],
    left_out: dict[str, str],
) -> None:
    """Sort a variable and its fields into columns, metadata and skipped names."""
    if _is_scope(value):
        _collect_scope(name, value, columns, metadata, left_out)
    elif isinstance(value, dict):
        for field, inner in value.items():
            _collect(f"{name}/{field}", inner, columns, metadata, left_out)
    elif isinstance(value, str):
        metadata[name] = value
    elif type(value).__name__ in _OPAQUE:
        left_out[name] = "MATLAB stores it in a proprietary format: save its numbers as arrays"
    elif isinstance(value, (list, np.ndarray)) and np.asarray(value, dtype=object).size == 0:
        left_out[name] = "it is empty"
    elif isinstance(value, np.ndarray) and value.dtype.names:
        for field in value.dtype.names:
            _collect(f"{name}/{field}", value[field], columns, metadata, left_out)
    elif isinstance(value, list) or (isinstance(value, np.ndarray) and value.dtype == object):
        for place, inner in enumerate(np.ravel(value) if isinstance(value, np.ndarray) else value):
            _collect(f"{name}/{place}", inner, columns, metadata, left_out)
    elif hasattr(value, "toarray"):
        left_out[name] = "it is a sparse matrix"
    else:
        columns[name] = np.asarray(value)


def _is_scope(value: Any) -> bool:
    """Whether a struct is a "structure with time" of Simulink."""
    if not isinstance(value, dict) or not {"time", "signals"} <= value.keys():
        return False
    return all(isinstance(s, dict) and "values" in s for s in _scope_signals(value))


def _scope_signals(value: dict[str, Any]) -> list[Any]:
    signals = value["signals"]
    return list(np.ravel(signals)) if isinstance(signals, (list, np.ndarray)) else [signals]


def _collect_scope(
    name: str,
    value: dict[str, Any],
    columns: dict[str, np.ndarray],
    metadata: dict[str, object],
    left_out: dict[str, str],
) -> None:
    """Columns ``name/time`` and ``name/label``, or ``name/values`` where the label is the name.

    Simulink stacks samples of a matrix along the last of three axes.
    """
    columns[f"{name}/time"] = np.ravel(np.asarray(value["time"]))
    count = len(columns[f"{name}/time"])
    for place, signal in enumerate(_scope_signals(value)):
        label = str(signal.get("label") or "").strip()
        if not label or label == name or f"{name}/{label}" in columns:
            label = "values" if len(_scope_signals(value)) == 1 else f"values/{place}"
        values = np.asarray(signal["values"])
        if values.ndim == 3 and values.shape[2] == count:
            values = values.reshape(-1, count).T
        columns[f"{name}/{label}"] = values
    for field, inner in value.items():
        if field not in ("time", "signals"):
            _collect(f"{name}/{field}", inner, columns, metadata, left_out)
