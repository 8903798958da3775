"""Robust losses.

The cost is ``1/2 s^2 sum rho((r/s)^2)``. Functions ``rho`` as in Triggs, McLauchlan, Hartley and
Fitzgibbon, "Bundle Adjustment - A Modern Synthesis" (2000), section 4, named as in scipy.
"""

from collections.abc import Callable

import numpy as np

from trueup.errors import FitError, did_you_mean, listing


def _linear(z):
    return z, np.ones_like(z), np.zeros_like(z)


def _soft_l1(z):
    root = np.sqrt(1 + z)
    return 2 * (root - 1), 1 / root, -0.5 / root**3


def _huber(z):
    inner = z <= 1
    root = np.sqrt(np.where(inner, 1.0, z))
    return (
        np.where(inner, z, 2 * root - 1),
        np.where(inner, 1.0, 1 / root),
        np.where(inner, 0.0, -0.5 / root**3),
    )


def _cauchy(z):
    return np.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2


def _arctan(z):
    return np.arctan(z), 1 / (1 + z**2), -2 * z / (1 + z**2) ** 2


LOSSES: dict[str, Callable] = {
    "linear": _linear,
    "soft_l1": _soft_l1,
    "huber": _huber,
    "cauchy": _cauchy,
    "arctan": _arctan,
}
"""Name -> ``rho(z)`` with its first and second derivative, for ``z = (r/s)^2``."""


def loss_named(name: str) -> str:
    """The name of a loss, checked.

    Raises:
      FitError: unknown loss.
    """
    if name not in LOSSES:
        raise FitError(
            f"unknown loss {name!r}; available: {listing(LOSSES)}.{did_you_mean(name, LOSSES)}"
        )
    return name


class Loss:
    """A loss with its scale.

    Args:
      name: ``linear``, ``soft_l1``, ``huber``, ``cauchy``, ``arctan``, or another of
        :data:`LOSSES`.
      scale: residual at which the loss changes from quadratic, in units of the residual.

    Raises:
      FitError: unknown name, or a scale that is not positive.
    """

    def __init__(self, name: str = "linear", scale: float = 1.0):
        loss_named(name)
        if not (np.isfinite(scale) and scale > 0):
            raise FitError(f"the scale of the loss must be positive, found {scale}")
        self.name = name
        self.scale = float(scale)

    @property
    def is_linear(self) -> bool:
        """Whether this is plain least squares."""
        return self.name == "linear"

    def costs(self, residuals: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Cost of each row of residuals ``(n, m) -> (n,)``, with the weights ``(m,)`` of each."""
        if weights is not None:
            rho = LOSSES[self.name]((residuals / self.scale) ** 2)[0]
            return 0.5 * self.scale**2 * (rho @ weights)
        if self.is_linear:
            return 0.5 * np.einsum("ij,ij->i", residuals, residuals)
        rho = LOSSES[self.name]((residuals / self.scale) ** 2)[0]
        return 0.5 * self.scale**2 * rho.sum(axis=1)

    def weights(self, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of a residual ``(m,)`` in the gradient and in the Gauss-Newton Hessian.

        The Hessian weight includes the second-order term of Triggs et al., limited to positive
        values.
        """
        if self.is_linear:
            ones = np.ones_like(residual)
            return ones, ones
        z = (residual / self.scale) ** 2
        _, first, second = LOSSES[self.name](z)
        return first, np.maximum(first + 2 * second * z, 1e-3 * first)
