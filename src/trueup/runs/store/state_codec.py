"""Exact serialisation of the state of a search as a JSON document and plain arrays.

The document is the state with each array replaced by ``{"$array": key}`` and each number that is
not finite by ``{"$float": "inf"}``. The arrays are kept in the ``.npy`` format without pickling.
"""

import io
import json
import math
from typing import Any

import numpy as np

from trueup.errors import RunDirectoryError

_ARRAY = "$array"
_FLOAT = "$float"


def encode_state(state: dict[str, Any]) -> tuple[str, dict[str, bytes]]:
    """Return the JSON document of ``state`` and its arrays in the ``.npy`` format.

    Numpy scalars are decoded as Python numbers and tuples as lists; everything else is bitwise
    equal.

    Raises:
        TypeError: the state contains types other than dict (with string keys), list, tuple, str,
            number, bool, None and arrays of numbers.
    """
    arrays: dict[str, bytes] = {}
    document = _encode(state, "state", arrays)
    return json.dumps(document, ensure_ascii=False, allow_nan=False), arrays


def decode_state(document: str, arrays: dict[str, bytes]) -> dict[str, Any]:
    """Return the state of :func:`encode_state`.

    Raises:
        RunDirectoryError: the document or an array is damaged or missing.
    """
    try:
        return _decode(json.loads(document), arrays)
    except (ValueError, KeyError, TypeError, EOFError) as error:
        raise RunDirectoryError(f"the saved state of the search is damaged: {error!r}") from error


def array_to_bytes(array: np.ndarray) -> bytes:
    """Return an array in the ``.npy`` format, which keeps type, shape and order."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def array_from_bytes(content: bytes) -> np.ndarray:
    """Return the array of a ``.npy`` file's content."""
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


def _encode(value: Any, where: str, arrays: dict[str, bytes]) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError(f"{where} is an array of objects; a state supports arrays of numbers")
        # The number keeps {"a.b": ...} and {"a": {"b": ...}} apart.
        key = f"{len(arrays)} {where}"
        arrays[key] = array_to_bytes(value)
        return {_ARRAY: key}
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else {_FLOAT: repr(number)}
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or key in (_ARRAY, _FLOAT):
                raise TypeError(f"{where} has the unsupported key {key!r}")
        return {key: _encode(v, f"{where}.{key}", arrays) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode(v, f"{where}[{i}]", arrays) for i, v in enumerate(value)]
    raise TypeError(f"{where} is a {type(value).__name__}; a state supports JSON values and arrays")


def _decode(value: Any, arrays: dict[str, bytes]) -> Any:
    if isinstance(value, dict):
        if set(value) == {_ARRAY}:
            return array_from_bytes(arrays[value[_ARRAY]])
        if set(value) == {_FLOAT}:
            return float(value[_FLOAT])
        return {key: _decode(v, arrays) for key, v in value.items()}
    if isinstance(value, list):
        return [_decode(v, arrays) for v in value]
    return value
