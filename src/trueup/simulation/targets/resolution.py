"""Targets: attributes of a model set by a parameter, such as ``joint/elbow/armature``.

A target is ``kind/name/attribute`` or ``kind/name/attribute/index``. ``name`` may contain
the wildcards of :mod:`fnmatch`: a parameter of one element then sets every match, a parameter with
one element per match sets each in turn. ``option/gravity/2`` sets a physics option,
``state/elbow/qvel`` the initial state of every sequence, ``state/elbow/qvel@run_1`` that of one.
"""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import mujoco
import numpy as np

from trueup.errors import TargetError, did_you_mean, listing
from trueup.simulation.targets.actuator_targets import find_attribute
from trueup.simulation.targets.attributes import (
    ATTRIBUTES,
    COUNTS,
    OBJECT_TYPES,
    OPTIONS,
    Attribute,
)

# names of elements and of sequences may contain slashes
_STATE = re.compile(
    r"state/(?P<name>.+?)/(?P<field>qpos|qvel|act)(/(?P<index>\d+))?(@(?P<sequence>.*))?", re.DOTALL
)


@dataclass(frozen=True)
class FieldWrite:
    """Assignment in a compiled model: ``field[entries] = factor * value[source]``."""

    field: str
    """Field of MjModel, ``opt.<name>`` of MjOption, or ``state.qpos`` and the like."""
    entries: np.ndarray
    """Flat indices into the field."""
    source: np.ndarray
    """Element of the parameter that each entry takes."""
    factor: float = 1.0
    sequence: str = ""
    """Sequence of an initial state; empty for every sequence."""


@dataclass(frozen=True)
class SpecWrite:
    """The same assignment in the MJCF: ``attribute.write(element, index, value)``."""

    kind: str
    element: str
    attribute: Attribute | None
    option: str
    index: int
    source: int
    to_degrees: bool


@dataclass(frozen=True)
class ResolvedTarget:
    """A target resolved in a model."""

    target: str
    fields: tuple[FieldWrite, ...]
    spec: tuple[SpecWrite, ...]
    bodies: tuple[str, ...] = ()
    """Bodies whose inertia the target changes."""


def element_names(model: mujoco.MjModel, kind: str) -> list[str]:
    """Names of the elements of a kind, without unnamed ones."""
    names = [
        mujoco.mj_id2name(model, OBJECT_TYPES[kind], i) for i in range(getattr(model, COUNTS[kind]))
    ]
    return [n for n in names if n]


def resolve(
    target: str,
    model: mujoco.MjModel,
    size: int,
    lower: np.ndarray,
    upper: np.ndarray | None = None,
) -> ResolvedTarget:
    """Resolve a target in a compiled model.

    Args:
      target: ``kind/name/attribute[/index]``.
      model: the compiled model.
      size: number of elements of the parameter.
      lower: lower bounds of the parameter, checked against the physical limit ``(size,)``.
      upper: upper bounds, checked against the limits of the model ``(size,)``; None: no check.

    Raises:
      TargetError: no such kind, element, attribute or index; the number of elements does not match;
        the value would have no effect; a bound is not physical.
    """
    pieces = target.split("/")
    kind = pieces[0]
    if kind == "option":
        return _resolve_option(target, pieces, model, size)
    if kind == "state":
        return _resolve_state(target, model, size)
    if kind not in ATTRIBUTES:
        kinds = [*ATTRIBUTES, "option", "state"]
        raise TargetError(
            f"target {target!r}: unknown kind {kind!r}; available: {listing(kinds)}."
            f"{did_you_mean(kind, kinds)}"
        )
    # element names may contain slashes (attached models): the attribute is found from the right
    index, attribute_at = None, len(pieces) - 1
    if pieces[-1].isdigit() and len(pieces) > 3:
        index, attribute_at = int(pieces[-1]), len(pieces) - 2
    if attribute_at < 2:
        raise TargetError(
            f"target {target!r} is malformed: write kind/name/attribute, such as "
            f"'joint/elbow/armature' or 'geom/foot/friction/0'"
        )
    name, attribute_name = "/".join(pieces[1:attribute_at]), pieces[attribute_at]
    matches = _matches(target, kind, name, model)
    elements = [mujoco.mj_name2id(model, OBJECT_TYPES[kind], match) for match in matches]
    # attributes of actuators depend on their type
    attributes = [find_attribute(target, model, kind, e, attribute_name) for e in elements]
    fields: list[FieldWrite] = []
    spec: list[SpecWrite] = []
    counts = [
        _count(model, element, attribute, index, target)
        for element, attribute in zip(elements, attributes, strict=True)
    ]
    sources = _sources(target, size, counts)
    for match, element, attribute, source in zip(
        matches, elements, attributes, sources, strict=True
    ):
        _check_effect(target, model, kind, match, element, attribute)
        _check_buffer(target, model, kind, match, attribute, lower, upper)
        _check_physical(target, attribute, lower)
        for part in attribute.parts:
            entries = part.locate(model, element)
            rows = entries.reshape(-1, attribute.width or entries.size)
            if not attribute.shared and index is not None:
                rows = rows[:, [index]]
            taken = np.broadcast_to(source, rows.shape).reshape(-1)
            fields.append(FieldWrite(part.field, rows.reshape(-1), np.array(taken), part.factor))
        degrees = attribute.angle and _is_angle(model, kind, element)
        spec += [
            SpecWrite(kind, match, attribute, "", k if index is None else index, int(s), degrees)
            for k, s in enumerate(source)
        ]
    bodies = tuple(matches) if kind == "body" and attribute_name in _INERTIAL else ()
    return ResolvedTarget(target, tuple(fields), tuple(spec), bodies)


