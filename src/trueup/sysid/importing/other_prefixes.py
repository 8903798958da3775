"""Columns of a further log that are those of the first under another prefix."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from trueup.signals import Recording
from trueup.sysid.importing.columns.names import take_apart, words_of

_BOUNDARY = re.compile(r"(?<=[^a-zA-Z0-9])(?=[a-zA-Z0-9])")
_MEANING = frozenset(
    {
        *("left", "right", "l", "r", "fl", "fr", "rl", "rr", "hl", "hr", "front", "rear", "hind"),
        *("leader", "follower", "master", "slave", "upper", "lower", "inner", "outer"),
        *("motor", "rotor", "joint", "link", "load", "output", "input", "encoder", "axis", "ax"),
        *("raw", "filtered", "filt", "estimated", "est", "simulated", "sim", "ideal", "error"),
    }
)
"""Words of a prefix that distinguish parts of a robot, sides of a gear, or kinds of values."""


def columns_under_prefix(
    first: Sequence[str], used: Sequence[str], other: Sequence[str]
) -> dict[str, str]:
    """Column of another log by the column of the first that it stands for; empty if unclear.

    ``run1/hip_pos, run1/knee_pos`` are ``run2/hip_pos, run2/knee_pos``: all missing columns exist
    with one prefix in place of another, and the prefixes say nothing about the quantity.

    Args:
      first: columns of the first log.
      used: those that the other log must have.
      other: columns of the other log.
    """
    has = set(other)
    missing = [c for c in used if c not in has]
    found: dict[tuple[str, ...], tuple[str, str]] = {}
    for old, new in _prefixes(missing[0], other):
        names = tuple(_under(c, old, new) for c in missing)
        if all(n in has and n not in first for n in names) and _is_only_a_name(
            missing, names, old, new
        ):
            found.setdefault(names, (old, new))
    if len(found) != 1:
        return {}
    old, new = next(iter(found.values()))
    out = {c: c if c in has else _under(c, old, new) for c in first}
    return {c: name for c, name in out.items() if name in has}


def with_names(recording: Recording, names: Mapping[str, str]) -> Recording:
    """A recording whose columns have the names of the first log."""
    back = {name: c for c, name in names.items()}
    streams = tuple(
        replace(
            stream,
            columns={back.get(n, n): values for n, values in stream.columns.items()},
            units={back.get(n, n): unit for n, unit in stream.units.items()},
        )
        for stream in recording.streams
    )
    return replace(recording, streams=streams)


def _prefixes(column: str, other: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of prefixes by which a column becomes one of another log."""
    starts = [0, *(m.start() for m in _BOUNDARY.finditer(column))]
    return [
        (column[:start], name[: len(name) - len(column) + start])
        for start in starts
        for name in other
        if name.endswith(column[start:]) and _is_boundary(name, len(name) - len(column) + start)
    ]


def _is_boundary(name: str, place: int) -> bool:
    return place == 0 or not name[place - 1].isalnum()


def _under(column: str, old: str, new: str) -> str:
    """A column with another prefix; empty if it does not begin with the first one."""
    return new + column[len(old) :] if column.startswith(old) else ""


def _is_only_a_name(missing: Sequence[str], names: Sequence[str], old: str, new: str) -> bool:
    """Whether prefixes are those of a robot or a run: columns mean the same without them."""
    mine, others = words_of(old), words_of(new)
    apart = set(mine) ^ set(others)
    # of a single column, a number may be that of the joint
    if apart & _MEANING or (len(missing) == 1 and any(w.isdigit() for w in apart)):
        return False
    alike = [(take_apart(c), take_apart(n)) for c, n in zip(missing, names, strict=True)]
    plain = take_apart(" ".join(sorted(apart)))
    return not (plain.quantity or plain.unit) and all(
        (a.quantity, a.commanded, a.unit) == (b.quantity, b.commanded, b.unit) for a, b in alike
    )
