"""Memory offsets of the fields of ``mjData`` and ``mjModel``.

A compiled law gets the addresses of the two C structs. The layout of the structs changes from one
version of MuJoCo to the next, so it is not hard-coded: it is built from the declarations
of the installed bindings (:mod:`mujoco.introspect`), and then checked against the memory of
a small model, every array by its address and every scalar by a value written through the bindings.
"""

import ctypes
import functools
from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np
from mujoco.introspect import ast_nodes, structs

from trueup.errors import LawError, listing

_C_TYPES: dict[str, Any] = {
    "mjtNum": ctypes.c_double,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "int": ctypes.c_int,
    "mjtSize": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
    "uintptr_t": ctypes.c_size_t,
    "uint64_t": ctypes.c_uint64,
    "mjtByte": ctypes.c_uint8,
    "mjtBool": ctypes.c_bool,
    "char": ctypes.c_char,
}

_DTYPES = {"mjtNum": "float64", "float": "float32", "int": "int32", "mjtByte": "uint8"}
_DTYPES |= {"mjtBool": "uint8", "mjtSize": "int64"}

_PROBE_MODEL = """
<mujoco>
  <size nuserdata="5"/>
  <option timestep="0.00390625" integrator="RK4"/>
  <worldbody>
    <site name="origin"/>
    <body name="target" mocap="true"/>
    <body name="link">
      <joint name="hinge" axis="0 1 0"/>
      <geom size="0.1" pos="0 0 -1"/>
      <site name="tip"/>
      <body name="tool">
        <joint name="slide" type="slide"/>
        <geom size="0.1" pos="0.3 0 -1"/>
      </body>
    </body>
  </worldbody>
  <tendon><fixed name="cable"><joint joint="hinge" coef="1"/></fixed></tendon>
  <equality><joint joint1="hinge" joint2="slide"/></equality>
  <actuator>
    <motor name="motor" joint="hinge"/>
    <general name="filtered" joint="slide" dyntype="filter" dynprm="1"/>
  </actuator>
  <sensor><jointpos name="angle" joint="hinge"/><accelerometer site="tip"/></sensor>
  <custom>
    <numeric name="numbers" data="1 2 3"/>
    <tuple name="objects"><element objtype="joint" objname="hinge" prm="7"/></tuple>
  </custom>
</mujoco>
"""


@dataclass(frozen=True)
class Field:
    """One field of a C struct.

    Attributes:
        name: its name in MuJoCo, ``opt.<name>`` for a field of ``mjOption``.
        offset: bytes from the start of the struct.
        dtype: numpy name of the type of one element, "" for a type that laws cannot read.
        extents: shape of the array, of numbers and names of sizes; empty for a scalar.
        is_pointer: the field holds the address of an array.
    """

    name: str
    offset: int
    dtype: str
    extents: tuple[int | str, ...]
    is_pointer: bool


@dataclass(frozen=True)
class Offsets:
    """The fields of the structs of the installed MuJoCo, checked.

    Attributes:
        data: fields of ``mjData`` by name.
        model: fields of ``mjModel`` by name; those of ``mjOption`` as ``opt.<name>``.
        warning_number: bytes from the start of ``mjData`` to the count of the warning
            ``mjWARN_BADCTRL``.
    """

    data: dict[str, Field]
    model: dict[str, Field]
    warning_number: int


def _c_type(declared: Any) -> Any:
    """The ctypes type of a declared type."""
    if isinstance(declared, ast_nodes.PointerType):
        return ctypes.c_void_p
    if isinstance(declared, ast_nodes.ArrayType):
        item = _c_type(declared.inner_type)
        for extent in reversed(declared.extents):
            item = item * extent
        return item
    if isinstance(declared, ast_nodes.AnonymousStructDecl | ast_nodes.StructDecl):
        return _struct(declared)
    if declared.name in _C_TYPES:
        return _C_TYPES[declared.name]
    if declared.name in structs.STRUCTS:
        return _struct(structs.STRUCTS[declared.name])
    raise LawError(
        f"mujoco {mujoco.__version__} declares a field of the unsupported type {declared.name!r}: "
        "compiled control laws cannot run on this version"
    )


def _struct(declared: Any) -> Any:
    members = [(member.name, _c_type(member.type)) for member in declared.fields]
    return type("Struct", (ctypes.Structure,), {"_fields_": members})


def _fields(declared: Any, layout: Any, start: int = 0, prefix: str = "") -> dict[str, Field]:
    found = {}
    for member in declared.fields:
        kind, extents, is_pointer = member.type, member.array_extent or (), False
        if isinstance(kind, ast_nodes.PointerType):
            kind, is_pointer = kind.inner_type, True
        elif isinstance(kind, ast_nodes.ArrayType):
            kind, extents = kind.inner_type, kind.extents
        dtype = _DTYPES.get(getattr(kind, "name", ""), "")
        if is_pointer and not extents:
            dtype = ""
        name = prefix + member.name
        offset = start + getattr(layout, member.name).offset
        found[name] = Field(name, offset, dtype, tuple(extents), is_pointer)
    return found


