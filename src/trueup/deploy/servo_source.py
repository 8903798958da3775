"""Source code of a servo's equations and parameters, for modules that run without trueup.

The functions are traced from :mod:`trueup.actuators.equations.servo_equations` and the servo's
friction model, and written for numpy or torch; the step around them is the same text for both.
"""

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations import servo_equations as equations
from trueup.actuators.equations._parameter_layout import ParameterValues
from trueup.actuators.equations.generation import function_source
from trueup.actuators.equations.servo_laws import law_parameters
from trueup.actuators.equations.tracing import OPERATIONS, Graph

LIBRARIES = ("numpy", "torch")
"""Libraries supported by the source."""

MOTOR = ("error", "speed", "on", "gain", "rate_gain", "vin", "volts", "temperature")
"""Arguments of the function ``motor`` of a module."""

HELD = ("wanted", "position", "external", "gain", "vin", "volts", "temperature")
"""Arguments of the function ``held_target`` of a module."""

_CLAMP = '''
def clamp(values, min=None, max=None):
    """Values within one bound."""
    return minimum(values, max) if min is None else maximum(values, min)
'''


def equation_functions(
    model: ServoModel, library: str
) -> dict[str, tuple[Callable[..., Any], Sequence[str]]]:
    """Equations of a servo with its parameters, and the names of their arguments.

    ``motor`` returns torque [N m], duty cycle and damping [N m s/rad]; ``friction_loss`` the budget
    without its viscous part [N m]; ``joint_torque`` the torque on the joint [N m]; ``next_speed``
    the speed after the step [rad/s]; ``slewed_target`` the firmware's target [rad], and
    ``held_target`` its initial target. Those of numpy have ``backlash_step`` too. All but
    that one accept parameters that override identified values.
    """
    identified = model.values

    def parameters(values, gain, rate_gain, vin, volts, temperature):
        own = ParameterValues(values)
        warmth = temperature - equations.REFERENCE_TEMPERATURE
        return law_parameters(
            model.servo, values, gain=gain, rate_gain=rate_gain,
            vin=equations.bus_voltage(vin, volts, own),
            resistance=equations.winding_resistance(warmth, own),
        )  # fmt: skip

    def motor(error, speed, on, gain, rate_gain, vin, volts, temperature, **drawn):
        p = parameters({**identified, **drawn}, gain, rate_gain, vin, volts, temperature)
        driven, duty, damping = equations.LAWS[model.servo.law](error, speed, p)
        driven = equations.saturated_torque(driven, p)
        torque, damping = equations.shaft_torque(on, driven, damping, speed, p)
        return torque, on * duty, damping

    def held_target(wanted, position, external, gain, vin, volts, temperature, **drawn):
        p = parameters({**identified, **drawn}, gain, 0.0, vin, volts, temperature)
        return equations.held_target(model.servo.law, wanted, position, external, p)

    def friction_loss(speed, motor, external, **drawn):
        gate = float(model.quadratic == "gated")
        p = ParameterValues({**identified, **drawn}, gate=gate)
        return model.friction.loss(motor, external, speed, p)

    def viscous(drawn):
        return drawn.get("friction_viscous", identified["friction_viscous"])

    def joint_torque(speed, motor, external, momentum, damping, loss, **drawn):
        return equations.joint_torque(
            speed, motor, external, momentum, damping, loss, viscous(drawn)
        )

    def next_speed(speed, net, momentum, damping, loss, **drawn):
        return equations.implicit_speed(speed, net, momentum, damping, loss, viscous(drawn))

    def slewed_target(wanted, start, reach, **drawn):
        return equations.slewed_target(wanted, start, reach)

    found: dict[str, tuple[Callable[..., Any], Sequence[str]]] = {
        "motor": (motor, MOTOR),
        "friction_loss": (friction_loss, ("speed", "motor", "external")),
        "joint_torque": (
            joint_torque,
            ("speed", "motor", "external", "momentum", "damping", "loss"),
        ),
        "next_speed": (next_speed, ("speed", "net", "momentum", "damping", "loss")),
        "slewed_target": (slewed_target, ("wanted", "start", "reach")),
        "held_target": (held_target, HELD),
    }
    if library == "numpy":
        arguments = tuple(inspect.signature(equations.backlash_step).parameters)
        found["backlash_step"] = (equations.backlash_step, arguments)
    return found


def servo_source(
    model: ServoModel, library: str, steps: Sequence[Any], drawn: Sequence[str] = ()
) -> str:
    """Imports, parameters, equations and step classes of a servo.

    Args:
      model: identified servo.
      library: one of :data:`LIBRARIES`.
      steps: classes and functions of :mod:`trueup.deploy.servo_step`, in their order.
      drawn: parameters that the equations read from the module's table ``NUMBERS`` of draws,
        instead of constants.
    """
    functions = [
        text
        for name, (equation, arguments) in equation_functions(model, library).items()
        for text in _functions(name, equation, arguments, drawn)
    ]
    body = "\n\n".join([*functions, *(inspect.getsource(each) for each in steps)])
    return f"{_imports(library, body)}\n\n{_numbers(model)}\n\n\n{body}"


def _functions(
    name: str, equation: Callable[..., Any], arguments: Sequence[str], drawn: Sequence[str]
) -> list[str]:
    """Text of an equation; with drawn parameters, also of a wrapper that passes them."""
    if not drawn:
        return [_function(name, equation, arguments, ())]
    given = ", ".join(arguments)
    call = f"def {name}({given}):\n    return _{name}({given}, **NUMBERS)\n"
    return [call, _function(f"_{name}", equation, arguments, drawn)]


def _function(
    name: str, equation: Callable[..., Any], arguments: Sequence[str], drawn: Sequence[str]
) -> str:
    graph = Graph()
    numbers = {each: graph.input(each) for each in drawn}
    found = equation(*(graph.input(each) for each in arguments), **numbers)
    values = found if isinstance(found, tuple) else (found,)
    outputs = [graph.value(each) for each in values]
    text = "return " + ", ".join("{}" for _ in outputs)
    return function_source(name, (*arguments, *drawn), [(text, outputs)], like=arguments[0])


def _imports(library: str, body: str) -> str:
    """Imports of the functions that a module calls."""
    called = set(re.findall(r"\b([a-z_]+)\(", body))
    wanted = called & {*OPERATIONS, "clamp", "full_like", "zeros_like", "ones_like"}
    writes_clamp = library == "numpy" and "clamp" in wanted
    if writes_clamp:
        wanted = (wanted | {"minimum", "maximum"}) - {"clamp"}
    names = sorted(wanted)
    if library == "torch":
        names = ["pow as power" if name == "power" else name for name in names]
    lines = ["import math", "", f"from {library} import (", *(f"    {n}," for n in names), ")"]
    text = "\n".join(lines) + "\n"
    return f"{text}\n\n{_CLAMP.strip()}\n" if writes_clamp else text


def _numbers(model: ServoModel) -> str:
    servo, values = model.servo, model.values
    numbers = {
        "LAW": servo.law,
        "KP": servo.kp,
        "DAMPING": servo.damping,
        "VIN": servo.vin if servo.law != "torque_pd" else 1.0,
        "ERROR_GAIN": servo.error_gain,
        "ARMATURE": values["armature"],
        "COMMAND_DELAY": values.get("command_delay", 0.0),
        "MAX_VELOCITY": values.get("max_velocity", 0.0),
        "BACKLASH": values.get("backlash", 0.0),
        "REFERENCE_TEMPERATURE": equations.REFERENCE_TEMPERATURE,
    }
    return "\n".join(f"{name} = {value!r}" for name, value in numbers.items())
