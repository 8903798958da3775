"""Resolution of the arguments of a law by their names.

The arguments of a law are its declaration: an argument named after a field of ``mjData`` or
``mjModel`` reads that field, ``<field>_out`` writes one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
from mujoco.batch import MODEL_FIELDS

from trueup.errors import LawError, did_you_mean, listing
from trueup.simulation.control import _userdata as u
from trueup.simulation.control._callback import Output
from trueup.simulation.control._groups import named_group
from trueup.simulation.control._memory import ArraySource, GroupSource, ScalarSource
from trueup.simulation.control._offsets import Field, offsets
from trueup.simulation.control._step import BY_CONTROL, BY_DOF, BY_ID

SCALARS = {"time": 0, "timestep": 1, "period": 2, "first": 3}

INPUTS = {
    "position": "joint",
    "velocity": "joint",
    "command": "command",
    "sensors": "sensor_value",
}

STATE_FIELDS = frozenset(
    (
        "qpos",
        "qvel",
        "act",
        "history",
        "ctrl",
        "qfrc_applied",
        "xfrc_applied",
        "mocap_pos",
        "mocap_quat",
    )
)
"""Fields that are part of a simulation's state."""

CURRENT_FIELDS = frozenset(
    (
        "xpos",
        "xquat",
        "xmat",
        "xipos",
        "ximat",
        "xanchor",
        "xaxis",
        "site_xpos",
        "site_xmat",
        "geom_xpos",
        "geom_xmat",
        "ten_length",
        "ten_velocity",
        "actuator_length",
        "actuator_velocity",
        "M",
        "qLD",
        "qLDiagInv",
        "qfrc_bias",
        "qfrc_passive",
    )
)
"""Derived fields that every step computes before it calls the law."""

WRITABLE_DATA = ("ctrl", "qfrc_applied", "xfrc_applied")

INDEX_BY = {
    "nv": ("joint", BY_DOF),
    "njnt": ("joint", BY_ID),
    "nu": ("actuator", BY_CONTROL),
    "nactuator": ("actuator", BY_ID),
    "nbody": ("body", BY_ID),
}

# writing these during a simulation would not update the constants of mj_setConst
_DERIVED_FROM = frozenset(getattr(mujoco.MjModel, "_setconst_inputs", ()))


@dataclass(frozen=True)
class Arguments:
    """The resolved arguments of a law.

    Attributes:
        declared: arrays in ``userdata`` as (kind, name, extents).
        sources: source of each argument, in order.
        inputs: index in the plan of position, velocity, command and sensors; -1 if not read.
        outputs: the fields written.
        derived: arguments with values of the previous step, or of another simulation.
        model_writes: fields of the model that the law writes.
    """

    declared: tuple[tuple[str, str, tuple[u.Extent, ...]], ...]
    sources: list[Any]
    inputs: tuple[int, int, int, int]
    outputs: list[Output]
    derived: tuple[str, ...]
    model_writes: tuple[str, ...]


def resolve_arguments(
    law: str,
    names: Sequence[str],
    gains: Mapping[str, tuple[u.Extent, ...]],
    state: Mapping[str, tuple[u.Extent, ...]],
    writes: Sequence[str],
) -> Arguments:
    """Resolve each argument of a law.

    Raises:
        LawError: an argument is not readable by a law, or is a field that it cannot write.
    """
    fields = {name: _output_field(law, name) for name in writes}
    read = [name for name in INPUTS if name in names]
    declared = (
        *(("gains", name, extents) for name, extents in gains.items()),
        *(("state", name, extents) for name, extents in state.items()),
        *(("inputs", name, (INPUTS[name],)) for name in read),
        *(("outputs", name, (group, *rest)) for name, (_, group, _, rest) in fields.items()),
    )
    places = u.plan_places(declared)
    inputs = tuple(places.get(("inputs", name), -1) for name in INPUTS)
    outputs = [
        Output(
            in_data=field.name in WRITABLE_DATA,
            pointer=field.offset,
            group=u.GROUPS.index(group),
            index_by=index_by,
            width=rest[0] if rest else 1,
            plan_index=places["outputs", name],
        )
        for name, (field, group, index_by, rest) in fields.items()
    ]
    extents = {(kind, name): extents for kind, name, extents in declared}

    def planned(kind: str, name: str, writable: bool) -> ArraySource:
        place = places[kind, name]
        shape = tuple(
            ("plan", place + 1 + i) if isinstance(extent, str) else extent
            for i, extent in enumerate(extents[kind, name])
        )
        return ArraySource("plan", place, shape, writable=writable)

    def source(name: str) -> Any:
        if name in SCALARS:
            return ScalarSource(SCALARS[name])
        if name == "gains":
            members = tuple(planned("gains", gain, False) for gain in gains)
            return GroupSource(named_group("Gains", gains), members)
        if name == "state":
            members = tuple(planned("state", value, True) for value in state)
            return GroupSource(named_group("State", state), members)
        if name == "targets":
            members = tuple(
                ArraySource("plan", u.P_STARTS + k, (("plan", u.P_COUNTS + k),), "int32")
                for k in range(len(u.GROUPS))
            )
            return GroupSource(named_group("Targets", u.GROUPS), members)
        if name in INPUTS:
            return planned("inputs", name, False)
        if name.removesuffix("_out") in fields and name.endswith("_out"):
            return planned("outputs", name.removesuffix("_out"), True)
        return _field_source(law, name, list(fields))

    sources = [source(name) for name in names]
    known = {*SCALARS, *INPUTS, "gains", "state", "targets", *(f"{name}_out" for name in fields)}
    missing = [f"{name}_out" for name in fields if f"{name}_out" not in names]
    if missing:
        raise LawError(
            f"Control law {law!r} declares writes of {listing(writes)}, but has no argument "
            f"{listing(missing)}"
        )
    data_fields = offsets().data
    derived = tuple(
        name
        for name in names
        if name == "sensors"
        or (name not in known and name in data_fields and name not in STATE_FIELDS | CURRENT_FIELDS)
    )
    model_writes = tuple(name for name in fields if name not in WRITABLE_DATA)
    return Arguments(declared, sources, inputs, outputs, derived, model_writes)  # pyright: ignore[reportArgumentType]


