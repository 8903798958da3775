"""Parts of all compiled rollouts: loss of a sample, test for divergence."""

import math

from trueup.actuators.equations.compiled import compiled

DIVERGED_SPEED = 1e4
"""Speed above which a rollout counts as diverged [rad/s]."""


@compiled
def loss_of(kind, width, error):
    """Loss of an error and its derivative: 0 absolute, 1 squared, 2 Huber of a width.

    Huber, "Robust estimation of a location parameter", Annals of Mathematical Statistics 35 (1964).
    """
    if kind == 0:
        return abs(error), math.copysign(1.0, error) if error != 0.0 else 0.0
    if kind == 1:
        return error * error, 2.0 * error
    if abs(error) <= width:
        return 0.5 * error * error, error
    return width * (abs(error) - 0.5 * width), math.copysign(width, error)


@compiled
def has_diverged(q, v):
    """Whether a state has diverged; NaN compares false, and counts as diverged."""
    return not abs(v) < DIVERGED_SPEED or not abs(q) < 1e300
