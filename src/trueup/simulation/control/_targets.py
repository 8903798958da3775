"""Resolution of the objects that a law acts on in a model."""

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np

from trueup.errors import LawError, did_you_mean, listing
from trueup.simulation.control._arguments import INDEX_BY
from trueup.simulation.control._offsets import offsets
from trueup.simulation.control._step import BY_DOF


def find_ids(model: mujoco.MjModel, targets: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
    """Ids of the targets in a model.

    Raises:
        LawError: the model has no object of a name.
    """
    kinds = {
        "joint": (mujoco.mjtObj.mjOBJ_JOINT, model.njnt),
        "actuator": (mujoco.mjtObj.mjOBJ_ACTUATOR, model.nactuator),
        "command": (mujoco.mjtObj.mjOBJ_ACTUATOR, model.nactuator),
        "sensor": (mujoco.mjtObj.mjOBJ_SENSOR, model.nsensor),
        "body": (mujoco.mjtObj.mjOBJ_BODY, model.nbody),
    }
    found: dict[str, list[int]] = {}
    for group, names in targets.items():
        kind, count = kinds[group]
        found[group] = [mujoco.mj_name2id(model, kind, name) for name in names]
        for name, index in zip(names, found[group], strict=True):
            if index < 0:
                existing = [mujoco.mj_id2name(model, kind, i) or "" for i in range(count)]
                existing = [other for other in existing if other]
                raise LawError(
                    f"The model has no {group} {name!r}; available: {listing(existing)}."
                    f"{did_you_mean(name, existing)}"
                )
    return found


def target_rows(
    model: mujoco.MjModel, field: str, targets: Mapping[str, Sequence[str]]
) -> np.ndarray:
    """Rows of a model field that belong to the targets."""
    group, index_by = INDEX_BY[str(offsets().model[field].extents[0])]
    ids = np.asarray(find_ids(model, {group: targets[group]})[group], dtype=int)
    return model.jnt_dofadr[ids] if index_by == BY_DOF else ids
