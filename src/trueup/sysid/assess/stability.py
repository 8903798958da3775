"""Refit of the same parameters to held-out data, to detect model errors."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import Loss
from trueup.fitting.searches.box_step import box_step
from trueup.fitting.solution import Solution
from trueup.fitting.uncertainty import CovarianceEstimate, contradiction_ratio
from trueup.sysid.assess.fit_covariance import (
    gram_matrix,
    residual_covariance,
    with_start_noise,
)
from trueup.sysid.fit._inner_fit import REFIT_ITERATIONS, refit
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.start_noise import MeasuredStarts

_CHANCE = 0.001
"""Probability that values of the same model contradict each other, for all parameters together."""


@dataclass(frozen=True)
class Stability:
    """Result of a fit of the same parameters to the held-out data only."""

    values: np.ndarray
    """Estimates from the held-out data ``(p,)``."""
    half_widths: np.ndarray
    """Their half-widths ``(p,)``."""
    ratios: np.ndarray
    """Difference of the two estimates over its half-width by noise ``(p,)``."""
    limits: np.ndarray
    """Thresholds of the ratios for a contradiction ``(p,)``, see
    :func:`trueup.fitting.uncertainty.contradiction_ratio`."""
    sentences: tuple[str, ...]


def check_stability(
    held_out: GrayBoxProblem,
    x: np.ndarray,
    covariance: CovarianceEstimate,
    level: float,
    starts: MeasuredStarts | None = None,
    time_limit: float = np.inf,
    seconds_a_jacobian: float = 0.0,
    fit: Solution | None = None,
    was_compared: bool = True,
) -> Stability | None:
    """Fit the held-out data only, from the optimum, and compare; None if that fit fails.

    The fit takes a few steps, or one if time is short: the optimum of other data of the same
    system is near.

    Two data sets of one machine should give the same parameters within their intervals. If not, the
    model error exceeds the noise, and intervals from noise alone do not cover the true values.

    Args:
      held_out: the problem of the held-out data; parameters after those of ``x`` are fitted too,
        but not compared.
      x: estimates from the training data ``(p,)``.
      covariance: their covariance.
      level: coverage of the intervals.
      starts: measured start states of the held-out data.
      time_limit: time limit of the fit and its intervals [s].
      seconds_a_jacobian: duration of one Jacobian of the held-out data, by which the number of
        steps is chosen.
      fit: fit of the held-out data from ``x``; None: it is made here.
      was_compared: whether the training cost is known to be lowest at ``x`` rather than at the
        optimum of the held-out data, so that a difference is an error of the model.
    """
    space, count = held_out.space, len(x)
    start = np.concatenate([x, space.start[count:]])
    steps = REFIT_ITERATIONS + 2  # and a central-difference Jacobian
    if fit is not None and 2 * seconds_a_jacobian <= time_limit:
        end = fit.x
        residual, jacobian, failures = final_jacobian(held_out, end)
    elif steps * seconds_a_jacobian <= time_limit:
        fit = refit(held_out, start, time_limit=time_limit - 2 * seconds_a_jacobian)
        if fit is None:
            return None
        end = fit.x
        residual, jacobian, failures = final_jacobian(held_out, end)
    elif seconds_a_jacobian <= time_limit:
        residual, jacobian, failures = final_jacobian(held_out, start, central=False)
        end, residual = one_step(space, start, residual, jacobian)
    else:
        return None
    if failures:
        return None
    at_bound = space.at_bound(end, 1e-6)
    try:
        own = residual_covariance(
            held_out, residual, jacobian, at_bound, "auto", 1 - level, Loss(), 0
        )
    except FitError:  # fewer held-out residuals than parameters have no intervals to compare
        return None
    (own,), _ = with_start_noise([own], starts, end, residual, jacobian, Loss())
    distance = np.abs(space.to_search(end) - space.to_search(start))[:count]
    expected = np.hypot(own.half_widths[:count], covariance.half_widths)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.where(np.isfinite(expected), distance / expected, 0.0)
    ratios = np.where(np.isfinite(ratios), ratios, 0.0)
    sentences = []
    limits = contradiction_ratio(count, level, own.dof[:count], _CHANCE)
    cause = (
        "No lower training cost was found at the other values: this is an error of the model"
        if was_compared
        else "This is an error of the model, or another optimum, for which there was no time"
    )
    for i in np.flatnonzero(ratios > limits):
        sentences.append(
            f"{space.names[i]} is {x[i]:.5g} from the training data and {end[i]:.5g} from the "
            f"held-out data, a difference {ratios[i]:.1f} times that of noise. {cause}; "
            f"the interval should be about {ratios[i]:.1f} times as wide."
        )
    half_widths = (own.half_widths * space.slope(end))[:count]
    return Stability(end[:count], half_widths, ratios, limits, tuple(sentences))


def one_step(
    space: Any, x: np.ndarray, residual: np.ndarray, jacobian: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The point after one Gauss-Newton step ``(p,)``, and its predicted residual."""
    z = space.to_search(x)
    lower, upper = space.search_bounds
    gram = gram_matrix(jacobian)
    effective = np.maximum(np.diag(gram), 1e-12 * max(np.diag(gram).max(initial=0.0), 1e-300))
    gradient = np.asarray(jacobian.T @ residual)
    # undetermined directions are not changed
    step = box_step(gram + np.diag(1e-8 * effective), gradient, lower - z, upper - z)
    return space.from_search((z + step)[None, :])[0], residual + jacobian @ step
