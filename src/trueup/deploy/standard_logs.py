"""Logs of the standard trajectories, for the evaluation of exports without logs."""

from dataclasses import replace

import numpy as np

from trueup.actuators.bench.conditions import conditions_in
from trueup.actuators.bench.loads import GRAVITY
from trueup.actuators.catalogue.greatest_torque import greatest_torque
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.record.trajectories import STANDARD

_LOAD_SHARE = 0.25  # torque that holds the pendulum, as a fraction of the stall torque
_ARM = 0.15  # length of the pendulum [m]

DESCRIPTION = "the standard trajectories, a pendulum of a quarter of its torque"
"""Description of :func:`standard_logs` in exported files."""


def logs_at_fit_conditions(
    model: ServoModel, kp: float | None = None, vin: float | None = None
) -> tuple[tuple[ServoLog, ...], str]:
    """Logs of the standard trajectories under the conditions of a model's fit, with a description.

    The conditions are in the provenance of the fit; without them the pendulum suits the servo and
    there is one gain.

    Args:
      model: identified servo.
      kp: additional firmware gain; default: that of the servo, if the fit has none.
      vin: bus voltage [V] that replaces that of the fit.
    """
    stated = [each for each in conditions_in(model.provenance) if each.suits(model.servo)]
    if not stated:
        return tuple(standard_logs(model, kp, vin)), DESCRIPTION
    if kp is not None and kp not in {each.kp for each in stated}:
        stated.append(replace(stated[-1], kp=kp))
    logs = []
    for each in stated:
        volts = each.vin if vin is None else vin
        for log in standard_logs(model, each.kp, volts):
            logs.append(
                replace(
                    log, name=f"{log.name} kp {each.kp:g}", damping=each.damping,
                    header={"total_inertia": each.inertia, "total_g_bias": each.gravity_torque},
                )
            )  # fmt: skip
    gains = sorted({each.kp for each in stated})
    return tuple(logs), f"the standard trajectories at kp {', '.join(f'{g:g}' for g in gains)}"


def standard_logs(
    model: ServoModel, kp: float | None = None, vin: float | None = None
) -> list[ServoLog]:
    """Logs of the standard trajectories, on a pendulum that suits the servo.

    Args:
      model: identified servo.
      kp: firmware gain; default: the servo's.
      vin: bus voltage [V]; default: the servo's.
    """
    servo = model.servo
    torque = greatest_torque(model, vin)
    times = np.arange(0.0, 6.0, 0.005)
    zeros = np.zeros(len(times))
    logs = []
    for trajectory in STANDARD:
        goals, enable = trajectory(times)
        if not enable.any():
            continue
        logs.append(
            ServoLog(
                name=trajectory.name, source=trajectory.name, sha256="", motor=servo.name,
                trajectory=trajectory.name, mass=_LOAD_SHARE * torque / (GRAVITY * _ARM),
                arm_mass=0.0, length=_ARM, kp=servo.kp if kp is None else kp, vin=vin, damping=None,
                dt=0.005, times=times, position=zeros + goals[0], speed=zeros, goal_position=goals,
                torque_enable=enable, load=None, input_volts=zeros + (vin or servo.vin),
                temperature=zeros + 25.0,
            )
        )  # fmt: skip
    return logs
