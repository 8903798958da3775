"""Mapping of recording columns to named signals in SI units."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from trueup.errors import ColumnError, RecordingError, UnitError, did_you_mean, listing
from trueup.signals.clocks.steps import unusable_steps
from trueup.signals.recording import Recording, Stream
from trueup.signals.sign_bits import check_sign_bit, with_sign_bit
from trueup.signals.units import convert, find_unit, si_unit
from trueup.signals.wrapping import TURN, is_sparse, largest_step, unwrapped


@dataclass(frozen=True)
class ColumnMapping:
    """Column of a signal and its conversion to SI: unit((value - offset) * scale).

    ``minus`` makes it the difference of two columns of one clock, such as the deflection of an
    elastic joint: value = column - minus_scale * minus.

    Attributes:
        column: Name of the column; ``"3"`` is the fourth of a file without a header.
        unit: Unit of the column after offset and scale; None takes that of the recording, or SI.
        scale: Factor on the column, negative to invert its sign, before the unit is converted.
        offset: Subtracted from the column before the factor, such as the encoder count at zero.
        interpolation: Method of :meth:`Recording.merged` for this signal: ``zoh`` for a command
            that is held; None uses the method of the call.
        minus: Column that is subtracted first; None for none.
        minus_scale: Factor on that column, such as one over the gear ratio of a motor's encoder.
        unwrap: Continues an angle that starts again after a period: True for one turn, a number
            for another period in the unit of the column's values, such as 4096 counts.
        late: Time by which the column was logged late compared with the others [s].
        sign_bit: Bit that is the sign of a whole number, such as 15 in the speed of a Feetech
            servo; 0 for numbers with a sign.
    """

    column: str
    unit: str | None = None
    scale: float = 1.0
    offset: float = 0.0
    interpolation: str | None = None
    minus: str | None = None
    minus_scale: float = 1.0
    unwrap: bool | float = False
    late: float = 0.0
    sign_bit: int = 0


_KEYS = tuple(item.name for item in fields(ColumnMapping))

_LARGEST = 1e100
"""Largest value of a signal in SI units; its square, summed over all samples, is finite."""


def select(
    recording: Recording, signals: Mapping[str, ColumnMapping | str | Mapping[str, Any]]
) -> Recording:
    """Return a recording of the named signals, in SI units and on the clocks they came with.

    Args:
        recording: The recording.
        signals: Signal name to a ``ColumnMapping``, a column name, or a dictionary with the
            keys ``column``, ``unit``, ``scale``, ``offset`` and ``interpolation``.

    Returns:
        A recording with one stream for each clock in use. Its units are SI where a unit is known,
        and ``metadata["signals"]`` contains the source column of each signal.

    Raises:
        ColumnError: A column does not exist.
        UnitError: A unit is unknown.
        RecordingError: A mapping is malformed, nothing is selected, the columns of a
            difference are on two clocks, an angle moves too far between samples to be
            continued, or the times are not those of a clock.
    """
    if not signals:
        raise RecordingError(
            f"No signal selected from recording {recording.name!r}: name at least one of its "
            f"columns {listing(recording.columns)}."
        )
    mappings = {name: _column_mapping(name, value) for name, value in signals.items()}
    columns: dict[tuple[int, float], dict] = {}
    units: dict[tuple[int, float], dict[str, str]] = {}
    streams: dict[tuple[int, float], Stream] = {}
    notes: list[str] = []
    for name, mapping in mappings.items():
        try:
            stream, column = recording.find(mapping.column)
        except ColumnError as error:
            raise ColumnError(f"signal {name!r}: {error}") from error
        declared = stream.units.get(column)
        unit = mapping.unit if mapping.unit is not None else declared
        key = id(stream), mapping.late
        if key not in streams and (unusable := unusable_steps(stream.times)):
            raise RecordingError(f"recording {recording.name!r} has {unusable}")
        streams[key] = stream
        if mapping.late:
            notes.append(f"{name} is taken {1e3 * mapping.late:.6g} ms earlier than it was logged")
        units.setdefault(key, {})
        recorded = stream.columns[column]
        if mapping.sign_bit:
            check_sign_bit(name, recorded, mapping.sign_bit)
            recorded = with_sign_bit(recorded, mapping.sign_bit)
        if mapping.unwrap:
            recorded, note = _unwrapped(name, stream.times, recorded, mapping, unit)
            notes += note
        if mapping.minus is not None:
            recorded = recorded - _subtracted(recording, stream, name, mapping)
        try:
            values = convert(recorded, unit or "1", mapping.offset, mapping.scale)
            if unit:
                units[key][name] = si_unit(unit)
        except UnitError as error:
            raise UnitError(f"signal {name!r}: {error}") from error
        _check_size(recording.name, name, mapping.column, values)
        columns.setdefault(key, {})[name] = values
    held = {name: m.interpolation for name, m in mappings.items() if m.interpolation}
    metadata = {
        **{key: value for key, value in recording.metadata.items() if key != "interpolation"},
        "signals": {name: asdict(mapping) for name, mapping in mappings.items()},
        **({"interpolation": held} if held else {}),
    }
    selected = tuple(
        Stream(stream.name, stream.times - late, columns[key, late], units[key, late])
        for (key, late), stream in streams.items()
    )
    return replace(recording, streams=selected, metadata=metadata, notes=(*recording.notes, *notes))


def _unwrapped(
    signal: str, times: np.ndarray, values: np.ndarray, mapping: ColumnMapping, unit: str | None
) -> tuple[np.ndarray, list[str]]:
    """A column continued across its jumps, and a note on them.

    Raises:
        RecordingError: It moves too far between samples, or a turn has no meaning in its unit.
    """
    period = float(mapping.unwrap)
    if mapping.unwrap is True:
        found = find_unit(unit or "rad")
        if found.quantity not in ("angle", "number"):
            raise RecordingError(
                f"signal {signal!r}: unwrap: true is one turn, and its unit is {unit!r}: give the "
                "period in the unit of the column, such as unwrap: 65536"
            )
        period = TURN / abs(found.factor * mapping.scale)
    out = unwrapped(values, period)
    step = largest_step(out, period)
    if is_sparse(step):
        good = np.isfinite(out)
        apart = float(np.median(np.diff(times[good])))
        raise RecordingError(
            f"signal {signal!r} moves up to {step:.2g} of the period {period:.6g} between two "
            f"samples, {apart:.3g} s apart: which way it turns is not known, so that unwrap cannot "
            "continue it. Record it at a higher rate, use a slower part (trim), or correct unwrap"
        )
    jumps = int(np.count_nonzero(np.abs(np.diff(values[np.isfinite(values)])) > 0.5 * period))
    if not jumps:
        return out, []
    return out, [
        f"{signal} is unwrapped: {jumps} {'jump' if jumps == 1 else 'jumps'} by {period:.6g} "
        "continued"
    ]


def _check_size(recording: str, signal: str, column: str, values: np.ndarray) -> None:
    """Check that squares and sums of the values are numbers.

    Raises:
        RecordingError: A value is larger than that of any quantity of a machine.
    """
    finite = np.abs(values[np.isfinite(values)])
    if finite.size and finite.max() > _LARGEST:
        raise RecordingError(
            f"recording {recording!r}, signal {signal!r}: column {column!r} has values up to "
            f"{finite.max():.3g}, which no sensor measures. Check its unit and scale; write an "
            "empty cell where a value is missing."
        )


def _subtracted(
    recording: Recording, stream: Stream, signal: str, mapping: ColumnMapping
) -> np.ndarray:
    assert mapping.minus is not None
    try:
        other, column = recording.find(mapping.minus)
    except ColumnError as error:
        raise ColumnError(f"signal {signal!r}, minus: {error}") from error
    if other is not stream:
        raise RecordingError(
            f"signal {signal!r} is the difference of {mapping.column!r} and {mapping.minus!r}, "
            "which have different clocks: resample both to one clock before recording them in one "
            "file"
        )
    return mapping.minus_scale * np.asarray(other.columns[column], float)


def _column_mapping(signal: str, value: ColumnMapping | str | Mapping[str, Any]) -> ColumnMapping:
    if isinstance(value, ColumnMapping):
        return value
    if isinstance(value, (str, int)):
        return ColumnMapping(str(value))
    if not isinstance(value, Mapping):
        raise RecordingError(
            f"signal {signal!r} is mapped to {value!r}: expected a column name, or a dictionary "
            f"with {listing(_KEYS)}."
        )
    unknown = [key for key in value if key not in _KEYS]
    if unknown:
        raise RecordingError(
            f"the mapping of signal {signal!r} has no key {unknown[0]!r}."
            f"{did_you_mean(str(unknown[0]), _KEYS)} Keys: {listing(_KEYS)}."
        )
    if "column" not in value:
        raise RecordingError(f"the mapping of signal {signal!r} has no key 'column'.")
    return ColumnMapping(**{**value, "column": str(value["column"])})
