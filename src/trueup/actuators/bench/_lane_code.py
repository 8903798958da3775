"""LLVM IR of loops over lanes, vectors of real numbers with their functions.

The step of a servo and its derivatives are thousands of operations on real numbers, for 16 rollouts
at a time. They are written as LLVM IR because numba's own loops are slower and compile longer:
numba has no vector library (that of Intel, ``icc_rt``, is not in the package index), so its ``exp``
is a call for each number, and it infers the type of every operation first. The same loops by numba,
with this exponential written in Python, took 1.4 times as long for M1 and 1.5 for M6, with
derivatives 1.4 and 1.7, and compiled twice as long (32 candidates, 3 logs, one core).

Exponential, logarithm and sine reduce their argument in two or three parts (W. J. Cody, W. Waite,
"Software Manual for the Elementary Functions", 1980) and sum a Taylor series in pairs (G. Estrin,
1960), which has a shorter chain of operations than Horner's scheme; the logarithm's is that of
2 artanh((m - 1) / (m + 1)). All are within 4 units in the last place, in the ranges that they name.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba.core import cgutils, types
from numba.np.arrayobj import make_array

from trueup.actuators.equations.compiled import compiled_without_inlining
from trueup.compilation import intrinsic

LANES = 16
"""Rollouts at a time: several vectors, so that the processor overlaps their operations."""

VECTOR = 8 if get_host_cpu_features().get("avx512f", False) else 4
"""Numbers of a vector: those of a register of this processor, with AVX-512 or AVX2. Every number is
computed alike, so that results are the same bits with either."""

REAL = ir.DoubleType()
REALS = ir.VectorType(REAL, VECTOR)
INTEGERS = ir.VectorType(ir.IntType(64), VECTOR)

E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13 = (1 / math.factorial(n) for n in range(2, 14))
S3, S5, S7, S9, S11, S13, S15, S17, S19, S21 = (
    (-1) ** (n // 2) / math.factorial(n) for n in range(3, 22, 2)
)
L3, L5, L7, L9, L11, L13, L15, L17, L19, L21 = (2 / n for n in range(3, 22, 2))

ROUNDS = 1.5 * 2.0**52
"""Added and subtracted again, it rounds to a whole number, which is in the low bits of the sum."""
ROUNDS_BITS = int(np.float64(ROUNDS).view(np.int64))

LOG2_E = 1.0 / math.log(2.0)
# ln 2 and pi in parts of few digits: products with small whole numbers are exact
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
PI_HIGH, PI_MIDDLE, PI_LOW = (
    3.14159265160560607910e00,
    1.98418714791870343106e-09,
    1.14423774522196636802e-17,
)
HALF_SQUARE_ROOT = int(np.float64(math.sqrt(0.5)).view(np.int64))
BIAS = 1024

LEAST_EXPONENT = -460.0
"""Logarithm of 1e-200: products of the result with small parameters are not subnormal, which
processors compute slowly."""
UNSEEN = 1e-70
"""Added to the remainder of an exponent: too small to change a sum, and its fourth power
is not subnormal."""


class Place(NamedTuple):
    """A row of a work space, one number a lane."""

    space: str
    """``lanes`` or ``slopes``."""
    row: int
    """Its first number."""
    shift: str = ""
    """``wanted``: of the current derivative; ``column``: of its column; otherwise empty."""


Instruction = tuple[Any, ...]
"""Operation and operands, which are numbers of earlier instructions of the sequence.

``("load", place)``, ``("store", place, value)``, ``("constant", number)``, or an operation of a
graph.
"""


Loop = Sequence[Instruction]
"""Instructions that run for every lane before those of the next loop."""


def lane_function(name: str, loops: Sequence[Loop]) -> Any:
    """Compiled function ``(width, lanes, slopes)`` of loops over lanes.

    Args:
      name: its name.
      loops: instructions, one loop after the other.
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
      instructions: instructions for one of the ``count`` derivatives, whose columns are the
        numbers in ``wanted``.
      of_column: further instructions for the derivative of a column, by the number of the column.
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
    """Write the loop over ``width`` lanes, one vector at a time."""
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
    """Write one instruction; returns its value, None of a store."""
    if operation == "constant":
        return Reals(builder, constant(operands[0]))
    if operation in ("load", "store"):
        space, row, shift = operands[0]
        at = builder.add(lane, ir.Constant(lane.type, row))
        if shift:
            at = builder.add(at, shifts[shift])
        pointer = builder.gep(bases[space], [at], inbounds=True)
        pointer = builder.bitcast(pointer, REALS.as_pointer())
        # numpy aligns an array for one number only, so a row may begin anywhere
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


