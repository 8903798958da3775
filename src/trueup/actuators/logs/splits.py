"""Split servo logs into training and held-out logs: by gain, mass or trajectory, or spread."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import RecordingError, did_you_mean, listing

_SAME_GAIN, _SAME_MASS = (
    1e-9,
    1e-3,
)  # relative tolerances: files store masses with three or eight digits

FACTORS = ("trajectory", "kp", "mass", "arm_mass", "length", "vin", "damping")
"""Quantities that vary from log to log of a bench."""

_DIGITS = 3  # significant digits that distinguish two levels
_GREATEST_SHARE = 1 / 3  # largest share of logs to hold out to represent each level

Values = float | str | Sequence[float] | Sequence[str] | None


def split_logs(
    logs: Sequence[ServoLog],
    *,
    kp: float | Sequence[float] | None = None,
    mass: float | Sequence[float] | None = None,
    trajectory: str | Sequence[str] | None = None,
) -> tuple[list[ServoLog], list[ServoLog]]:
    """Split logs into training and held-out logs.

    A log is held out if it has one of the gains, masses or trajectories.

    Args:
        logs: the logs.
        kp: gain or gains to hold out, in firmware units.
        mass: mass or masses to hold out [kg], within 0.1 %.
        trajectory: name or names of trajectories to hold out.

    Returns:
        Training logs and held-out logs, in the given order.

    Raises:
        RecordingError: a value occurs in no log (the message lists existing ones), or no training
            log would remain.
    """
    held_out: set[int] = set()
    for name, values, same in (
        ("kp", kp, _close(_SAME_GAIN)),
        ("mass", mass, _close(_SAME_MASS)),
        ("trajectory", trajectory, lambda a, b: a == b),
    ):
        for value in _several(values):
            found = [i for i, log in enumerate(logs) if same(getattr(log, name), value)]
            if not found:
                raise RecordingError(_unknown(name, value, logs))
            held_out.update(found)
    if len(held_out) == len(logs):
        raise RecordingError(
            f"all {len(logs)} logs would be held out and none would remain for the fit: hold out "
            "fewer"
        )
    training = [log for i, log in enumerate(logs) if i not in held_out]
    return training, [logs[i] for i in sorted(held_out)]


def spread_logs(logs: Sequence[ServoLog]) -> list[int]:
    """Numbers of logs to hold out such that they cover all conditions.

    A quarter of the logs, or up to a third if that many are required to represent each trajectory,
    gain and load. Greedy selection: each next log minimises the deviation of the held-out share of
    each level of :data:`FACTORS` from the overall share (least squares, each level in units of its
    logs), then that of each pair of levels. No level is held out entirely if that is avoidable;
    numbers that are nearly all different are also grouped with their neighbours. The result does
    not depend on the order or names of the logs, except to break ties.

    Args:
        logs: at least two logs.
    """
    levels = {name: _levels(name, logs) for name in FACTORS}
    varying = [name for name in FACTORS if len(set(levels[name])) > 1]
    shared = [_with_neighbours(levels[name], name) for name in varying]
    pairs = [list(zip(a, b, strict=True)) for a, b in itertools.combinations(shared, 2)]
    count = len(logs)
    wanted = max((len(set(column)) for column in shared), default=1)
    held = max(1, count // 4, min(wanted, int(count * _GREATEST_SHARE)))
    exact, single, double = (
        _members(columns, count) for columns in ([levels[n] for n in varying], shared, pairs)
    )
    order = sorted(range(count), key=lambda i: ([levels[n][i] for n in varying], logs[i].name))
    chosen: list[int] = []
    for _ in range(held):
        left = [i for i in order if i not in chosen]
        ranks = []
        for i in left:
            rows = [*chosen, i]
            emptied = int(np.sum(exact[rows].sum(axis=0) == exact.sum(axis=0)))
            # rounded, so that the order of a sum does not break ties
            imbalances = (round(_imbalance(each, rows), 9) for each in (single, double))
            ranks.append((emptied, *imbalances))
        chosen.append(left[ranks.index(min(ranks))])
    return sorted(chosen)


def _levels(name: str, logs: Sequence[ServoLog]) -> list[int]:
    """Level of each log, numbered in the order of the values."""
    values = [getattr(log, name) for log in logs]
    if name != "trajectory":
        values = [-1.0 if v is None else float(f"{v:.{_DIGITS}g}") for v in values]
    distinct = sorted(set(values))
    return [distinct.index(value) for value in values]


def _with_neighbours(levels: list[int], name: str) -> list[int]:
    """Levels, with neighbours joined if numbers are nearly all different."""
    if name == "trajectory" or 2 * len(set(levels)) <= len(levels):
        return levels
    return [level // 2 for level in levels]


def _members(columns: Sequence[Sequence[Any]], count: int) -> np.ndarray:
    """Membership of logs ``(n,)`` in the levels of all columns ``(levels,)``."""
    found = [[each == level for each in column] for column in columns for level in set(column)]
    return np.array(found, float).reshape(-1, count).T


def _imbalance(members: np.ndarray, rows: Sequence[int]) -> float:
    """Distance of the held-out share of each level from that of all logs."""
    total = members.sum(axis=0)
    expected = len(rows) / len(members) * total
    return float(np.sum((members[list(rows)].sum(axis=0) - expected) ** 2 / total))


def _unknown(name: str, value: float | str, logs: Sequence[ServoLog]) -> str:
    known = dict.fromkeys(getattr(log, name) for log in logs)
    if name == "trajectory":
        found = listing(sorted(known)) + "." + did_you_mean(str(value), known)
    else:
        found = ", ".join(f"{v:g}" for v in sorted(known))
    first = logs[0].source if logs else "the logs"
    value = value if isinstance(value, str) else f"{value:g}"
    return (
        f"{name} {value} occurs in none of the {len(logs)} logs ({first} ...); available: {found}"
    )


def _several(values: Values) -> list:
    if values is None:
        return []
    if isinstance(values, (str, int, float)):
        return [values]
    return list(values)


def _close(tolerance: float) -> Callable[[float, float], bool]:
    return lambda a, b: bool(np.isclose(a, b, rtol=tolerance, atol=0.0))
