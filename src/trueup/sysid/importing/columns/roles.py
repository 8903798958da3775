"""Roles of families of columns: position, velocity, effort or command, by names and by evidence.

Words of a name decide where they say anything. Otherwise a velocity is the slope of a position, and
of two families with the same motion the command is the one that leads, or that has no noise.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueup.signals import Recording
from trueup.sysid.importing.columns.families import BY_ORDER, Family
from trueup.sysid.importing.columns.joint_families import JointColumn, JointLog
from trueup.sysid.importing.columns.names import take_apart

BY_NAMES = "a table"
"""Source of a log with meaningful column names only."""

_LEAD = 0.5  # samples by which a command clearly leads
_LIKE = 0.8  # least correlation of a command with its position, and of a velocity with the slope
_UNIT_RATIOS = np.log([1, 180 / np.pi, np.pi / 180, 2 * np.pi, 0.5 / np.pi, 360, 1 / 360])
_LESS_LIKELY = 0.95  # weight of a mirrored velocity
_SIZE = 0.6  # tolerance of the logarithm of such a ratio
_ANGLES = frozenset({"deg", "rad", "mrad", "turn"})
"""Units in a name that only a position has."""
_OTHER = frozenset(
    {
        *("temp", "temps", "temperature", "temperatures", "voltage", "volt", "volts"),
        *("error", "errors", "err", "status", "mode", "flag", "time", "stamp", "nanosec", "sec"),
        *("ki", "gain", "gains", "damping"),
        *("accel", "acceleration", "acc", "imu", "gyro", "quaternion", "orientation"),
        *("foot", "button", "frame", "limit"),
    }
)
"""Words of columns that are no position, velocity, command or effort of a joint."""
_COUNTERS = frozenset({"idx", "index", "id"})
"""The same without a word for a quantity; ``id11_pos`` is the position of motor 11."""


def joint_log(
    recording: Recording, found: Sequence[Family], labels: dict[int, str]
) -> JointLog | None:
    """Columns of the joints by families; None without positions.

    Args:
      recording: the log.
      found: its families.
      labels: name of each joint.
    """
    usable = [f for f in found if not _is_other(f) and _moves(recording, f)]
    position = _position(recording, usable)
    if position is None:
        return None
    chosen = {("position", False): position}
    left = [f for f in usable if f is not position]
    for family in left:
        role = _role(recording, family, position)
        if role is not None:
            chosen.setdefault(role, family)
    # torques that were commanded drive a motor where none were measured
    if ("effort", True) in chosen:
        chosen.setdefault(("effort", False), chosen[("effort", True)])
        del chosen[("effort", True)]
    columns = [
        JointColumn(column, quantity, commanded, labels[joint])
        for (quantity, commanded), family in chosen.items()
        for joint, column in sorted(family.columns.items())
    ]
    joints = {labels[j]: j for j in sorted(position.columns)}
    columns = [c for c in columns if c.label in joints]
    notes = []
    command = chosen.get(("position", True))
    notes += [
        f"{f.template} are positions of the same joints with another motion, and are not used: "
        "two robots in one log, or the position of a tool?"
        for f in left
        if (f.parsed.quantity, f.parsed.commanded) == ("position", False)
        and f not in chosen.values()
        and len(f.columns) == len(position.columns)
    ]
    if command is not None and _is_open(recording, position, command):
        notes.append(
            f"{position.template} and {command.template} move alike, and neither leads: "
            f"{position.template} is taken as measured and {command.template} as the command. "
            "Check, or rename the columns"
        )
    return JointLog(BY_NAMES, tuple(columns), joints, position.how == BY_ORDER, tuple(notes))


def completed(joints: JointLog, recording: Recording, found: Sequence[Family]) -> JointLog:
    """A log with those quantities of its joints added that it lacks and a family has."""
    used = {c.column for c in joints.columns}
    labels = {j: label for label, j in joints.joints.items()}
    position = {j: c for j in labels if (c := joints.column(j, "position")) is not None}
    if not position:
        return joints
    first = next(iter(position.values()))
    measured = next((f for f in found if first in f.columns.values()), None)
    if measured is None:
        measured = Family("", position, "", take_apart(first))
    measured = replace(measured, columns=position)
    out, by_order = list(joints.columns), joints.by_order
    added: set[tuple[str, bool]] = set()
    for family in found:
        free = not used & set(family.columns.values())
        if not free or _is_other(family) or not set(position) <= set(family.columns):
            continue
        role = _role(recording, family, measured) if _moves(recording, family) else None
        if role == ("effort", True):
            role = ("effort", False)
        if role is None or role == ("position", False) or role in added:
            continue
        if any(joints.column(j, *role) for j in position):
            continue
        added.add(role)
        out += [JointColumn(family.columns[j], *role, labels[j]) for j in position]
        by_order = by_order or family.how == BY_ORDER
    return replace(joints, columns=tuple(out), by_order=by_order)


def _is_other(family: Family) -> bool:
    """Whether the name of a family says that it is no quantity of a joint."""
    words = family.parsed.words
    return bool(words & _OTHER or (words & _COUNTERS and not family.parsed.quantity))


def _position(recording: Recording, found: Sequence[Family]) -> Family | None:
    """The measured positions."""
    named = [f for f in found if f.parsed.quantity == "position" and not f.parsed.commanded]
    unknown = [f for f in found if not f.parsed.quantity]
    rest = named or unknown
    if not rest:
        return None
    widest = max(len(f.columns) for f in rest)
    rest = [f for f in rest if len(f.columns) == widest]
    commanded = [f for f in found if f.parsed.commanded and f.parsed.quantity != "effort"]
    followed = [
        f
        for f in rest
        if any(set(f.columns) <= set(c.columns) and _is_same_motion(recording, f, c)
               for c in commanded)
    ]  # fmt: skip
    rest = followed or rest
    best = rest[0]
    for other in rest[1:]:
        if _is_same_motion(recording, best, other):
            best = other if _leads(recording, best, other) else best
        elif _slope(recording, best, other) > max(_LIKE, _slope(recording, other, best)):
            best = other
    return best


def _role(recording: Recording, family: Family, position: Family) -> tuple[str, bool] | None:
    """Quantity of a family and whether it was commanded; None if neither name nor values tell."""
    parsed = family.parsed
    if parsed.quantity in ("velocity", "effort", "kp", "kd"):
        return (parsed.quantity, parsed.commanded)
    if parsed.commanded and (parsed.quantity == "position" or parsed.unit in _ANGLES):
        return ("position", True)  # a servo at its limit of torque does not follow it
    alike = _is_same_motion(recording, family, position)
    if parsed.commanded or parsed.quantity == "position":
        # a command that has nothing of the motion may be a torque or a velocity
        return ("position", True) if alike else None
    if alike:
        return ("position", True)
    if _slope(recording, family, position) > _LIKE:
        return ("velocity", False)
    return None


def _table(recording: Recording, family: Family, position: Family) -> np.ndarray:
    """Values of a family on the clock of the positions, of the joints of both ``(T, J)``."""
    shared = sorted(set(family.columns) & set(position.columns))
    times = recording.column(position.columns[shared[0]])[0] if shared else np.zeros(0)
    out = []
    for joint in shared:
        clock, values = recording.column(family.columns[joint])
        known = np.isfinite(values)
        out.append(np.interp(times, clock[known], values[known]))
    return np.column_stack(out) if out else np.zeros((0, 0))


def _moves(recording: Recording, family: Family) -> bool:
    values = [recording.column(c)[1] for c in family.columns.values()]
    if family.parsed.quantity in ("kp", "kd"):
        return True  # gains are constant
    return all(np.isfinite(v).any() for v in values) and any(np.nanstd(v) > 0 for v in values)


def _is_same_motion(recording: Recording, one: Family, other: Family) -> bool:
    """Whether two families move alike, in the same or in another usual unit of angles.

    A torque that carries the weight of a link may have the course of its position, but hardly its
    size and its middle too.
    """
    a, b = _table(recording, one, other), _table(recording, other, other)
    alike = _correlations(*_aligned(a, b))
    if len(alike) == 0 or float(np.median(alike)) < _LIKE:
        return False
    moving = (np.std(a, axis=0) > 1e-9) & (np.std(b, axis=0) > 1e-9)
    ratios = np.log(np.std(a, axis=0)[moving] / np.std(b, axis=0)[moving])
    near = _UNIT_RATIOS[np.argmin(np.abs(np.median(ratios) - _UNIT_RATIOS))]
    if abs(np.median(ratios) - near) > _SIZE or np.ptp(ratios) > 2 * _SIZE:
        return False
    apart = np.abs(np.mean(a, axis=0) / np.exp(near) - np.mean(b, axis=0))
    return bool(np.median(apart[moving] / np.std(b, axis=0)[moving]) < 2.0)


def _aligned(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both tables without the samples by which one follows the other."""
    lag = round(lag_of(one, other)) if one.shape == other.shape and len(one) > 40 else 0
    if lag > 0:
        return one[:-lag], other[lag:]
    return (one[-lag:], other[: len(other) + lag]) if lag < 0 else (one, other)


