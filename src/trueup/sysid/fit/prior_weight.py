"""Weight of priors relative to data without a given noise level."""

import copy

import numpy as np

from trueup.fitting.losses import Loss
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.solution import Solution
from trueup.sysid.assess.fit_covariance import sequence_rows
from trueup.sysid.fit._inner_fit import inner_fit, joined, with_known_cost
from trueup.sysid.fit.problem import GrayBoxProblem

_ROUNDS = 3  # the scale changes little after the first
_SAME = 1e-3  # relative change of the scale that counts as converged


def refit_with_noise(
    problem: GrayBoxProblem,
    solution: Solution,
    settings: LeastSquaresSettings,
    time_limit: float | None = None,
) -> tuple[GrayBoxProblem, Solution]:
    """Weight priors by the noise of the residuals, if noise levels are missing.

    A channel without a noise level is divided by its spread, which does not determine the relative
    weight of a prior. The residuals of the fit do, and a second fit from there uses them.

    Args:
      problem: the problem.
      solution: its fit; returned unchanged if it did not succeed.
      settings: settings of its least squares, with the same loss and limits.
      time_limit: time limit of both fits together [s].

    Returns:
      The problem with the estimated noise, and its fit, with the history and the counts of both.

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
        counted = solution.stats.get("evaluations", 0)
        clause = f", with priors weighted by the residuals of {counted} earlier simulations"
        solution = joined(solution, with_known_cost(problem, fit, loss), clause)
        if not solution.success:
            break
    return problem, solution


def at_noise(problem: GrayBoxProblem, scale: float) -> GrayBoxProblem:
    """A problem with priors weighted by another noise level.

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

    Channels are weighted by their information, the square of their signal in the unit of the
    residual. One with a noise level has that level, which is the unit. With a robust loss the scale
    equates the curvature of the cost and the information of the estimate (Huber 1981, section 7.6).
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
