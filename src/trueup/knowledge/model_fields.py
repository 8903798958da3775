"""Fields of MjModel by the names of their elements, which all simulators share."""

from collections.abc import Sequence

import mujoco
import numpy as np

from trueup.errors import TargetError
from trueup.knowledge.draws import ModelField
from trueup.simulation.models.element_names import is_generated
from trueup.simulation.targets.attributes import OBJECT_TYPES
from trueup.simulation.targets.resolution import FieldWrite

_KINDS = {
    **{kind: kind for kind in ("body", "geom", "site", "actuator", "sensor", "tendon", "pair")},
    "jnt": "joint",
    "eq": "equality",
}
"""Prefix of a field -> kind of the element of a row."""


def model_fields(
    model: mujoco.MjModel, writes: Sequence[tuple[FieldWrite, np.ndarray]]
) -> tuple[list[ModelField], list[str]]:
    """Fields of elements that are changed by writes into a compiled model.

    Args:
      model: the compiled model.
      writes: fields with values ``(n, entries)``, from
        :meth:`trueup.simulation.targets.variants.ModelVariants.field_writes`.

    Returns:
      One entry per field and element; and the names of fields that are not of elements (options,
      initial states), which cannot differ between environments.

    Raises:
      TargetError: an element has no name.
    """
    found: dict[tuple[str, str, str], dict[int, np.ndarray]] = {}
    others: dict[str, None] = {}
    for write, values in writes:
        if write.field.startswith(("opt.", "state.")):
            others[write.field] = None
            continue
        for column, entry in enumerate(write.entries):
            kind, element, component = _owner(model, write.field, int(entry))
            key = (write.field, kind, element)
            found.setdefault(key, {})[component] = values[:, column]
    fields = []
    for (field, kind, element), columns in found.items():
        components = tuple(sorted(columns))
        values = np.stack([columns[c] for c in components], axis=1)
        fields.append(ModelField(field, kind, element, components, values))
    return fields, list(others)


def _owner(model: mujoco.MjModel, field: str, entry: int) -> tuple[str, str, int]:
    """Kind and name of the element of an entry of a field, and the index of its component."""
    array = getattr(model, field)
    width = array.size // len(array)
    row, column = divmod(entry, width)
    prefix = field.split("_")[0]
    if prefix == "dof":
        joint = int(model.dof_jntid[row])
        component = (row - int(model.jnt_dofadr[joint])) * width + column
        kind, row = "jnt", joint
    elif prefix == "qpos" or field == "qpos0":
        joint = int(np.searchsorted(model.jnt_qposadr, row, side="right")) - 1
        component = row - int(model.jnt_qposadr[joint])
        kind, row = "jnt", joint
    elif prefix in _KINDS:
        kind, component = prefix, column
    else:
        raise TargetError(f"the field {field} of a model does not belong to a named element")
    name = mujoco.mj_id2name(model, OBJECT_TYPES[_KINDS[kind]], row)
    if not name or is_generated(name):
        raise TargetError(
            f"{field} is written for {_KINDS[kind]} {row}, which has no name for another simulator "
            "to find it by: name it in the model"
        )
    return _KINDS[kind], name, component
