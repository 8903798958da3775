"""The simulated joint behind synthetic recordings, compiled."""

import numpy as np

from trueup.networks.compiled import compiled


@compiled()
def simulate(
    target: np.ndarray,
    target_velocity: np.ndarray,
    torque_noise: np.ndarray,
    inertia: float,
    step: float,
    substeps: int,
    delay_steps: int,
    gains: np.ndarray,
    limits: np.ndarray,
    friction: np.ndarray,
    spring: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Semi-implicit Euler with Coulomb friction that holds a joint at rest.

    Args:
        target, target_velocity: at each substep, shape (n substeps,) [rad, rad/s].
        torque_noise: held over a sample, shape (n,) [N m].
        inertia: [kg m2].
        step: time step of the simulation [s].
        substeps: steps per sample.
        delay_steps: delay from the law to the motor torque [steps].
        gains: kp [N m/rad], kd [N m s/rad].
        limits: stall torque [N m], no-load speed [rad/s] (infinite: no limit).
        friction: Coulomb [N m], viscous [N m s/rad], Stribeck torque [N m], Stribeck velocity
            [rad/s].
        spring: stiffness towards zero angle [N m/rad].

    Returns:
        Angle, velocity, acceleration, motor torque, and net torque without the motor noise, at
        each sample, shape (n,).
    """
    count = torque_noise.shape[0]
    angle, velocity = target[0], 0.0
    kept = np.zeros((5, count))
    commanded = np.zeros(count * substeps + delay_steps)
    for sample in range(count):
        for sub in range(substeps):
            now = sample * substeps + sub
            commanded[now + delay_steps] = gains[0] * (target[now] - angle) + gains[1] * (
                target_velocity[now] - velocity
            )
            clean = _limited(commanded[now], velocity, limits)
            motor = _limited(commanded[now] + torque_noise[sample], velocity, limits)
            acceleration = _acceleration(motor, angle, velocity, inertia, step, friction, spring)
            if sub == 0:
                kept[0, sample], kept[1, sample] = angle, velocity
                kept[2, sample], kept[3, sample] = acceleration, motor
                kept[4, sample] = inertia * _acceleration(
                    clean, angle, velocity, inertia, step, friction, spring
                )
            velocity += step * acceleration
            angle += step * velocity
    return kept[0], kept[1], kept[2], kept[3], kept[4]


@compiled()
def _acceleration(
    motor: float,
    angle: float,
    velocity: float,
    inertia: float,
    step: float,
    friction: np.ndarray,
    spring: float,
) -> float:
    # friction is limited to what stops the joint within the step: at rest it holds the joint
    free = motor - spring * angle - friction[1] * velocity
    bound = friction[0] + friction[2] * np.exp(-((velocity / friction[3]) ** 2))
    stopping = free + velocity * inertia / step
    return (free - min(max(stopping, -bound), bound)) / inertia


@compiled()
def _limited(torque: float, velocity: float, limits: np.ndarray) -> float:
    along = limits[0] * min(max(1.0 - abs(velocity) / limits[1], 0.0), 1.0)
    upper = along if velocity > 0 else limits[0]
    lower = along if velocity < 0 else limits[0]
    return min(max(torque, -lower), upper)
