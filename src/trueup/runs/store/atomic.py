"""Atomic writes: a reader finds the complete old or new content.

The content goes to a temporary file in the same folder, reaches the disk, and takes the name of the
file in one step. If the process is killed or the disk is full, the previous file is unchanged.

JSON does not support infinity and not-a-number. They are written as the strings
``"Infinity"``, ``"-Infinity"`` and ``"NaN"``, which ``float(...)`` of Python turns back into the
numbers; other readers see a string where a number was not finite, never an invalid file.

Passwords, tokens and keys are masked in texts and in JSON. Within :func:`marked` every file has a
note on the inputs that had changed.
"""

import dataclasses
import datetime
import enum
import json
import math
import os
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from trueup._input_files import check_regular
from trueup._marks import marked
from trueup._secrets import masked
from trueup._writing import remove_partial, write_bytes, write_text
from trueup.errors import RunDirectoryError

__all__ = [
    "marked",
    "read_json",
    "remove_partial",
    "to_json",
    "to_plain",
    "write_bytes",
    "write_json",
    "write_text",
]


def write_json(path: str | os.PathLike[str], value: Any, *, indent: int | None = 2) -> Path:
    """Write ``value`` as JSON to ``path`` in one step; errors as :func:`write_bytes`.

    See :func:`to_plain` for the supported types.

    Raises:
        TypeError: ``value`` contains an object without a JSON form.
    """
    text = to_json(masked(to_plain(value)), indent=indent) + "\n"
    return write_bytes(path, text.encode("utf-8", "replace"))


def to_json(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> str:
    """Return ``value`` as JSON text, after :func:`to_plain`."""
    return json.dumps(
        to_plain(value), indent=indent, sort_keys=sort_keys, ensure_ascii=False, allow_nan=False
    )


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file.

    Raises:
        RunDirectoryError: the file does not exist, cannot be read, or is not JSON.
    """
    path = Path(path)
    check_regular(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunDirectoryError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise RunDirectoryError(f"{path} is not a JSON file: {error}") from error


def to_plain(value: Any, _where: str = "value") -> Any:
    """Convert ``value`` to JSON types: dict, list, str, int, float, bool and None.

    Arrays become nested lists, numpy scalars Python numbers, tuples lists, sets sorted lists,
    dataclasses dicts, enumeration members their names, paths and dates strings, non-finite numbers
    the strings ``"Infinity"``, ``"-Infinity"`` and ``"NaN"``.

    Raises:
        TypeError: an object has no JSON form; the message contains its location.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return _plain_float(float(value))
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist(), _where)
    if isinstance(value, PurePath):
        return value.as_posix()
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: to_plain(getattr(value, field.name), f"{_where}.{field.name}")
            for field in dataclasses.fields(value)
        }
    if isinstance(value, dict):
        return {
            _plain_key(key, _where): to_plain(v, f"{_where}[{key!r}]") for key, v in value.items()
        }
    if isinstance(value, (set, frozenset)):
        return sorted((to_plain(v, _where) for v in value), key=repr)
    if isinstance(value, (list, tuple)):
        return [to_plain(v, f"{_where}[{i}]") for i, v in enumerate(value)]
    raise TypeError(f"{_where} is a {type(value).__name__}, which has no JSON form")


def _plain_float(number: float) -> float | str:
    if math.isfinite(number):
        return number
    if math.isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


def _plain_key(key: Any, where: str) -> str:
    if isinstance(key, enum.Enum):
        return key.name
    if isinstance(key, str):
        return str(key)
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        return str(int(key))
    raise TypeError(f"{where} has the key {key!r}; JSON keys are strings")