def _declared() -> Offsets:
    data_declared, model_declared = structs.STRUCTS["mjData"], structs.STRUCTS["mjModel"]
    data_layout, model_layout = _struct(data_declared), _struct(model_declared)
    warning = structs.STRUCTS["mjWarningStat"]
    warning_layout = _struct(warning)
    option = structs.STRUCTS["mjOption"]
    model = _fields(model_declared, model_layout)
    model |= _fields(option, _struct(option), model_layout.opt.offset, "opt.")
    warning_number = (
        data_layout.warning.offset
        + int(mujoco.mjtWarning.mjWARN_BADCTRL) * ctypes.sizeof(warning_layout)
        + warning_layout.number.offset
    )
    return Offsets(_fields(data_declared, data_layout), model, warning_number)


def _wrong_pointers(address: int, owner: Any, fields: dict[str, Field]) -> tuple[list[str], int]:
    """Arrays with an address different from the layout, and the number compared."""
    wrong, compared = [], 0
    for field in fields.values():
        values = getattr(owner, field.name, None) if field.is_pointer and field.dtype else None
        if isinstance(values, np.ndarray) and values.size:
            found = _pointer(address, field)
            # arrays in the arena have no memory until the first step
            compared += found != 0
            if found and found != values.ctypes.data:
                wrong.append(field.name)
    return wrong, compared


def _pointer(address: int, field: Field) -> int:
    return ctypes.c_size_t.from_address(address + field.offset).value


def _without_arena(fields: dict[str, Field], address: int) -> dict[str, Field]:
    """The fields, those in the arena (which move from step to step) marked as not readable."""
    return {
        name: replace(field, dtype="")
        if field.is_pointer and not _pointer(address, field)
        else field
        for name, field in fields.items()
    }


def _wrong_scalars(offsets: Offsets, model: Any, data: Any) -> list[str]:
    """Scalars that a compiled probe reads differently from what the bindings wrote."""
    import numba

    from trueup.simulation.control._memory import load_float, load_int32, load_int64

    @numba.njit
    def probe(model, data, userdata, time, timestep, integrator, nuserdata, nq, warning):
        values = load_int64(data + userdata)
        return (
            load_float(data + time),
            load_float(values + 8 * 4),
            load_float(model + timestep),
            float(load_int32(model + integrator)),
            float(load_int64(model + nuserdata)),
            float(load_int64(model + nq)),
            float(load_int32(data + warning)),
        )

    names = ("userdata", "time", "opt.timestep", "opt.integrator", "nuserdata", "nq")
    fields = [(offsets.data | offsets.model)[name] for name in names]
    places = [*(field.offset for field in fields), offsets.warning_number]
    data.time = 0.8125
    data.userdata[4] = -3.5
    data.warning[mujoco.mjtWarning.mjWARN_BADCTRL].number = 9
    found = probe(model._address, data._address, *places)
    expected = (0.8125, -3.5, 0.00390625, float(mujoco.mjtIntegrator.mjINT_RK4), 5.0, 2.0, 9.0)
    labels = ("time", "userdata", "opt.timestep", "opt.integrator", "nuserdata", "nq", "warning")
    return [label for label, a, b in zip(labels, found, expected, strict=True) if a != b]


@functools.cache
def offsets() -> Offsets:
    """Return the offsets of the installed MuJoCo.

    Raises:
        LawError: MuJoCo is built with single precision, or its memory layout differs from its
            declarations.
    """
    if np.dtype(mujoco.MJTNUM_DTYPE) != np.float64:
        raise LawError(
            f"mujoco {mujoco.__version__} is built with {np.dtype(mujoco.MJTNUM_DTYPE)}; "
            "compiled control laws require the standard build with float64"
        )
    declared = _declared()
    check_offsets(declared)
    model = mujoco.MjModel.from_xml_string(_PROBE_MODEL)
    data = mujoco.MjData(model)
    return replace(declared, data=_without_arena(declared.data, data._address))


def check_offsets(declared: Offsets) -> None:
    """Compare a layout with the memory of a small model.

    Args:
        declared: the layout to check.

    Raises:
        LawError: a field is not at the offset of the layout; the message names the fields.
    """
    model = mujoco.MjModel.from_xml_string(_PROBE_MODEL)
    data = mujoco.MjData(model)
    wrong_data, compared_data = _wrong_pointers(data._address, data, declared.data)
    wrong_model, compared_model = _wrong_pointers(model._address, model, declared.model)
    wrong = wrong_data + wrong_model
    if not wrong and min(compared_data, compared_model) > 0:
        # scalars only now: the probe follows the pointer of userdata
        wrong = _wrong_scalars(declared, model, data)
    if wrong or min(compared_data, compared_model) == 0:
        raise LawError(
            f"The memory layout of mujoco {mujoco.__version__} differs from its declarations "
            f"(wrong: {listing(wrong)}; compared {compared_data} arrays of mjData and "
            f"{compared_model} of mjModel). Compiled control laws cannot run on this build: "
            "install mujoco from PyPI"
        )