# --- vectors and their functions ----------------------------------------------------------------


class Reals:
    """A vector of real numbers with arithmetic; the other operand may be a Python number.

    Args:
      builder: receives the instructions.
      value: the vector as a value of LLVM.
    """

    def __init__(self, builder: Any, value: Any):
        self.builder, self.value = builder, value

    def _operand(self, other: "Reals | float") -> Any:
        return other.value if isinstance(other, Reals) else constant(other)

    def __add__(self, other: "Reals | float") -> "Reals":
        return Reals(self.builder, self.builder.fadd(self.value, self._operand(other)))

    def __sub__(self, other: "Reals | float") -> "Reals":
        return Reals(self.builder, self.builder.fsub(self.value, self._operand(other)))

    def __rsub__(self, other: float) -> "Reals":
        return Reals(self.builder, self.builder.fsub(self._operand(other), self.value))

    def __mul__(self, other: "Reals | float") -> "Reals":
        return Reals(self.builder, self.builder.fmul(self.value, self._operand(other)))

    def __truediv__(self, other: "Reals | float") -> "Reals":
        return Reals(self.builder, self.builder.fdiv(self.value, self._operand(other)))

    def __neg__(self) -> "Reals":
        return Reals(self.builder, self.builder.fneg(self.value))

    __radd__, __rmul__ = __add__, __mul__

    def compared(self, sign: str, other: "Reals | float") -> Any:
        """Condition of each number; false where an operand is NaN, except for ``!=``."""
        compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        return compare(sign, self.value, self._operand(other))

    def where(self, condition: Any, other: "Reals | float") -> "Reals":
        """These numbers where a condition is true, otherwise the others."""
        chosen = self.builder.select(condition, self.value, self._operand(other))
        return Reals(self.builder, chosen)

    def called(self, name: str, *others: "Reals | float") -> "Reals":
        """The result of an intrinsic function of LLVM, such as ``sqrt``."""
        operands = [self.value, *(self._operand(other) for other in others)]
        function = cgutils.get_or_insert_function(
            self.builder.module,
            ir.FunctionType(REALS, [REALS] * len(operands)),
            f"llvm.{name}.v{VECTOR}f64",
        )
        return Reals(self.builder, self.builder.call(function, operands))

    @property
    def bits(self) -> "Bits":
        """The bits of the numbers."""
        return Bits(self.builder, self.builder.bitcast(self.value, INTEGERS))


class Bits:
    """A vector of integers of 64 bits; the other operand may be a Python integer."""

    def __init__(self, builder: Any, value: Any):
        self.builder, self.value = builder, value

    def _operand(self, other: "Bits | int") -> Any:
        return other.value if isinstance(other, Bits) else ir.Constant(INTEGERS, [other] * VECTOR)

    def __add__(self, other: "Bits | int") -> "Bits":
        return Bits(self.builder, self.builder.add(self.value, self._operand(other)))

    def __sub__(self, other: "Bits | int") -> "Bits":
        return Bits(self.builder, self.builder.sub(self.value, self._operand(other)))

    def __lshift__(self, places: int) -> "Bits":
        return Bits(self.builder, self.builder.shl(self.value, self._operand(places)))

    def __rshift__(self, places: int) -> "Bits":
        """Shifted right, filled with zeros."""
        return Bits(self.builder, self.builder.lshr(self.value, self._operand(places)))

    def __xor__(self, other: "Bits") -> "Bits":
        return Bits(self.builder, self.builder.xor(self.value, other.value))

    @property
    def reals(self) -> Reals:
        """The real numbers that have these bits."""
        return Reals(self.builder, self.builder.bitcast(self.value, REALS))


def constant(number: float) -> Any:
    """A vector with one number in every place."""
    return ir.Constant(REALS, [float(number)] * VECTOR)


def minimum(a: Reals, b: Reals) -> Reals:
    """The smaller number; NaN where the first is NaN."""
    return b.where(b.compared("<", a), a)


def maximum(a: Reals, b: Reals) -> Reals:
    """The greater number; NaN where the first is NaN."""
    return b.where(b.compared(">", a), a)


