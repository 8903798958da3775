"""Vectors of numbers in machine code: arithmetic, and functions that need no call for each number.

Exponential, logarithm and sine reduce their argument in two or three parts (W. J. Cody, W. Waite,
"Software Manual for the Elementary Functions", 1980) and sum a Taylor series in pairs (Estrin's
scheme); the logarithm's is that of 2 artanh((m - 1) / (m + 1)). All are right to 4 units in the
last place within the ranges that they name.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

VECTOR = 4
"""Numbers of a vector: those of a register with AVX2."""

REAL = ir.DoubleType()
REALS = ir.VectorType(REAL, VECTOR)
INTEGERS = ir.VectorType(ir.IntType(64), VECTOR)

E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13 = (1 / math.factorial(n) for n in range(2, 14))
S3, S5, S7, S9, S11, S13, S15, S17, S19, S21 = (
    (-1) ** (n // 2) / math.factorial(n) for n in range(3, 22, 2)
)
L3, L5, L7, L9, L11, L13, L15, L17, L19, L21 = (2 / n for n in range(3, 22, 2))

ROUNDS = 1.5 * 2.0**52
"""Added and taken away again, it rounds to a whole number, which stands in its low bits."""
ROUNDS_BITS = int(np.float64(ROUNDS).view(np.int64))

LOG2_E = 1.0 / math.log(2.0)
# ln 2 and pi in parts of few digits, so that products with small whole numbers are exact
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
PI_HIGH, PI_MIDDLE, PI_LOW = (
    3.14159265160560607910e00,
    1.98418714791870343106e-09,
    1.14423774522196636802e-17,
)
HALF_SQUARE_ROOT = int(np.float64(math.sqrt(0.5)).view(np.int64))
BIAS = 1024

LEAST_EXPONENT = -460.0
"""Exponent of 1e-200: products with small parameters are not subnormal."""
UNSEEN = 1e-70
"""Added to the exponent's remainder: too small to change a sum, and its fourth power is normal."""


class Reals:
    """A vector of real numbers under arithmetic; the other operand may be a number.

    Args:
      builder: where the instructions go.
      value: the vector in machine code.
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
        """Condition of each number; false where one of both is not a number, but for ``!=``."""
        compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        return compare(sign, self.value, self._operand(other))

    def where(self, condition: Any, other: "Reals | float") -> "Reals":
        """These numbers where a condition holds, else others."""
        chosen = self.builder.select(condition, self.value, self._operand(other))
        return Reals(self.builder, chosen)

    def called(self, name: str, *others: "Reals | float") -> "Reals":
        """The result of a function of the processor."""
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
    """A vector of whole numbers of 64 bits; the other operand may be a number."""

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
        """Shifted down, zeros from above."""
        return Bits(self.builder, self.builder.lshr(self.value, self._operand(places)))

    def __xor__(self, other: "Bits") -> "Bits":
        return Bits(self.builder, self.builder.xor(self.value, other.value))

    @property
    def reals(self) -> Reals:
        """The real numbers that have these bits."""
        return Reals(self.builder, self.builder.bitcast(self.value, REALS))


def constant(number: float) -> Any:
    """A vector of one number."""
    return ir.Constant(REALS, [float(number)] * VECTOR)


def minimum(a: Reals, b: Reals) -> Reals:
    """The smaller number; what is not a number stays so where it is the first."""
    return b.where(b.compared("<", a), a)


def maximum(a: Reals, b: Reals) -> Reals:
    """The greater number; what is not a number stays so where it is the first."""
    return b.where(b.compared(">", a), a)


def sign(a: Reals) -> Reals:
    """-1, 0 or 1."""
    one = Reals(a.builder, constant(1.0)).called("copysign", a)
    return Reals(a.builder, constant(0.0)).where(a.compared("==", 0.0), one)


def exponential(x: Reals) -> Reals:
    """e to the x, x held within -460 and 700; what is not a number stays so.

    Neither the result nor what it is made of is subnormal, whatever x.
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
    # 2 to the k: k moves into the exponent's bits
    scale = ((shifted.bits + (BIAS - 1)) << 52).reals
    return (low + r4 * (middle + r4 * high)) * scale


def logarithm(x: Reals) -> Reals:
    """Natural logarithm of a positive number that is neither subnormal nor infinite."""
    bits = x.bits
    # shifted up first: vector registers have no arithmetic shift of whole numbers
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
    # an odd number of half turns changes the sign, which is the highest bit
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
    """Hyperbolic tangent, number by number as the library of the system computes it."""
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
"""Functions of real numbers by the names of a graph's operations."""

COMPARED = {
    "less": "<", "greater": ">", "less_equal": "<=", "greater_equal": ">=", "equal": "==",
    "not_equal": "!=",
}  # fmt: skip
"""Signs of comparisons by the names of a graph's operations."""
