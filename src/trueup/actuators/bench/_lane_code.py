"""Machine code of loops over lanes: instructions on vectors, without a way through Python.

Numba would take seconds to find the types of the thousands of operations of a step with its
derivatives, and might make no vector code of some of its loops. Here all are vectors of real
numbers, so that the instructions are written down as they are.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.np.arrayobj import make_array

from trueup.actuators.bench._lane_vectors import (
    COMPARED,
    FUNCTIONS,
    REALS,
    VECTOR,
    Reals,
    constant,
)
from trueup.actuators.equations.compiled import compiled_without_inlining
from trueup.compilation import intrinsic

LANES = 16
"""Rollouts side by side: a few vectors, whose chains of operations run beside each other."""


class Place(NamedTuple):
    """A row of a work space."""

    space: str
    """``lanes`` or ``slopes``."""
    row: int
    """Its first number."""
    shift: str = ""
    """``wanted``: moved on to the number of a derivative; ``column``: to that of its column."""


Instruction = tuple[Any, ...]
"""Operation and operands: numbers of instructions before it, by place in their sequence.

``("load", place)``, ``("store", place, value)``, ``("constant", number)``, or an operation of a
graph.
"""


Loop = Sequence[Instruction]
"""Work on each lane before the next loop begins."""


def lane_function(name: str, loops: Sequence[Loop]) -> Any:
    """Compiled function ``(width, lanes, slopes)`` of loops over lanes.

    Args:
      name: its name.
      loops: what it does.
    """
    code = tuple(tuple(loop) for loop in loops)

    @intrinsic
    def run(typingctx: Any, width: Any, lanes: Any, slopes: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            bases = {
                "lanes": _numbers(context, builder, signature.args[1], args[1]),
                "slopes": _numbers(context, builder, signature.args[2], args[2]),
            }
            for loop in code:
                _write_vectors(builder, loop, args[0], bases, {})
            return context.get_dummy_value()

        return types.void(width, lanes, slopes), codegen

    def of_lanes(width: Any, lanes: Any, slopes: Any) -> None:
        run(width, lanes, slopes)

    of_lanes.__name__ = name
    return compiled_without_inlining(of_lanes)


def column_function(
    name: str,
    instructions: Sequence[Instruction],
    of_column: Mapping[int, Sequence[Instruction]],
) -> Any:
    """Compiled function ``(width, count, wanted, lanes, slopes)`` for each derivative and lane.

    Args:
      name: its name.
      instructions: what it does with one of the ``count`` derivatives; the numbers of their columns
        stand in ``wanted``.
      of_column: what it does after that with the derivative of a column, by its number.
    """
    code = tuple(instructions)
    further = tuple((column, tuple(each)) for column, each in of_column.items())

    @intrinsic
    def run(typingctx: Any, width: Any, count: Any, wanted: Any, lanes: Any, slopes: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            wanted = make_array(signature.args[2])(context, builder, args[2])
            bases = {
                "lanes": _numbers(context, builder, signature.args[3], args[3]),
                "slopes": _numbers(context, builder, signature.args[4], args[4]),
            }
            with cgutils.for_range(builder, args[1]) as loop:
                place = cgutils.get_item_pointer(
                    context, builder, signature.args[2], wanted, [loop.index]
                )
                column = builder.load(place)
                lanes = ir.Constant(column.type, LANES)
                shifts = {
                    "wanted": builder.mul(loop.index, lanes),
                    "column": builder.mul(column, lanes),
                }
                _write_vectors(builder, code, args[0], bases, shifts)
                for number, each in further:
                    is_this = builder.icmp_signed("==", column, ir.Constant(column.type, number))
                    with builder.if_then(is_this):
                        _write_vectors(builder, each, args[0], bases, shifts)
            return context.get_dummy_value()

        return types.void(width, count, wanted, lanes, slopes), codegen

    def of_columns(width: Any, count: Any, wanted: Any, lanes: Any, slopes: Any) -> None:
        run(width, count, wanted, lanes, slopes)

    of_columns.__name__ = name
    return compiled_without_inlining(of_columns)


def _numbers(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Pointer to the numbers of an array."""
    return make_array(kind)(context, builder, array).data


def _write_vectors(
    builder: Any,
    code: Sequence[Instruction],
    width: Any,
    bases: dict[str, Any],
    shifts: dict[str, Any],
) -> None:
    """Write the loop over the vectors of ``width`` lanes."""
    start = ir.Constant(width.type, 0)
    step = ir.Constant(width.type, VECTOR)
    with cgutils.for_range_slice(builder, start, width, step, intp=width.type) as (lane, _):
        values: list[Any] = []
        for operation, *operands in code:
            values.append(_written(builder, operation, operands, values, lane, bases, shifts))


def _written(
    builder: Any, operation: str, operands: list[Any], values: list[Any], lane: Any,
    bases: dict[str, Any], shifts: dict[str, Any],
) -> Any:  # fmt: skip
    """Write an instruction; returns its value."""
    if operation == "constant":
        return Reals(builder, constant(operands[0]))
    if operation in ("load", "store"):
        space, row, shift = operands[0]
        at = builder.add(lane, ir.Constant(lane.type, row))
        if shift:
            at = builder.add(at, shifts[shift])
        pointer = builder.gep(bases[space], [at], inbounds=True)
        pointer = builder.bitcast(pointer, REALS.as_pointer())
        # rows begin anywhere: an array is aligned for one number only
        if operation == "load":
            return Reals(builder, builder.load(pointer, align=8))
        builder.store(values[operands[1]].value, pointer, align=8)
        return None
    given = [values[number] for number in operands]
    if operation in COMPARED:
        return given[0].compared(COMPARED[operation], given[1])
    if operation == "bitwise_and":
        return builder.and_(*given)
    if operation == "bitwise_or":
        return builder.or_(*given)
    if operation == "where":
        condition, yes, no = given
        return yes.where(condition, no)
    return FUNCTIONS[operation](*given)
