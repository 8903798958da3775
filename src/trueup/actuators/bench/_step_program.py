"""One integration step of a servo on a bench as an expression graph of the equations.

A state is position and speed of the joint, the firmware's target if it limits its speed, and
with backlash the motor's speed, its angle relative to the joint and whether both are separated.
Derivatives of the step come from its graph.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from trueup.actuators.equations import servo_equations as equations
from trueup.actuators.equations._parameter_layout import QUANTITIES, absent_columns
from trueup.actuators.equations.compiled import Equation, Parameters
from trueup.actuators.equations.tracing import Graph, Value, pullback

where: Callable[..., Any] = np.where
"""numpy's function, which accepts values of a graph too."""


class StepKind(NamedTuple):
    """Properties that change the step of a servo; each kind is compiled at its first use."""

    law: str
    """Servo law."""
    explicit: bool
    """Whether to use the explicit step of Better Actuator Models, not the semi-implicit one."""
    standstill: bool
    """Whether friction has Stribeck terms; without, their parameters are 0."""
    extras: bool
    """Whether any of :data:`EXTRAS` is not 0."""
    slewed: bool
    """Whether the firmware limits the speed of its target."""
    backlash: bool
    """Whether there is a gap between motor and load."""
    tabulated: bool
    """Whether the load is a table; otherwise it is a pendulum."""
    friction: Equation = equations.friction_loss
    """Equation of the friction budget."""
    columns: tuple[str, ...] = QUANTITIES
    """Columns of a row of parameters."""


STANDSTILL = (
    "friction_stribeck",
    "load_friction_motor_stribeck",
    "load_friction_external_stribeck",
    "load_friction_motor_quad",
    "load_friction_external_quad",
)
"""Parameters of friction near standstill."""

EXTRAS = (
    "winding_braking",
    "measured_voltage",
    "resistance_temperature",
    "supply_resistance",
    "torque_saturation",
)
"""Extended terms of the motor."""


class StepProgram(NamedTuple):
    """The graph of a step."""

    kind: StepKind
    """Kind of the step."""
    graph: Graph
    """Operations of the step."""
    after: dict[str, Value]
    """State after the step, by name; the state before it is the inputs of the same names."""
    duty: Value
    """Duty cycle of the bridge."""
    speeds: tuple[Value, ...]
    """Speeds after the step. The rest of the state follows from them in few operations, and
    derivatives are propagated through them."""

    @property
    def smooth(self) -> tuple[str, ...]:
        """Names of the differentiable states."""
        return tuple(name for name in self.after if name != "is_open")


def step_program(kind: StepKind) -> StepProgram:
    """Step of a kind, as a graph.

    Its inputs are the state, ``wanted`` goal, torque enable ``on``, whether the step is made
    (``active``; otherwise the state is unchanged) and is the first (``fresh``), the step ``h``, the
    firmware's ``gain``, ``rate_gain``, ``max_pwm`` and ``max_amps``, ``voltage`` and measured
    ``volts`` of the bus, ``warmth``, and the load: ``inertia`` and ``gravity``, or ``load_inertia``
    and ``load_torque`` of a table. Parameters are ``c.name``.
    """
    graph = Graph(for_speed=True)
    position, speed, h = (graph.input(name) for name in ("position", "speed", "h"))
    active, p = graph.input("active") > 0.0, _parameters(kind, graph)
    # both follow the delayed command
    wanted, on = (graph.external(name, p.command_delay) for name in ("wanted", "on"))
    angle = position + p.q_offset
    if kind.tabulated:
        inertia = graph.external("load_inertia", angle)
        load = graph.external("load_torque", angle, speed)
    else:
        inertia, load = graph.input("inertia"), -graph.input("gravity") * np.sin(angle)
    after: dict[str, Value] = {}
    target = wanted
    if kind.slewed:
        # without torque the target follows the joint; in Better Actuator Models it does not
        start = graph.input("target")
        if not kind.explicit:
            fresh = graph.input("fresh") > 0.0
            start = where(fresh, equations.held_target(kind.law, wanted, position, load, p), start)
            start = where(on <= 0.0, position, start)
        target = equations.slewed_target(wanted, start, p.max_velocity * h)
        after["target"] = where(active, target, graph.input("target"))
    motor_speed, is_open = speed, None
    if kind.backlash:
        is_open = graph.input("is_open") > 0.5
        motor_speed = where(is_open, graph.input("motor_speed"), speed)
    driven, duty, damping = equations.LAWS[kind.law](target - position, motor_speed, p)
    driven = equations.saturated_torque(driven, p)
    torque, damping = equations.shaft_torque(on, driven, damping, motor_speed, p)

    def speed_after(inertia: Any, load: Any) -> Any:
        """Speed after the step of the motor and the bodies that turn with it."""
        momentum, net = (inertia + p.armature) / h, torque + load
        loss, viscous = kind.friction(torque, load, motor_speed, p), p.friction_viscous
        if kind.explicit:
            return equations.explicit_speed(motor_speed, net, momentum, loss, viscous)
        return equations.implicit_speed(motor_speed, net, momentum, damping, loss, viscous)

    new = where(active, speed_after(inertia, load), speed)
    speeds, turned = (new,), where(active, h, 0.0) * new
    if kind.explicit:
        # Better Actuator Models: half the speed change is added before the speed is limited
        held = np.minimum(np.maximum(new, -equations.MAX_SPEED), equations.MAX_SPEED)
        turned = where(active, h, 0.0) * (held + 0.5 * (new - speed))
        new = where(active, held, speed)
    if kind.backlash:
        alone = where(active, speed_after(0.0, 0.0), motor_speed)
        speeds = (*speeds, alone)
        step = equations.backlash_step(
            new, alone, speed, graph.input("gap"), is_open, inertia, p.armature, load, h,
            0.5 * p.backlash,
        )  # fmt: skip
        turned, new = where(active, step.distance, 0.0), where(active, step.speed, speed)
        for name in ("motor_speed", "gap", "is_open"):
            after[name] = where(active, getattr(step, name), graph.input(name))
    after = {"position": position + turned, "speed": new, **after}
    return StepProgram(kind, graph, after, duty, speeds)


