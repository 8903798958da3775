"""Gaussian approximation of a fit, possibly with undetermined directions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.errors import FitError, listing
from trueup.fitting.uncertainty.covariance import CovarianceEstimate
from trueup.fitting.uncertainty.information import inverted

_ABSENT = 1e-12
_ROUNDING = 1e-9  # tolerance, as a share of the largest element of a precision


@dataclass(frozen=True)
class Gaussian:
    """Centre and precision of parameters in search coordinates.

    Attributes:
        names: names of the ``p`` elements.
        centre: ``(p,)`` optimum of the linearised fit without bounds.
        precision: ``(p, p)`` inverse of the covariance, singular in undetermined directions.
        inflation: variance of the estimates over that for white residuals of variance one.
    """

    names: tuple[str, ...]
    centre: np.ndarray
    precision: np.ndarray
    inflation: float = 1.0

    def marginal(self, keep: Sequence[int] | np.ndarray) -> "Gaussian":
        """Marginal Gaussian of some elements."""
        keep = np.asarray(keep, int)
        rest = np.setdiff1d(np.arange(len(self.names)), keep)
        precision = self.precision[np.ix_(keep, keep)]
        if rest.size:
            across = self.precision[np.ix_(keep, rest)]
            inner = np.linalg.pinv(
                self.precision[np.ix_(rest, rest)], rcond=_ABSENT, hermitian=True
            )
            precision = precision - across @ inner @ across.T
        names = tuple(self.names[i] for i in keep)
        return Gaussian(names, self.centre[keep], precision, self.inflation)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for :meth:`from_dict`."""
        return {
            "names": list(self.names),
            "centre": self.centre.tolist(),
            "precision": self.precision.tolist(),
            "inflation": self.inflation,
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "Gaussian":
        """The Gaussian of plain data.

        Raises:
            FitError: numbers are missing or inconsistent, or the precision is not symmetric or not
                positive semidefinite.
        """
        try:
            names = tuple(str(name) for name in plain["names"])
            centre, precision = (np.array(plain[k], float) for k in ("centre", "precision"))
            inflation = float(plain["inflation"])
        except (KeyError, TypeError, ValueError) as error:
            raise FitError(f"the Gaussian of the parameters cannot be read: {error}") from error
        if centre.shape != (len(names),) or precision.shape != (len(names),) * 2:
            raise FitError(
                f"the Gaussian of the parameters is inconsistent: {len(names)} names, a "
                f"centre {centre.shape}, a precision {precision.shape}"
            )
        if not (np.isfinite(centre).all() and np.isfinite(precision).all()):
            raise FitError("the Gaussian of the parameters contains numbers that are not finite")
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise FitError(
                f"the Gaussian of the parameters has duplicate names: {listing(doubled)}"
            )
        if not 0.0 < inflation < np.inf:
            raise FitError(
                f"the inflation of the Gaussian must be positive and finite, found {inflation:g}"
            )
        _check_precision(names, precision)
        return cls(names, centre, precision, inflation)


def _check_precision(names: tuple[str, ...], precision: np.ndarray) -> None:
    """Raise FitError, with names, for a matrix that is not symmetric positive semidefinite.

    The tolerance is relative to the largest element: undetermined directions are zero up to it.
    """
    diagonal = np.diag(precision)
    largest = np.abs(precision).max(initial=0.0)
    size = np.sqrt(np.maximum(diagonal, 0.0))
    allowed = _ROUNDING * largest + 1e-6 * np.outer(size, size)
    apart = np.abs(precision - precision.T) - allowed
    if (apart > 0.0).any():
        i, j = np.unravel_index(np.argmax(apart), apart.shape)
        raise FitError(
            f"the precision of the Gaussian is not symmetric: {precision[i, j]:.6g} of {names[i]} "
            f"with {names[j]}, {precision[j, i]:.6g} of {names[j]} with {names[i]}"
        )
    if (diagonal < -1e-3 * _ROUNDING * largest).any():
        worst = int(np.argmin(diagonal))
        raise FitError(
            f"the precision of the Gaussian is negative: {diagonal[worst]:.6g} of {names[worst]}"
        )
    seen = np.flatnonzero(diagonal > 1e-3 * _ROUNDING * largest)
    scaled = precision[np.ix_(seen, seen)] / np.outer(size[seen], size[seen])
    for matrix, which, lowest in (
        (precision, np.arange(len(names)), -_ROUNDING * largest),
        (scaled, seen, -1e-6),
    ):
        values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
        if len(values) and values[0] < lowest:
            mixed = np.flatnonzero(np.abs(vectors[:, 0]) > 0.3)
            raise FitError(
                "the precision of the Gaussian is not positive semidefinite: it is negative in a "
                f"direction of {listing(names[which[k]] for k in mixed)}"
            )


def gaussian_of_fit(
    names: Sequence[str],
    at: np.ndarray,
    at_bound: np.ndarray,
    information: np.ndarray,
    gradient: np.ndarray,
    covariance: CovarianceEstimate,
) -> Gaussian:
    """Gaussian of a fit, from its linearisation.

    Args:
        names: names of the ``p`` elements.
        at: the fit in search coordinates ``(p,)``.
        at_bound: elements on a bound ``(p,)`` bool: the optimum without bounds is beyond it.
        information: ``J' W J`` ``(p, p)`` in search coordinates.
        gradient: ``J' W r`` ``(p,)``.
        covariance: covariance with every element free.
    """
    known = inverted(information)
    step = -known.inverse @ gradient if at_bound.any() else np.zeros(len(at))
    growth = covariance.variance_inflation[covariance.variance_inflation > 0.0]
    return Gaussian(
        tuple(names),
        at + step,
        known.precision(covariance.determined_part),
        float(np.median(growth)) if growth.size else 1.0,
    )
