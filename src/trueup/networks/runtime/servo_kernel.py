"""Analytic bases in compiled code, generated from their equations.

Their parameters are columns of a row ``c``, addressed by name.
"""

import functools
from typing import Any

from trueup.actuators.equations._parameter_layout import columns_named
from trueup.actuators.equations.compiled import (
    Parameters,
    chosen_function,
    compiled,
    row_function,
)
from trueup.actuators.equations.tracing import Graph
from trueup.networks.base.equations import pd_torque, servo_load_torque, servo_motor_torque
from trueup.networks.base.servo import LAWS
from trueup.networks.runtime.servo_rows import ServoLayout


@functools.cache
def servo_torque(layout: ServoLayout) -> Any:
    """Compiled ``torque(c, angle, error, velocity)`` [N m] of a servo with the row ``c``."""
    columns = layout.columns
    arguments = ("error", "velocity")
    motors = []
    for law in LAWS:
        graph = Graph(for_speed=True)
        p = Parameters(graph, columns, max_amps=graph.input("c.limit"))
        error, velocity = (graph.input(name) for name in arguments)
        torque = servo_motor_torque(law, error, velocity, p)
        motors.append(row_function(f"motor_{law}", columns, arguments, [graph.value(torque)]))
    motor = chosen_function("motor", ("c", *arguments), motors)
    arguments = ("motor", "angle", "velocity")
    loads = []
    for number, loss in enumerate(layout.losses):
        graph = Graph(for_speed=True)
        p = Parameters(graph, columns)
        torque, angle, velocity = (graph.input(name) for name in arguments)
        torque = servo_load_torque(loss, torque, angle, velocity, p)
        loads.append(row_function(f"load_{number}", columns, arguments, [graph.value(torque)]))
    load = chosen_function("load", ("c", *arguments), loads)
    C = columns_named(columns)

    @compiled
    def torque_of(c, angle, error, velocity):
        torque = motor(int(c[C.law]), c, error, velocity)
        if c[C.friction] != 0.0:
            torque = load(int(c[C.loss]), c, torque, angle, velocity)
        return torque

    return torque_of


@functools.cache
def pd_law(columns: tuple[str, ...], has_curve: bool) -> Any:
    """Compiled ``torque(c, angle, error, velocity, wanted)`` [N m] of a PD law.

    Args:
      columns: names of the columns of the row ``c``.
      has_curve: whether a torque-speed curve limits it.
    """
    arguments = ("angle", "error", "velocity", "wanted")
    graph = Graph(for_speed=True)
    p = Parameters(graph, columns)
    angle, error, velocity, wanted = (graph.input(name) for name in arguments)
    torque = pd_torque(angle, error, velocity, wanted, p, has_curve)
    return row_function("pd_law", columns, arguments, [graph.value(torque)])
