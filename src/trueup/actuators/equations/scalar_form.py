"""Servo law as a function of scalars, for single steps without numba."""

import math
from collections.abc import Callable, Mapping

from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.equations.generation import function_from, function_source
from trueup.actuators.equations.servo_equations import LAWS, saturated_torque
from trueup.actuators.equations.servo_laws import law_parameters
from trueup.actuators.equations.tracing import Graph

ScalarLaw = Callable[[float, float, float, float, float], tuple[float, float, float]]
_ARGUMENTS = ("error", "speed", "gain", "rate_gain", "vin")
_NAMES = {
    **{name: getattr(math, name) for name in ("exp", "log", "sqrt", "tanh", "copysign", "inf")},
    "select": lambda condition, first, second: first if condition else second,
}


def scalar_law(servo: Servo, values: Mapping[str, float]) -> ScalarLaw:
    """Law of a driven servo with given parameters.

    Args:
      servo: constants of the servo.
      values: identified parameters by name.

    Returns:
      ``law(error, speed, gain, rate_gain, vin)``: torque [N m], duty cycle, and the damping
      [N m s/rad] for an implicit step. Position error [rad], speed [rad/s], the gains of
      :meth:`Servo.gains` and the bus voltage [V].
    """
    graph = Graph()
    error, speed, gain, rate_gain, vin = (graph.input(name) for name in _ARGUMENTS)
    p = law_parameters(servo, values, gain=gain, rate_gain=rate_gain, vin=vin)
    torque, duty, damping = LAWS[servo.law](error, speed, p)
    outputs = [graph.value(v) for v in (saturated_torque(torque, p), duty, damping)]
    source = function_source("law", _ARGUMENTS, [("return {}, {}, {}", outputs)])
    return function_from(source, "law", dict(_NAMES))