def _slope(recording: Recording, one: Family, other: Family) -> float:
    """Correlation of a family with the slope of another, -1 to 1, in any unit; 0 if unknown.

    The slope of a velocity is no position, but goes against it in an oscillation: a mirrored
    velocity counts less than another.
    """
    position = _table(recording, other, other)
    if len(position) < 20:
        return 0.0
    times = recording.column(next(iter(other.columns.values())))[0]
    speed = np.gradient(_smooth(position), times, axis=0)
    alike = _correlations(_smooth(_table(recording, one, other)), speed)
    if len(alike) == 0:
        return 0.0
    mean = float(np.median(alike))
    return mean if mean > 0 else -_LESS_LIKELY * mean


def _leads(recording: Recording, one: Family, other: Family) -> bool:
    """Whether a family is the command of another: it leads, or else it has less noise."""
    a, b = _table(recording, one, other), _table(recording, other, other)
    lag = lag_of(a, b)
    return lag > 0 if abs(lag) >= _LEAD else _noise(a) < _noise(b)


def _is_open(recording: Recording, position: Family, command: Family) -> bool:
    """Whether neither names nor lag tell which of two families is the command."""
    if command.parsed.commanded or position.parsed.quantity == "position":
        return False
    a, b = _table(recording, command, position), _table(recording, position, position)
    return abs(lag_of(a, b)) < _LEAD


