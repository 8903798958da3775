"""Compiled command of a servo: a goal and torque enable, each late by the servo's delay."""

from trueup.actuators.equations.compiled import compiled


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
    # the first values hold before the log begins; a division is dear, so that there is one
    whole = max(step, 0) // substeps
    now = first + whole
    before = now - 1 if step > 0 and whole * substeps == step else now
    goal_now, goal_before = goal[now], goal[before]
    on_now, on_before = enable[now], enable[before]
    return (
        goal_now + share * (goal_before - goal_now),
        on_now + share * (on_before - on_now),
        (goal_before - goal_now) / h,
        (on_before - on_now) / h,
    )
