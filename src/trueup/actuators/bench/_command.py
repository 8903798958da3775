"""Compiled command of a servo: a goal and torque enable, each late by the servo's delay."""

from trueup.actuators.equations.compiled import compiled


@compiled
def held(values, first, step, substeps):
    """Value that holds in an integration step; the first holds before the log begins."""
    return values[first + max(step, 0) // substeps]


@compiled
def command(goal, enable, first, step, substeps, h, delay):
    """Delayed command of an integration step.

    Goals hold; a step that two of them share is driven by their mean over it.

    Args:
      goal, enable: held values of all samples.
      first: first sample of the log.
      step: number of the integration step in the log.
      substeps: integration steps a sample.
      h: integration step [s].
      delay: command delay [s].

    Returns:
      Goal, torque-enable, and the derivatives of both with respect to the delay.
    """
    lag = int(delay / h)
    share = delay / h - lag
    step -= lag
    goal_now, goal_before = held(goal, first, step, substeps), held(goal, first, step - 1, substeps)
    on_now, on_before = held(enable, first, step, substeps), held(enable, first, step - 1, substeps)
    return (
        goal_now + share * (goal_before - goal_now),
        on_now + share * (on_before - on_now),
        (goal_before - goal_now) / h,
        (on_before - on_now) / h,
    )
