"""Numbers in sign and magnitude, as registers of servos hold them: one bit is the sign.

Feetech's STS servos state a speed of -5 as 32773, 5 with bit 15 set, where others have -5 in two's
complement, 65531.
"""

import numpy as np

from trueup.errors import RecordingError

_BIT = 15  # of the registers with two bytes
_MOST_OTHERS = 0.02  # share of values that are interpolated between those of frames
_LARGEST = 2.0 ** (_BIT - 1)  # magnitudes above it are small negative numbers in two's complement


def with_sign_bit(values: np.ndarray, bit: int) -> np.ndarray:
    """Numbers whose sign is in a bit."""
    size = 2.0**bit
    return np.where(values >= size, size - values, values)


def sign_bit_of(values: np.ndarray) -> int:
    """The bit that is the sign of a column of whole numbers; 0 for none."""
    finite = values[np.isfinite(values)]
    if finite.size == 0 or finite.min() < 0 or finite.max() >= 2.0 ** (_BIT + 1):
        return 0
    negative = finite >= 2.0**_BIT
    if not negative.any() or negative.all():
        return 0
    whole = finite == np.round(finite)
    small = np.abs(with_sign_bit(finite, _BIT)) < _LARGEST
    return _BIT if np.mean(~(whole & small)) < _MOST_OTHERS else 0


def check_sign_bit(signal: str, values: np.ndarray, bit: int) -> None:
    """Check that numbers can have their sign in a bit.

    Raises:
      RecordingError: they are negative, not whole, or too large.
    """
    finite = values[np.isfinite(values)]
    wrong = (finite < 0) | (finite >= 2.0 ** (bit + 1)) | (finite != np.round(finite))
    if wrong.any():
        raise RecordingError(
            f"signal {signal!r}: sign_bit: {bit} is for whole numbers from 0 to "
            f"{2 ** (bit + 1) - 1}, and its column has {finite[wrong][0]:.6g}: give another bit, "
            "or remove sign_bit"
        )
