"""The result of an uncertainty estimate."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.errors import FitError
from trueup.fitting.uncertainty.noise import ChannelNoise


@dataclass(frozen=True)
class CovarianceEstimate:
    """Uncertainty of each parameter of a fit.

    Args:
        matrix: ``(p, p)`` covariance. The variance of an undetermined parameter is infinite, and
            so is its covariance with those it trades against.
        half_widths: ``(p,)`` half-widths of the intervals; infinite where undetermined.
        method: Name of the method that was used.
        reason: Reason for the method, in sentences.
        alpha: One minus the confidence level.
        dof: ``(p,)`` degrees of freedom of the Student-t quantile; infinite for methods without
            one.
        noise: The residuals of each channel of each sequence.
        names: Names of the parameters.
        active: ``(p,)`` True for parameters on a bound. They are fixed for the others; their own
            half-width is that of a fit without the bound, valid on the inner side only.
        undetermined: ``(p,)`` True for parameters with a component in a direction that the data do
            not determine.
        correlation: ``(p, p)`` correlation, finite for undetermined parameters too: there it is
            that within the undetermined directions.
        variance_inflation: ``(p,)`` variance over that for white residuals of variance one; the
            ``noise_variance`` that :func:`~trueup.fitting.uncertainty.profile_likelihood` needs.
        preferred_step: ``(p,)`` step to the optimum of the linearised fit without bounds; zero away
            from active bounds, and with a prior.
        remarks: Remarks for the reader: active bounds, undetermined parameters.
        determined_part: ``(p, p)`` covariance within the directions that the data determine:
            ``matrix`` where every parameter is determined, finite and without full rank elsewhere.
    """

    matrix: np.ndarray
    half_widths: np.ndarray
    method: str
    reason: str
    alpha: float
    dof: np.ndarray
    noise: tuple[ChannelNoise, ...]
    names: tuple[str, ...]
    active: np.ndarray
    undetermined: np.ndarray
    correlation: np.ndarray
    variance_inflation: np.ndarray
    preferred_step: np.ndarray
    remarks: tuple[str, ...]
    determined_part: np.ndarray

    @classmethod
    def unknown(cls, names: Sequence[str], alpha: float, reason: str) -> "CovarianceEstimate":
        """Placeholder without an estimated covariance: every number is NaN.

        Args:
            names: Names of the parameters.
            alpha: One minus the confidence level.
            reason: Reason for the missing covariance.
        """
        p = len(names)
        nothing, none = np.full(p, np.nan), np.zeros(p, dtype=bool)
        square = np.full((p, p), np.nan)
        return cls(
            square, nothing, "none", reason, alpha, nothing, (), tuple(names), none, none,
            square, nothing, np.zeros(p), (), square,
        )  # fmt: skip

    @property
    def standard_errors(self) -> np.ndarray:
        """Square roots of the variances, ``(p,)``."""
        return np.sqrt(np.diag(self.matrix))

    def intervals(
        self,
        x: np.ndarray,
        lower: np.ndarray | None = None,
        upper: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the intervals ``(p, 2)`` around the estimate ``x (p,)``, clipped to the bounds.

        A parameter on a bound gets the one-sided interval from the bound inwards; ``active`` flags
        it. Without bounds its interval is two-sided, as the side is unknown.

        Raises:
            FitError: ``x`` or a bound has another length than the covariance.
        """
        centre = np.asarray(x, dtype=float)
        if centre.shape != self.half_widths.shape:
            raise FitError(
                f"the estimate has shape {centre.shape}, the covariance is of "
                f"{len(self.half_widths)} parameters."
            )
        low, high = centre - self.half_widths, centre + self.half_widths
        if lower is not None:
            low = np.maximum(low, np.minimum(np.asarray(lower, dtype=float), centre))
        if upper is not None:
            high = np.minimum(high, np.maximum(np.asarray(upper, dtype=float), centre))
        return np.column_stack([low, high])
