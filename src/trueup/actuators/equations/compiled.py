"""The equations as functions for numba.

Each function is traced from :mod:`trueup.actuators.equations.servo_equations`, written as source
and compiled. It reads parameters from the columns of a row.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numba

from trueup.actuators.equations import servo_equations as equations
from trueup.actuators.equations._parameter_layout import (
    LAWS,
    QUANTITIES,
    absent_columns,
    columns_named,
)
from trueup.actuators.equations.generation import function_from, function_source
from trueup.actuators.equations.tracing import Graph, Value
from trueup.compilation import njit_on_disk, select

Equation = Callable[..., Any]
"""Equation of a friction budget."""

_KERNEL_NAMES: dict[str, Any] = {
    "exp": math.exp, "log": math.log, "sqrt": math.sqrt, "sin": math.sin, "cos": math.cos,
    "tanh": math.tanh, "copysign": math.copysign, "inf": math.inf,
    "select": select,
}  # fmt: skip


def compiled(function: Any) -> Any:
    """The function compiled by numba, and inlined into compiled functions that call it.

    Without reference counting of arrays, which would take longer than the step itself. The function
    must therefore not allocate arrays, and a caller with reference counting must own those it
    passes.
    """
    options: dict[str, Any] = {"error_model": "numpy", "forceinline": True, "_nrt": False}
    return numba.njit(**options)(function)


_APART: dict[str, Any] = {
    "error_model": "numpy",
    "_nrt": False,
    # without the wrapper for calls from Python, which takes longer to compile than the rest
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


def compiled_without_inlining(function: Any) -> Any:
    """The function compiled by numba without inlining, so that a large one is compiled once."""
    return numba.njit(**_APART)(function)


def compiled_once(function: Any) -> Any:
    """Compile parts that all kinds of servos share, cached for all processes."""
    return njit_on_disk(function, **_APART)


class Parameters:
    """Parameters of an equation by name: explicit values, and columns of a row.

    Args:
      graph: graph in which columns are inputs ``c.name``.
      columns: names of the row's columns.
      given: other parameters, by name.
    """

    def __init__(self, graph: Graph, columns: Sequence[str], **given: Any):
        self._graph, self._columns, self._given = graph, frozenset(columns), given

    def __getattr__(self, name: str) -> Any:
        if name in self._given:
            return self._given[name]
        if name not in self._columns:
            raise AttributeError(f"equations have no parameter {name!r}")
        return self._graph.input(f"c.{name}")


def row_function(
    name: str, columns: Sequence[str], arguments: Sequence[str], outputs: Sequence[Value]
) -> Any:
    """Compiled function of a row ``c`` and arguments that returns outputs.

    Args:
      name: name of the function.
      columns: names of the columns of the row; ``c.kt`` is the input of the column ``kt``.
      arguments: names of the inputs after the row.
      outputs: values of one graph.
    """

    def place_of(input_name: str) -> str:
        return f"c[C.{input_name[2:]}]" if input_name.startswith("c.") else input_name

    text = "return " + ", ".join("{}" for _ in outputs)
    curved = "curved" if "curved" in arguments else ""
    source = function_source(name, ("c", *arguments), [(text, outputs)], place_of, curved=curved)
    names = {**_KERNEL_NAMES, "C": columns_named(tuple(columns))}
    return compiled(function_from(source, name, names))


_MOTOR = (
    "gain", "rate_gain", "max_pwm", "max_amps", "voltage", "volts", "warmth", "error", "speed",
)  # fmt: skip


def _motor(law: str) -> Any:
    """Torque, duty cycle and damping of a driven motor of a law."""
    graph = Graph(for_speed=True)
    gain, rate_gain, max_pwm, max_amps, voltage, volts, warmth, error, speed = (
        graph.input(name) for name in _MOTOR
    )
    p = Parameters(graph, QUANTITIES)
    p = Parameters(
        graph, QUANTITIES, gain=gain * p.error_gain_ratio, rate_gain=rate_gain, max_pwm=max_pwm,
        max_amps=max_amps, vin=equations.bus_voltage(voltage, volts, p),
        resistance=equations.winding_resistance(warmth, p),
    )  # fmt: skip
    torque, duty, damping = equations.LAWS[law](error, speed, p)
    torque = equations.saturated_torque(torque, p)
    outputs = [graph.value(output) for output in (torque, duty, damping)]
    return row_function(f"motor_{law}", QUANTITIES, _MOTOR, outputs)


_HELD = (
    "gain", "voltage", "volts", "warmth", "wanted", "position", "load",
)  # fmt: skip


def _held_target(law: str) -> Any:
    """Target of a servo that holds its joint at rest."""
    graph = Graph(for_speed=True)
    gain, voltage, volts, warmth, wanted, position, load = (graph.input(name) for name in _HELD)
    p = Parameters(graph, QUANTITIES)
    p = Parameters(
        graph, QUANTITIES, gain=gain * p.error_gain_ratio,
        vin=equations.bus_voltage(voltage, volts, p),
        resistance=equations.winding_resistance(warmth, p),
    )  # fmt: skip
    output = graph.value(equations.held_target(law, wanted, position, load, p))
    return row_function(f"held_target_{law}", QUANTITIES, _HELD, [output])


def chosen_function(name: str, arguments: Sequence[str], functions: Sequence[Any]) -> Any:
    """Compiled function that dispatches to the function selected by its first argument."""
    given = ", ".join(arguments)
    lines = [f"def {name}(number, {given}):"]
    for number in range(1, len(functions)):
        lines += [f"    if number == {number}:", f"        return f_{number}({given})"]
    lines.append(f"    return f_0({given})")
    names = {f"f_{number}": function for number, function in enumerate(functions)}
    return compiled(function_from("\n".join(lines) + "\n", name, names))


motor = chosen_function("motor", ("c", *_MOTOR), [_motor(law) for law in LAWS])
"""``motor(law, c, gain, rate_gain, max_pwm, max_amps, voltage, volts, warmth, error, speed)``:
torque [N m], duty cycle and damping of a driven motor: constants of the firmware, nominal and
measured bus voltage [V], temperature above the reference [K], error [rad] and speed [rad/s]."""


held_target = chosen_function("held_target", ("c", *_HELD), [_held_target(law) for law in LAWS])
"""``held_target(law, c, gain, voltage, volts, warmth, wanted, position, load)``: target before the
first step [rad]: goal and position [rad], torque of the load [N m], the others as for ``motor``."""


def _shaft_torque() -> Any:
    graph = Graph(for_speed=True)
    arguments = ("on", "driven", "damping", "warmth", "speed")
    on, driven, damping, warmth, speed = (graph.input(name) for name in arguments)
    p = Parameters(graph, QUANTITIES)
    p = Parameters(graph, QUANTITIES, resistance=equations.winding_resistance(warmth, p))
    outputs = equations.shaft_torque(on, driven, damping, speed, p)
    return row_function("shaft_torque", QUANTITIES, arguments, outputs)


shaft_torque = _shaft_torque()
"""``shaft_torque(c, on, driven, damping, warmth, speed)``: torque [N m] and implicit damping."""


def _implicit_speed() -> Any:
    graph = Graph(for_speed=True)
    arguments = ("speed", "net", "momentum", "damping", "loss", "viscous")
    output = equations.implicit_speed(*(graph.input(name) for name in arguments))
    return row_function("implicit_speed", QUANTITIES, arguments, [output])


implicit_speed = _implicit_speed()
"""``implicit_speed(c, speed, net, momentum, damping, loss, viscous)``: next speed; ``c`` is not
read."""


_LOSS = ("gate", "curved", "motor", "external", "speed")


@functools.cache
def loss_functions(models: tuple[Equation, ...], columns: tuple[str, ...] = QUANTITIES) -> Any:
    """Compiled friction budgets of equations.

    Args:
      models: equations; the first is number 0.
      columns: names of the columns of a row of parameters.

    Returns:
      ``loss(number, c, gate, curved, motor, external, speed)`` [N m]: 1 or 0 for the gated
      quadratic term; whether exponentials and logarithms are computed; torques [N m] and
      speed [rad/s].
    """
    functions = []
    for number, model in enumerate(models):
        graph = Graph(for_speed=True)
        gate, _, torque, external, speed = (graph.input(name) for name in _LOSS)
        absent = dict.fromkeys(absent_columns(columns), 0.0)
        p = Parameters(graph, columns, gate=gate, **absent)
        output = graph.value(model(torque, external, speed, p))
        functions.append(row_function(f"friction_loss_{number}", columns, _LOSS, [output]))
    return chosen_function("loss", ("c", *_LOSS), functions)