def lag_of(command: np.ndarray, position: np.ndarray, most: int = 40) -> float:
    """Samples by which positions ``(T, J)`` follow commands, by the correlation of their steps."""
    a, b = np.diff(_smooth(command), axis=0), np.diff(_smooth(position), axis=0)
    most = min(most, len(a) // 4)
    if most < 1:
        return 0.0
    shifts = np.arange(-most, most + 1)
    inner = b[most : len(b) - most]
    totals = np.array(
        [np.sum(np.abs(_correlations(a[most - s : len(a) - most - s], inner))) for s in shifts]
    )
    best = int(np.argmax(totals))
    if not 0 < best < len(shifts) - 1:
        return float(shifts[best])
    left, middle, right = totals[best - 1 : best + 2]
    bend = left - 2 * middle + right
    return float(shifts[best] + (0.5 * (left - right) / bend if bend < 0 else 0.0))


def _smooth(values: np.ndarray, width: int = 5) -> np.ndarray:
    if len(values) < 3 * width:
        return values
    padded = np.pad(values, ((width // 2, width // 2), (0, 0)), mode="edge")
    sums = np.cumsum(np.vstack([np.zeros(values.shape[1]), padded]), axis=0)
    return (sums[width:] - sums[:-width]) / width


def _noise(values: np.ndarray) -> float:
    """Second differences as a share of the motion, median over joints."""
    size = np.maximum(np.std(values, axis=0), 1e-12)
    return float(np.median(np.std(np.diff(values, 2, axis=0), axis=0) / size))


def _correlations(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Correlation of each pair of columns that both move."""
    if one.shape != other.shape or len(one) < 3:
        return np.zeros(0)
    a, b = one - one.mean(axis=0), other - other.mean(axis=0)
    sizes = np.sqrt(np.sum(a * a, axis=0) * np.sum(b * b, axis=0))
    moving = sizes > 1e-12
    return np.sum(a * b, axis=0)[moving] / sizes[moving]
