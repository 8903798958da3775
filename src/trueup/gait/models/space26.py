"""The walker space26 with 26 muscles: planar22 with motion in space, after ``space26.yaml``."""

import functools
from pathlib import Path
from typing import Any

import mujoco
import yaml

from trueup.gait.models.anatomy import Anatomy
from trueup.gait.models.human_walker import build_walker
from trueup.gait.models.planar22 import planar22_anatomy, planar22_numbers

_ADDED = ("joints", "muscles", "keyframes")
"""Blocks whose entries are added to those of planar22."""


@functools.cache
def _own_numbers() -> dict[str, Any]:
    path = Path(__file__).with_name("space26.yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@functools.cache
def space26_numbers() -> dict[str, Any]:
    """Parameters of :func:`space26`: those of planar22, with the changes in ``space26.yaml``."""
    planar, own = planar22_numbers(), dict(_own_numbers())
    del own["anatomy"]
    bodies = own.pop("bodies")
    numbers = {**planar, **own, **{block: {**planar[block], **own[block]} for block in _ADDED}}
    numbers["bodies"] = {
        name: {**body, **bodies.get(name, {})} for name, body in planar["bodies"].items()
    }
    return numbers


@functools.cache
def space26_anatomy() -> Anatomy:
    """Names of the parts of :func:`space26`: those of planar22, and the additions."""
    planar, own = planar22_anatomy().model_dump(), _own_numbers()["anatomy"]
    for block in ("muscles", "gains"):
        own = {**own, block: {**planar[block], **own[block]}}
    poses = {}
    for name, pose in planar["poses"].items():
        more = own["poses"][name]
        activation = {**pose["activation"], **more["activation"]}
        poses[name] = {**pose, **more, "activation": activation}
    own = {**own, "poses": poses}
    return Anatomy.model_validate({**planar, **own})


def space26() -> mujoco.MjSpec:
    """The walker in space with the sagittal plane of planar22: 18 degrees of freedom, 26 muscles.

    The pelvis moves freely, the hips have adduction and rotation, and abductors and adductors of
    the published model are added. With straight hips and without lateral motion its walks are those
    of planar22. Parameters and sources stand in ``space26.yaml``.
    """
    return build_walker(space26_numbers(), space26_anatomy())
