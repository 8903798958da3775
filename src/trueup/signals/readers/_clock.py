"""Selection of the clock of each column, and the streams of a recording."""

from collections.abc import Mapping

import numpy as np

from trueup.errors import ColumnError, RecordingError, did_you_mean, listing
from trueup.signals.clocks.rollover import unrolled
from trueup.signals.clocks.steps import check_rate
from trueup.signals.readers._clock_names import fraction_of, time_rank, unit_in_name
from trueup.signals.readers.contents import Contents, Table
from trueup.signals.recording import Stream
from trueup.signals.units import convert, find_unit

# Wider arrays, such as images, are not signals.
_MOST_CONSTANTS = 64  # largest array without a clock that is kept in the metadata
_WIDEST = 512
# A column with a smaller share of values than this is on the rows of its own topic.
_SPARSE = 0.6
_LONGEST_GAP = 50  # times the usual distance of its values: a longer one is a dropout


def build_streams(
    contents: Contents,
    time: str | None,
    rate: float | None,
    time_unit: str | None,
    rollover: float | None = None,
) -> tuple[tuple[Stream, ...], dict[str, object], tuple[str, ...]]:
    """Return the streams of a recording, its metadata, and notes on clocks that were continued.

    Args:
        contents: Output of the reader.
        time: Time column; None takes the clock of the format, or a column with a usual name.
        rate: Sampling rate [Hz], instead of a clock.
        time_unit: Unit of the clock; None takes that of the column's name or the format, or s.
        rollover: Value after which the time column starts again, in its unit; None continues the
            usual counters.

    Raises:
        ColumnError: ``time`` names no column, or no time column is found and no rate is given.
        UnitError: ``time_unit`` is unknown.
        RecordingError: Times that are NaN, no samples, time and rate both given, or a clock that
            does not start again after ``rollover``.
    """
    if time is not None and rate is not None:
        raise RecordingError("Give time or rate, not both.")
    if rate is not None:
        check_rate(rate)
    if time_unit is not None and find_unit(time_unit).quantity != "time":
        raise RecordingError(
            f"time_unit {time_unit!r} is not a unit of time: give s, ms, us or ns."
        )
    metadata = dict(contents.metadata)
    earlier = metadata.get("left_out")
    left_out: dict[str, str] = dict(earlier) if isinstance(earlier, Mapping) else {}
    if time is not None and not any(_clock_names(t.columns, time) for t in contents.tables):
        names = [name for table in contents.tables for name in table.columns]
        raise ColumnError(
            f"No time column {time!r}.{did_you_mean(time, names)} Columns: {listing(names)}."
        )
    streams: list[Stream] = []
    notes: list[str] = []
    for table in contents.tables:
        if table.times is not None and rate is None and not _clock_names(table.columns, time):
            columns = _columns_of_length(table.columns, len(table.times), left_out)
            units = _units_of(table, columns)
            streams.append(Stream(table.name, _float(table.times, "times"), columns, units))
        else:
            streams += _with_clock(
                table, time, rate, time_unit, rollover, metadata, left_out, notes
            )
    if left_out:
        metadata["left_out"] = left_out
    if not any(stream.columns for stream in streams):
        reasons = "; ".join(f"{name}: {reason}" for name, reason in list(left_out.items())[:5])
        raise RecordingError(
            "No numeric column found besides the time."
            + (f" Skipped: {reasons}." if reasons else "")
        )
    return tuple(streams), metadata, tuple(notes)


