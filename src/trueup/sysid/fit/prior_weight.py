"""The weight of priors beside data whose noise level was not given."""

import copy

import numpy as np

from trueup.fitting.losses import Loss
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.solution import Solution
from trueup.sysid.assess.fit_covariance import sequence_rows
from trueup.sysid.fit._inner_fit import inner_fit, with_known_cost
from trueup.sysid.fit.problem import GrayBoxProblem

_ROUNDS = 3  # the scale hardly moves after the first
_SAME = 1e-3  # relative change of the scale that is none


def refit_with_noise(
    problem: GrayBoxProblem,
    solution: Solution,
    settings: LeastSquaresSettings,
    time_limit: float | None = None,
) -> tuple[GrayBoxProblem, Solution]:
    """Weigh priors against the noise that the residuals show, where noise levels are missing.

    A channel without a noise level is divided by its spread, so that nothing says how much a prior
    weighs beside it. The residuals of the fit do, and a fit from there takes it into account.

    Args:
      problem: the problem.
      solution: its fit; one that did not succeed is returned as it is.
      settings: settings of its least squares: the same loss and limits hold.
      time_limit: seconds for both fits together.

    Returns:
      The problem with the noise that was found, and its fit, with the history and the counts of
      both.

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    has_prior = problem.residual_size > problem.data_rows
    if not (has_prior and solution.success and _lacks_noise(problem)):
        return problem, solution
    loss = Loss(settings.loss, settings.loss_scale)
    for _ in range(_ROUNDS):
        scale = residual_scale(problem, solution.x, loss)
        if scale == 0 or abs(scale - problem.noise_scale) <= _SAME * problem.noise_scale:
            break
        problem = at_noise(problem, scale)
        search = LeastSquares(problem.space, settings, solution.x)
        left = np.inf if time_limit is None else time_limit - solution.stats["seconds"]
        fit = inner_fit(problem, search, left)
        solution = _joined(solution, with_known_cost(problem, fit, loss))
        if not solution.success:
            break
    return problem, solution


def at_noise(problem: GrayBoxProblem, scale: float) -> GrayBoxProblem:
    """A problem whose priors are weighed by another noise level.

    Args:
      problem: the problem; models and engines are shared with it.
      scale: standard deviation of the noise in the unit of the residual.
    """
    found = copy.copy(problem)
    found.noise_scale = scale
    return found


def _lacks_noise(problem: GrayBoxProblem) -> bool:
    noise = problem.settings.noise
    return any(name not in noise for s in problem.sequences for name in s.signal_names)


def residual_scale(problem: GrayBoxProblem, x: np.ndarray, loss: Loss) -> float:
    """Standard deviation of the noise in the unit of the residual, at a fit ``(p,)``.

    Channels count by their information, the square of their signal in the unit of the residual. One
    with a noise level counts with that level, which is the unit. With a robust loss it is what
    makes the curvature of the cost the information of the estimate (Huber 1981, section 7.6).
    """
    residual = problem.residuals(x[None, :])[0, : problem.data_rows]
    freedom = problem.data_rows / max(problem.data_rows - problem.space.size, 1)
    total = information = 0.0
    for sequence, rows in sequence_rows(problem):
        part = residual[rows].reshape(len(sequence.times), len(sequence.channel_names))
        signal = np.square(sequence.weights * sequence.measured.std(axis=0)) * len(part)
        for c, name in enumerate(sequence.signal_names):
            first, curvature = loss.weights(part[:, c])
            spread = np.mean(np.square(first * part[:, c])) / np.mean(curvature)
            given = name in problem.settings.noise
            total += signal[c] * (1.0 if given else freedom * spread)
            information += signal[c]
    return float(np.sqrt(total / information)) if information > 0 else 0.0


def _joined(former: Solution, latter: Solution) -> Solution:
    """The latter solution with the history and the counts of both."""
    counted = former.stats.get("evaluations", 0)
    latter.message += f", with priors weighed by the residuals of {counted} simulations before"
    latter.history = former.history + [
        {**record, "evaluations": record["evaluations"] + counted} for record in latter.history[1:]
    ]
    for key, value in former.stats.items():
        added = key in ("seconds", "evaluations", "failed_evaluations")
        latter.stats[key] = latter.stats[key] + value if added else value
    return latter
