"""Parquet files."""

from pathlib import Path
from typing import Any

import numpy as np

from trueup.signals.readers._optional import import_optional
from trueup.signals.readers.contents import Contents, Table

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def read_parquet(path: Path, *, columns: list[str] | None = None) -> Contents:
    """Read a Parquet file; lists of equal length become one column per component.

    Args:
        path: The file.
        columns: Names of the columns to read; None reads all.
    """
    parquet = import_optional("pyarrow.parquet", "Reading Parquet", "pyarrow")
    table = parquet.read_table(path, columns=columns, partitioning=None)
    return table_contents(table)


def table_contents(table: Any) -> Contents:
    """Return the numeric columns of an Arrow table."""
    types = import_optional("pyarrow.types", "Reading Parquet", "pyarrow")
    while any(types.is_struct(field.type) for field in table.schema):
        names = [
            f"{field.name}/{field.type.field(k).name}" if types.is_struct(field.type) else None
            for field in table.schema
            for k in range(field.type.num_fields if types.is_struct(field.type) else 1)
        ]
        table = table.flatten()
        table = table.rename_columns(
            [name or found for name, found in zip(names, table.column_names)]
        )
    columns: dict[str, np.ndarray] = {}
    units: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for name, column in zip(table.column_names, table.columns):
        if types.is_timestamp(column.type) or types.is_duration(column.type):
            columns[name] = _seconds(column)
            units[name] = "s"
            continue
        values = numeric_array(column)
        if values is None:
            left_out[name] = f"its type is {column.type}"
        else:
            columns[name] = values
    return Contents((Table(columns, units=units),), {"left_out": left_out} if left_out else {})


def numeric_array(column: Any) -> np.ndarray | None:
    """Return a column as (n,) or (n, k) numbers, NaN for null; None for other types.

    Lists of different lengths give None.
    """
    arrow = import_optional("pyarrow", "Reading Parquet", "pyarrow")
    types = import_optional("pyarrow.types", "Reading Parquet", "pyarrow")
    if isinstance(column, arrow.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        rows = len(column)
        inner = numeric_array(column.flatten())
        if inner is None or column.null_count or rows == 0 or inner.size % rows:
            return None
        if not types.is_fixed_size_list(kind):
            lengths = np.diff(np.asarray(column.offsets))
            if np.any(lengths != lengths[0]):
                return None
        return inner.reshape(rows, -1)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return np.asarray(column.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False))
    if types.is_boolean(kind):
        numbers = column.cast(arrow.uint8()).cast(arrow.float64())
        return np.asarray(numbers.to_numpy(zero_copy_only=False))
    return None


def _seconds(column: Any) -> np.ndarray:
    """Return a column of points in time or durations in seconds; null is NaN."""
    arrow = import_optional("pyarrow", "Reading Parquet", "pyarrow")
    ticks = column.combine_chunks().cast(arrow.int64())
    numbers = ticks.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(numbers) / _PER_SECOND[column.type.unit]
