"""Output of a reader: the columns of a file, before the clock is selected."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Table:
    """Columns that belong together.

    Attributes:
        columns: Values by name. Arrays of shape (n,), and of shape (n, k) or (k, n), which become
            the columns ``name/0`` to ``name/<k - 1>``. Where lengths differ, as in a MAT or HDF5
            file, each column goes to the clock of its length; single values become metadata.
        times: Times of the samples, shape (n,) [s], where the format defines them; None where
            the clock is one of the columns or comes from a rate.
        name: Name of the stream; empty where the file has only one.
        units: Unit by column, where the format defines it.
    """

    columns: dict[str, np.ndarray]
    times: np.ndarray | None = None
    name: str = ""
    units: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Contents:
    """Contents of one recording as read.

    Attributes:
        tables: The columns, by clock where the format has clocks.
        metadata: Scalars and texts, and ``left_out``: the reason for each skipped column.
        name: Name of the recording within the file, such as ``episode_3``; empty for a whole file.
        files: Files that were read, where the path is a folder.
    """

    tables: tuple[Table, ...]
    metadata: dict[str, object] = field(default_factory=dict)
    name: str = ""
    files: tuple[Path, ...] = ()
