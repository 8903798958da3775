"""Description of a servo before any fit: motor law, firmware constants, parameter bounds."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

from trueup.actuators.equations._parameter_layout import LAWS
from trueup.actuators.equations.extended_terms import EXTENDED_TERMS, check_terms
from trueup.actuators.equations.friction_models import FRICTION_PARAMETERS, FrictionModel
from trueup.actuators.equations.model_parameter import ModelParameter
from trueup.errors import ParameterError, listing


@dataclass(frozen=True)
class Servo:
    """Servo type: law, constants and motor parameters with their bounds."""

    name: str
    """Name in the catalogue, in logs and in parameter files."""
    law: str
    """One of ``SERVO_LAWS``."""
    parameters: tuple[ModelParameter, ...]
    """Parameters of motor and firmware, ``kt``, ``R`` and ``armature`` first if it has them."""
    title: str = ""
    """Make and type."""
    vin: float = math.nan
    """Default supply voltage [V], for logs without one; NaN for a law without a voltage."""
    kp: float = 1.0
    """Default firmware gain."""
    error_gain: float = 1.0
    """Duty cycle, current [A] or torque [N m] per unit of kp and radian of position error."""
    damping: float = 0.0
    """Derivative gain of the ``current_pd`` and ``torque_pd`` laws."""
    max_pwm: float = 1.0
    """Maximum duty cycle, 0 to 1."""
    max_amps: float = math.inf
    """Current limit of the firmware [A]."""
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Bounds of friction parameters and extended terms that differ from the defaults."""
    starts: dict[str, float] = field(default_factory=dict)
    """Start values of friction parameters and extended terms that differ from the defaults, such as
    a published current limit."""
    source: str = ""
    """Source of the constants."""
    disputed: dict[str, str] = field(default_factory=dict)
    """Constants and parameters on which published sources disagree, each with what they say."""
    bus: dict[str, Any] = field(default_factory=dict)
    """Bus for recording: ``table``, the control table (``dynamixel``, ``dynamixel1``, ``feetech``
    or that of another servo), and overrides of ``model_numbers``, ``registers`` and ``set_up``."""

    def __post_init__(self) -> None:
        label = f"servo {self.name!r}"
        if self.law not in LAWS:
            raise ParameterError(f"{label}: unknown law {self.law!r}; available: {listing(LAWS)}")
        if not 0 < self.max_pwm <= 1:
            raise ParameterError(
                f"{label}: max_pwm must be a duty cycle between 0 and 1, got {self.max_pwm}; "
                "divide a value in counts by the counts of full duty"
            )
        for name in ("kp", "error_gain", "max_amps"):
            if not getattr(self, name) > 0:
                raise ParameterError(f"{label}: {name} must be positive, got {getattr(self, name)}")
        if self.damping < 0:
            raise ParameterError(f"{label}: damping must not be negative, got {self.damping}")
        names = [p.name for p in self.parameters]
        needed = ["armature"] if self.law == "torque_pd" else ["kt", "R", "armature"]
        if missing := [name for name in needed if name not in names]:
            raise ParameterError(
                f"{label}: the law {self.law!r} requires the parameters {listing(needed)}; "
                f"missing: {listing(missing)}"
            )
        if unknown := [name for name in names if name not in MOTOR_PARAMETERS]:
            raise ParameterError(
                f"{label}: unknown parameters {listing(unknown)}; available: "
                f"{listing(MOTOR_PARAMETERS)}"
            )
        others = {*FRICTION_PARAMETERS, *EXTENDED_TERMS}
        if unknown := [name for name in self.bounds if name not in others]:
            raise ParameterError(
                f"{label}: bounds of unknown parameters {listing(unknown)}; friction parameters "
                f"and extended terms are {listing(sorted(others), 40)}"
            )
        for name, start in self.starts.items():
            low, high = self.bounds.get(name, (-math.inf, math.inf))
            if not low <= start <= high:
                raise ParameterError(
                    f"{label}: the start value of {name}, {start:g}, is outside its bounds "
                    f"{low:g} to {high:g}"
                )
        if self.law != "torque_pd" and not self.vin > 0:
            raise ParameterError(f"{label}: the law {self.law!r} requires a positive vin [V]")

    def gains(self, kp: float | None = None, damping: float | None = None) -> tuple[float, float]:
        """Gains of position error and of speed at a firmware gain ``kp``."""
        kp = self.kp if kp is None else kp
        damping = self.damping if damping is None else damping
        if self.law == "current_pd":
            return kp * self.error_gain, damping * math.sqrt(kp)
        return kp * self.error_gain, damping if self.law == "torque_pd" else 0.0

    def model_parameters(
        self, friction: FrictionModel, terms: tuple[str, ...] = ()
    ) -> tuple[ModelParameter, ...]:
        """Parameters of the servo, a friction model and extended terms.

        Raises:
          FitError: unknown term, or one that does not apply to this servo.
        """
        own = {p.name: p for p in self.parameters}
        terms = check_terms(terms, self.law, self.name)
        more = [*friction.parameters, *(EXTENDED_TERMS[t] for t in terms if t not in own)]
        return (*self.parameters, *map(self._own_range, more))

    def _own_range(self, parameter: ModelParameter) -> ModelParameter:
        """A friction parameter or term, with the servo's bounds and start value if it has them."""
        if parameter.name in self.bounds:
            parameter = parameter.within(*self.bounds[parameter.name])
        if parameter.name in self.starts:
            parameter = replace(parameter, initial=self.starts[parameter.name])
        return parameter


MOTOR_PARAMETERS = {
    "kt": ("N m/A", "torque constant at the output shaft"),
    "R": ("ohm", "winding resistance"),
    "armature": ("kg m^2", "inertia of motor and gears at the output shaft"),
    "error_gain_ratio": ("", "ratio of the true to the nominal gain of the position error"),
    "max_velocity": ("rad/s", "speed at which the firmware moves its target"),
    "current_limit": ("A", "current limit of the firmware"),
    "ratio": ("", "ratio of the true to the nominal gain of the position error"),
    "max_torque": ("N m", "torque limit of the firmware"),
}
"""Unit and meaning of each parameter of a motor and its firmware, by name."""
