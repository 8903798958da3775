"""Fields of a model that differ between candidates, as rows of a device's model."""

import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np

from trueup.errors import SimulationError, listing
from trueup.simulation.engine.batch import model_field
from trueup.simulation.warp.devices import warp_modules

_FIXED_POSES = {"geom": ("geom_pos", "geom_quat"), "body": ("body_pos", "body_quat")}

_DERIVED = (
    *("body_subtreemass", "body_invweight0", "dof_invweight0", "geom_aabb", "geom_rbound"),
    *("cam_poscom0", "cam_pos0", "cam_mat0", "light_poscom0", "light_pos0", "light_dir0"),
    *("eq_data", "tendon_length0", "tendon_invweight0", "actuator_acc0"),
)
"""Fields that MuJoCo derives from others (``mj_setConst``) and MuJoCo Warp reads; one that is
missing here is found by :func:`trueup.simulation.warp.agreement.check_structure`."""


def world_fields(put: Any) -> list[str]:
    """Names of the fields that may differ between worlds, options as ``opt.<name>``."""
    own = [f.name for f in dataclasses.fields(put) if _is_batched(f)]
    return own + [f"opt.{f.name}" for f in dataclasses.fields(put.opt) if _is_batched(f)]


def _is_batched(field: dataclasses.Field) -> bool:
    shape = getattr(field.type, "shape", ())
    return bool(shape) and shape[0] == "*"


def derived_fields(put: Any) -> list[str]:
    """Those of them that MuJoCo derives from others."""
    able = set(world_fields(put))
    return [name for name in _DERIVED if name in able]


def differing_rows(
    model: mujoco.MjModel,
    names: Sequence[str],
    rows_of: Callable[[str], np.ndarray],
    written: set[str],
    put: Any,
) -> dict[str, np.ndarray]:
    """Values ``(n, ...)`` of the fields that differ from those of the model.

    Args:
      model: the model of the device.
      names: fields to look at.
      rows_of: values of a field in candidates.
      written: fields that a parameter changes.
      put: the model on the device.

    Raises:
      SimulationError: a field differs that all worlds share.
    """
    found = {}
    able = set(world_fields(put))
    for name in names:
        rows = rows_of(name)
        if not np.array_equal(rows, np.broadcast_to(model_field(model, name), rows.shape)):
            found[name] = rows
    shared = sorted(name for name in found if name not in able)
    if shared:
        raise SimulationError(
            f"MuJoCo Warp has one {listing(shared)} for all candidates, and a parameter changes "
            "it; device: cpu simulates it"
        )
    _check_fixed(model, found)
    # a field that is written back to the model's own value keeps its rows, and so its graph
    for name in written & able - set(found):
        found[name] = rows_of(name)
    return found


def _check_fixed(model: mujoco.MjModel, rows: dict[str, np.ndarray]) -> None:
    """Refuse other poses of what is fixed to the world: a device places that once for all."""
    for kind, names in _FIXED_POSES.items():
        bodies = model.geom_bodyid if kind == "geom" else np.arange(model.nbody)
        fixed = (model.body_weldid[bodies] == 0) & (model.body_mocapid[bodies] < 0)
        for name in names:
            if name not in rows:
                continue
            moved = (rows[name] != model_field(model, name)).any(axis=(0, 2)) & fixed
            if moved.any():
                element = getattr(model, kind)(int(np.argmax(moved))).name
                raise SimulationError(
                    f"MuJoCo Warp cannot move the {kind} {element!r}, which is fixed to the world; "
                    "device: cpu simulates it"
                )


def with_rows(put: Any, rows: dict[str, np.ndarray]) -> tuple[Any, dict[str, Any]]:
    """A copy of a device's model with rows of fields, and the arrays that hold them."""
    wp, _ = warp_modules()
    own = copy.copy(put)
    own.opt = copy.copy(put.opt)
    arrays = {}
    for name, values in rows.items():
        owner, field = (own.opt, name[4:]) if name.startswith("opt.") else (own, name)
        former = getattr(owner, field)
        data = shaped(values, former)
        array = wp.array(data, dtype=former.dtype, device=former.device)
        array._is_batched = True
        setattr(owner, field, array)
        arrays[name] = array
    return own, arrays


def shaped(values: np.ndarray, array: Any) -> np.ndarray:
    """Values ``(n, ...)`` in the shape and number type of an array of a device."""
    numbers = np.int32 if np.issubdtype(values.dtype, np.integer) else np.float32
    shape = (len(values), *array.shape[1:], *getattr(array.dtype, "_shape_", ()))
    return np.ascontiguousarray(values, numbers).reshape(shape)


def structural_difference(first: Any, second: Any, except_for: set[str]) -> str:
    """Name of what differs between two device models outside of given fields, or ''."""
    for prefix, a, b in (("", first, second), ("opt.", first.opt, second.opt)):
        for field in dataclasses.fields(a):
            name = prefix + field.name
            if name in except_for or field.name in ("opt", "stat", "callback", "block_dim"):
                continue
            if not _same(getattr(a, field.name), getattr(b, field.name)):
                return name
    return ""


def _same(a: Any, b: Any) -> bool:
    if hasattr(a, "numpy"):
        a, b = a.numpy(), b.numpy()
    if isinstance(a, np.ndarray):
        if a.shape != b.shape:
            return False
        return (
            bool(np.allclose(a, b, rtol=1e-5, atol=1e-12))
            if a.dtype.kind == "f"
            else bool(np.array_equal(a, b))
        )
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(_same, a, b))
    if dataclasses.is_dataclass(a):
        return True
    return bool(a == b)