def sign(a: Reals) -> Reals:
    """-1, 0 or 1."""
    one = Reals(a.builder, constant(1.0)).called("copysign", a)
    return Reals(a.builder, constant(0.0)).where(a.compared("==", 0.0), one)


def exponential(x: Reals) -> Reals:
    """Exponential of x, limited to -460 to 700; NaN of NaN.

    No x gives a subnormal result or intermediate value.
    """
    x = Reals(x.builder, constant(LEAST_EXPONENT)).where(x.compared("<", LEAST_EXPONENT), x)
    x = Reals(x.builder, constant(700.0)).where(x.compared(">", 700.0), x)
    shifted = x * LOG2_E + ROUNDS
    k = shifted - ROUNDS
    r = ((x - k * LN2_HIGH) - k * LN2_LOW) + UNSEEN
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + r2 * (E2 + r * E3)
    middle = (E4 + r * E5) + r2 * (E6 + r * E7)
    high = (E8 + r * E9) + r2 * (E10 + r * E11) + r4 * (E12 + r * E13)
    # 2 to the k: its exponent bits are k + 1023, in bits 52 to 62
    scale = ((shifted.bits + (BIAS - 1)) << 52).reals
    return (low + r4 * (middle + r4 * high)) * scale


def logarithm(x: Reals) -> Reals:
    """Natural logarithm of a positive number that is neither subnormal nor infinite.

    x = 2**k * m with m within sqrt(1/2) and sqrt(2), where the series converges fastest.
    """
    bits = x.bits
    # the bias keeps the number positive: AVX2 has no arithmetic shift of 64-bit integers
    k = ((bits - HALF_SQUARE_ROOT + (BIAS << 52)) >> 52) - BIAS
    m = (bits - (k << 52)).reals
    whole = (k + ROUNDS_BITS).reals - ROUNDS
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    z2 = z * z
    z4 = z2 * z2
    low = (2.0 + z * L3) + z2 * (L5 + z * L7)
    middle = (L9 + z * L11) + z2 * (L13 + z * L15)
    high = (L17 + z * L19) + z2 * L21
    return whole * LN2_HIGH + (whole * LN2_LOW + s * (low + z4 * (middle + z4 * high)))


def sine(x: Reals) -> Reals:
    """Sine, for angles up to 1e6 rad."""
    shifted = x * (1.0 / math.pi) + ROUNDS
    k = shifted - ROUNDS
    r = ((x - k * PI_HIGH) - k * PI_MIDDLE) - k * PI_LOW
    # sin(r + k pi) = (-1)**k sin(r); the sign is the highest bit
    odd = shifted.bits << 63
    z = r * r
    z2 = z * z
    z4 = z2 * z2
    low = (S3 + z * S5) + z2 * (S7 + z * S9)
    high = (S11 + z * S13) + z2 * (S15 + z * S17) + z4 * (S19 + z * S21)
    value = r + r * z * (low + z4 * high)
    return (value.bits ^ odd).reals


def cosine(x: Reals) -> Reals:
    """Cosine, for angles up to 1e6 rad."""
    return sine(x + 0.5 * math.pi)


def hyperbolic_tangent(x: Reals) -> Reals:
    """Hyperbolic tangent by the C library, one number at a time."""
    builder = x.builder
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(REAL, [REAL]), "tanh")
    result = constant(0.0)
    for place in range(VECTOR):
        at = ir.Constant(ir.IntType(32), place)
        number = builder.call(function, [builder.extract_element(x.value, at)])
        result = builder.insert_element(result, number, at)
    return Reals(builder, result)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "true_divide": lambda a, b: a / b,
    "negative": lambda a: -a,
    "absolute": lambda a: a.called("fabs"),
    "sqrt": lambda a: a.called("sqrt"),
    "minimum": minimum,
    "maximum": maximum,
    "sign": sign,
    "exp": exponential,
    "log": logarithm,
    "sin": sine,
    "cos": cosine,
    "tanh": hyperbolic_tangent,
}
"""Functions by the names of the operations of a graph."""

COMPARED = {
    "less": "<", "greater": ">", "less_equal": "<=", "greater_equal": ">=", "equal": "==",
    "not_equal": "!=",
}  # fmt: skip
"""Signs of comparisons by the names of the operations of a graph."""
