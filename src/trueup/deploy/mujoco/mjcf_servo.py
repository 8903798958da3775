"""Servo in terms of MJCF: attributes of joint and actuators, and the equivalent bench model.

A ``position`` actuator is a force-limited spring; back-EMF and viscous friction become damping
of the joint. A ``dcmotor`` with a position input applies the torque ``kp (goal - q) - kd v`` within
its voltage limit: this equals a firmware that sets the duty cycle in proportion to the error, with
``kd`` the back-EMF damping. ``parallel`` is several of them that share one motor: each has its own
torque limit, so that the slope of their sum decreases with the torque as that of a torque constant
that saturates. All take Coulomb friction from the joint; a further, passive ``dcmotor`` adds LuGre
friction, whose excess near standstill decays as ``exp(-(v / v_s)^2)``.

MuJoCo's joint friction is a soft constraint; its parameters make it as hard as MuJoCo allows.
"""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.model_parameter import ModelParameter
from trueup.actuators.logs.servo_log import ServoLog

PRESLIDING = 5e-5
"""Presliding deflection of LuGre friction [rad]."""

_LIMITS = {"voltage": "current_limit", "current": "current_limit", "torque_pd": "max_torque"}
"""Servo law -> parameter with its maximum current [A] or torque [N m]."""
_NO_EMF = 1e-6  # factor on the torque constant of a motor with negligible back-EMF

PIECES = 4
"""Number of motors in parallel that stand for one whose torque constant saturates."""

_TYPICAL_ERROR = 0.1  # error at which a line approximates the square root of ``bus_current`` [rad]


@dataclass(frozen=True)
class Motor:
    """Motor law of a servo at a given firmware gain and bus voltage."""

    law: str
    """Servo law: ``voltage``, ``current``, ``current_pd`` or ``torque_pd``."""
    gain: float
    """Duty cycle, current [A] or torque [N m] per radian of error."""
    rate: float
    """Derivative gain: current [A s/rad] or torque [N m s/rad]."""
    vin: float
    """Bus voltage [V]."""
    kt: float = 1.0
    """Torque constant [N m/A]."""
    resistance: float = 1.0
    """Winding resistance [ohm]."""
    max_pwm: float = 1.0
    """Maximum duty cycle."""
    limit: float = math.inf
    """Maximum current [A], or torque [N m] for ``torque_pd``."""


def motor_of(
    model: ServoModel,
    form: str,
    kp: float | None = None,
    vin: float | None = None,
    damping: float | None = None,
) -> Motor:
    """Motor of a servo in a form of MJCF, at a firmware gain, bus voltage and derivative gain."""
    servo, values = model.servo, model.values
    gain, rate = servo.gains(kp, damping)
    gain *= values.get("error_gain_ratio", values.get("ratio", 1.0))
    if servo.law == "torque_pd":
        return Motor("torque_pd", gain, rate, 1.0, limit=values.get("max_torque", math.inf))
    vin = servo.vin if vin is None else vin
    kt, resistance = values["kt"], values["R"]
    limit = min(values.get("current_limit", math.inf), servo.max_amps)
    if servo.law == "bus_current":
        # torque grows with the square root of the error: linearised through a typical error
        slope = math.sqrt(resistance * gain * _TYPICAL_ERROR / vin) / _TYPICAL_ERROR
        most = min(1.0, math.sqrt(resistance * limit / vin))
        return Motor("voltage", slope, 0.0, vin, kt, resistance, most)
    if servo.law == "voltage":
        return Motor("voltage", gain, 0.0, vin, kt, resistance, servo.max_pwm, limit)
    if form != "position":
        return Motor(servo.law, gain, rate, vin, kt, resistance, 1.0, limit)
    most = kt * min(limit, vin / resistance)
    return Motor("torque_pd", kt * gain, kt * rate, 1.0, limit=most)


