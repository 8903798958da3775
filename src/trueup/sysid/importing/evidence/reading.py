"""Interpretation of the columns of a joint, and the recorded series that it is tested with."""

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from trueup.signals.sign_bits import sign_bit_of, with_sign_bit
from trueup.signals.units import find_unit
from trueup.signals.wrapping import TURN, sure_period, unwrapped

CONFIRMED, FOUND, ASSUMED, ASK = "confirmed", "found", "assumed", "ask"
OUTSIDE = 0.05  # tolerance, as a share of the range of a joint


@dataclass(frozen=True)
class Reading:
    """Interpretation of the columns of one joint."""

    joint: int
    position: str
    """Column of the position."""
    unit: str = "rad"
    """Unit of position and command."""
    scale: float = 1.0
    """Factor on the columns of position and command before the unit; -1 for a mirrored axis."""
    offset: float = 0.0
    """Subtracted from them before the factor."""
    command_unit: str = ""
    """Unit of the command, if it is not that of the position."""
    velocity_unit: str = ""
    velocity_scale: float = 1.0
    velocity_sign_bit: int = 0
    """Bit that is the sign of the velocity; 0 for numbers with a sign."""
    unwrap: bool | float = False
    """Period after which position and command start again, in their unit; True for one turn."""
    says: tuple[tuple[str, str, str], ...] = ()
    """Aspect (order, unit, sign, zero), certainty, and reason."""

    def saying(self, aspect: str, sure: str, why: str) -> "Reading":
        """The interpretation with an added finding, which replaces one on the same aspect."""
        kept = tuple(s for s in self.says if s[0] != aspect)
        return replace(self, says=(*kept, (aspect, sure, why)))

    def sure_of(self, aspect: str) -> str:
        """Certainty of an aspect."""
        return next((s[1] for s in self.says if s[0] == aspect), ASSUMED)


@dataclass(frozen=True)
class JointSeries:
    """Recorded series of the joints on one clock, columns in the order of ``joints``."""

    times: np.ndarray
    joints: tuple[int, ...]
    position: np.ndarray
    """``(T, J)`` as recorded."""
    velocity: np.ndarray | None = None
    command: np.ndarray | None = None
    effort: np.ndarray | None = None

    @property
    def continued(self) -> "JointSeries":
        """The series with positions and commands continued where they start again.

        Velocities whose sign is a bit have it as a sign.
        """
        position = np.array(self.position)
        command = None if self.command is None else np.array(self.command)
        for k, column in enumerate(self.position.T):
            period = sure_period(column)
            if period:
                position[:, k] = unwrapped(column, period)
                if command is not None:
                    command[:, k] = unwrapped(command[:, k], period)
        velocity = None if self.velocity is None else np.array(self.velocity)
        for column in () if velocity is None else velocity.T:
            if bit := sign_bit_of(column):
                column[:] = with_sign_bit(column, bit)
        return replace(self, position=position, command=command, velocity=velocity)


def with_wraps(reading: Reading, column: np.ndarray) -> Reading:
    """The interpretation of a position that starts again, whose period tells its unit."""
    period = sure_period(column)
    if not period:
        return reading
    if reading.unit == "turn" and reading.scale != 1.0:
        return replace(reading, unwrap=period)  # counts of an encoder
    turns = {"rad": TURN, "deg": 360.0, "turn": 1.0}
    unit = next((u for u in turns if period / turns[u] in (1.0, 2.0, 4.0)), None)
    why = f"it starts again after {period:.6g}, and is continued"
    if unit is not None:
        reading = replace(reading, unit=unit, unwrap=True if period == turns[unit] else period)
        return reading.saying("unit", FOUND, f"{unit}: {why}")
    reading = replace(reading, unit="turn", scale=1.0 / period, unwrap=period)
    return reading.saying("unit", ASK, f"{why}: read as one turn; behind a gear divide scale by it")


def values_of(reading: Reading, column: np.ndarray) -> np.ndarray:
    """Position [rad, m] of a column under an interpretation."""
    return (column - reading.offset) * reading.scale * find_unit(reading.unit).factor


def is_inside(model: mujoco.MjModel, reading: Reading, column: np.ndarray) -> bool:
    """Whether an interpretation is within the range of its joint."""
    if not model.jnt_limited[reading.joint]:
        return True
    low, high = (float(v) for v in model.jnt_range[reading.joint])
    least, most = usual_ends(values_of(reading, column))
    slack = OUTSIDE * (high - low)
    return bool(least >= low - slack and most <= high + slack)


def usual_ends(values: np.ndarray) -> tuple[float, float]:
    """Least and largest value without outliers: less than 1 % of the samples at either end.

    An end of a sampled motion that is no outlier is kept: the largest of the smooth values.
    """
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return 0.0, 0.0
    low, middle, high = np.percentile(finite, [1.0, 50.0, 99.0])
    reach = 1.5 * max(high - low, 1e-12)
    kept = finite[np.abs(finite - middle) <= reach]
    return float(kept.min()), float(kept.max())
