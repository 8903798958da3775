"""Profile likelihood of a gray-box fit: all others are refitted for each fixed value."""

from collections.abc import Iterator

import numpy as np

from trueup.fitting.losses import Loss
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.device_first import least_squares
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.solution import Solution
from trueup.fitting.uncertainty import CovarianceEstimate, profile_likelihood
from trueup.parameters import Space
from trueup.sysid.fit._inner_fit import inner_fit


def profile_intervals(
    problem: Problem,
    solution: Solution,
    covariance: CovarianceEstimate,
    names: list[str],
    level: float,
    loss: Loss | None = None,
    noise_scale: float = 1.0,
) -> dict[str, tuple[float, float]]:
    """Intervals by profile likelihood.

    Args:
      problem: the problem.
      solution: its fit.
      covariance: linearised uncertainty, for the initial steps.
      names: parameters to profile.
      level: coverage.
      loss: robust loss of the fit.
      noise_scale: unit of the residual that ``covariance`` was estimated in.

    Returns:
      name -> ends; infinite if the likelihood stays above the threshold within the bounds.
    """
    loss = loss or Loss()
    settings = LeastSquaresSettings(max_iters=20, loss=loss.name, loss_scale=loss.scale)
    out: dict[str, tuple[float, float]] = {}
    if not names:
        return out
    space = problem.space
    z = space.to_search(solution.x)
    lower, upper = space.search_bounds

    def fit_with_fixed(index: int, value: float) -> float:
        point = z.copy()
        point[index] = value
        fixed = space.from_search(point)
        if space.size == 1:
            return float(LeastSquares(space, settings).evaluate_costs(problem, fixed[None], {})[0])
        held = _Held(problem, index, fixed)
        return inner_fit(held, least_squares(held, settings)).cost

    results = profile_likelihood(
        fit_with_fixed,
        z,
        covariance.half_widths,
        solution.cost,
        covariance.variance_inflation * noise_scale**2,
        max(problem.data_rows - space.size, 1),
        alpha=1 - level,
        lower=lower,
        upper=upper,
        names=space.names,
        indices=[space.names.index(n) for n in names],
    )
    for result in results:
        index = space.names.index(result.name)
        ends = np.tile(z, (2, 1))
        ends[:, index] = [result.lower, result.upper]
        low, high = space.from_search(ends)[:, index]
        # an open end: the likelihood stays above the threshold on that side
        out[result.name] = (
            -np.inf if result.lower_open else float(low),
            np.inf if result.upper_open else float(high),
        )
    return out


class _Held(Problem):
    """A problem with one element fixed at a value."""

    def __init__(self, problem: Problem, index: int, x: np.ndarray):
        space = problem.space
        keep = np.arange(space.size) != index
        self.problem, self.index, self.x = problem, index, x
        self.data_rows = problem.data_rows
        self.space = Space(
            tuple(n for n, k in zip(space.names, keep, strict=True) if k),
            space.lower[keep],
            space.upper[keep],
            x[keep],
            space.log[keep],
            logit=None if space.logit is None else space.logit[keep],
        )

    def quick(self, candidates: int) -> Problem:
        """The same problem on the device of the whole one, if that pays."""
        quick = self.problem.quick(candidates)
        return self if quick is self.problem else _Held(quick, self.index, self.x)

    @property
    def residual_size(self) -> int:
        return self.problem.residual_size

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        whole = np.insert(np.atleast_2d(X), self.index, self.x[self.index], axis=1)
        return self.problem.residual_blocks(whole, failures)
