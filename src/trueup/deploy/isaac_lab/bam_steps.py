"""Motion of Isaac Lab's BAM drive in logs, in its own physics steps.

The drive's step differs from that of the bench: back-EMF is explicit, commands are late by whole
steps, and friction, a constraint of the solver, is limited by the torques of the step before. All
logs advance side by side.
"""

import math
from collections.abc import Sequence

import numpy as np

from trueup.actuators.bench.loads import bench_of
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations import servo_equations as equations
from trueup.actuators.equations._parameter_layout import ParameterValues
from trueup.actuators.equations.servo_laws import law_parameters
from trueup.actuators.logs.servo_log import ServoLog


def drive_positions(
    model: ServoModel, logs: Sequence[ServoLog], timestep: float
) -> list[np.ndarray]:
    """Positions [rad] of a servo model of the drive in each log, at the log's gain and voltage.

    Args:
      model: servo model with terms of the drive only.
      logs: evenly sampled logs of pendulums.
      timestep: longest physics step [s]; steps divide the samples of a log.
    """
    found: list[np.ndarray] = [np.zeros(0)] * len(logs)
    for dt in {log.dt for log in logs}:
        numbers = [i for i, log in enumerate(logs) if log.dt == dt]
        assert dt is not None
        positions = _alike([logs[i] for i in numbers], model, dt, timestep)
        for column, i in enumerate(numbers):
            found[i] = positions[: len(logs[i]), column]
    return found


def delay_steps(model: ServoModel, timestep: float) -> int:
    """Delay of commands in physics steps."""
    return round(model.values.get("command_delay", 0.0) / timestep)


def _alike(logs: list[ServoLog], model: ServoModel, dt: float, timestep: float) -> np.ndarray:
    """Positions ``(samples, logs)`` of logs with one sampling period."""
    substeps = max(1, math.ceil(dt / timestep - 1e-9))
    h, servo, values = dt / substeps, model.servo, model.values
    size = max(map(len, logs))
    benches = [bench_of(log) for log in logs]
    inertia = np.array([bench.inertia for bench in benches]) + values["armature"]
    gravity = np.array([bench.gravity_torque for bench in benches])
    # the last command is held while longer logs go on
    goals, enabled = (
        np.stack([np.pad(each, (0, size - len(each)), "edge") for each in series], axis=1)
        for series in (
            [log.goal_position for log in logs],
            [log.torque_enable.astype(float) for log in logs],
        )
    )
    motor = law_parameters(
        servo,
        values,
        gain=np.array([servo.gains(log.kp)[0] for log in logs]),
        vin=np.array([servo.vin if log.vin is None else log.vin for log in logs]),
    )
    friction = ParameterValues(values, gate=0.0)
    position = np.array([log.position[0] for log in logs])
    speed = np.array([log.speed[0] for log in logs])
    torque, found = np.zeros(len(logs)), np.empty((size, len(logs)))
    late = delay_steps(model, h)
    for sample in range(size):
        found[sample] = position
        for substep in range(substeps):
            goal = goals[max(sample * substeps + substep - late, 0) // substeps]
            load = -gravity * np.sin(position + values["q_offset"])
            loss = model.friction.loss(torque, load, speed, friction)
            driven, _, _ = equations.LAWS[servo.law](goal - position, speed, motor)
            torque = enabled[sample] * driven
            speed = equations.implicit_speed(
                speed, torque + load, inertia / h, 0.0, loss, values["friction_viscous"]
            )
            position = position + h * speed
    return found
