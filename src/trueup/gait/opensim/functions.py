"""Functions of one variable for the joints and moving points of OpenSim."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Polynomial:
    """Polynomial, including constants and lines.

    Attributes:
      coefficients: coefficients, the lowest power first.
    """

    coefficients: tuple[float, ...]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Values, of the shape of ``x``."""
        return np.polynomial.polynomial.polyval(np.asarray(x, dtype=float), self.coefficients)

    def scaled(self, factor: float) -> "Polynomial":
        """The function times a factor."""
        return Polynomial(tuple(factor * value for value in self.coefficients))

    @property
    def line(self) -> tuple[float, float] | None:
        """Slope and value at zero of a line; None for a curve."""
        padded = (*self.coefficients, 0.0, 0.0)
        return None if any(self.coefficients[2:]) else (padded[1], padded[0])


@dataclass(frozen=True)
class Spline:
    """Spline through points, with linear extrapolation.

    Attributes:
      x: abscissae, increasing.
      y: values.
      smooth: cubic with continuous curvature, whose third derivatives at the ends are those of the
        cubics through the four outer points (Forsythe, Malcolm, Moler 1977, as in the
        SimmSpline of OpenSim); otherwise piecewise linear.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    smooth: bool = True

    line = None

    @cached_property
    def _curvatures(self) -> np.ndarray:
        """Second derivatives at the points."""
        x, y = np.array(self.x), np.array(self.y)
        n, h = len(x), np.diff(x)
        if n < 3 or not self.smooth:
            return np.zeros(n)
        slope = np.diff(y) / h
        system, right = np.zeros((n, n)), np.zeros(n)
        for k in range(1, n - 1):
            system[k, k - 1 : k + 2] = h[k - 1], 2.0 * (h[k - 1] + h[k]), h[k]
            right[k] = 6.0 * (slope[k] - slope[k - 1])
        system[0, :2], system[-1, -2:] = (-1.0, 1.0), (-1.0, 1.0)
        if n > 3:
            right[0] = 6.0 * h[0] * _third_difference(x[:4], y[:4])
            right[-1] = 6.0 * h[-1] * _third_difference(x[-4:], y[-4:])
        return np.linalg.solve(system, right)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Values, of the shape of ``x``."""
        at, places, values = np.asarray(x, dtype=float), np.array(self.x), np.array(self.y)
        k = np.clip(np.searchsorted(places, at, side="right") - 1, 0, len(places) - 2)
        bend, h = self._curvatures, np.diff(places)[k]
        slope = (values[k + 1] - values[k]) / h - h * (2.0 * bend[k] + bend[k + 1]) / 6.0
        inside = np.clip(at, places[0], places[-1])
        d = inside - places[k]
        third = (bend[k + 1] - bend[k]) / h
        found = values[k] + d * (slope + d * (0.5 * bend[k] + d * third / 6.0))
        return found + (at - inside) * (slope + d * (bend[k] + 0.5 * d * third))

    def scaled(self, factor: float) -> "Spline":
        """The function times a factor."""
        return Spline(self.x, tuple(factor * value for value in self.y), self.smooth)


def _third_difference(x: np.ndarray, y: np.ndarray) -> float:
    """Third divided difference of four points."""
    for k in range(1, 4):
        y = np.diff(y) / (x[k:] - x[:-k])
    return float(y[0])


Function = Polynomial | Spline
"""Function of one variable."""

CONSTANT_ZERO = Polynomial((0.0,))
"""The zero function."""

IDENTITY = Polynomial((0.0, 1.0))
"""The identity."""
