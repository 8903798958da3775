"""Check of models for numbers that are not finite, which MuJoCo accepts.

MuJoCo treats ``mass="nan"`` as a missing mass, and computes one from the density.
"""

import math
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np

from trueup.errors import ModelError

_TEXTS = ("name", "class", "childclass", "file", "user", "key", "type", "mode")
_REFERENCES = (
    *("joint", "jointinparent", "body", "geom", "site", "refsite", "slidersite", "cranksite"),
    *("sidesite", "tendon", "actuator", "sensor", "target", "material", "mesh", "hfield"),
    *("texture", "flex", "skin", "node", "objname", "refname", "plugin", "instance", "link"),
)
"""Attributes that name another element, possibly followed by a number."""
_FREE = ("custom", "text", "config", "visual", "visualize", "gazebo", "transmission")
"""Elements without effect on a simulation."""
_NO_LIMIT = ("effort", "velocity")
"""Attributes of URDF's ``limit`` that may be infinite."""
_OWNERS = {
    "body": ("body", mujoco.mjtObj.mjOBJ_BODY),
    "jnt": ("joint", mujoco.mjtObj.mjOBJ_JOINT),
    "geom": ("geom", mujoco.mjtObj.mjOBJ_GEOM),
    "site": ("site", mujoco.mjtObj.mjOBJ_SITE),
    "tendon": ("tendon", mujoco.mjtObj.mjOBJ_TENDON),
    "eq": ("equality", mujoco.mjtObj.mjOBJ_EQUALITY),
    "actuator": ("actuator", mujoco.mjtObj.mjOBJ_ACTUATOR),
    "sensor": ("sensor", mujoco.mjtObj.mjOBJ_SENSOR),
}
_STATED = ("opt.", "body_", "jnt_", "dof_", "geom_", "site_", "tendon_", "eq_", "actuator_", "qpos")
_DERIVED = ("invweight0", "subtreemass", "acc0", "M0", "length0", "aabb", "rbound", "dof_length")


def check_finite_numbers(root: ElementTree.Element, file: Path) -> None:
    """Check that all numbers of an MJCF or URDF file are finite.

    Raises:
      ModelError: such a number, with its attribute and element.
    """
    waiting: list[tuple[ElementTree.Element, str]] = [(root, "")]
    while waiting:
        element, owner = waiting.pop()
        if element.tag in _FREE:
            continue
        name = element.get("name") or (element.get("class") if element.tag == "default" else None)
        here = f"{element.tag} {name!r}" if name else owner
        for attribute, text in element.attrib.items():
            if attribute in _TEXTS or attribute.rstrip("12") in _REFERENCES:
                continue
            for token in text.split():
                if not _is_finite(token) and not _is_no_limit(element, attribute, token):
                    of = element.tag if name or not owner else f"{element.tag} of {owner}"
                    raise ModelError(
                        f"{file}: {attribute} of {here if name else of} must be a finite number, "
                        f"found {text!r}: correct it, or remove the attribute"
                    )
        waiting += [(child, here) for child in reversed(element)]


def _is_no_limit(element: ElementTree.Element, attribute: str, token: str) -> bool:
    return element.tag == "limit" and attribute in _NO_LIMIT and "nan" not in token.lower()


def _is_finite(token: str) -> bool:
    """Whether a word is a finite number, or not a number."""
    try:
        return math.isfinite(float(token))
    except ValueError:
        # also a valid form in C
        return not token.lower().lstrip("+-").startswith("nan(")


def check_finite_model(model: mujoco.MjModel, source: str) -> None:
    """Check that all numbers of a compiled model are finite.

    Args:
      model: the compiled model.
      source: description of its file, for the message.

    Raises:
      ModelError: such a number, with its field and element; stated fields before derived ones.
    """
    found = []
    for name in dir(model):
        if name.startswith("_"):
            continue
        value = getattr(model, name)
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            continue
        if not (np.isfinite(value) | _unlimited(name, value)).all():
            found.append(name)
    for name in dir(model.opt):
        if not name.startswith("_") and not np.isfinite(getattr(model.opt, name)).all():
            found.append(f"opt.{name}")
    if not found:
        return
    field = min(found, key=lambda n: (n.endswith(_DERIVED), not n.startswith(_STATED)))
    raise ModelError(
        f"{source} contains a number that is not finite: {field}{_owner(model, field)}. Correct "
        "the "
        "model"
    )


def _unlimited(field: str, values: np.ndarray) -> np.ndarray:
    """Infinite effort limits of a URDF, which mean no limit."""
    return np.isinf(values) if field == "jnt_actfrcrange" else np.zeros(values.shape, bool)


def _owner(model: mujoco.MjModel, field: str) -> str:
    """Description of the element with the first number of a field that is not finite."""
    head = field.split("_")[0]
    if field.startswith("opt."):
        return ""
    values = getattr(model, field)
    row = int(np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))[0])
    if head in ("dof", "qpos", "qpos0"):
        addresses = model.jnt_dofadr if head == "dof" else model.jnt_qposadr
        head, row = "jnt", int(np.searchsorted(addresses, row, side="right")) - 1
    if head not in _OWNERS:
        return ""
    kind, number = _OWNERS[head]
    return f" of {kind} {mujoco.mj_id2name(model, number, row) or row!r}"
