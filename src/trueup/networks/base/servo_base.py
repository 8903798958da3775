"""An identified servo as the analytic base of a network: its law, and friction M1 to M6.

The laws are those of ``servo_laws``, the friction that of Duclusaud, Passault,
Padois, Ly 2025, "Extended friction models for the physics simulation of servo actuators", ICRA
2025, arXiv 2410.08650. A base gives a torque for each sample by itself: what needs a memory or a
signal of its own (``command_delay``, ``backlash``, ``max_velocity``, ``measured_voltage``,
``resistance_temperature``) is left to the network.
"""

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.actuators.equations.friction_models import check_published
from trueup.errors import FitError, listing
from trueup.networks.data.features import ANGLE, ANGLE_ERROR, VELOCITY

if TYPE_CHECKING:
    from trueup.actuators import ServoModel

LAWS = ("voltage", "current", "bus_current", "current_pd", "torque_pd")
"""Laws of firmware and motor."""

UNLIMITED = 1e9
"""A limit that no current or torque reaches."""

SMALLEST_SQUARE = 1e-12
"""Squared voltages below it count as this, so that a square root has a slope [V2]."""

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
"""Numbers that training moves where the base is learned; those that are zero stay so. Compiled code
and tensors hold them in this order."""


@dataclass(frozen=True)
class ServoBase:
    """Torque of an identified servo for an angle error and a velocity; made by :meth:`of`.

    ``torque = motor - tanh(velocity / friction_velocity) loss - friction_viscous velocity``, the
    motor's torque by the law, ``loss`` the friction budget of the model. Without ``friction`` it is
    the motor's torque alone. Numbers of terms that the model does not have are zero.
    """

    law: str
    """One of `LAWS`."""
    gain: float
    """Of the angle error: duty, current [A] or torque [N m] a rad."""
    rate_gain: float = 0.0
    """Of the velocity, in the laws that have one."""
    vin: float = 1.0
    """Bus voltage [V]."""
    max_pwm: float = 1.0
    """Largest duty cycle."""
    limit: float = UNLIMITED
    """Largest current [A], or torque [N m] of the law ``torque_pd``."""
    kt: float = 1.0
    """Torque constant at the output [N m/A]."""
    resistance: float = 1.0
    """Of the winding, at the output [ohm]."""
    supply_resistance: float = 0.0
    """Of the supply [ohm]."""
    torque_saturation: float = 0.0
    """How the torque constant falls with the current [1/A]."""
    friction: bool = True
    """Whether friction is taken off: the torque on the load, rather than the motor's."""
    friction_velocity: float = 0.01
    """Velocity over which friction turns its sign [rad/s]."""
    load_gravity: float = 0.0
    """Largest torque of the load's weight, which friction depends on [N m]."""
    load_gravity_angle: float = 0.0
    """Angle at which the load hangs down [rad]."""
    gated: bool = True
    """Whether the quadratic terms act only where motor and load oppose each other."""
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
    servo: str = ""
    """Servo and friction model that the numbers are of, for people."""
    learned: bool = False
    """Whether training moves the numbers of `LEARNED`, which are then its start."""

    def __post_init__(self):
        if self.law not in LAWS:
            raise FitError(f"there is no servo law {self.law!r}; there are {listing(LAWS)}")
        for name in ("vin", "kt", "resistance", "friction_velocity", "dtheta_stribeck", "limit"):
            if not getattr(self, name) > 0:
                raise FitError(f"{name} of a servo base is {getattr(self, name)}; must be positive")

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
          model: as `trueup.actuators.load_model` reads it.
          kp: firmware gain of the recordings; the servo's own by default.
          vin: bus voltage [V]; the servo's own by default.
          friction: take friction off, for a target that is the torque on the load; otherwise the
            base is the motor's torque.
          load_gravity: largest torque of the load's weight [N m], which the friction of M3 to M6
            depends on.
          load_gravity_angle: angle at which the load hangs down [rad].
          learned: let training move the numbers.

        Raises:
          FitError: a registered friction model with an equation of its own.
        """
        check_published(model.friction, "a network's base")
        servo, values = model.servo, model.values
        gain, rate = servo.gains(kp)
        volts = servo.vin if vin is None else vin
        limit = min(values.get("current_limit", math.inf), servo.max_amps)
        if servo.law == "torque_pd":
            limit = values.get("max_torque", math.inf)
        shared = {n: float(values[n]) for n in (*LEARNED, "kt") if n in values}
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
            servo=f"{servo.name} {model.friction.name}",
            learned=learned,
            **shared,
        )

    @property
    def features(self) -> tuple[str, ...]:
        """Features that the base reads, in the order that `torque` takes them."""
        return (ANGLE, ANGLE_ERROR, VELOCITY)

    @property
    def reads_angle(self) -> bool:
        """Whether the angle itself matters, beside the error."""
        return bool(self.friction and self.load_gravity)

    def torque(self, features: np.ndarray) -> np.ndarray:
        """Torque of the base.

        Args:
            features: raw samples in the order of `features`, shape (..., 3).

        Returns:
            Torque, shape (...) [N m].
        """
        angle, error, velocity = features[..., 0], features[..., 1], features[..., 2]
        motor = self._saturated(self._motor(error, velocity))
        if not self.friction:
            return motor
        external = -self.load_gravity * np.sin(angle - self.load_gravity_angle)
        loss = self._loss(motor, external, velocity)
        return (
            motor
            - np.tanh(velocity / self.friction_velocity) * loss
            - self.friction_viscous * velocity
        )

    def to_dict(self) -> dict[str, Any]:
        """The base as JSON values."""
        return {"kind": "servo", **asdict(self)}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "ServoBase":
        """The base from `to_dict`.

        Raises:
          FitError: an entry is unknown, or the law or the gain is missing.
        """
        values = {key: value for key, value in content.items() if key != "kind"}
        unknown = sorted(set(values) - set(cls.__dataclass_fields__))
        if unknown or not {"law", "gain"} <= set(values):
            raise FitError(
                f"a servo base needs law and gain, and has no {listing(unknown)}; it has "
                f"{listing(cls.__dataclass_fields__, 40)}"
            )
        return cls(**values)

    def _motor(self, error: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Torque of the motor with the torque constant of small currents."""
        if self.law == "torque_pd":
            return np.clip(self.gain * error - self.rate_gain * velocity, -self.limit, self.limit)
        kt, resistance, vin, limit = self.kt, self.resistance, self.vin, self.limit
        emf = kt * velocity
        if self.law == "voltage":
            span = resistance * limit / vin
            duty = np.clip(self.gain * error, emf / vin - span, emf / vin + span)
            duty = np.clip(duty, -self.max_pwm, self.max_pwm)
            sag = self.supply_resistance * duty / resistance
            bus = (vin + sag * emf) / (1.0 + sag * duty)
            return kt * (bus * duty - emf) / resistance
        if self.law == "current":
            amps = np.clip(self.gain * error, (-vin - emf) / resistance, (vin - emf) / resistance)
            return kt * np.clip(amps, -limit, limit)
        if self.law == "bus_current":
            amps = np.clip(self.gain * error, -limit, limit)
            square = np.maximum(emf**2 + 4.0 * vin * resistance * np.abs(amps), SMALLEST_SQUARE)
            duty = np.clip((emf + np.sign(amps) * np.sqrt(square)) / (2.0 * vin), -1.0, 1.0)
            return kt * (duty * vin - emf) / resistance
        amps = np.clip(self.gain * error - self.rate_gain * velocity, -limit, limit)
        reach, back = kt * vin / resistance, kt * emf / resistance
        return np.clip(kt * amps, -reach - back, reach - back)

    def _saturated(self, torque: np.ndarray) -> np.ndarray:
        return torque / (1.0 + self.torque_saturation * np.abs(torque) / self.kt)

    def _loss(self, motor: np.ndarray, external: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Friction budget without its viscous part [N m]."""
        apart = np.abs(external - motor)
        loss = self.friction_base + self.load_friction_base * apart
        loss = loss + np.abs(
            self.load_friction_external * external - self.load_friction_motor * motor
        )
        peak = self.friction_stribeck + self.load_friction_stribeck * apart
        peak = peak + np.abs(
            self.load_friction_external_stribeck * external
            - self.load_friction_motor_stribeck * motor
        )
        driving = np.abs(motor) - np.abs(external)
        square = np.where(driving > 0, self.load_friction_external_quad * external**2, 0.0)
        square = np.where(driving < 0, self.load_friction_motor_quad * motor**2, square)
        if self.gated:
            square = np.where(np.sign(motor) != np.sign(external), square, 0.0)
        ratio = np.abs(velocity) / self.dtheta_stribeck
        return loss + np.exp(-(ratio**self.alpha)) * (peak + square)
