"""A log of a joint whose motion is given by formulas of time, its speed their derivative."""

from typing import Any

import numpy as np

from trueup.actuators.logs.servo_log import ServoLog

RATE = 200.0
"""Samples a second [Hz]."""
GRAVITY = 9.80665


def joint_log(name: str = "log", seconds: float = 1.0, **changes: Any) -> ServoLog:
    """A pendulum of 0.3 kg at 0.1 m that swings as ``0.5 sin(2 pi t)``, behind its command."""
    times = np.arange(round(seconds * RATE)) / RATE
    turn = 2.0 * np.pi * times
    known: dict[str, Any] = {
        "name": name, "source": "made", "sha256": "", "motor": "xl330", "trajectory": name,
        "mass": 0.3, "arm_mass": 0.0, "length": 0.1, "kp": 100.0, "vin": 7.4, "damping": None,
        "dt": 1.0 / RATE, "times": times, "position": 0.5 * np.sin(turn),
        "speed": np.pi * np.cos(turn), "goal_position": 0.6 * np.sin(turn + 0.2),
        "torque_enable": np.ones(len(times), bool), "load": None, "input_volts": None,
        "temperature": None,
    }  # fmt: skip
    return ServoLog(**(known | changes))
