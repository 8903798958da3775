"""Extension of intervals if the standard error grows towards their ends.

The noise is judged at the estimate, but acts at the true value. If the standard error depends on
the parameters, as on the width of a Stribeck curve, an estimate in a region of small standard error
has too short an interval. The interval of all values whose own standard error reaches the estimate
has the right length, as Wilson's for a proportion ("Probable Inference", Journal of the American
Statistical Association 22, 1927). Here each end moves outwards by the ratio of the standard error
at that end to that at the estimate; it never moves inwards.

The ends lie on the line along which the other parameters follow by their covariance. Recomputed
along it are the derivatives and the effect of the noise of the starts; the autocorrelation of the
noise and the weights of a robust loss are those of the estimate.
"""

from collections.abc import Sequence

import numpy as np

from trueup.actuators.assess.start_noise import motions, start_noise_sizes
from trueup.actuators.search.problem import ServoProblem
from trueup.fitting.problem import Failures
from trueup.fitting.uncertainty import CovarianceEstimate
from trueup.fitting.uncertainty.start_noise import inverse_of


def extension_factors(
    problem: ServoProblem,
    x: np.ndarray,
    sampled: CovarianceEstimate,
    covariance: CovarianceEstimate,
    weights: Sequence[np.ndarray],
) -> np.ndarray:
    """Factors of at least 1 on the two sides of each interval ``(p, 2)``.

    Args:
      problem: the problem of the logs.
      x: the optimum ``(p,)``.
      sampled: covariance due to noise of the samples, in search coordinates.
      covariance: covariance with noise of the start states added.
      weights: weight of each residual in the second derivatives of the cost, ``(T, channels)`` per
          log.

    Returns:
      Factors below and above; 1 without a standard error, or if the simulation diverges.
    """
    space = problem.space
    known = np.flatnonzero(
        ~(covariance.active | covariance.undetermined)
        & np.isfinite(np.diag(covariance.matrix))
        & (np.diag(covariance.matrix) > 0.0)
    )
    factors = np.ones((space.size, 2))
    if known.size == 0:
        return factors
    errors = np.sqrt(np.diag(covariance.matrix)[known])
    ways = np.zeros((known.size, space.size))
    ways[:, known] = covariance.matrix[np.ix_(known, known)] / errors[:, None]
    ways *= (covariance.half_widths[known] / errors)[:, None]
    z = space.to_search(x)
    lower, upper = space.search_bounds
    ends = np.clip(np.vstack([z[None, :], z - ways, z + ways]), lower, upper)
    X = space.from_search(ends)
    plain = motions(problem, X)
    sizes = start_noise_sizes(problem, [motion[0] for motion in plain])
    effects = []
    for channel, size in enumerate(sizes):
        pairs = zip(plain, motions(problem, X, channel, size), strict=True)
        effects.append([problem.weighted_change(b - a, n) for n, (a, b) in enumerate(pairs)])
    own = np.array([_variances(problem, X[i], effects, i, known, weights) for i in range(len(X))])
    from_samples = np.diag(sampled.matrix)[known]
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = from_samples * own[:, 0] / own[0, 0] + own[:, 1]
        growth = np.sqrt(variances[1:] / variances[0]).reshape(2, known.size, known.size)
    for row, k in enumerate(known):
        factors[k] = growth[:, row, row]
    return np.where(np.isfinite(factors), np.maximum(factors, 1.0), 1.0)


def _variances(
    problem: ServoProblem,
    x: np.ndarray,
    effects: Sequence[Sequence[np.ndarray]],
    row: int,
    known: np.ndarray,
    weights: Sequence[np.ndarray],
) -> np.ndarray:
    """Variances ``(2, k)`` of parameters at ``x (p,)`` from samples, up to a factor, and starts.

    NaN if the simulation diverges.
    """
    failures: Failures = {}
    slope = problem.space.slope(x)[known]
    curvature = np.zeros((known.size, known.size))
    spread = np.zeros_like(curvature)
    starts = [problem.start_samples(n) for n in range(len(weights))]
    for number, (_, _, derivatives) in enumerate(problem.jacobian_blocks(x, failures)):
        if failures:
            return np.full((2, known.size), np.nan)
        weight = weights[number].reshape(-1)
        jacobian = derivatives[known] * slope[:, None]
        weighted = jacobian * weight
        curvature += weighted @ jacobian.T
        channels = weights[number].shape[1]
        for effect in effects:
            pull = weighted * effect[number][row].reshape(-1)
            pulls = np.add.reduceat(pull, channels * starts[number], axis=1)
            spread += pulls @ pulls.T
    inverse = inverse_of(curvature)
    return np.array([np.diag(inverse), np.diag(inverse @ spread @ inverse)])
