"""HDF5 files, among them MAT files of version 7.3."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from trueup._memory_budget import MemoryBudget
from trueup.errors import RecordingError, did_you_mean, listing
from trueup.signals.readers._optional import import_optional
from trueup.signals.readers.contents import Contents, Table

# MATLAB 7.3 writes a text header before the signature.
BEGINS_WITH = (b"\x89HDF\r\n\x1a\n", b"MATLAB 7.3")
"""First bytes of an HDF5 file."""

# Data of more numbers than this along the second axis are images, not signals.
_WIDEST = 512
_DOUBLE = 8  # bytes of a value once it is a column


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
    budget = MemoryBudget(path)

    def read(item: Any) -> Any:
        budget.take(item.size * max(item.dtype.itemsize, _DOUBLE))
        return item[()]

    def visit(name: str, item: Any) -> None:
        metadata.update({f"{name}/{key}": value for key, value in _attributes(item, budget)})
        if not isinstance(item, h5py.Dataset) or name.startswith("#"):
            return
        if (elsewhere := _other_file(item)) is not None:
            left_out[name] = f"its values are in another file, {elsewhere}, which is not opened"
        elif item.dtype.kind in "SUO" and item.shape == ():
            metadata[name] = _text(read(item))
        elif item.dtype.kind in "SO" and item.ndim == 1 and len(item) <= _WIDEST:
            metadata[name] = [_text(value) for value in read(item)]
        elif item.dtype.kind not in "buif":
            left_out[name] = f"its values are no real numbers ({item.dtype})"
        elif item.shape is None or item.ndim > 2 or (item.ndim == 2 and min(item.shape) > _WIDEST):
            left_out[name] = f"its shape is {item.shape}"
        elif _text(item.attrs.get("MATLAB_class", "")) == "char":
            metadata[name] = "".join(chr(c) for c in np.ravel(read(item)))
        else:
            columns[name] = read(item)

    with h5py.File(path, "r") as file:
        if group is not None and not isinstance(_inside(file, group, h5py), h5py.Group):
            groups: list[str] = []
            file.visititems(lambda n, i: groups.append(n) if isinstance(i, h5py.Group) else None)
            raise RecordingError(
                f"{path} has no group {group!r}.{did_you_mean(group, groups)} Groups: "
                f"{listing(groups)}."
            )
        root = file if group is None else file[group]
        metadata.update(_attributes(root, budget))
        root.visititems(visit)
        left_out |= _external_links(root, h5py)
    if left_out:
        metadata["left_out"] = left_out
    return Contents((Table(columns),), metadata)


def _attributes(item: Any, budget: MemoryBudget) -> Iterator[tuple[str, Any]]:
    """Names and plain values of the attributes of a group or dataset."""
    for key in item.attrs:
        identity = item.attrs.get_id(key)
        budget.take(math.prod(identity.shape or ()) * identity.dtype.itemsize)
        yield key, _plain(item.attrs[key])


def _other_file(dataset: Any) -> str | None:
    """File that holds the values of a dataset, if it is not this one; None for this one.

    A file from elsewhere could name any file of the machine, whose bytes would become numbers.
    """
    if dataset.external:
        return repr(str(dataset.external[0][0]))
    if dataset.is_virtual:
        others = [s.file_name for s in dataset.virtual_sources() if s.file_name != "."]
        return repr(others[0]) if others else None
    return None


def _inside(place: Any, name: str, h5py: Any, links: int = 16) -> Any:
    """Object of a name, without following links to other files; None if there is none."""
    for part in filter(None, name.split("/")):
        link = place.get(part, getlink=True) if isinstance(place, h5py.Group) else None
        if link is None or isinstance(link, h5py.ExternalLink) or links == 0:
            return None
        if isinstance(link, h5py.SoftLink):
            start = place.file if link.path.startswith("/") else place
            place = _inside(start, link.path, h5py, links - 1)
        else:
            place = place[part]
    return place


def _external_links(root: Any, h5py: Any) -> dict[str, str]:
    """Links of a group, and of the groups in it, to other files, with why they are not read."""
    found: dict[str, str] = {}

    def visit(name: str, item: Any) -> None:
        if not isinstance(item, h5py.Group):
            return
        for key in item:
            link = item.get(key, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                where = f"{name}/{key}" if name else key
                found[where] = f"it is in another file, {link.filename!r}, which is not opened"

    visit("", root)
    root.visititems(visit)
    return found


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
