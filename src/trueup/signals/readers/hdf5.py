"""HDF5 files, among them MAT files of version 7.3."""

from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import RecordingError, did_you_mean, listing
from trueup.signals.readers._optional import import_optional
from trueup.signals.readers.contents import Contents, Table

# MATLAB 7.3 writes a text header before the signature.
BEGINS_WITH = (b"\x89HDF\r\n\x1a\n", b"MATLAB 7.3")
"""First bytes of an HDF5 file."""

# Data of more numbers than this along the second axis are images, not signals.
_WIDEST = 512


def read_hdf5(path: Path, *, group: str | None = None) -> Contents:
    """Read the 1-D and 2-D numeric datasets of an HDF5 file, named by their path in it.

    Texts and attributes are metadata, those of a group or dataset under its path.

    Args:
        path: The file.
        group: Group to read, such as ``episode_3``; None reads the whole file. Names of columns
            are then relative to it.

    Raises:
        RecordingError: The group does not exist.
    """
    h5py = import_optional("h5py", "Reading HDF5", "h5py")
    columns: dict[str, np.ndarray] = {}
    metadata: dict[str, object] = {}
    left_out: dict[str, str] = {}

    def visit(name: str, item: Any) -> None:
        for key, value in item.attrs.items():
            metadata[f"{name}/{key}"] = _plain(value)
        if not isinstance(item, h5py.Dataset) or name.startswith("#"):
            return
        if item.dtype.kind in "SUO" and item.shape == ():
            metadata[name] = _text(item[()])
        elif item.dtype.kind in "SO" and item.ndim == 1 and len(item) <= _WIDEST:
            metadata[name] = [_text(value) for value in item[()]]
        elif item.dtype.kind not in "buif":
            left_out[name] = f"its values are no real numbers ({item.dtype})"
        elif _text(item.attrs.get("MATLAB_class", "")) == "char":
            metadata[name] = "".join(chr(c) for c in np.ravel(item[()]))
        elif item.shape is None or item.ndim > 2 or (item.ndim == 2 and min(item.shape) > _WIDEST):
            left_out[name] = f"its shape is {item.shape}"
        else:
            columns[name] = item[()]

    with h5py.File(path, "r") as file:
        if group is not None and not isinstance(file.get(group), h5py.Group):
            groups: list[str] = []
            file.visititems(lambda n, i: groups.append(n) if isinstance(i, h5py.Group) else None)
            raise RecordingError(
                f"{path} has no group {group!r}.{did_you_mean(group, groups)} Groups: "
                f"{listing(groups)}."
            )
        root = file if group is None else file[group]
        for key, value in root.attrs.items():
            metadata[key] = _plain(value)
        root.visititems(visit)
    if left_out:
        metadata["left_out"] = left_out
    return Contents((Table(columns),), metadata)


def _plain(value: Any) -> Any:
    """Return an attribute as plain Python values, texts decoded."""
    if np.ndim(value) == 0:
        return _text(value)
    return [_plain(item) for item in np.asarray(value)]


def _text(value: Any) -> Any:
    """Return an attribute as a plain Python value."""
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return value.item() if isinstance(value, np.generic) else value
