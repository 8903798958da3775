"""Memory access by address from compiled code.

A control callback receives two addresses. Only the functions of this module convert an address to a
value or an array; all other code is ordinary compiled Python.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj, numpy_support


def _loader(numba_type: Any, llvm_type: Any) -> Any:
    @intrinsic
    def load(typingctx, address):
        def codegen(context, builder, signature, args):
            return builder.load(builder.inttoptr(args[0], llvm_type.as_pointer()))

        return numba_type(types.intp), codegen

    return load


load_float = _loader(types.float64, ir.DoubleType())
load_int32 = _loader(types.int32, ir.IntType(32))
load_int64 = _loader(types.int64, ir.IntType(64))


@intrinsic
def store_float(typingctx, address, value):
    """Write a float64 at an address."""

    def codegen(context, builder, signature, args):
        builder.store(args[1], builder.inttoptr(args[0], ir.DoubleType().as_pointer()))
        return context.get_dummy_value()

    return types.void(types.intp, types.float64), codegen


@intrinsic
def store_int32(typingctx, address, value):
    """Write an int32 at an address."""

    def codegen(context, builder, signature, args):
        builder.store(args[1], builder.inttoptr(args[0], ir.IntType(32).as_pointer()))
        return context.get_dummy_value()

    return types.void(types.intp, types.int32), codegen


@dataclass(frozen=True)
class ArraySource:
    """Source of one array argument of a law.

    Attributes:
        base: "data" or "model" for a field of the struct, "plan" for a part of ``userdata`` or of
            the list of targets, which the plan in the model locates.
        place: offset of the field's pointer in its struct [bytes], or index into the plan.
        extents: numbers, or ("model", offset [bytes]) of a size, or ("plan", index).
        dtype: numpy name of the element type.
        writable: the law may write it.
    """

    base: str
    place: int
    extents: tuple[int | tuple[str, int], ...]
    dtype: str = "float64"
    writable: bool = False

    @property
    def numba_type(self) -> Any:
        """Array type of the argument; a write to a read-only array does not compile."""
        element = numpy_support.from_dtype(np.dtype(self.dtype))
        return types.Array(element, len(self.extents), "C", readonly=not self.writable)


@dataclass(frozen=True)
class ScalarSource:
    """A scalar argument of a law: a value that the callback computes, by its index there."""

    index: int


@dataclass(frozen=True)
class GroupSource:
    """A named tuple of arrays: the gains, the state or the targets of a law."""

    named_tuple: type
    members: tuple[ArraySource, ...]


def argument_builder(sources: list[ArraySource | ScalarSource | GroupSource]) -> Any:
    """Return a compiled function that builds the arguments of a law.

    The function takes ``(model, data, userdata, targets, plan, scalars)``: the addresses of the
    structs, of ``userdata``, of the ids of the targets and of the plan, and a tuple of scalars.
    """

    def type_of(source: Any) -> Any:
        if isinstance(source, ScalarSource):
            return types.float64
        if isinstance(source, GroupSource):
            members = [member.numba_type for member in source.members]
            if not members:
                return types.NamedTuple([], source.named_tuple)
            return types.BaseTuple.from_types(members, source.named_tuple)
        return source.numba_type

    @intrinsic
    def build(typingctx, model, data, userdata, targets, plan, scalars):
        result = types.Tuple([type_of(source) for source in sources])
        signature = result(*[types.intp] * 5, scalars)

        def codegen(context, builder, signature, args):
            emit = _Emitter(context, builder, args)
            values = [emit.value(source, type_of(source)) for source in sources]
            return context.make_tuple(builder, result, values)

        return signature, codegen

    return build


class _Emitter:
    """Emits the code that builds one argument after the other."""

    def __init__(self, context: Any, builder: Any, args: Any):
        self.context, self.builder = context, builder
        model, data, self.userdata, self.targets, self.plan, self.scalars = args
        self.structs = {"model": model, "data": data}
        self.word = ir.IntType(64)

    def value(self, source: Any, numba_type: Any) -> Any:
        if isinstance(source, ScalarSource):
            return self.builder.extract_value(self.scalars, source.index)
        if isinstance(source, GroupSource):
            members = [self.array(member) for member in source.members]
            return self.context.make_tuple(self.builder, numba_type, members)
        return self.array(source)

    def load(self, address: Any, llvm_type: Any) -> Any:
        return self.builder.load(self.builder.inttoptr(address, llvm_type.as_pointer()))

    def shifted(self, address: Any, nbytes: int) -> Any:
        return self.builder.add(address, ir.Constant(self.word, nbytes))

    def planned(self, index: int) -> Any:
        """The integer at an index of the plan, stored as a double."""
        number = self.load(self.shifted(self.plan, 8 * index), ir.DoubleType())
        return self.builder.fptosi(number, self.word)

    def extent(self, extent: Any) -> Any:
        if isinstance(extent, int):
            return ir.Constant(self.word, extent)
        where, place = extent
        if where == "plan":
            return self.planned(place)
        return self.load(self.shifted(self.structs["model"], place), self.word)

    def array(self, source: ArraySource) -> Any:
        array_type = source.numba_type
        width = ir.Constant(
            self.word, self.context.get_abi_sizeof(self.context.get_data_type(array_type.dtype))
        )
        if source.base == "plan":
            start = self.targets if source.dtype == "int32" else self.userdata
            address = self.builder.add(start, self.builder.mul(self.planned(source.place), width))
        else:
            address = self.load(self.shifted(self.structs[source.base], source.place), self.word)
        shape = [self.extent(extent) for extent in source.extents]
        strides, stride = [], width
        for extent in reversed(shape):
            strides.insert(0, stride)
            stride = self.builder.mul(stride, extent)
        array = arrayobj.make_array(array_type)(self.context, self.builder)
        arrayobj.populate_array(
            array,
            data=self.builder.inttoptr(address, array.data.type),
            shape=cgutils.pack_array(self.builder, shape),
            strides=cgutils.pack_array(self.builder, strides),
            itemsize=width,
            meminfo=None,
        )
        return array._getvalue()
