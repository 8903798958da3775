"""Profile-likelihood intervals: refit all other parameters while one is fixed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.errors import FitError

_EXPANSION = 1.6


@dataclass(frozen=True)
class ProfileInterval:
    """Profile interval of one parameter.

    Args:
        name: Name of the parameter.
        lower: Lower end; the bound, or minus infinity, where the end is open.
        upper: Upper end; the bound, or infinity, where the end is open.
        lower_open: True if the likelihood did not fall below the threshold on that side.
        upper_open: The same for the other side.
        values: Evaluated values of the parameter, sorted.
        costs: Best cost at each of them.
        remarks: Remarks for the reader.
    """

    name: str
    lower: float
    upper: float
    lower_open: bool
    upper_open: bool
    values: np.ndarray
    costs: np.ndarray
    remarks: tuple[str, ...]


def profile_likelihood(
    fit_with_fixed: Callable[[int, float], float],
    x_hat: np.ndarray,
    half_widths: np.ndarray,
    cost_hat: float,
    noise_variance: float | np.ndarray,
    dof: float | np.ndarray,
    *,
    lower: np.ndarray | None = None,
    upper: np.ndarray | None = None,
    names: Sequence[str] = (),
    indices: Sequence[int] | None = None,
    alpha: float = 0.05,
    tolerance: float = 0.01,
    max_expansions: int = 8,
) -> list[ProfileInterval]:
    """Compute the profile-likelihood interval of each parameter.

    The interval contains every value with ``2 (cost - cost_hat) / noise_variance <= t^2``, ``t``
    the Student quantile (the likelihood ratio; Venzon and Moolgavkar 1988, Applied Statistics 37).
    It requires no linearisation and may be asymmetric or open.

    Args:
        fit_with_fixed: Returns the best cost ``1/2 sum r^2`` with parameter ``index`` fixed at a
            value; not finite if the fit fails.
        x_hat: ``(p,)`` the estimate.
        half_widths: ``(p,)`` linearised half-widths, the initial steps; infinite or zero ones
            are replaced by a hundredth of the value or range.
        cost_hat: Cost at the estimate.
        noise_variance: Variance of the residuals. For correlated residuals pass
            :attr:`CovarianceEstimate.variance_inflation`, one value per parameter: the ratio is
            then scaled to its correlated-noise variance (Kent 1982, Biometrika 69).
        dof: Degrees of freedom, one number or one per parameter.
        lower: ``(p,)`` lower bounds.
        upper: ``(p,)`` upper bounds.
        names: Names of the parameters.
        indices: Parameters to profile; default all.
        alpha: One minus the confidence level.
        tolerance: Error of an end, relative to the half-width.
        max_expansions: Maximum number of expansions of a side by 1.6, the last one to its bound if
            it has one, before it counts as open.

    Raises:
        FitError: Lengths do not match, or a variance is not positive.
    """
    from trueup.fitting.uncertainty._methods import student_quantile

    centre = np.asarray(x_hat, dtype=float)
    p = len(centre)
    if np.shape(half_widths) != (p,):
        raise FitError(f"half_widths has shape {np.shape(half_widths)}, expected ({p},).")
    variance = np.broadcast_to(np.asarray(noise_variance, dtype=float), (p,))
    if not (variance > 0.0).all():
        raise FitError(f"the noise variance must be positive, found {noise_variance}.")
    quantile = np.broadcast_to(student_quantile(np.asarray(dof, dtype=float), alpha), (p,))
    low = np.full(p, -np.inf) if lower is None else np.asarray(lower, dtype=float)
    high = np.full(p, np.inf) if upper is None else np.asarray(upper, dtype=float)
    labels = list(names) or [f"parameter {i}" for i in range(p)]
    results = []
    for i in range(p) if indices is None else indices:
        profile = _Profile(
            fit_with_fixed, int(i), centre[i], cost_hat, float(variance[i]), float(quantile[i])
        )
        step = _first_step(half_widths[i], centre[i], low[i], high[i])
        ends = [profile.end(s, step, b, tolerance, max_expansions) for s, b in _sides(low, high, i)]
        results.append(profile.interval(labels[i], ends))
    return results


def _sides(low: np.ndarray, high: np.ndarray, i: int) -> list[tuple[float, float]]:
    return [(-1.0, float(low[i])), (1.0, float(high[i]))]


def _first_step(half_width: float, value: float, low: float, high: float) -> float:
    if np.isfinite(half_width) and half_width > 0.0:
        return float(half_width)
    if value != 0.0:
        return 0.01 * abs(float(value))
    return 0.01 * (high - low) if np.isfinite(high - low) and high > low else 0.01


class _Profile:
    """Signed root of the likelihood ratio of one parameter, nearly linear in its value."""

    def __init__(
        self,
        fit: Callable[[int, float], float],
        index: int,
        centre: float,
        cost_hat: float,
        variance: float,
        quantile: float,
    ):
        self.fit = fit
        self.index = index
        self.centre = float(centre)
        self.cost_hat = float(cost_hat)
        self.variance = variance
        self.quantile = quantile
        self.tried: dict[float, float] = {self.centre: self.cost_hat}
        self.failed: list[float] = []

    def excess(self, value: float) -> float:
        """Return the root of the likelihood ratio at ``value``, less the quantile."""
        cost = float(self.fit(self.index, float(value)))
        if not np.isfinite(cost):
            self.failed.append(float(value))
            return 3.0 * self.quantile
        self.tried[float(value)] = cost
        ratio = 2.0 * (cost - self.cost_hat) / self.variance
        return float(np.sqrt(max(ratio, 0.0))) - self.quantile

    def end(
        self, sign: float, step: float, bound: float, tolerance: float, expansions: int
    ) -> tuple[float, bool]:
        """Return one end of the interval and whether it is open."""
        from scipy.optimize import brentq

        inner, reach = self.centre, step
        if sign * (bound - inner) <= 0.0:
            return bound, True
        for remaining in range(expansions, -1, -1):
            outer = self.centre + sign * reach
            if remaining == 0 and np.isfinite(bound):
                outer = bound
            at_bound = sign * (outer - bound) >= 0.0
            outer = bound if at_bound else outer
            if self.excess(outer) >= 0.0:
                known = {self.centre: -self.quantile}

                def excess(value: float, known=known) -> float:
                    if value not in known:
                        known[value] = self.excess(value)
                    return known[value]

                width = max(abs(outer - self.centre), np.finfo(float).tiny)
                root = brentq(excess, inner, outer, xtol=tolerance * min(step, width))
                return float(np.asarray(root)), False
            if at_bound:
                return bound, True
            inner, reach = outer, reach * _EXPANSION
        return sign * np.inf, True

    def interval(self, name: str, ends: list[tuple[float, bool]]) -> ProfileInterval:
        """Return the interval of both ends, with remarks."""
        values = np.array(sorted(self.tried))
        costs = np.array([self.tried[value] for value in values])
        remarks = []
        for side, (value, is_open) in zip(("below", "above"), ends):
            if is_open and np.isfinite(value):
                remarks.append(
                    f"{name} is not limited {side} by the data: the interval ends at its bound."
                )
            elif is_open:
                remarks.append(f"{name} is not limited {side} by the data: the interval is open.")
        noise_floor = 1e-3 * self.variance + 1e-12 * abs(self.cost_hat)
        if costs.min() < self.cost_hat - noise_floor:
            best = float(values[int(np.argmin(costs))])
            remarks.append(
                f"a better fit was found at {name} = {best:.6g}: the estimate is not the optimum; "
                "repeat the fit from there."
            )
        if self.failed:
            remarks.append(
                f"{len(self.failed)} of the fits with {name} fixed failed and counted as outside."
            )
        (low, low_open), (high, high_open) = ends
        return ProfileInterval(name, low, high, low_open, high_open, values, costs, tuple(remarks))
