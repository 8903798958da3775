"""An identified servo as the analytic base of a network: its law, and friction M1 to M6.

The equations are those of :mod:`trueup.actuators.equations.servo_equations`. A base has no
memory: effects that need a state or an additional signal (``command_delay``, ``backlash``,
``max_velocity``, ``measured_voltage``, ``resistance_temperature``) are not part of it; the network
learns them.
"""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.actuators.equations import servo_equations as equations
from trueup.actuators.equations._parameter_layout import ParameterValues
from trueup.actuators.equations.array_form import numpy_function
from trueup.actuators.equations.friction_models import FRICTION_MODELS, FRICTION_PARAMETERS
from trueup.errors import FitError, listing
from trueup.networks.base.equations import servo_load_torque, servo_motor_torque
from trueup.networks.data.features import ANGLE, ANGLE_ERROR, VELOCITY

if TYPE_CHECKING:
    from trueup.actuators import ServoModel

LAWS = tuple(equations.LAWS)
"""Laws of firmware and motor."""

UNLIMITED = 1e9
"""Value of a limit that is never active."""

LEARNED = (
    "gain",
    "rate_gain",
    "kt",
    "resistance",
    "supply_resistance",
    "torque_saturation",
    "friction_base",
    "friction_viscous",
    "friction_stribeck",
    "load_friction_base",
    "load_friction_stribeck",
    "load_friction_motor",
    "load_friction_external",
    "load_friction_motor_stribeck",
    "load_friction_external_stribeck",
    "load_friction_motor_quad",
    "load_friction_external_quad",
    "dtheta_stribeck",
    "alpha",
)
"""Parameters that training adjusts where the base is learned, in addition to those of a registered
friction model; parameters that are zero remain zero."""

SETTINGS = (
    "vin", "max_pwm", "limit", "friction_velocity", "load_gravity", "load_gravity_angle",
)  # fmt: skip
"""Parameters that training does not adjust."""