def _readable() -> list[str]:
    found = offsets()
    both = [*found.data.values(), *found.model.values()]
    return [field.name for field in both if field.dtype and field.is_pointer]


def _field_source(law: str, name: str, writes: list[str]) -> ArraySource:
    """An argument that reads a whole field of ``mjData`` or ``mjModel``."""
    found = offsets()
    base = "data" if name in found.data else "model"
    field = (found.data if base == "data" else found.model).get(name)
    extents = None
    if field is not None and field.dtype and field.is_pointer:
        extents = [_extent(extent, found.model) for extent in field.extents]
    if field is None or extents is None or None in extents:
        own = ["gains", "state", "targets", *SCALARS, *INPUTS, *(f"{w}_out" for w in writes)]
        why = (
            f"argument {name!r} is in the arena, or not a numeric array, and cannot be read"
            if field is not None
            else f"argument {name!r} is not a field of mjData or mjModel"
        )
        raise LawError(
            f"Control law {law!r}: {why}. Available arguments are {listing(own, 20)}, <field>_out "
            "for "
            f"the fields declared in writes, and the arrays of mjData and mjModel by name."
            f"{did_you_mean(name, [*own, *_readable()])}"
        )
    return ArraySource(base, field.offset, tuple(extents), field.dtype)  # pyright: ignore[reportArgumentType]


def _extent(extent: int | str, model_fields: dict[str, Field]) -> int | tuple[str, int] | None:
    if isinstance(extent, int):
        return extent
    size = model_fields.get(extent)
    if size is not None and not size.is_pointer and size.dtype == "int64":
        return ("model", size.offset)
    constant = getattr(mujoco, extent, None)
    return constant if isinstance(constant, int) else None


def _output_field(law: str, name: str) -> tuple[Field, str, int, tuple[int, ...]]:
    """A field that a law writes: (field, group of targets, how it is indexed, row shape)."""
    found = offsets()
    field = found.data.get(name) if name in WRITABLE_DATA else found.model.get(name)
    leading = field.extents[0] if field is not None and field.extents else None
    rest = [_extent(extent, found.model) for extent in field.extents[1:]] if field else []
    if (
        field is None
        or not field.is_pointer
        or field.dtype != "float64"
        or leading not in INDEX_BY
        or not all(isinstance(extent, int) for extent in rest)
        or (name not in WRITABLE_DATA and (name not in MODEL_FIELDS or name in _DERIVED_FROM))
    ):
        why = (
            "MuJoCo derives other constants from it, which would not be updated"
            if name in _DERIVED_FROM
            else "it is not a writable field of a joint, an actuator or a body"
        )
        raise LawError(
            f"Control law {law!r} cannot write {name!r}: {why}. A law may write "
            f"{listing(WRITABLE_DATA)}, and fields of the model such as 'dof_frictionloss', "
            "'dof_damping' or 'actuator_gainprm'."
            f"{did_you_mean(name, [*WRITABLE_DATA, *_readable()])}"
        )
    group, index_by = INDEX_BY[leading]
    return field, group, index_by, tuple(rest)  # pyright: ignore[reportReturnType]
