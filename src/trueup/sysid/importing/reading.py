"""Interpretation of the columns of a joint, and the recorded series that it is tested with."""

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from trueup.signals.units import find_unit

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
