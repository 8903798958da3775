"""Columns of several joints in one recording: patterns such as ``dof_pos_*``, or lists."""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from trueup.errors import ColumnError, ExperimentError, listing

JOINT = "*"
"""Part of a column's name that is the name of the joint."""


def columns_of_joints(
    mapped: Mapping[str, Any], available: Sequence[str], joints: Sequence[str], source: str
) -> dict[str | None, dict[str, Any]]:
    """Mapping of signals to columns for each joint of a recording, in the order of its columns.

    Args:
        mapped: column of each signal: a name, a mapping with the key ``column``, or a list of
            either with one for each joint. In a name, ``*`` is the name of the joint.
        available: columns of the recording.
        joints: names or patterns (``*``, ``?``) of the joints to read; empty: all.
        source: file, for messages.

    Returns:
        Mappings by joint; a single one, of None, where no column has a joint.

    Raises:
        ColumnError: no joint has a column for each signal, or none has a name that is asked for.
        ExperimentError: lists of different lengths, or lists together with patterns.
    """
    lists = {name: value for name, value in mapped.items() if isinstance(value, list | tuple)}
    patterns = {name: _column(value) for name, value in mapped.items() if name not in lists}
    patterns = {n: c for n, c in patterns.items() if isinstance(c, str) and JOINT in c}
    if not lists and not patterns:
        if joints:
            raise ExperimentError(
                f"data.joints names {listing(joints)}, but no column of data.columns has a joint: "
                "write it as a pattern, such as dof_pos_*, or as a list of columns"
            )
        return {None: dict(mapped)}
    if lists and patterns:
        raise ExperimentError(
            f"data.columns has lists ({listing(lists)}) and patterns with * ({listing(patterns)}): "
            "use one of them"
        )
    found = _listed(mapped, lists) if lists else _matched(mapped, patterns, available, source)
    if not joints:
        return {**found}
    chosen: dict[str | None, dict[str, Any]] = {
        n: c for n, c in found.items() if any(fnmatchcase(n, each) for each in joints)
    }
    if not chosen:
        raise ColumnError(
            f"{source}: data.joints names {listing(joints)}; its joints are {listing(found, 40)}"
        )
    return chosen


def _column(value: Any) -> Any:
    return value.get("column") if isinstance(value, Mapping) else value


def _listed(
    mapped: Mapping[str, Any], lists: Mapping[str, Sequence[Any]]
) -> dict[str, dict[str, Any]]:
    sizes = {name: len(value) for name, value in lists.items()}
    if len(set(sizes.values())) > 1 or not all(sizes.values()):
        lengths = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ExperimentError(
            f"the lists of data.columns have different lengths ({lengths}): give each signal one "
            "column for each joint, in the same order"
        )
    shared = {name: value for name, value in mapped.items() if name not in lists}
    first = next(iter(lists.values()))
    names = [str(_column(value)) for value in first]
    return {
        joint: {**shared, **{name: value[k] for name, value in lists.items()}}
        for k, joint in enumerate(names)
    }


def _matched(
    mapped: Mapping[str, Any], patterns: Mapping[str, str], available: Sequence[str], source: str
) -> dict[str, dict[str, Any]]:
    matched: dict[str, list[str]] = {}
    for name, pattern in patterns.items():
        before, _, after = pattern.partition(JOINT)
        whole = re.compile(f"{re.escape(before)}(.+){re.escape(after)}")
        hits = [hit for column in available if (hit := whole.fullmatch(column))]
        if not hits:
            raise ColumnError(
                f"{source}: no column matches {pattern!r} of data.columns.{name}; its columns are "
                f"{listing(available, 40)}"
            )
        matched[name] = [hit[1] for hit in hits]
    first, *rest = matched.values()
    joints = [joint for joint in first if all(joint in others for others in rest)]
    if not joints:
        each = "; ".join(f"{patterns[name]}: {listing(found)}" for name, found in matched.items())
        raise ColumnError(f"{source}: no joint has a column for each signal ({each})")
    return {joint: {n: _of_joint(value, joint) for n, value in mapped.items()} for joint in joints}


def _of_joint(value: Any, joint: str) -> Any:
    if isinstance(value, Mapping):
        return {**value, "column": _of_joint(value.get("column"), joint)}
    return value.replace(JOINT, joint) if isinstance(value, str) else value
