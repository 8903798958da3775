"""Families of columns: names that differ in one number, or in the name of a joint.

``ax1_actual_deg ... ax6_actual_deg`` and ``ax1_target_deg ...`` are two families of six, whatever
the words in them. A family belongs to joints by their names, by their numbers, by the words of a
part of the robot (``left_arm/qpos/0``), or by the order of the model.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import mujoco

from trueup.simulation.models.element_names import joint_label
from trueup.sysid.importing.columns.names import (
    NOISE_WORDS,
    ColumnName,
    is_current,
    is_quantity,
    take_apart,
    words_of,
)

_GRIPPERS = {"gripper", "finger", "fingers", "jaw", "jaws", "thumb", "knuckle", "grip"}
BY_NAME, BY_NUMBER, BY_ORDER = "name", "number", "order"


@dataclass(frozen=True)
class Family:
    """Columns of one quantity, one per joint."""

    template: str
    """Their name with ``{}`` in place of the number or the joint."""
    columns: dict[int, str]
    """Column by joint of the model."""
    how: str
    """``name``, ``number`` or ``order``."""
    parsed: ColumnName
    """Quantity, unit and other words of the name."""


def families(
    columns: Sequence[str], model: mujoco.MjModel, joints: Sequence[int], driven: Sequence[int]
) -> list[Family]:
    """Families of columns that belong to joints of a model, largest first.

    Args:
      columns: names of the columns of a recording, without the time.
      model: the robot.
      joints: its scalar joints.
      driven: those that have an actuator.
    """
    out = _named(columns, model, joints)
    used = {c for f in out for c in f.columns.values()}
    parts: dict[tuple[str, str], Family] = {}
    sizes = {len(group) for group in _groups(model, joints, driven)}
    for template, numbered in _numbered([c for c in columns if c not in used], sizes).items():
        family = _of_numbers(template, numbered, model, joints, driven)
        if family is None:
            continue
        # left_arm/qpos/{} and right_arm/qpos/{} are one family of both arms
        plain = " ".join(sorted(family.parsed.words - _words_of_joints(model, joints)))
        key = (f"{family.parsed.quantity} {family.parsed.commanded} {plain}", family.how)
        before = parts.get(key)
        if before is not None and not before.columns.keys() & family.columns.keys():
            merged = {**before.columns, **family.columns}
            family = Family(f"{before.template}, {template}", merged, family.how, family.parsed)
            parts[key] = family
        else:
            parts[key if before is None else (template, family.how)] = family
    out += parts.values()
    if len(joints) == 1:
        # every column that names a quantity is that of the only joint
        used = {c for f in out for c in f.columns.values()}
        names = [take_apart(c) for c in columns if c not in used]
        out += [Family(n.column, {joints[0]: n.column}, BY_NAME, n) for n in names if n.quantity]
    return sorted(out, key=lambda f: (-len(f.columns), is_current(f.template)))


def _named(columns: Sequence[str], model: mujoco.MjModel, joints: Sequence[int]) -> list[Family]:
    """Families whose columns contain all words of the name of a joint."""
    wanted = {j: _own_words(model, j) for j in joints}
    found: dict[tuple[str, ...], dict[int, str]] = {}
    for column in columns:
        words = words_of(column)
        fitting = [j for j, own in wanted.items() if own and _holds(words, own)]
        if not fitting:
            continue
        # wrist_1 before wrist, where both are joints
        joint = max(fitting, key=lambda j: len(wanted[j]))
        rest = tuple(_without(words, wanted[joint]))
        found.setdefault(rest, {}).setdefault(joint, column)
    return [
        Family(" ".join(["{}", *rest]), members, BY_NAME, take_apart("_".join(rest)))
        for rest, members in found.items()
    ]


def _own_words(model: mujoco.MjModel, joint: int) -> tuple[str, ...]:
    """Words of the name of a joint that tell it from others; empty if it has a number only."""
    words = words_of(joint_label(model, joint))
    own = [w for w in words if w not in NOISE_WORDS and not is_quantity(w)]
    return tuple(own) if any(not w.isdigit() for w in own) else ()


def _holds(words: Sequence[str], own: Sequence[str]) -> bool:
    return any(tuple(words[k : k + len(own)]) == tuple(own) for k in range(len(words)))


def _without(words: Sequence[str], own: Sequence[str]) -> list[str]:
    for k in range(len(words)):
        if tuple(words[k : k + len(own)]) == tuple(own):
            return [*words[:k], *words[k + len(own) :]]
    return list(words)


def _numbered(columns: Sequence[str], sizes: Collection[int]) -> dict[str, dict[int, str]]:
    """Columns by the template in which they differ by one number.

    Of two numbers in a name that of the joint is the one with as many values as joints, else with
    most values.
    """
    found: dict[str, dict[int, str]] = {}
    for column in columns:
        for match in re.finditer(r"\d+", column.partition(" (repeat ")[0]):
            template = f"{column[: match.start()]}{{}}{column[match.end() :]}"
            found.setdefault(template, {}).setdefault(int(match[0]), column)
    out: dict[str, dict[int, str]] = {}
    taken: set[str] = set()

    def fits(item: tuple[str, dict[int, str]]) -> tuple[bool, int]:
        return len(item[1]) in sizes, len(item[1])

    for template, members in sorted(found.items(), key=fits, reverse=True):
        if len(members) > 1 and not taken & set(members.values()):
            out[template] = members
            taken |= set(members.values())
    return out


def _of_numbers(
    template: str,
    numbered: Mapping[int, str],
    model: mujoco.MjModel,
    joints: Sequence[int],
    driven: Sequence[int],
) -> Family | None:
    """The joints of a numbered family; None if their number does not fit."""
    parsed = take_apart(template)
    numbers = sorted(numbered)
    for group in (_part(parsed, model, joints), *_groups(model, joints, driven)):
        if len(group) == len(numbers):
            pairs = zip(group, numbers, strict=True)
            own = [_number(model, j) for j in group]
            how = BY_NUMBER if own == numbers else BY_ORDER
            return Family(template, {j: numbered[n] for j, n in pairs}, how, parsed)
    own = {n: j for j in joints if (n := _number(model, j)) is not None}
    every = len(own) == len(joints) and set(numbers) <= set(own)
    if every or numbers == sorted(own):
        return Family(template, {own[n]: numbered[n] for n in numbers}, BY_NUMBER, parsed)
    return None


def _groups(model: mujoco.MjModel, joints: Sequence[int], driven: Sequence[int]) -> list[list[int]]:
    """Joints that a log may contain: all, those with actuators, and the same without grippers."""
    arm = [j for j in joints if not _GRIPPERS & set(words_of(joint_label(model, j)))]
    return [list(joints), list(driven), arm, [j for j in driven if j in arm]]


def _part(parsed: ColumnName, model: mujoco.MjModel, joints: Sequence[int]) -> list[int]:
    """Joints whose names have the words of a part of the robot, such as ``left``."""
    common = parsed.words & _words_of_joints(model, joints)
    if not common:
        return []
    return [j for j in joints if common <= set(words_of(joint_label(model, j)))]


def _words_of_joints(model: mujoco.MjModel, joints: Sequence[int]) -> set[str]:
    return {w for j in joints for w in words_of(joint_label(model, j)) if not w.isdigit()}


def _number(model: mujoco.MjModel, joint: int) -> int | None:
    numbers = [int(w) for w in words_of(joint_label(model, joint)) if w.isdigit()]
    return numbers[-1] if numbers else None
