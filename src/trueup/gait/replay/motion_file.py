"""Motions of coordinates: tables of OpenSim (``.mot``, ``.sto``), CSV and other recordings."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trueup.errors import ColumnError, GaitError, TrueupError, did_you_mean, listing
from trueup.gait.models.coordinates import Coordinates
from trueup.signals import read
from trueup.signals.units import convert

_UNIT = re.compile(r"^(?P<name>.+?)[\s_\[(]+(?P<unit>deg|degrees|rad|radians|m|mm|cm)[\])]?$")
_WORDS = {"degrees": "deg", "radians": "rad"}
_NO_COORDINATE = re.compile(
    r"[/.](?:activation|excitation|fiber_length|fiber_velocity|normalized_tendon_force)$"
    r"|^/?(?:forceset|controllerset)/"  # controls of OpenSim Moco
    r"|^\d*$"  # the index of a table of pandas
)
_ACTIVATION = re.compile(r"(?:^|/)([^/]+)[/.]activation$")
_BEYOND = 1.0
"""Smallest angle beyond a range that speaks against radians [rad]."""


@dataclass(frozen=True)
class Motion:
    """Values of coordinates over time.

    Attributes:
      path: file.
      times: increasing times ``(n,)`` [s].
      coordinates: free coordinate of the model -> its values ``(n,)`` [rad or m].
      activations: muscle -> its activation ``(n,)``, where the file has it.
      notes: what of the file was not used, and what was assumed.
    """

    path: Path
    times: np.ndarray
    coordinates: dict[str, np.ndarray]
    activations: dict[str, np.ndarray]
    notes: tuple[str, ...]


def read_coordinates(path: str | Path, coordinates: Coordinates, model: str = "") -> Motion:
    """Read a motion of the coordinates of a model.

    Columns are named by coordinates (``knee_angle_r``), by their paths in OpenSim
    (``/jointset/knee_r/knee_angle_r/value``), or with a unit (``knee_angle_r [deg]``). Speeds and
    states of muscles are not coordinates and are skipped. Angles of a table without a unit are in
    radians, unless these would be beyond the ranges of the model.

    Args:
      path: ``.mot``, ``.sto`` or ``.csv`` file, or another recording with a time column.
      coordinates: coordinates of the model.
      model: name of the model in messages.

    Raises:
      GaitError: the file cannot be read, has no coordinate of the model or two columns for one,
        times that do not increase, or values that are not finite.
    """
    path = Path(path)
    try:
        recording = read(path)
        stream = recording.stream
    except ColumnError as error:
        raise GaitError(f"{path} has no column of times: name one 'time' [s]") from error
    except TrueupError as error:
        raise GaitError(f"cannot read a motion: {error}") from error
    later = np.diff(stream.times) > 0.0
    if not later.all():
        row = int(np.argmin(later)) + 2
        raise GaitError(f"{path}: the time of row {row} is not later than that of the row before")
    found, notes = _matched(path, stream.columns, coordinates, model)
    for name, (column, _) in found.items():
        values = stream.columns[column]
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values))) + 1
            raise GaitError(
                f"{path}: row {row} of {column!r} is not finite: fill the gap, or remove the "
                f"column of {name}"
            )
    stated = {
        name: _WORDS.get(unit, unit) or stream.units.get(column, "")
        for name, (column, unit) in found.items()
    }
    angles = [name for name in found if name in coordinates.angles]
    if "inDegrees" in recording.metadata:  # holds for all angles, and for nothing else
        unit = "deg" if recording.metadata["inDegrees"] == "yes" else "rad"
        stated = {name: unit if name in angles else "m" for name in found}
    unknown = {name: stream.columns[found[name][0]] for name in angles if not stated[name]}
    if unknown:
        unit, why = _likely_unit(unknown, coordinates.ranges)
        stated |= dict.fromkeys(unknown, unit)
        notes.append(why)
    values = {
        name: _in_si(path, stream.columns[column], stated[name], column, name in angles)
        for name, (column, _) in found.items()
    }
    activations = {
        match[1]: values
        for column, values in stream.columns.items()
        if (match := _ACTIVATION.search(column)) and np.isfinite(values).all()
    }
    return Motion(path, stream.times, values, activations, tuple(notes))


def _matched(
    path: Path, columns: Mapping[str, np.ndarray], coordinates: Coordinates, model: str
) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Column and stated unit of each coordinate; what the other columns are, in sentences."""
    known = {*coordinates.signs, *coordinates.followers, *coordinates.locked}
    found: dict[str, tuple[str, str]] = {}
    follows, locked, others = [], [], []
    for column in columns:
        name, unit = _name_of(column, known)
        if name is None:
            if not _NO_COORDINATE.search(column) and not _is_speed(column, known):
                others.append(column)
        elif name in coordinates.followers:
            follows.append(f"{name} follows {coordinates.followers[name]}")
        elif name in coordinates.locked:
            locked.append(name)
        elif name in found:
            raise GaitError(
                f"{path} has two columns of the coordinate {name!r}, {found[name][0]!r} and "
                f"{column!r}: remove one of them"
            )
        else:
            found[name] = (column, unit)
    if not found:
        hint = did_you_mean(others[0], coordinates.signs) if others else ""
        raise GaitError(
            f"{path} has no coordinate of the model{f' {model}' if model else ''}: its columns are "
            f"{listing(columns, 8)}; the coordinates are {listing(coordinates.signs, 8)}.{hint}"
        )
    notes = []
    if others:
        notes.append(f"the model lacks these columns of the motion: {listing(others, 8)}")
    if follows:
        notes.append(f"set by the model, not by the motion: {', '.join(follows)}")
    if locked:
        notes.append(f"locked in the model, not moved: {listing(locked, 8)}")
    if still := [name for name in coordinates.signs if name not in found]:
        notes.append(f"not in the motion, at the default: {listing(still, 8)}")
    return found, notes