@dataclass(frozen=True)
class MjcfServo:
    """Servo in terms of MJCF."""

    form: str
    """``position``, ``dcmotor`` or ``parallel``."""
    motor: Motor
    """Motor and firmware."""
    armature: float
    """Armature [kg m2]."""
    stretch: float
    """Factor on the proportional gain."""
    friction: float
    """Coulomb friction [N m]."""
    viscous: float
    """Viscous friction [N m s/rad]."""
    stribeck: float = 0.0
    """Excess friction near standstill [N m]; LuGre friction if not 0."""
    stribeck_speed: float = 1.0
    """Stribeck velocity, the width of its Gaussian [rad/s]."""
    delay: float = 0.0
    """Command delay [s]."""
    max_velocity: float = math.inf
    """Slew rate of the goal [rad/s]; not for the form ``position``."""
    saturation: float = 0.0
    """Saturation of the torque constant with the current [1/A]; form ``parallel`` only."""
    reach: float = 1.0
    """Torque up to which motors in parallel follow the saturation, relative to the stall torque."""

    @property
    def has_motor(self) -> bool:
        """Whether its actuators are motors, with a law of their own."""
        return self.form != "position"

    @property
    def has_lugre(self) -> bool:
        """Whether a second, passive actuator provides the friction."""
        return self.stribeck > 0.0

    @property
    def kp(self) -> float:
        """Torque per radian of error [N m/rad]."""
        motor, gain = self.motor, self.stretch * self.motor.gain
        if motor.law == "torque_pd":
            return gain
        if motor.law == "voltage":
            return gain * motor.kt * motor.vin / motor.resistance
        return gain * motor.kt

    @property
    def back_emf(self) -> float:
        """Back-EMF damping of a voltage-driven motor [N m s/rad]."""
        motor = self.motor
        return motor.kt**2 / motor.resistance if motor.law == "voltage" else 0.0

    @property
    def greatest_torque(self) -> float:
        """Stall torque [N m]."""
        motor = self.motor
        if motor.law == "torque_pd":
            return motor.limit
        return motor.kt * min(motor.limit, motor.vin * motor.max_pwm / motor.resistance)

    @property
    def fixed_on_bench(self) -> tuple[str, ...]:
        """Parameters of :meth:`on_bench` without a separate value in MJCF."""
        no_motor = self.form == "position" and self.motor.law == "voltage"
        return ("alpha", "kt") if no_motor else ("alpha",)

    def gains(self) -> dict[str, float]:
        """Gains of the actuator, or sums of motors in parallel: ``kp`` [N m/rad] and ``kd``
        [N m s/rad]."""
        share = sum(share for share, _ in self.shares())
        return {"kp": share * self.kp, "kd": share * self._rate}

    @property
    def _rate(self) -> float:
        """Derivative gain of the actuator [N m s/rad]."""
        motor = self.motor
        if motor.law == "voltage":
            return self.back_emf if self.has_motor else 0.0
        return motor.rate * (motor.kt if self.has_motor else 1.0)

    def joint(self) -> dict[str, str]:
        """Attributes of the joint."""
        damping = self.viscous + (self.back_emf if self.form == "position" else 0.0)
        found = {"armature": _number(self.armature), "damping": _number(damping)}
        if not self.has_lugre:
            found["frictionloss"] = _number(self.friction)
            # MuJoCo raises shorter time constants to two time steps, the hardest constraint
            found["solreffriction"] = "1e-5 1"
            found["solimpfriction"] = "0.9999 0.9999 0.001 0.5 2"
        return found

    def shares(self) -> list[tuple[float, float]]:
        """Share of the gains and torque limit [N m] of each motor in parallel, the last unlimited.

        Their sum is a line of several pieces near ``u / (1 + saturation |u| / kt)`` within
        :attr:`reach`, with the least squared difference.
        """
        if self.saturation == 0.0:
            return [(1.0, math.inf)]
        most, rate = self.reach * self.greatest_torque, self.saturation / self.motor.kt
        # pieces of equal error: their density is the curvature to the power 2/5
        last = (1.0 + rate * most) ** -0.2
        ends = (np.linspace(1.0, last, PIECES + 1) ** -5.0 - 1.0) / rate
        torques = np.linspace(0.0, most, 200)
        hats = np.stack([np.interp(torques, ends, each) for each in np.eye(PIECES + 1)[1:]], axis=1)
        heights, *_ = np.linalg.lstsq(hats, torques / (1.0 + rate * torques), rcond=None)
        slopes = np.diff(np.concatenate([[0.0], heights])) / np.diff(ends)
        found = [
            (float(slope - following), float((slope - following) * end))
            for (slope, following), end in zip(itertools.pairwise(slopes), ends[1:], strict=False)
        ]
        return [*found, (float(slopes[-1]), math.inf)]

    def actuators(self, timestep: float) -> list[dict[str, str]]:
        """Attributes of the actuators, without their joint."""
        return [self._actuator(timestep, *each) for each in self.shares()]

    def _actuator(self, timestep: float, share: float, torque: float) -> dict[str, str]:
        """Attributes of the actuator with a share of the gains, within a torque [N m]."""
        motor = self.motor
        if self.form == "position":
            found = {"kp": _number(self.kp)}
            if motor.law == "voltage":
                limit = self.greatest_torque
            else:
                found["kv"], limit = _number(motor.rate), motor.limit
            if math.isfinite(limit):
                found["forcerange"] = f"{_number(-limit)} {_number(limit)}"
        else:
            kd = share * self._rate
            slew = self.max_velocity if math.isfinite(self.max_velocity) else 0.0
            volts = motor.vin * motor.max_pwm
            found = {
                "motorconst": _number(motor.kt),
                "resistance": _number(motor.resistance / share),
                "input": "pos",
                "controller": " ".join(map(_number, (share * self.kp, 0.0, kd, slew, 0.0, volts))),
            }
            amps = min(share * motor.limit, torque / motor.kt)
            if math.isfinite(amps):
                found["saturation"] = f"0 {_number(amps)} 0"
        if self.delay > 0.0:
            found["delay"] = _number(self.delay)
            found["nsample"] = str(math.ceil(self.delay / timestep - 1e-9) + 2)
            found["interp"] = "linear"
        return found

    def friction_actuator(self) -> dict[str, str]:
        """Attributes of the passive LuGre actuator: a motor without current."""
        peak = self.friction + self.stribeck
        lugre = (peak / PRESLIDING, 0.0, self.friction, peak, self.stribeck_speed)
        return {
            "motorconst": "1",
            "resistance": "1e9",
            "input": "none",
            "lugre": " ".join(map(_number, lugre)),
        }

    def on_bench(self, name: str) -> ServoModel:
        """Servo model with the same bench motion."""
        motor = self.motor
        numbers = {"armature": self.armature, "error_gain_ratio": self.stretch}
        if motor.law != "torque_pd":
            numbers |= {"kt": motor.kt, "R": motor.resistance}
        has_limit = math.isfinite(motor.limit)
        if has_limit and motor.law in _LIMITS:
            numbers[_LIMITS[motor.law]] = motor.limit
        if math.isfinite(self.max_velocity):
            numbers["max_velocity"] = self.max_velocity
        servo = Servo(
            name=name,
            law=motor.law,
            parameters=tuple(ModelParameter(n, v, 0.0, math.inf) for n, v in numbers.items()),
            vin=motor.vin,
            max_pwm=motor.max_pwm,
            max_amps=motor.limit if motor.law == "current_pd" else math.inf,
        )
        extended = {"command_delay": self.delay, "torque_saturation": self.saturation}
        terms = tuple(name for name, value in extended.items() if value > 0.0)
        model = ServoModel.create(servo, "m2" if self.has_lugre else "m1", terms)
        values = {"friction_base": self.friction, "friction_viscous": self.viscous, "q_offset": 0.0}
        if self.has_lugre:
            values |= {
                "friction_stribeck": self.stribeck,
                "dtheta_stribeck": self.stribeck_speed,
                "alpha": 2.0,
            }
        return model.with_values(**values, **{name: extended[name] for name in terms})

    def with_numbers_of(self, model: ServoModel) -> "MjcfServo":
        """Copy with the parameters of a servo model of :meth:`on_bench`."""
        values, motor = model.values, self.motor
        return replace(
            self,
            motor=replace(
                motor,
                kt=values.get("kt", motor.kt),
                resistance=values.get("R", motor.resistance),
                limit=values.get(_LIMITS.get(motor.law, ""), motor.limit),
            ),
            armature=values["armature"],
            stretch=values["error_gain_ratio"],
            friction=values["friction_base"],
            viscous=values["friction_viscous"],
            stribeck=values.get("friction_stribeck", 0.0),
            stribeck_speed=values.get("dtheta_stribeck", self.stribeck_speed),
            delay=values.get("command_delay", self.delay),
            max_velocity=values.get("max_velocity", self.max_velocity),
            saturation=values.get("torque_saturation", self.saturation),
        )