@dataclass(frozen=True)
class ServoBase:
    """Torque of an identified servo for an angle error and a velocity; created by :meth:`of`.

    ``torque = motor - tanh(velocity / friction_velocity) loss - friction_viscous velocity``, with
    the motor torque of the law and ``loss``, the friction budget of the model. Without ``friction``
    it is the motor torque alone. Parameters of terms that the model does not have are zero.
    """

    law: str
    """One of `LAWS`."""
    gain: float
    """Gain of the angle error: duty cycle, current [A] or torque [N m] per rad."""
    rate_gain: float = 0.0
    """Gain of the velocity, in the laws that have one: current [A] or torque [N m] per rad/s."""
    vin: float = 1.0
    """Bus voltage [V]."""
    max_pwm: float = 1.0
    """Largest duty cycle."""
    limit: float = UNLIMITED
    """Largest current [A], or torque [N m] of the law ``torque_pd``."""
    kt: float = 1.0
    """Torque constant at the output [N m/A]."""
    resistance: float = 1.0
    """Winding resistance, referred to the output shaft [ohm]."""
    supply_resistance: float = 0.0
    """Resistance of the supply [ohm]."""
    torque_saturation: float = 0.0
    """Fall of the torque constant with the current [1/A]."""
    friction: bool = True
    """Whether friction is subtracted: the torque on the load, not the torque of the motor."""
    friction_velocity: float = 0.01
    """Velocity scale of the sign change of friction [rad/s]."""
    load_gravity: float = 0.0
    """Largest gravity torque of the load, which friction depends on [N m]."""
    load_gravity_angle: float = 0.0
    """Angle at which the load hangs down [rad]."""
    gated: bool = True
    """Whether the quadratic terms act only where motor torque and load torque oppose each other."""
    friction_base: float = 0.0
    friction_viscous: float = 0.0
    friction_stribeck: float = 0.0
    load_friction_base: float = 0.0
    load_friction_stribeck: float = 0.0
    load_friction_motor: float = 0.0
    load_friction_external: float = 0.0
    load_friction_motor_stribeck: float = 0.0
    load_friction_external_stribeck: float = 0.0
    load_friction_motor_quad: float = 0.0
    load_friction_external_quad: float = 0.0
    dtheta_stribeck: float = 1.0
    alpha: float = 1.0
    friction_model: str = ""
    """Name of a registered custom friction model; empty for M1 to M6."""
    friction_values: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Values of its parameters beyond those of M1 to M6, by name."""
    servo: str = ""
    """Names of the servo and its friction model, for display."""
    learned: bool = False
    """Whether training adjusts the parameters of `LEARNED`, starting from these values."""

    def __post_init__(self):
        if self.law not in LAWS:
            raise FitError(f"unknown servo law {self.law!r}; available: {listing(LAWS)}")
        for name in ("vin", "kt", "resistance", "friction_velocity", "dtheta_stribeck", "limit"):
            if not getattr(self, name) > 0:
                raise FitError(
                    f"{name} of a servo base is {getattr(self, name)}; it must be positive"
                )
        if self.friction_model and self.friction_model not in FRICTION_MODELS:
            raise FitError(
                f"the servo base has the friction model {self.friction_model!r}, which is not "
                f"registered; available: {listing(FRICTION_MODELS)}. Register it first, with "
                "trueup.actuators.register_friction_model"
            )

    @classmethod
    def of(
        cls,
        model: "ServoModel",
        *,
        kp: float | None = None,
        vin: float | None = None,
        friction: bool = True,
        load_gravity: float = 0.0,
        load_gravity_angle: float = 0.0,
        learned: bool = False,
    ) -> "ServoBase":
        """The base of an identified servo model.

        Args:
          model: identified model, see `trueup.actuators.load_model`.
          kp: firmware gain of the recordings; that of the servo by default.
          vin: bus voltage [V]; that of the servo by default.
          friction: subtract friction, for a target that is the torque on the load; otherwise the
            base is the motor torque.
          load_gravity: largest gravity torque of the load [N m], which the friction of M3 to M6
            depends on.
          load_gravity_angle: angle at which the load hangs down [rad].
          learned: whether training adjusts the parameters.
        """
        servo, values = model.servo, model.values
        gain, rate = servo.gains(kp)
        volts = servo.vin if vin is None else vin
        limit = min(values.get("current_limit", math.inf), servo.max_amps)
        if servo.law == "torque_pd":
            limit = values.get("max_torque", math.inf)
        shared = {n: float(values[n]) for n in LEARNED if n in values}
        own = model.friction.loss is not equations.friction_loss
        more = set(model.friction.parameter_names) - set(FRICTION_PARAMETERS) if own else ()
        return cls(
            law=servo.law,
            gain=float(gain * values.get("error_gain_ratio", values.get("ratio", 1.0))),
            rate_gain=float(rate),
            vin=float(volts) if math.isfinite(volts) else 1.0,  # a torque_pd law has none
            max_pwm=float(min(servo.max_pwm, UNLIMITED)),
            limit=float(min(limit, UNLIMITED)),
            resistance=float(values.get("R", 1.0)),
            friction=friction,
            load_gravity=load_gravity,
            load_gravity_angle=load_gravity_angle,
            gated=model.quadratic == "gated",
            friction_model=model.friction.name if own else "",
            friction_values={n: float(values[n]) for n in sorted(more)},
            servo=f"{servo.name} {model.friction.name}",
            learned=learned,
            **shared,
        )

    @property
    def features(self) -> tuple[str, ...]:
        """Features that the base uses, in the order that `torque` expects."""
        return (ANGLE, ANGLE_ERROR, VELOCITY)

    @property
    def reads_angle(self) -> bool:
        """Whether the torque depends on the angle in addition to the angle error."""
        return bool(self.friction and self.load_gravity)

    def torque(self, features: np.ndarray) -> np.ndarray:
        """Torque of the base.

        Args:
            features: raw samples in the order of `features`, shape (..., 3).

        Returns:
            Torque, shape (...) [N m].
        """
        function = _torque_function(self, self.loss)
        return function(features[..., 0], features[..., 1], features[..., 2])

    def equation(self, angle: Any, error: Any, velocity: Any, numbers: Mapping[str, Any]) -> Any:
        """Torque [N m] by the equations, with the given values of :attr:`numbers`."""
        p = self._parameters(numbers)
        motor = servo_motor_torque(self.law, error, velocity, p)
        return servo_load_torque(self.loss, motor, angle, velocity, p) if self.friction else motor

    @property
    def loss(self) -> Callable[..., Any]:
        """Equation of the friction budget."""
        name = self.friction_model
        return FRICTION_MODELS[name].loss if name else equations.friction_loss

    @property
    def numbers(self) -> dict[str, float]:
        """Parameters that training adjusts where the base is learned, by name."""
        return {**{name: getattr(self, name) for name in LEARNED}, **self.friction_values}

    def with_numbers(self, numbers: Mapping[str, float]) -> "ServoBase":
        """A copy of the base with other :attr:`numbers`."""
        own = {name: numbers[name] for name in LEARNED}
        return replace(
            self, **own, friction_values={name: numbers[name] for name in self.friction_values}
        )

    def _parameters(self, numbers: Mapping[str, Any]) -> ParameterValues:
        settings = {name: getattr(self, name) for name in SETTINGS}
        # one limit is enough: the smaller of the identified and the rated one
        return ParameterValues({**settings, **numbers}, max_amps=self.limit, gate=float(self.gated))

    def to_dict(self) -> dict[str, Any]:
        """The base as JSON values."""
        content = {"kind": "servo", **asdict(self)}
        if not self.friction_model:
            del content["friction_model"], content["friction_values"]
        return content

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "ServoBase":
        """The base from `to_dict`.

        Raises:
          FitError: an unknown entry, or no law or gain.
        """
        values = {key: value for key, value in content.items() if key != "kind"}
        unknown = sorted(set(values) - set(cls.__dataclass_fields__))
        if unknown or not {"law", "gain"} <= set(values):
            raise FitError(
                f"a servo base requires law and gain; unknown: {listing(unknown)}; valid: "
                f"{listing(cls.__dataclass_fields__, 40)}"
            )
        return cls(**values)


@functools.lru_cache(maxsize=32)
def _torque_function(base: ServoBase, loss: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """Torque of a base; ``loss`` is part of the cache key, as names can be registered again."""

    def servo_torque(angle, error, velocity):
        return base.equation(angle, error, velocity, base.numbers)

    return numpy_function(servo_torque, ("angle", "error", "velocity"))