_INERTIAL = ("mass", "inertia", "ipos")


def _matches(target: str, kind: str, name: str, model: mujoco.MjModel) -> list[str]:
    names = element_names(model, kind)
    matches = [name] if name in names else [n for n in names if fnmatchcase(n, name)]
    if kind == "body":
        matches = [n for n in matches if n != "world"]
    if not matches:
        raise TargetError(
            f"target {target!r}: the model has no {kind} {name!r}; available: {listing(names)}."
            f"{did_you_mean(name, names)}{_without_name(model, kind, len(names))}"
        )
    return matches


def _without_name(model: mujoco.MjModel, kind: str, named: int) -> str:
    """Sentence on unnamed elements, which no target can address; '' if there are none."""
    count = getattr(model, COUNTS[kind]) - named
    if not count:
        return ""
    return f" {count} of its {count + named} elements of this kind have no name: give them one"


def _count(
    model: mujoco.MjModel, element: int, attribute: Attribute, index: int | None, target: str
) -> int:
    """Number of parameter elements that one match takes."""
    available = attribute.width or attribute.parts[0].locate(model, element).size
    if attribute.shared:
        if index not in (None, 0):
            raise TargetError(f"target {target!r}: the attribute is a scalar; remove the index")
        return 1
    if index is None:
        return available
    if index >= available:
        raise TargetError(
            f"target {target!r}: index {index} is out of range for {available} values"
        )
    return 1


def _sources(target: str, size: int, counts: list[int]) -> list[np.ndarray]:
    """Parameter elements that each match takes."""
    total = sum(counts)
    if size == total:
        ends = np.cumsum(counts)
        return [np.arange(end - count, end) for end, count in zip(ends, counts, strict=True)]
    if all(count == size for count in counts):
        return [np.arange(size) for _ in counts]
    if size == 1:
        raise TargetError(
            f"target {target!r} has {counts[0]} values, the parameter has one: add an index, "
            f"such as {target}/0"
        )
    raise TargetError(
        f"target {target!r} has {total} values in {len(counts)} elements, the parameter has "
        f"{size}: give it one element, or {total}"
    )


def _check_effect(
    target: str, model: mujoco.MjModel, kind: str, name: str, element: int, attribute: Attribute
) -> None:
    what = f"the {kind} {name!r} of the model does not use it"
    acts = attribute.acts is None or bool(attribute.acts(model, element))
    if attribute.needs:
        what = f"{attribute.needs} of {kind} {name!r} is 0"
        acts = bool(np.atleast_1d(getattr(model, attribute.needs)[element])[0])
    if not acts:
        raise TargetError(
            f"target {target!r} would have no effect: {what}; {attribute.needs_advice}"
        )


def _check_buffer(
    target: str,
    model: mujoco.MjModel,
    kind: str,
    name: str,
    attribute: Attribute,
    lower: np.ndarray,
    upper: np.ndarray | None,
) -> None:
    if not attribute.buffer or upper is None:
        return
    element = mujoco.mj_name2id(model, OBJECT_TYPES[kind], name)
    samples, interpolation = (int(n) for n in getattr(model, attribute.buffer)[element][:2])
    if interpolation == 0 and np.any(np.asarray(upper) > np.asarray(lower)):
        raise TargetError(
            f"target {target!r}: the history buffer of {kind} {name!r} is not interpolated, so the "
            f"delay is rounded to steps of {model.opt.timestep:g} s and has no gradient for a "
            f'fit; set interp="linear" on the {kind} in the MJCF'
        )
    longest = samples * model.opt.timestep
    if np.max(upper) > longest * (1 + 1e-9):
        raise TargetError(
            f"target {target!r}: the upper bound {np.max(upper):g} s exceeds the history "
            f"buffer of {kind} {name!r}: {samples} samples of {model.opt.timestep:g} s are "
            f"{longest:g} s, and a longer delay is clipped; lower the bound, or increase nsample"
        )


