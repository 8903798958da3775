"""Compiled command of a servo: goal and torque enable, delayed by the command delay."""

from trueup.actuators.equations.compiled import compiled


@compiled
def command(goal, enable, first, step, substeps, h, delay):
    """Delayed command of an integration step.

    Goals are held between samples; a step that spans two samples gets their time-weighted mean.

    Args:
      goal, enable: held values of all samples.
      first: first sample of the log.
      step: number of the integration step in the log.
      substeps: integration steps per sample.
      h: integration step [s].
      delay: command delay [s].

    Returns:
      Goal, torque-enable, and the derivatives of both with respect to the delay.
    """
    # a fractional delay interpolates linearly between the commands of two steps, so that the
    # command has a derivative with respect to the delay
    lag = int(delay / h)
    share = delay / h - lag
    step -= lag
    # the first values hold before the log begins; a single division, as divisions are slow
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
