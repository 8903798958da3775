"""Objective functions of rollouts."""

from dataclasses import dataclass

import numpy as np

from trueup._finite_numbers import check_finite
from trueup.errors import FitError, listing


@dataclass(frozen=True)
class ObjectiveKind:
    """Properties of a kind of objective."""

    number: int
    """Number of the kind in the compiled bench, see ``loss_of``."""
    descent_loss: str
    """Least-squares loss that approximates it, one of :data:`trueup.fitting.LOSSES`."""
    likelihood: str
    """Distribution of residuals whose maximum likelihood it gives: ``"Laplace"`` or
    ``"Gaussian"``."""
    has_width: bool = False
    """Whether the widths of the channels are used."""


OBJECTIVES = {
    "mae": ObjectiveKind(0, "soft_l1", "Laplace"),
    "rmse": ObjectiveKind(1, "linear", "Gaussian"),
    "huber": ObjectiveKind(2, "huber", "Gaussian", has_width=True),
}
"""Kinds of objective by name."""

CHANNELS = ("position", "speed", "duty")
"""Channels that can be compared."""


@dataclass(frozen=True)
class Objective:
    """Error of position and optionally speed and duty cycle: mean per log, averaged over logs.

    Logs have equal weight, whatever their lengths.
    """

    kind: str = "mae"
    """``"mae"`` mean absolute error; ``"rmse"`` root mean squared error; ``"huber"`` mean of the
    Huber loss over its width: squared below the width, the absolute error less half the width
    far above it."""
    position: float = 1.0
    """Weight of the position [1/rad]."""
    speed: float = 0.0
    """Weight of the speed [s/rad]."""
    duty: float = 0.0
    """Weight of the duty cycle; logs without it are excluded from this term."""
    position_width: float = 0.01
    """Width of the Huber loss of the position [rad]."""
    speed_width: float = 0.1
    """Width of the Huber loss of the speed [rad/s]."""
    duty_width: float = 0.05
    """Width of the Huber loss of the duty cycle."""

    def __post_init__(self) -> None:
        if self.kind not in OBJECTIVES:
            raise FitError(f"unknown objective {self.kind!r}; available: {listing(OBJECTIVES)}")
        if not (np.isfinite(self.weights).all() and min(self.weights) >= 0 < max(self.weights)):
            raise FitError(
                "the weights of an objective must be finite and not negative, at least one "
                f"positive: got {dict(zip(CHANNELS, self.weights, strict=True))}"
            )
        if max(self.weights) > 1e9:
            raise FitError(
                f"the weights of an objective must be at most 1e9, got {max(self.weights):g}"
            )
        check_finite(self, FitError)
        if not min(self.widths) > 0:
            raise FitError(f"the widths of a Huber loss must be positive: got {self.widths}")

    @property
    def weights(self) -> tuple[float, float, float]:
        """Weights of the channels."""
        return self.position, self.speed, self.duty

    @property
    def widths(self) -> tuple[float, float, float]:
        """Huber widths of the channels."""
        return self.position_width, self.speed_width, self.duty_width

    def row(self) -> np.ndarray:
        """Numbers for the compiled bench ``(7,)``."""
        return np.array([OBJECTIVES[self.kind].number, *self.widths, *self.weights], float)

    def scale(self, means: np.ndarray) -> np.ndarray:
        """Errors from mean losses: divided by the Huber width, or the root of squared losses."""
        if self.kind == "huber":
            return means / np.array(self.widths)
        return np.sqrt(means) if self.kind == "rmse" else means

    def slope(self, means: np.ndarray) -> np.ndarray:
        """Derivative of :meth:`scale`; 0 at a mean of 0."""
        if self.kind == "huber":
            return np.broadcast_to(1.0 / np.array(self.widths), means.shape)
        if self.kind == "rmse":
            return np.where(means > 0, 0.5 / np.sqrt(np.where(means > 0, means, 1.0)), 0.0)
        return np.ones(means.shape)