def _with_clock(
    table: Table,
    time: str | None,
    rate: float | None,
    time_unit: str | None,
    rollover: float | None,
    metadata: dict[str, object],
    left_out: dict[str, str],
    notes: list[str],
) -> list[Stream]:
    """Build the streams of a table whose clock is one of its columns, or a rate."""
    arrays = _signals(table.columns, metadata, left_out)
    if rate is not None:
        if not arrays:
            return []
        length = _common_length(arrays)
        columns = _columns_of_length(arrays, length, left_out)
        return [Stream(table.name, np.arange(length) / rate, columns, _units_of(table, columns))]
    clocks = _clock_names(arrays, time) if time is not None else _guess_clocks(arrays)
    if not clocks:
        raise ColumnError(
            "No time column found, and no rate is given. Give time (the name of the time column) "
            f"or rate (samples per second). Columns: {listing(arrays)}."
        )
    members: dict[str, dict[str, np.ndarray]] = {clock: {} for clock in clocks}
    fractions = {c: f for c in clocks if (f := fraction_of(c, list(arrays))) is not None}
    for name, values in arrays.items():
        if name in clocks or name in fractions.values():
            continue
        clock = _clock_of(name, values, clocks, arrays)
        if clock is None:
            left_out[name] = (
                f"its shape {values.shape} matches no clock ({_lengths(clocks, arrays)})"
            )
            if values.ndim == 1 and values.size <= _MOST_CONSTANTS:
                metadata[name] = values.tolist()
        else:
            members[clock][name] = values
    streams = []
    for clock, held in members.items():
        columns = _columns_of_length(held, len(arrays[clock]), left_out)
        if not columns and len(clocks) > 1:
            left_out[clock] = "a clock without columns"
            continue
        unit = time_unit or table.units.get(clock) or unit_in_name(clock) or "s"
        times = convert(_continued(arrays[clock], clock, unit, rollover, notes), unit)
        if clock in fractions:
            times = times + 1e-9 * arrays[fractions[clock]]
        name = table.name or (_group(clock) if len(clocks) > 1 else "")
        checked = _checked(times, clock)
        for rows, held in _by_rows(columns):
            label = name or (_group(next(iter(held))) if rows is not None else "")
            units = _units_of(table, held)
            own = checked if rows is None else checked[rows]
            streams.append(Stream(label, own, held, units, clock, unit))
    return streams


def _by_rows(
    columns: dict[str, np.ndarray],
) -> list[tuple[np.ndarray | None, dict[str, np.ndarray]]]:
    """Columns that have values in the same rows, and these rows; None for all of them.

    Exports that merge topics leave the cells of a topic empty in the rows of the others. A column
    that lacks few values, or a long part, stays as it is: a dropout is a finding of the checks.
    """
    whole: dict[str, np.ndarray] = {}
    parts: dict[bytes, tuple[np.ndarray, dict[str, np.ndarray]]] = {}
    filled = {name: np.isfinite(values) for name, values in columns.items()}
    masks = list({mask.tobytes(): mask for mask in filled.values()}.values())
    for name, values in columns.items():
        mask = filled[name]
        if not _of_a_topic(mask, masks):
            whole[name] = values
        else:
            rows, held = parts.setdefault(mask.tobytes(), (np.flatnonzero(mask), {}))
            held[name] = values[rows]
    split: list[tuple[np.ndarray | None, dict[str, np.ndarray]]] = list(parts.values())
    return [(None, whole), *split] if whole or not split else split


def _of_a_topic(mask: np.ndarray, masks: list[np.ndarray]) -> bool:
    """Whether the empty cells of a column are the rows of other topics, rather than dropouts."""
    known = np.flatnonzero(mask)
    apart = np.diff(known)
    apart = apart[apart > 1]
    if (
        mask.all()
        or len(known) < 3
        or len(apart) < 3
        or apart.max() > _LONGEST_GAP * np.median(apart)
    ):
        return False
    if mask.mean() < _SPARSE:
        return True
    empty = np.logical_not(mask)
    return any(other[empty].mean() > 0.9 and other[mask].mean() < 0.5 for other in masks)


def _signals(
    columns: Mapping[str, np.ndarray], metadata: dict[str, object], left_out: dict[str, str]
) -> dict[str, np.ndarray]:
    """Return the numeric arrays, axes of length one dropped; single values go to the metadata."""
    arrays = {}
    longest = max((np.size(values) for values in columns.values()), default=0)
    for name, values in columns.items():
        array = np.asarray(values)
        if array.dtype.kind not in "buif":
            left_out[name] = f"its values are no real numbers ({array.dtype})"
        elif array.size == 1 and longest > 1:
            metadata[name] = array.reshape(()).item()
        elif array.ndim == 1:
            arrays[name] = array
        elif array.ndim == 2 and 1 in array.shape:
            arrays[name] = array.reshape(-1)
        elif array.ndim == 2:
            arrays[name] = array
        else:
            left_out[name] = f"its shape is {array.shape}"
    return arrays


def _clock_names(columns: Mapping[str, np.ndarray], time: str | None) -> list[str]:
    """Return the columns that an explicit time names: one column, or one per group."""
    if time is None:
        return []
    if time in columns:
        return [time]
    return [name for name in columns if name.endswith(f"/{time}")]


