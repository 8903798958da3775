"""Parquet files."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from trueup._memory_budget import MemoryBudget
from trueup.errors import RecordingError, did_you_mean, listing
from trueup.signals.readers._optional import import_optional
from trueup.signals.readers.contents import Contents, Table

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def read_parquet(path: Path, *, columns: list[str] | None = None) -> Contents:
    """Read a Parquet file; lists of equal length become one column per component.

    Args:
        path: The file.
        columns: Names of the columns to read; None reads all.

    Raises:
        RecordingError: A column does not exist.
        InputFileError: The file would unpack to an implausible size.
    """
    file = open_parquet(path)
    left_out: dict[str, str] = {}
    wanted = readable_columns(file, left_out)
    if columns is not None:
        names = file.schema_arrow.names
        if missing := [name for name in columns if name not in names]:
            raise RecordingError(
                f"{path} has no column {missing[0]!r}.{did_you_mean(missing[0], names)} Columns: "
                f"{listing(names)}."
            )
        wanted = [name for name in wanted if name in columns]
        left_out = {name: why for name, why in left_out.items() if name in columns}
    check_size(file, wanted, MemoryBudget(path))
    contents = table_contents(file.read(columns=wanted))
    left_out |= contents.metadata.get("left_out", {})  # type: ignore[arg-type]
    return Contents(contents.tables, {"left_out": left_out} if left_out else {})


def open_parquet(path: Path) -> Any:
    """Open a Parquet file, of which only the description is read."""
    parquet = import_optional("pyarrow.parquet", "Reading Parquet", "pyarrow")
    return parquet.ParquetFile(path)


def readable_columns(file: Any, left_out: dict[str, str]) -> list[str]:
    """Names of the columns that may contain numbers; others are added to ``left_out``.

    Texts and binary values, such as images, are not read: a few bytes repeat them without end.
    """
    wanted = []
    for field in file.schema_arrow:
        if _may_be_numbers(field.type):
            wanted.append(field.name)
        else:
            left_out[field.name] = f"its type is {field.type}"
    return wanted


def check_size(file: Any, columns: list[str], budget: MemoryBudget) -> None:
    """Take the memory of some columns from a budget.

    Raises:
        InputFileError: It is implausible.
    """
    tops = set(columns)
    metadata = file.metadata
    for row_group in range(metadata.num_row_groups):
        group = metadata.row_group(row_group)
        for place in range(group.num_columns):
            part = group.column(place)
            if tops.isdisjoint(
                itertools.accumulate(part.path_in_schema.split("."), "{}.{}".format)
            ):
                continue
            budget.take(max(part.total_uncompressed_size, 8 * part.num_values))


def _may_be_numbers(kind: Any) -> bool:
    """Whether values of an Arrow type are numbers, or contain numbers."""
    types = import_optional("pyarrow.types", "Reading Parquet", "pyarrow")
    if types.is_dictionary(kind) or types.is_list(kind) or types.is_large_list(kind):
        return _may_be_numbers(kind.value_type)
    if types.is_fixed_size_list(kind):
        return _may_be_numbers(kind.value_type)
    if types.is_struct(kind):
        return any(_may_be_numbers(kind.field(k).type) for k in range(kind.num_fields))
    return not (
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
    )


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
