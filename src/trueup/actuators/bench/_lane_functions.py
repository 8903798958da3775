"""Sine, exponential and logarithm without a call, so that the compiler does several at once.

Each reduces its argument in two or three parts (W. J. Cody, W. Waite, "Software Manual for the
Elementary Functions", 1980) and sums a Taylor series in pairs (Estrin's scheme); the logarithm's is
that of 2 artanh((m - 1) / (m + 1)). All are right to 4 units in the last place within the ranges
that they name.
"""

import math

import numpy as np

from trueup.actuators.equations.compiled import compiled

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


@compiled
def exponential(x):
    """e to the x, for -700 < x < 700."""
    shifted = x * LOG2_E + ROUNDS
    k = shifted - ROUNDS
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + r2 * (E2 + r * E3)
    middle = (E4 + r * E5) + r2 * (E6 + r * E7)
    high = (E8 + r * E9) + r2 * (E10 + r * E11) + r4 * (E12 + r * E13)
    scale = np.int64((np.float64(shifted).view(np.int64) + (BIAS - 1)) << 52).view(np.float64)
    return (low + r4 * (middle + r4 * high)) * scale


@compiled
def logarithm(x):
    """Natural logarithm of a positive number that is neither subnormal nor infinite."""
    bits = np.float64(x).view(np.int64)
    # shifted up first: there is no arithmetic shift of whole numbers in vector registers
    k = np.int64(np.uint64(bits - HALF_SQUARE_ROOT + (BIAS << 52)) >> np.uint64(52)) - BIAS
    m = np.int64(bits - (k << 52)).view(np.float64)
    whole = np.int64(k + ROUNDS_BITS).view(np.float64) - ROUNDS
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    z2 = z * z
    z4 = z2 * z2
    low = (2.0 + z * L3) + z2 * (L5 + z * L7)
    middle = (L9 + z * L11) + z2 * (L13 + z * L15)
    high = (L17 + z * L19) + z2 * L21
    return whole * LN2_HIGH + (whole * LN2_LOW + s * (low + z4 * (middle + z4 * high)))


@compiled
def sine(x):
    """Sine, for angles up to 1e6 rad."""
    shifted = x * (1.0 / math.pi) + ROUNDS
    k = shifted - ROUNDS
    r = ((x - k * PI_HIGH) - k * PI_MIDDLE) - k * PI_LOW
    sign = np.int64(np.float64(shifted).view(np.int64) << 63)
    z = r * r
    z2 = z * z
    z4 = z2 * z2
    low = (S3 + z * S5) + z2 * (S7 + z * S9)
    high = (S11 + z * S13) + z2 * (S15 + z * S17) + z4 * (S19 + z * S21)
    value = r + r * z * (low + z4 * high)
    return np.int64(np.float64(value).view(np.int64) ^ sign).view(np.float64)


@compiled
def cosine(x):
    """Cosine, for angles up to 1e6 rad."""
    return sine(x + 0.5 * math.pi)
