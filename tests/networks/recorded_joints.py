"""Small recordings written for the tests."""

from pathlib import Path

import numpy as np

from trueup.networks import ActuatorSeries

RADIUS = 0.2


def write_csv(path: Path, columns: dict[str, np.ndarray]) -> Path:
    """Write columns with a header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header = ",".join(columns)
    table = np.stack(list(columns.values()), 1)
    np.savetxt(path, table, "%.12g", delimiter=",", header=header, comments="")
    return path


def joint_columns(count: int = 400, rate: float = 100.0, frequency: float = 1.0) -> dict:
    """A recorded sine in the default layout; the load has the angle 0.5 sin(w t)."""
    times = np.arange(count) / rate
    omega = 2 * np.pi * frequency
    return {
        "Time_ms": 1e3 * times,
        "Encoder_Angle": np.degrees(0.5 * np.sin(omega * times)),
        "Commanded_Angle": np.degrees(0.6 * np.sin(omega * times)),
        "Acc_Y": RADIUS * -0.5 * omega**2 * np.sin(omega * times),
        "Gyro_Z": np.degrees(0.5 * omega * np.cos(omega * times)),
    }


def linear_series(
    weights: np.ndarray, count: int = 500, group: str = "a", name: str = "one", seed: int = 0
) -> ActuatorSeries:
    """A recording whose torque is ``weights`` (history, 3) on angle, target and velocity."""
    random = np.random.default_rng(seed)
    values = random.standard_normal((count, 3)) * [0.5, 0.4, 3.0] + [0.1, 0.2, -0.3]
    torque = np.full(count, 0.25)
    for lag, row in enumerate(weights):
        torque[lag:] += values[: count - lag] @ row
    names = ("current_angle_rad", "target_angle_rad", "current_ang_vel_rad_s")
    return ActuatorSeries(name, group, 100.0, dict(zip(names, values.T, strict=True)), torque)
