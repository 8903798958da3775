"""Delay of the controls as an additional parameter of a fit."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import Loss
from trueup.fitting.searches.box_step import box_step
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.fit._inner_fit import busy_seconds, refit
from trueup.sysid.fit.late_controls import late_controls, pause_of

LONGEST = 0.1
"""Maximum delay [s]."""

_STEPS = 3  # joint Gauss-Newton steps of delay and parameters
_LEAST = 0.5  # minimum delay, in intervals between controls: smaller ones are an effect of the hold


def late_fit(
    problem_of: Callable[[Sequence[ModelSequences]], Any],
    groups: Sequence[ModelSequences],
    x: np.ndarray,
    promise: float,
    loss: Loss | None = None,
    time_limit: float = np.inf,
) -> tuple[float, np.ndarray] | None:
    """Fit the parameters and one delay of all controls, from an optimum without it.

    Args:
      problem_of: constructs the problem of recordings.
      groups: the recordings.
      x: the optimum ``(p,)``.
      promise: minimum predicted relative reduction of the cost by a step with the delay.
      loss: robust loss.
      time_limit: time limit [s].

    Returns:
      The delay [s] and the parameters ``(p,)``; None if the predicted reduction is too small, the
      delay is below half of an interval between controls, or the fit does not finish.
    """
    end = busy_seconds() + time_limit
    pause, delay, at = pause_of(groups), 0.0, np.array(x, float)
    for number in range(_STEPS):
        if busy_seconds() > end:
            return None
        problem = problem_of(late_controls(groups, delay) if delay else groups)
        residual, jacobian, _ = final_jacobian(problem, at, central=False)
        later = problem_of(late_controls(groups, delay + pause)).residuals(at[None])[0]
        columns = np.column_stack([np.asarray(jacobian), (later - residual) / pause])
        step, gain = _step(problem.space, at, columns, residual, delay)
        if not number:
            alone = _step(problem.space, at, columns[:, :-1], residual, None)[1]
            if gain - alone <= promise * 0.5 * float(residual @ residual):
                return None
        z = problem.space.to_search(at) + step[:-1]
        at, delay = problem.space.from_search(z[None])[0], delay + float(step[-1])
    if delay < _LEAST * pause:
        return None
    left = end - busy_seconds()
    fit = refit(problem_of(late_controls(groups, delay)), at, loss, left)
    return None if fit is None else (delay, fit.x)


def _step(
    space: Any, x: np.ndarray, jacobian: np.ndarray, residual: np.ndarray, delay: float | None
) -> tuple[np.ndarray, float]:
    """A Gauss-Newton step within the bounds, and its predicted reduction of the cost."""
    z = space.to_search(x)
    lower, upper = (bound - z for bound in space.search_bounds)
    if delay is not None:
        lower, upper = np.append(lower, -delay), np.append(upper, LONGEST - delay)
    gram, slope = jacobian.T @ jacobian, jacobian.T @ residual
    acts = np.flatnonzero(np.diag(gram) > 0)
    small = gram[np.ix_(acts, acts)]
    step = np.zeros(len(lower))
    step[acts] = box_step(
        small + 1e-9 * np.diag(np.diag(small)), slope[acts], lower[acts], upper[acts]
    )
    return step, -float(slope @ step + 0.5 * step @ gram @ step)
