"""Differences between two compiled models of one layout."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import mujoco
import numpy as np

from trueup.errors import TargetError

# text, names and visualisation do not affect the motion
_DRAWN = ("name", "names", "text", "numeric", "vis", "stat", "mat_", "tex_", "light", "cam")
_IGNORED = (*_DRAWN, "bvh")
_FOR_SLEEP = "dof_length"  # scales only the velocity threshold of sleeping bodies
_SIZES = ("nq", "nv", "nu", "na", "nhistory", "nsensordata", "nC", "nM", "nD", "nJmom")


def same_in_every_bit(expected: mujoco.MjModel, actual: mujoco.MjModel) -> bool:
    """Whether two models are bitwise equal, except for their mean inertia.

    A batch shares the mean inertia, which scales the tolerance of the constraint solver.
    ``actual`` takes over that of ``expected``.
    """
    actual.stat.meaninertia = expected.stat.meaninertia
    return np.array_equal(_serialised(expected), _serialised(actual))


def _serialised(model: mujoco.MjModel) -> np.ndarray:
    buffer = np.zeros(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer


def different_field(expected: mujoco.MjModel, actual: mujoco.MjModel) -> str:
    """Name of the first array of two models that differs beyond rounding, or ''.

    Bounding volumes are excluded: only the motion shows whether they matter.
    """
    for size in _SIZES:
        if getattr(expected, size, 0) != getattr(actual, size, 0):
            return f"{size} ({getattr(expected, size)} instead of {getattr(actual, size)})"
    sleeps = expected.opt.enableflags & int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    for name, wanted in _arrays(expected, _IGNORED if sleeps else (*_IGNORED, _FOR_SLEEP)):
        found = _array(actual, name)
        if wanted.shape != found.shape:
            return name
        if np.array_equal(wanted, found):
            continue
        scale = np.max(np.abs(wanted), initial=0.0)
        near = np.isclose(wanted, found, rtol=1e-8, atol=1e-10 * max(scale, 1e-6), equal_nan=True)
        if name == "body_iquat":  # q and -q are one orientation
            flipped = np.isclose(wanted, -found, rtol=1e-8, atol=1e-9).all(axis=-1, keepdims=True)
            near = near | flipped
        if not near.all():
            return name
    return ""


def changed_entries(
    before: mujoco.MjModel, after: Sequence[mujoco.MjModel]
) -> dict[str, np.ndarray]:
    """Flat indices of real numbers that differ in any of some models, by field.

    Raises:
      TargetError: the models have fields of different sizes.
    """
    changes = {}
    for name, old in _arrays(before, _DRAWN):
        arrays = [_array(model, name) for model in after]
        if any(new.shape != old.shape for new in arrays):
            raise TargetError(f"{name} changes its size")
        if old.dtype != np.float64 or old.size == 0:
            continue
        bits = old.tobytes()
        arrays = [new for new in arrays if new.tobytes() != bits]
        if arrays:
            stack = np.stack(arrays).reshape(len(arrays), -1)
            same = (stack == old.reshape(-1)) | (np.isnan(stack) & np.isnan(old.reshape(-1)))
            if not same.all():
                changes[name] = np.flatnonzero(~same.all(axis=0))
    return changes


def _arrays(model: mujoco.MjModel, ignored: tuple[str, ...]) -> Iterator[tuple[str, np.ndarray]]:
    """Arrays of a model and numbers of its options, by the names that a batch gives them."""
    for name in _field_names(type(model), type(model.opt), ignored):
        value = _array(model, name)
        if value.dtype.kind in "fiub":
            yield name, value


def _array(model: mujoco.MjModel, name: str) -> np.ndarray:
    owner = model.opt if name.startswith("opt.") else model
    return np.asarray(getattr(owner, name.removeprefix("opt.")))


@lru_cache
def _field_names(model: type, options: type, ignored: tuple[str, ...]) -> tuple[str, ...]:
    sample = mujoco.MjModel.from_xml_string("<mujoco/>")
    return (
        *(
            n
            for n in dir(model)
            if not n.startswith(("_", *ignored)) and isinstance(getattr(sample, n), np.ndarray)
        ),
        *(f"opt.{n}" for n in dir(options) if not n.startswith("_")),
    )
