"""Small recordings of a made-up actuator for the tests of training."""

import numpy as np

from trueup.networks import ActuatorSeries

RATE = 100.0


def made_series(
    seed: int, samples: int = 600, group: str = "low", scale: float = 1.0
) -> ActuatorSeries:
    """A joint that follows a sine, with a torque that saturates and has friction."""
    random = np.random.default_rng(seed)
    times = np.arange(samples) / RATE
    frequency, phase = random.uniform(0.4, 0.9), random.uniform(0.0, 6.0)
    target = np.sin(2.0 * np.pi * frequency * times + phase)
    angle = np.convolve(np.pad(target, (11, 0), "edge"), np.ones(12) / 12.0)[11 : 11 + samples]
    velocity = np.gradient(angle, times)
    torque = scale * (10.0 * np.clip(target - angle, -0.2, 0.2) - 0.3 * np.tanh(velocity / 0.2))
    channels = {
        "current_angle_rad": angle,
        "target_angle_rad": target,
        "current_ang_vel_rad_s": velocity,
    }
    return ActuatorSeries(f"run {seed}", group, RATE, channels, torque)