def _name_of(column: str, known: set[str]) -> tuple[str | None, str]:
    """Coordinate of a column and the unit in its name; None for another column."""
    for name, unit in ((column, ""), _without_unit(column)):
        parts = name.strip().strip("/").split("/")
        if len(parts) > 1 and parts[-1] == "value":
            parts.pop()
        elif len(parts) > 1 and parts[-1] == "speed":
            return None, ""
        if parts[-1] in known:
            return parts[-1], unit
    return None, ""


def _without_unit(column: str) -> tuple[str, str]:
    match = _UNIT.match(column)
    return (match["name"], match["unit"]) if match else (column, "")


def _is_speed(column: str, known: set[str]) -> bool:
    """Whether a column is the speed of a coordinate: ``.../speed``, or ``NAME_u`` of version 3."""
    name = column.rstrip("/")
    return name.endswith("/speed") or (name.endswith("_u") and name[:-2] in known)


def _likely_unit(
    values: Mapping[str, np.ndarray], ranges: Mapping[str, tuple[float, float]]
) -> tuple[str, str]:
    """Unit of angles that state none, and the reason.

    Radians, unless two coordinates (or the only one) were then far beyond their ranges: a single
    one may be of a body that turns several times.
    """
    beyond = []
    for name, angles in values.items():
        low, high = ranges.get(name, (-2.0 * np.pi, 2.0 * np.pi))
        beyond.append(max(low - float(angles.min()), float(angles.max()) - high))
    decisive = sorted(beyond)[-2:][0]
    if decisive > _BEYOND:
        why = f"in radians they would be {np.rad2deg(decisive):.0f} deg beyond the ranges"
        return "deg", f"the file states no unit of its angles; taken as degrees: {why}"
    return "rad", "the file states no unit of its angles; taken as radians"


def _in_si(path: Path, values: np.ndarray, unit: str, column: str, turns: bool) -> np.ndarray:
    """Values in radians or metres.

    Raises:
      GaitError: the unit is one of another quantity.
    """
    allowed = ("rad", "deg", "mrad") if turns else ("m", "mm", "cm")
    unit = unit or ("rad" if turns else "m")
    if unit not in allowed:
        kind = "an angle" if turns else "a distance"
        raise GaitError(f"{path}: {column!r} has the unit {unit!r}, and its coordinate is {kind}")
    return convert(values, unit)