def _parameters(kind: StepKind, graph: Graph) -> Parameters:
    """Parameters of the equations, from the row and the log."""
    absent = absent_columns(kind.columns)
    absent |= set() if kind.standstill else set(STANDSTILL)
    absent |= set() if kind.extras else set(EXTRAS)
    given = {name: graph.constant(0.0) for name in absent}
    p = Parameters(graph, kind.columns, **given)
    firmware = {name: graph.input(name) for name in ("gate", "rate_gain", "max_pwm", "max_amps")}
    return Parameters(
        graph, kind.columns, **given, **firmware,
        gain=graph.input("gain") * p.error_gain_ratio,
        vin=equations.bus_voltage(graph.input("voltage"), graph.input("volts"), p),
        resistance=equations.winding_resistance(graph.input("warmth"), p),
    )  # fmt: skip


class StepSlopes(NamedTuple):
    """Derivatives of a step, as values of its graph.

    With ``s`` the derivatives of the state before it with respect to a column of the row, those of
    the speeds are ``by_state s + by_column``, and those of the state after it ``keep s + follow``
    times those of the speeds, and ``direct`` of some columns.
    """

    by_state: list[dict[str, Value]]
    """Of each speed with respect to each state."""
    by_column: list[dict[str, Value]]
    """Of each speed with respect to each column of the row that matters."""
    keep: dict[str, dict[str, Value]]
    """Of each state after the step with respect to each state before, the speeds held."""
    follow: dict[str, list[Value]]
    """Of each state after the step with respect to each speed."""
    direct: dict[str, dict[str, Value]]
    """Of each state after the step with respect to columns, the speeds held."""


def step_slopes(program: StepProgram) -> StepSlopes:
    """Derivatives of a step."""
    graph, states = program.graph, program.smooth
    before = [graph.input(name) for name in states]
    names = columns_read(graph)
    columns = [graph.input(f"c.{name}") for name in names]
    by_state, by_column = [], []
    for speed in program.speeds:
        bars = pullback([(speed, 1.0)], [*before, *columns])
        by_state.append(dict(zip(states, bars, strict=False)))
        by_column.append(_present(names, bars[len(states) :]))
    keep, follow, direct = {}, {}, {}
    for name in states:
        inputs = [*before, *program.speeds, *columns]
        bars = pullback([(program.after[name], 1.0)], inputs, program.speeds)
        keep[name] = dict(zip(states, bars, strict=False))
        follow[name] = bars[len(states) : len(states) + len(program.speeds)]
        direct[name] = _present(names, bars[len(states) + len(program.speeds) :])
    return StepSlopes(by_state, by_column, keep, follow, direct)


def duty_slopes(program: StepProgram) -> tuple[dict[str, Value], dict[str, Value]]:
    """Derivatives of the duty cycle with respect to the state and to columns of the row."""
    graph, states = program.graph, program.smooth
    names = columns_read(graph)
    inputs = [*(graph.input(name) for name in states), *(graph.input(f"c.{n}") for n in names)]
    bars = pullback([(program.duty, 1.0)], inputs)
    return dict(zip(states, bars, strict=False)), _present(names, bars[len(states) :])


def columns_read(graph: Graph) -> list[str]:
    """Names of the columns of a row that a graph reads."""
    found = (str(node.content) for node in graph.nodes if node.operation == "input")
    return sorted(name[2:] for name in found if name.startswith("c."))


def _present(names: Sequence[str], values: Sequence[Value]) -> dict[str, Value]:
    """Values that are not 0, by name."""
    pairs = zip(names, values, strict=True)
    return {name: value for name, value in pairs if not value.is_number(0.0)}
