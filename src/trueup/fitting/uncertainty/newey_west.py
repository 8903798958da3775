"""Newey-West covariance with critical values for its bandwidth (fixed-b)."""

from collections.abc import Sequence

import numpy as np

from trueup.errors import FitError

# Kiefer and Vogelsang 2005, Econometric Theory 21, table 1, Bartlett kernel: one-sided quantile of
# the t statistic as a cubic of b, for the probabilities of the first column.
_QUANTILE_CUBICS = (
    (0.900, (1.2816, 1.3040, 0.5135, -0.3386)),
    (0.950, (1.6449, 2.1859, 0.3142, -0.3427)),
    (0.975, (1.9600, 2.9694, 0.4160, -0.5324)),
    (0.990, (2.3263, 4.1618, 0.5368, -0.9060)),
)


def fixed_b_quantile(b: float, alpha: float) -> float:
    """Return the two-sided critical value of the Bartlett t statistic at bandwidth ``b T``.

    Between the tabulated levels the value is interpolated over the normal quantile.

    Raises:
        FitError: ``alpha`` is outside 0.02 to 0.2, the tabulated range.
    """
    from scipy.special import ndtri

    probability = 1.0 - alpha / 2.0
    if not _QUANTILE_CUBICS[0][0] - 1e-12 <= probability <= _QUANTILE_CUBICS[-1][0] + 1e-12:
        raise FitError(
            f"Newey-West intervals require alpha from 0.02 to 0.2, found {alpha:g}; "
            "use method 'autoregressive' or 'block_bootstrap'."
        )
    normal = [float(ndtri(p)) for p, _ in _QUANTILE_CUBICS]
    values = [np.polynomial.polynomial.polyval(b, cubic) for _, cubic in _QUANTILE_CUBICS]
    return float(np.interp(ndtri(probability), normal, values))


def default_bandwidth(samples: int, memory: float) -> int:
    """Return a bandwidth in samples: ``1.3 sqrt(T)``, or 10 correlation times if that is more.

    The first term is the rule of Lazarus, Lewis, Stock and Watson 2018 (Journal of Business and
    Economic Statistics 36); the second is for noise with a correlation time of many samples, where
    a rule in samples alone is too short.
    """
    return int(np.clip(np.ceil(max(1.3 * np.sqrt(samples), 10.0 * memory)), 1, samples))


def newey_west(scores: Sequence[np.ndarray], bandwidth: int) -> np.ndarray:
    """Return the long-run covariance of the sum of scores, ``(p, p)``.

    The sequences are concatenated; the sum over Bartlett-weighted lags is computed from partial
    sums, without a loop over lags (Kiefer and Vogelsang 2002, equation 2).

    Args:
        scores: ``(T, p)`` for each sequence; together they sum to nearly zero at an optimum.
        bandwidth: Lag at which the weights reach zero [samples].
    """
    series = np.concatenate(scores)
    series = series - series.mean(axis=0)
    padding = np.zeros((bandwidth, series.shape[1]))
    sums = np.cumsum(np.concatenate([padding, series, padding]), axis=0)
    windows = sums[bandwidth:] - sums[:-bandwidth]
    return windows.T @ windows / bandwidth
