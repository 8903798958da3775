"""Coordinates of a model by the names and signs of the file that it was converted from.

A converted model states in custom texts what its joints do not: which joints are inverted, and
which coordinates follow others or are fixed. Motions are exchanged in values of the coordinates.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import mujoco
import numpy as np

DEFAULT_POSE = "default"
"""Name of the keyframe with the default values of the coordinates."""

_TURNED, _COUPLED, _LOCKED = "inverted_coordinates", "coupled_coordinates", "locked_coordinates"


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of a model.

    Attributes:
      signs: free coordinate -> position of its joint per value of the coordinate, 1 or -1.
      followers: coordinate, or joint, that follows another -> that coordinate.
      locked: coordinates without a joint, fixed at a value.
      angles: free coordinates that are angles; the others are distances.
      ranges: free coordinate -> lowest and highest value [rad or m], where the model states them.
    """

    signs: dict[str, float]
    followers: dict[str, str]
    locked: frozenset[str]
    angles: frozenset[str]
    ranges: dict[str, tuple[float, float]]


def coordinates_of(model: mujoco.MjModel) -> Coordinates:
    """Coordinates of a model: its hinges and slides, except those that follow others."""
    turned = set(_words(model, _TURNED))
    coupled = _words(model, _COUPLED)
    followers = dict(zip(coupled[::2], coupled[1::2], strict=True))
    equal = (model.eq_type == mujoco.mjtEq.mjEQ_JOINT) & (model.eq_active0 != 0)
    for e in np.flatnonzero(equal & (model.eq_obj2id >= 0)):
        own, other = (model.joint(int(ids[e])).name for ids in (model.eq_obj1id, model.eq_obj2id))
        followers[own] = other
    signs: dict[str, float] = {}
    angles, ranges = set(), {}
    kinds = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    for joint in np.flatnonzero(np.isin(model.jnt_type, kinds)):
        name = model.joint(int(joint)).name
        if not name or name in followers:
            continue
        signs[name] = -1.0 if name in turned else 1.0
        if model.jnt_type[joint] == kinds[0]:
            angles.add(name)
        low, high = np.sort(signs[name] * model.jnt_range[joint])
        if low < high:
            ranges[name] = (float(low), float(high))
    locked = frozenset(_words(model, _LOCKED))
    return Coordinates(signs, followers, locked, frozenset(angles), ranges)


def default_positions(model: mujoco.MjModel) -> np.ndarray:
    """Positions ``(nq,)`` of the default pose of a model."""
    key = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, DEFAULT_POSE)
    return (model.qpos0 if key < 0 else model.key_qpos[key]).copy()


def state_coordinates(
    spec: Any, turned: Iterable[str], coupled: Mapping[str, str], locked: Iterable[str]
) -> None:
    """State in a spec what its joints do not.

    Args:
      spec: ``MjSpec``, modified.
      turned: coordinates with an inverted joint.
      coupled: coordinate that follows another -> that coordinate.
      locked: coordinates without a joint.
    """
    pairs = [name for pair in coupled.items() for name in pair]
    for name, words in ((_TURNED, sorted(turned)), (_COUPLED, pairs), (_LOCKED, list(locked))):
        if words:
            spec.add_text(name=name, data=" ".join(quote(word) for word in words))


def _words(model: mujoco.MjModel, name: str) -> list[str]:
    """Words of a custom text of a model; none without it."""
    text = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_TEXT, name)
    if text < 0:
        return []
    start, size = int(model.text_adr[text]), int(model.text_size[text])
    words = bytes(model.text_data[start : start + size]).rstrip(b"\0").decode().split()
    return [unquote(word) for word in words]  # names may contain blanks
