"""Mapping of the columns of a recording to signals of a model: names, number, units."""

from collections.abc import Mapping
from typing import Any

import mujoco

from trueup.errors import ColumnError, ExperimentError, listing
from trueup.signals import Recording, TimeSeries
from trueup.signals.model_signals import OBSERVATION_TYPES, resolve_signals
from trueup.sysid.experiment.settings import ColumnPart, RecordingPart
from trueup.sysid.importing.columns.matching import match_columns, measurable
from trueup.sysid.recordings.channel_units import check_unit

Mappings = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Signal -> label of each component, empty for a single one -> argument of :func:`select`."""


def with_signals(
    part: RecordingPart, recording: Recording, model: mujoco.MjModel, name: str
) -> tuple[RecordingPart, list[str]]:
    """Complete the signals of a recording by the names of its columns if none are given.

    Raises:
      ColumnError: no column matches a signal.
    """
    if part.signals:
        return part, []
    taken = [part.time] if part.time else []
    signals, controls = (
        [m for m in matches if m.sure] for matches in match_columns(recording, model, taken)
    )
    if not signals:
        wanted = [place.name for place in measurable(model)]
        raise ColumnError(
            f"recording {name!r}: no column is named after a signal of the model, which has "
            f"{listing(wanted)}; its columns are {listing(recording.columns)}. "
            "Map them, such as\n"
            f"    - file: {part.file}\n"
            f"      signals: {{{next(iter(wanted), 'joint_qpos')}: {recording.columns[-1]}}}"
        )
    named = {m.place.name: m.columns if m.others else m.column.column for m in signals}
    commands = part.controls or {m.place.name: m.column.column for m in controls}
    pairs = ", ".join(f"{signal} from {column}" for signal, column in {**named, **commands}.items())
    note = f"{name}: signals and controls follow from the names of the columns: {pairs}."
    return part.model_copy(update={"signals": named, "controls": commands}), [note]


def column_mappings(given: ColumnPart | str | list[str]) -> dict[str, dict[str, Any]]:
    """Argument of :func:`trueup.signals.select` for each component of a signal, by its label."""
    common = given.model_dump(exclude_none=True) if isinstance(given, ColumnPart) else {}
    columns = common.pop("column", given)
    if isinstance(columns, str):
        return {"": {"column": columns, **common}}
    return {f"[{k}]": {"column": column, **common} for k, column in enumerate(columns)}


def check_components(
    name: str, model: mujoco.MjModel, recording: Recording, mappings: Mappings
) -> None:
    """Raise ExperimentError if a signal does not have one column per component."""
    for signal, each in mappings.items():
        ((full, (_, components)),) = resolve_signals(model, [signal], OBSERVATION_TYPES).items()
        if len(each) != len(components):
            columns = [one["column"] for one in each.values()]
            width = len(components)
            example = ", ".join(f"column_{k + 1}" for k in range(width))
            takes = f"{width} columns, one for each component" if width > 1 else "one column"
            raise ExperimentError(
                f"recording {name!r}: the signal {full!r} requires {takes}; found {len(columns)} "
                f"({listing(columns)}). Write {signal}: {f'[{example}]' if width > 1 else 'column'}"
                f"; the columns of the recording are {listing(recording.columns)}"
            )


def check_units(
    name: str,
    model: mujoco.MjModel,
    recording: Recording,
    mappings: Mappings,
    measured: TimeSeries,
) -> None:
    """Raise UnitError for a unit of another quantity than that of its signal."""
    for each, signal in zip(mappings.values(), measured.signal_mapping or {}, strict=True):
        for one in each.values():
            stream, column = recording.find(one["column"])
            unit = one.get("unit", stream.units.get(column))
            if unit:
                check_unit(model, name, signal, column, unit)