def _check_physical(target: str, attribute: Attribute, lower: np.ndarray) -> None:
    low = float(np.min(lower))
    if low < attribute.lowest or (attribute.strict and low <= attribute.lowest):
        relation = "above" if attribute.strict else "at or above"
        raise TargetError(
            f"target {target!r}: the lower bound {low:g} is not physical; it must be {relation} "
            f"{attribute.lowest:g}"
        )


def _is_angle(model: mujoco.MjModel, kind: str, element: int) -> bool:
    turning = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_BALL))
    return kind == "joint" and int(model.jnt_type[element]) in turning


def _resolve_option(
    target: str, pieces: list[str], model: mujoco.MjModel, size: int
) -> ResolvedTarget:
    if len(pieces) not in (2, 3) or pieces[1] not in OPTIONS:
        raise TargetError(
            f"target {target!r}: available options are {listing(OPTIONS, 20)}, as in "
            "'option/gravity/2'."
            f"{did_you_mean(pieces[1], OPTIONS) if len(pieces) > 1 else ''}"
        )
    name, width = pieces[1], OPTIONS[pieces[1]]
    override = int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
    if name.startswith("o_") and not model.opt.enableflags & override:
        raise TargetError(
            f"target {target!r} would have no effect: contact overrides are off; "
            f'set <flag override="enable"/> in the MJCF'
        )
    if len(pieces) == 3:
        if not pieces[2].isdigit() or int(pieces[2]) >= width:
            raise TargetError(f"target {target!r}: index {pieces[2]!r} is not in 0..{width - 1}")
        indices = np.array([int(pieces[2])])
    else:
        indices = np.arange(width)
    if size != indices.size:
        raise TargetError(f"target {target!r} has {indices.size} values, the parameter has {size}")
    source = np.arange(size)
    writes = tuple(
        SpecWrite("option", "", None, name, int(i), int(s), False)
        for i, s in zip(indices, source, strict=True)
    )
    return ResolvedTarget(target, (FieldWrite(f"opt.{name}", indices, source),), writes)


def _resolve_state(target: str, model: mujoco.MjModel, size: int) -> ResolvedTarget:
    found = _STATE.fullmatch(target)
    if found is None:
        raise TargetError(
            f"target {target!r}: write state/<joint>/qpos, state/<joint>/qvel or "
            f"state/<actuator>/act"
        )
    name, field, sequence = found["name"], found["field"], found["sequence"] or ""
    index = None if found["index"] is None else int(found["index"])
    kind = "actuator" if field == "act" else "joint"
    match = _matches(target, kind, name, model)
    if len(match) > 1:
        raise TargetError(
            f"target {target!r} matches {len(match)} elements; an initial state requires exactly "
            "one"
        )
    entries = state_entries(model, field, match[0])
    if index is not None:
        if index >= entries.size:
            raise TargetError(
                f"target {target!r}: the index is out of range for {entries.size} values"
            )
        entries = entries[[index]]
    if entries.size != size:
        raise TargetError(f"target {target!r} has {entries.size} values, the parameter has {size}")
    write = FieldWrite(f"state.{field}", entries, np.arange(size), sequence=sequence)
    return ResolvedTarget(target, (write,), ())


def state_entries(model: mujoco.MjModel, field: str, name: str) -> np.ndarray:
    """Indices of a joint's ``qpos`` or ``qvel``, or an actuator's ``act``, in that field."""
    if field == "act":
        actuator = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, name)
        return model.actuator_actadr[actuator] + np.arange(model.actuator_actnum[actuator])
    joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
    free, ball = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
    widths = {"qpos": {free: 7, ball: 4}, "qvel": {free: 6, ball: 3}}[field]
    first = model.jnt_qposadr[joint] if field == "qpos" else model.jnt_dofadr[joint]
    return first + np.arange(widths.get(int(model.jnt_type[joint]), 1))


def write_spec(spec: Any, write: SpecWrite, value: float) -> None:
    """Set one number of a target in an ``MjSpec``."""
    if write.attribute is None:
        option = getattr(spec.option, write.option)
        if np.ndim(option) == 0:
            setattr(spec.option, write.option, value)
        else:
            values = np.array(option, float)
            values[write.index] = value
            setattr(spec.option, write.option, values)
        return
    element = getattr(spec, write.kind)(write.element)
    if write.to_degrees and element.compiler.degree:
        value = float(np.rad2deg(value))
    write.attribute.write(element, write.index, value)
