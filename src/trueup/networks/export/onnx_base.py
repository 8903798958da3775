"""The analytic bases as nodes of an ONNX graph."""

from typing import Any

import numpy as np

from trueup.networks.base.analytic_base import AnalyticBase
from trueup.networks.base.base_kinds import Base
from trueup.networks.base.servo_base import SMALLEST_SQUARE, ServoBase


class Value:
    """A tensor of a graph; arithmetic on it adds nodes.

    Args:
        graph: the graph under construction.
        name: of the tensor.
    """

    def __init__(self, graph: Any, name: str):
        self.graph = graph
        self.name = name

    def of(self, operator: str, *others: "Value | float") -> "Value":
        """Value of an operator on this and others."""
        return Value(self.graph, self.graph.node(operator, self.name, *map(self._name, others)))

    def number(self, value: float) -> "Value":
        """A constant of the graph."""
        return Value(self.graph, self.graph.constant(np.float32(value)))

    def __add__(self, other: "Value | float") -> "Value":
        return self.of("Add", other)

    def __sub__(self, other: "Value | float") -> "Value":
        return self.of("Sub", other)

    def __mul__(self, other: "Value | float") -> "Value":
        return self.of("Mul", other)

    def __truediv__(self, other: "Value | float") -> "Value":
        return self.of("Div", other)

    def __neg__(self) -> "Value":
        return self.of("Neg")

    def __abs__(self) -> "Value":
        return self.of("Abs")

    def between(self, low: "Value | float", high: "Value | float") -> "Value":
        """Not below the one, then not above the other."""
        return self.of("Max", low).of("Min", high)

    def chosen(self, yes: "Value | float", no: "Value | float") -> "Value":
        """One value where this is true, another where it is not."""
        return self.of("Where", yes, no)

    def _name(self, other: "Value | float") -> str:
        return other.name if isinstance(other, Value) else self.number(other).name


def base_torque(graph: Any, base: Base, inputs: str, matrix: np.ndarray) -> str:
    """Add the nodes of a base; returns the name of its torque, (batch, 1).

    Args:
        graph: where they are added.
        base: the law.
        inputs: name of the raw inputs, (batch, inputs).
        matrix: from them to angle, error, velocity and target velocity, (inputs, 4).
    """
    values = graph.node("MatMul", inputs, graph.constant(matrix))
    columns = [Value(graph, name) for name in graph.node("Split", values, outputs=4, axis=1,
               num_outputs=4)]  # fmt: skip
    if isinstance(base, ServoBase):
        return _servo(base, *columns[:3]).name
    return _pd(base, *columns).name


def _pd(base: AnalyticBase, angle: Value, error: Value, velocity: Value, wanted: Value) -> Value:
    drive = error * base.kp + (wanted - velocity) * base.kd
    if base.stall_torque is not None and base.no_load_speed is not None:
        stall = velocity.number(base.stall_torque)
        share = -(abs(velocity) / base.no_load_speed - 1.0)
        along = share.of("Max", 0.0) * stall
        upper = velocity.of("Greater", 0.0).chosen(along, stall)
        lower = velocity.of("Less", 0.0).chosen(along, stall)
        drive = drive.of("Min", upper).of("Max", -lower)
    return drive - (angle - base.theta0) * base.k_spring


def _servo(base: ServoBase, angle: Value, error: Value, velocity: Value) -> Value:
    motor = _servo_motor(base, error, velocity)
    if base.torque_saturation:
        motor = motor / (abs(motor) * (base.torque_saturation / base.kt) + 1.0)
    if not base.friction:
        return motor
    external = (angle - base.load_gravity_angle).of("Sin") * -base.load_gravity
    apart = abs(external - motor)
    loss = apart * base.load_friction_base + base.friction_base
    loss = loss + abs(external * base.load_friction_external - motor * base.load_friction_motor)
    peak = apart * base.load_friction_stribeck + base.friction_stribeck
    peak = peak + abs(
        external * base.load_friction_external_stribeck - motor * base.load_friction_motor_stribeck
    )
    driving, none = abs(motor) - abs(external), motor.number(0.0)
    square = driving.of("Greater", 0.0).chosen(
        external * external * base.load_friction_external_quad, none
    )
    square = driving.of("Less", 0.0).chosen(motor * motor * base.load_friction_motor_quad, square)
    if base.gated:
        same = motor.of("Sign").of("Equal", external.of("Sign"))
        square = same.chosen(none, square)
    ratio = abs(velocity) / base.dtheta_stribeck
    loss = loss + (-ratio.of("Pow", base.alpha)).of("Exp") * (peak + square)
    direction = (velocity / base.friction_velocity).of("Tanh")
    return motor - direction * loss - velocity * base.friction_viscous


def _servo_motor(base: ServoBase, error: Value, velocity: Value) -> Value:
    """Torque of the motor with the torque constant of small currents."""
    vin, resistance, limit = base.vin, base.resistance, base.limit
    if base.law == "torque_pd":
        return (error * base.gain - velocity * base.rate_gain).between(-limit, limit)
    emf = velocity * base.kt
    if base.law == "voltage":
        share, span = emf / vin, resistance * limit / vin
        duty = (error * base.gain).between(share - span, share + span)
        duty = duty.between(-base.max_pwm, base.max_pwm)
        sag = duty * (base.supply_resistance / resistance)
        bus = (sag * emf + vin) / (sag * duty + 1.0)
        return (bus * duty - emf) * (base.kt / resistance)
    if base.law == "current":
        low, high = -(emf + vin) / resistance, -(emf - vin) / resistance
        return (error * base.gain).between(low, high).between(-limit, limit) * base.kt
    if base.law == "bus_current":
        amps = (error * base.gain).between(-limit, limit)
        square = emf * emf + abs(amps) * (4.0 * vin * resistance)
        root = square.of("Max", SMALLEST_SQUARE).of("Sqrt")
        duty = ((emf + amps.of("Sign") * root) / (2.0 * vin)).between(-1.0, 1.0)
        return (duty * vin - emf) * (base.kt / resistance)
    amps = (error * base.gain - velocity * base.rate_gain).between(-limit, limit)
    reach, back = base.kt * vin / resistance, emf * (base.kt / resistance)
    return (amps * base.kt).between(-(back + reach), -(back - reach))
