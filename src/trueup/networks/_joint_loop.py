"""A network and a joint with one degree of freedom, stepped together in compiled code."""

import numpy as np
from numba import njit

from trueup.networks._network_kernel import network_step


@njit
def drive(
    record: np.ndarray,
    state: np.ndarray,
    work: np.ndarray,
    inputs: np.ndarray,
    places: np.ndarray,
    target: np.ndarray,
    angles: np.ndarray,
    velocities: np.ndarray,
    joint: np.ndarray,
    step: float,
    substeps: int,
    every: int,
    largest: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Drive a joint with a network.

    Args:
        record, state, work: of the network, as `_network_kernel.network_step` takes them.
        inputs: recorded features, shape (n, inputs); those of the joint are replaced.
        places: columns of angle, velocity and angle error, -1 where the network has none.
        target: target angle, shape (n,) [rad].
        angles, velocities: recorded state to start from, shape (n,).
        joint: inertia, Coulomb, viscous, gravity, its angle, spring, its angle.
        step: between samples [s].
        substeps: steps of the joint for each sample.
        every: samples from one start at the recorded state to the next.
        largest: angle at which the joint has run away [rad].

    Returns:
        Angle, velocity, torque, shape (n,) each, and the number of samples reached.
    """
    count = len(angles)
    angle_out, velocity_out, torque_out = np.empty(count), np.empty(count), np.empty(count)
    small = step / substeps
    angle, velocity = angles[0], velocities[0]
    row = np.empty(inputs.shape[1])
    for sample in range(count):
        if sample % every == 0:
            angle, velocity = angles[sample], velocities[sample]
        row[:] = inputs[sample]
        if places[0] >= 0:
            row[places[0]] = angle
        if places[1] >= 0:
            row[places[1]] = velocity
        if places[2] >= 0:
            row[places[2]] = target[sample] - angle
        torque = network_step(record, row, state[0], work)
        angle_out[sample], velocity_out[sample], torque_out[sample] = angle, velocity, torque
        for _ in range(substeps):
            free = torque - joint[2] * velocity
            free -= joint[3] * np.sin(angle - joint[4]) + joint[5] * (angle - joint[6])
            # friction takes at most what stops the joint within the step
            stopping = free + velocity * joint[0] / small
            free -= min(max(stopping, -joint[1]), joint[1])
            velocity += small * free / joint[0]
            angle += small * velocity
        if not abs(angle) < largest:
            for rest in range(sample + 1, count):
                angle_out[rest], velocity_out[rest] = angle_out[sample], velocity_out[sample]
                torque_out[rest] = torque_out[sample]
            return angle_out, velocity_out, torque_out, sample + 1
    return angle_out, velocity_out, torque_out, count
