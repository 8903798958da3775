"""Tensors saved by ``torch.save``, read without torch and without running code of the file.

The file is a zip archive of a pickle and of the raw numbers of each tensor. The pickle may name
only the parts of plain tensors; any other name is an error.
"""

import io
import math
import pickle
import pickletools
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from trueup._input_files import archive_member, check_archive
from trueup._memory_budget import MemoryBudget
from trueup.errors import InputFileError, RecordingError, reason
from trueup.signals.readers.contents import Contents, Table

_DTYPES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}

_SIZED = ("PUT", "BINPUT", "LONG_BINPUT", "GET", "BINGET", "LONG_BINGET")


def read_torch(path: Path) -> Contents:
    """Read a dictionary of tensors; one with two axes becomes one column per component.

    Args:
        path: The file.

    Raises:
        RecordingError: The file is damaged, is not a dictionary, or contains objects other than
            numbers and tensors.
    """
    try:
        check_archive(path)
        with zipfile.ZipFile(path) as archive:
            (pickled,) = [n for n in archive.namelist() if n.endswith("data.pkl")]
            root = pickled.removesuffix("data.pkl")
            data = archive_member(archive, pickled)
            _check_pickle(data)
            found = _Tensors(archive, root, data, MemoryBudget(path)).load()
    except InputFileError:
        raise
    except RecordingError as error:
        raise RecordingError(f"{path}: {error}") from error
    except Exception as error:  # a damaged pickle may raise any exception
        raise RecordingError(f"{path} is damaged, or not a torch file: {reason(error)}") from error
    if not isinstance(found, dict):
        raise RecordingError(
            f"{path} contains a {type(found).__name__}: save a dictionary of tensors, such as "
            "torch.save({'time': t, 'dof_pos': q}, 'log.pt')"
        )
    columns: dict[str, np.ndarray] = {}
    metadata: dict[str, object] = {}
    for name, value in found.items():
        if isinstance(value, np.ndarray) and value.ndim in (1, 2):
            columns[str(name)] = value
        elif isinstance(value, str | int | float) or (
            isinstance(value, list) and all(isinstance(each, str | int | float) for each in value)
        ):
            metadata[str(name)] = value
    return Contents((Table(columns),), metadata)


def _check_pickle(data: bytes) -> None:
    """Check the sizes that a pickle states, for which the unpickler allocates memory at once.

    An index of its memo makes a table of as many places. Lengths of texts and bytes are checked by
    :func:`pickletools.genops`.

    Raises:
        RecordingError: A size is larger than the pickle.
        ValueError: It is not a pickle.
    """
    for operation, argument, _ in pickletools.genops(data):
        if operation.name in _SIZED and isinstance(argument, int) and argument > len(data):
            raise RecordingError(
                f"its pickle of {len(data)} bytes states the place {argument}: the file is damaged"
            )


class _Tensors(pickle.Unpickler):
    """Unpickles tensors as arrays, and nothing else."""

    def __init__(self, archive: zipfile.ZipFile, root: str, data: bytes, budget: MemoryBudget):
        super().__init__(io.BytesIO(data))
        self.archive, self.root, self.budget = archive, root, budget

    def find_class(self, module: str, name: str) -> Any:
        """Return a part of a plain tensor by name; any other name raises RecordingError."""
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return self._tensor
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch" and name in _DTYPES:
            return np.dtype(_DTYPES[name])
        raise RecordingError(
            f"the file contains {module}.{name}: only dictionaries of tensors are "
            "supported. Save it again with plain tensors, such as value.detach().cpu()"
        )

    def persistent_load(self, pid: Any) -> np.ndarray:
        """The numbers of a storage."""
        _, dtype, key, _, count = pid
        raw = archive_member(self.archive, f"{self.root}data/{key}")
        return np.frombuffer(raw, dtype, count=int(count))

    def _tensor(
        self,
        storage: np.ndarray,
        offset: int,
        size: tuple[int, ...],
        stride: tuple[int, ...],
        *_: Any,
    ) -> np.ndarray:
        """An array of a tensor's storage; an expanded tensor repeats its numbers."""
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) + 1
        negative = min(*size, *stride, offset, 0) < 0
        if negative or (0 not in size and last > len(storage)):
            raise RecordingError("a tensor is larger than its storage: the file is damaged")
        self.budget.take(math.prod(size) * 8)
        strides = tuple(step * storage.itemsize for step in stride)
        view = np.lib.stride_tricks.as_strided(storage[offset:], size, strides, writeable=False)
        return np.array(view)
