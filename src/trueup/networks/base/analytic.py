"""Analytic torque that a network corrects: a PD law within a torque-speed curve, and a spring."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueup._finite_numbers import check_finite
from trueup.errors import FitError, listing
from trueup.networks.base.equations import pd_torque
from trueup.networks.data.features import ANGLE, ANGLE_ERROR, TARGET_VELOCITY, VELOCITY


@dataclass(frozen=True)
class AnalyticBase:
    """Torque of a PD law, limited by an asymmetric torque-speed curve, and of a spring.

    ``torque = curve(kp (target - angle) + kd (target velocity - velocity)) + k_spring (angle -
    theta0)``: a positive ``k_spring`` pushes away from ``theta0``, a negative one pulls back. In
    the direction of motion the curve allows ``stall_torque (1 - |velocity| / no_load_speed)``, not
    less than zero; against it, and at rest, ``stall_torque``.
    """

    kp: float = 0.0
    """Proportional gain [N m/rad]."""
    kd: float = 0.0
    """Derivative gain [N m s/rad]."""
    k_spring: float = 0.0
    """Gain of the spring [N m/rad]: minus the stiffness of a spring that pulls back."""
    theta0: float = 0.0
    """Angle at which the spring has no torque [rad]."""
    stall_torque: float | None = None
    """Stall torque, the limit of the PD law at rest [N m]; None: no limit."""
    no_load_speed: float | None = None
    """Speed at which the torque in the direction of motion is zero [rad/s]; None: no limit."""
    target_velocity: bool = False
    """Whether the recorded target velocity enters the derivative term; otherwise it is zero."""
    learned: bool = False
    """Whether training adjusts kp, kd, k_spring and theta0, starting from these values."""

    def __post_init__(self):
        check_finite(self, FitError)
        if (self.stall_torque is None) != (self.no_load_speed is None):
            raise FitError("a torque-speed curve requires both stall_torque and no_load_speed")
        for name in ("stall_torque", "no_load_speed"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise FitError(f"{name} of the torque-speed curve is {value}; it must be positive")

    @property
    def features(self) -> tuple[str, ...]:
        """Features that the law reads, in the order that `torque` takes them."""
        velocity = (TARGET_VELOCITY,) if self.target_velocity else ()
        return (ANGLE, ANGLE_ERROR, VELOCITY, *velocity)

    @property
    def has_curve(self) -> bool:
        """Whether a torque-speed curve limits the PD law."""
        return self.stall_torque is not None

    @property
    def reads_angle(self) -> bool:
        """Whether the torque depends on the angle in addition to the angle error."""
        return bool(self.k_spring)

    def torque(self, features: np.ndarray) -> np.ndarray:
        """Torque of the base.

        Args:
            features: raw samples in the order of `features`, shape (..., 3 or 4).

        Returns:
            Torque, shape (...) [N m].
        """
        angle, error, velocity = features[..., 0], features[..., 1], features[..., 2]
        wanted = features[..., 3] if self.target_velocity else 0.0
        return pd_torque(angle, error, velocity, wanted, self, self.has_curve)

    def to_dict(self) -> dict[str, Any]:
        """The law as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "AnalyticBase":
        """The law from `to_dict`.

        Raises:
          FitError: an unknown entry.
        """
        unknown = sorted(set(content) - set(cls.__dataclass_fields__))
        if unknown:
            raise FitError(
                f"an analytic base has no {listing(unknown)}; it has "
                f"{listing(cls.__dataclass_fields__)}"
            )
        return cls(**content)