def _guess_clocks(columns: Mapping[str, np.ndarray]) -> list[str]:
    """Return the most likely time column of each group."""
    best: dict[str, tuple[int, str]] = {}
    for name, values in columns.items():
        rank = time_rank(name)
        if rank is not None and values.ndim == 1:
            best[_group(name)] = min(best.get(_group(name), (rank, name)), (rank, name))
    clocks = [name for _, name in best.values()]
    # a stamp that is empty in the rows of other topics is no clock of a table that has one
    whole = [name for name in clocks if np.isfinite(_float(columns[name], name)).all()]
    return whole or clocks


def _clock_of(
    name: str, values: np.ndarray, clocks: list[str], arrays: Mapping[str, np.ndarray]
) -> str | None:
    """Return the clock of a column: of its group, of a group around it, or the only one."""
    fitting = [clock for clock in clocks if len(arrays[clock]) in values.shape]
    group = _group(name)
    while True:
        for clock in fitting:
            if _group(clock) == group:
                return clock
        if not group:
            break
        group = _group(group)
    return fitting[0] if len(fitting) == 1 else None


def _group(name: str) -> str:
    return name.rpartition("/")[0]


def _common_length(arrays: Mapping[str, np.ndarray]) -> int:
    lengths = [array.shape[0] if array.ndim == 1 else max(array.shape) for array in arrays.values()]
    return max(set(lengths), key=lambda length: (lengths.count(length), length))


def _columns_of_length(
    columns: Mapping[str, np.ndarray], length: int, left_out: dict[str, str]
) -> dict[str, np.ndarray]:
    """Return columns of shape (length,); wider arrays become one column per component."""
    result: dict[str, np.ndarray] = {}
    for name, values in columns.items():
        array = np.asarray(values)
        if array.dtype.kind not in "buif":
            left_out[name] = f"its values are no real numbers ({array.dtype})"
        elif array.shape == (length,):
            result[name] = _float(array, name)
        elif array.ndim == 2 and length in array.shape:
            wide = array if array.shape[0] == length else array.T
            if wide.shape[1] > _WIDEST:
                left_out[name] = f"it has {wide.shape[1]} components, more than {_WIDEST}"
                continue
            for k in range(wide.shape[1]):
                result[f"{name}/{k}"] = _float(wide[:, k], name)
        else:
            left_out[name] = f"its shape is {array.shape}, the clock has {length} samples"
    return result


def _units_of(table: Table, columns: Mapping[str, np.ndarray]) -> dict[str, str]:
    return {name: table.units[name] for name in columns if name in table.units}


def _lengths(clocks: list[str], arrays: Mapping[str, np.ndarray]) -> str:
    return ", ".join(f"{clock}: {len(arrays[clock])} samples" for clock in clocks[:4])


def _float(values: np.ndarray, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "buif":
        raise RecordingError(f"Column {name!r} contains no real numbers ({array.dtype}).")
    return np.ascontiguousarray(array, dtype=np.float64)


def _continued(
    values: np.ndarray, name: str, unit: str, rollover: float | None, notes: list[str]
) -> np.ndarray:
    """Times of a column, continued where a counter starts again; a note on it is added.

    Raises:
        RecordingError: The times go back by another amount than ``rollover``.
    """
    times = _float(values, name)
    found = unrolled(times, unit, rollover) if np.isfinite(times).all() else None
    if found is None:
        falls = times[1:] < times[:-1]
        if rollover is None or not falls.any():
            return times
        row = int(np.argmax(falls))
        raise RecordingError(
            f"The time column {name!r} goes back from {times[row]:.10g} to {times[row + 1]:.10g} "
            f"{unit} in row {row + 2}, which is not a counter that starts again after "
            f"{rollover:.10g} {unit}: correct rollover, or remove it."
        )
    often = "once" if found.count == 1 else f"{found.count} times"
    notes.append(
        f"the clock {name} starts again after {found.period:.10g} {unit}, {often}: its times are "
        "continued"
    )
    return found.times


def _checked(times: np.ndarray, name: str) -> np.ndarray:
    finite = np.isfinite(times)
    if not finite.all():
        row = int(np.argmin(finite))
        raise RecordingError(
            f"The time column {name!r} contains {np.count_nonzero(~finite)} values that are NaN or "
            f"infinite, the first in row {row + 1}: remove those rows, or choose another column."
        )
    return times
