"""Suggested units of matched columns, from their names, the file and the values."""

import math

import mujoco
import numpy as np

from trueup.errors import UnitError
from trueup.signals import Recording, si_unit, suspect_units
from trueup.sysid.importing.columns.matching import Match

_DEGREE = math.pi / 180.0
# velocity over the derivative of the position, both as recorded -> unit of the velocity, where the
# position is in rad, and where it is in degrees
_RATIOS = {
    "rad": {1.0: "rad/s", 1 / _DEGREE: "deg/s", 30 / math.pi: "rpm"},
    "deg": {_DEGREE: "rad/s", 1.0: "deg/s", 1 / 6: "rpm"},
}
_TOLERANCE = 0.15
_HINGE = int(mujoco.mjtJoint.mjJNT_HINGE)


def suggest_units(
    matches: list[Match], recording: Recording, model: mujoco.MjModel
) -> dict[str, tuple[str, str]]:
    """Units of matched columns that are not in SI.

    Returns:
      Signal name -> (unit, short reason); absent if the values are plausible in SI units.
    """
    out: dict[str, tuple[str, str]] = {}
    for match in matches:
        stated = match.column.unit or recording.units.get(match.column.column, "")
        if stated and _is_unit(stated):
            if si_unit(stated) != stated:
                out[match.place.name] = (stated, "stated by the file or the column's name")
        elif _turns(match, model) and match.place.quantity == "position":
            why = _degrees(match, recording, model)
            if why:
                out[match.place.name] = ("deg", why)
    for match in matches:
        if match.place.quantity == "velocity" and match.place.name not in out:
            found = _of_velocity(match, matches, recording, model, out)
            if found:
                out[match.place.name] = found
    return out


def _is_unit(name: str) -> bool:
    try:
        si_unit(name)
    except UnitError:
        return False
    return True


def _turns(match: Match, model: mujoco.MjModel) -> bool:
    joint = match.place.joint
    return joint >= 0 and int(model.jnt_type[joint]) == _HINGE


def _degrees(match: Match, recording: Recording, model: mujoco.MjModel) -> str:
    """Reason why a hinge position looks like degrees, or the empty string."""
    values = recording.column(match.column.column)[1]
    values = values[np.isfinite(values)]
    joint, largest = match.place.joint, float(np.max(np.abs(values), initial=0.0))
    if suspect_units(match.column.column, values, "angle"):
        return f"it reaches {largest:.3g}, too large for rad"
    limit = float(np.max(np.abs(model.jnt_range[joint])))
    if model.jnt_limited[joint] and largest > 1.5 * limit and largest * _DEGREE < 1.2 * limit:
        return f"it reaches {largest:.3g}, the joint's range ends at {limit:.3g} rad"
    return ""


def _of_velocity(
    match: Match,
    matches: list[Match],
    recording: Recording,
    model: mujoco.MjModel,
    units: dict[str, tuple[str, str]],
) -> tuple[str, str] | None:
    """Unit of a velocity, from the derivative of the position of the same joint."""
    if not _turns(match, model):
        return None
    for other in matches:
        if other.place.quantity == "position" and other.place.joint == match.place.joint:
            unit = units.get(other.place.name, ("rad", ""))[0]
            ratio = _ratio(recording, other.column.column, match.column.column)
            for known, name in _RATIOS.get(unit, {}).items():
                if ratio and abs(math.log(ratio / known)) < _TOLERANCE and name != "rad/s":
                    return name, _compared(ratio)
    return None


def _compared(ratio: float) -> str:
    if abs(ratio - 1) < _TOLERANCE:
        return "it is the derivative of the position's degrees"
    return f"it is {ratio:.3g} times the derivative of the position"


def _ratio(recording: Recording, position: str, velocity: str) -> float:
    """Ratio of a velocity to the derivative of its position; 0 if unknown."""
    times, places = recording.column(position)
    clock, speeds = recording.column(velocity)
    if len(times) < 20 or len(clock) != len(times) or np.any(np.diff(times) <= 0):
        return 0.0
    if not (np.isfinite(places).all() and np.isfinite(speeds).all()):
        return 0.0
    areas = 0.5 * (speeds[1:] + speeds[:-1]) * np.diff(times)
    travelled = np.concatenate([[0.0], np.cumsum(areas)])
    # both over the same intervals, long enough to reduce the noise of the position
    window = max(1, len(times) // 50)
    moved, passed = places[window:] - places[:-window], travelled[window:] - travelled[:-window]
    spread = float(np.std(moved))
    return float(np.std(passed)) / spread if spread > 0 else 0.0