def servo_of(model: ServoModel, form: str) -> MjcfServo:
    """Servo of a form with the parameters of a servo model, at the servo's own gains and voltage.

    Args:
      model: servo model; exact for M1, otherwise without its additional friction terms.
      form: ``position``, ``dcmotor`` or ``parallel``.
    """
    values = model.values
    motor = motor_of(model, form)
    viscous = values["friction_viscous"]
    if form == "position" and motor.law == "voltage":
        # a motor without back-EMF, which becomes joint damping: it has the same torque per volt
        viscous += motor.kt**2 / motor.resistance
        motor = replace(
            motor,
            kt=_NO_EMF * motor.kt,
            resistance=_NO_EMF * motor.resistance,
            limit=motor.limit / _NO_EMF,
        )
    return MjcfServo(
        form=form,
        motor=motor,
        armature=values["armature"],
        stretch=1.0,
        friction=values["friction_base"],
        viscous=viscous,
        delay=values.get("command_delay", 0.0),
        max_velocity=values.get("max_velocity", math.inf) if form != "position" else math.inf,
        saturation=values.get("torque_saturation", 0.0) if form == "parallel" else 0.0,
    )


def at_gains(
    servo: MjcfServo,
    model: ServoModel,
    kp: float | None,
    vin: float | None,
    damping: float | None = None,
) -> MjcfServo:
    """Copy of a servo with the model's own gains and voltage, at other gains and voltage."""
    base, own = motor_of(model, servo.form, kp, vin, damping), motor_of(model, servo.form)
    limit = servo.motor.limit
    if math.isfinite(limit):
        limit *= base.limit / own.limit
    motor = replace(
        servo.motor, gain=base.gain, rate=base.rate, vin=base.vin, max_pwm=base.max_pwm, limit=limit
    )
    return replace(servo, motor=motor)


def with_motor_of(servo: MjcfServo, model: ServoModel, log: ServoLog) -> MjcfServo:
    """Copy of a servo at the firmware gains and the voltage of a log."""
    return at_gains(servo, model, log.kp, log.vin, log.damping)


def bench_log(servo: MjcfServo, log: ServoLog) -> ServoLog:
    """Copy of a log for the bench of :meth:`MjcfServo.on_bench`."""
    motor = servo.motor
    rate = motor.rate
    if motor.law == "current_pd":
        rate /= math.sqrt(motor.gain)
    return replace(log, kp=motor.gain, vin=motor.vin, damping=rate)


def _number(value: float) -> str:
    return f"{value:.9g}"
