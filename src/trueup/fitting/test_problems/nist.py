"""Regressions whose parameters are certified to eleven digits.

Data and values: National Institute of Standards and Technology, Statistical Reference Datasets,
nonlinear regression, https://www.itl.nist.gov/div898/strd/.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.fitting.problem import Vectorised
from trueup.fitting.test_problems.test_problem import TestProblem, box


def misra1a(start: int = 1) -> TestProblem:
    """Two parameters of very different size, of lower difficulty.

    Args:
      start: which of the two published starts, 1 (far) or 2 (near).

    Raises:
      FitError: there is no such start.
    """
    return _certified("Misra1a", misra1a_residual, MISRA1A, start)


def mgh09(start: int = 2) -> TestProblem:
    """Four parameters of a rational function, of higher difficulty.

    From the far start there is a way to infinity along which the cost falls, to a worse minimum.

    Args:
      start: which of the two published starts, 1 (far) or 2 (near).

    Raises:
      FitError: there is no such start.
    """
    return _certified("MGH09", mgh09_residual, MGH09, start)


def thurber(start: int = 1) -> TestProblem:
    """Seven parameters of a rational function, of higher difficulty.

    Args:
      start: which of the two published starts, 1 (far) or 2 (near).

    Raises:
      FitError: there is no such start.
    """
    return _certified("Thurber", thurber_residual, THURBER, start)


def _certified(
    name: str, residual: Callable[[np.ndarray], np.ndarray], data: dict[str, Any], start: int
) -> TestProblem:
    if start not in (1, 2):
        raise FitError(f"{name} has no start {start!r}; it has 1 (far) and 2 (near)")
    problem = Vectorised(residual, box(data["starts"][start - 1]))
    return TestProblem(
        f"{name} from start {start}",
        problem,
        0.5 * data["sum_of_squares"],
        np.array(data["certified"]),
    )


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.split()]


MISRA1A: dict[str, Any] = {
    "x": _numbers(
        """
        77.6 114.9 141.1 190.8 239.9 289 332.8 378.4 434.8 477.3 536.8 593.1 689.1 760
        """
    ),
    "y": _numbers(
        """
        10.07 14.73 17.94 23.93 29.61 35.18 40.02 44.82 50.76 55.05 61.01 66.4 75.47
        81.78
        """
    ),
    "starts": [[500, 1e-4], [250, 5e-4]],
    "certified": _numbers(
        """
        2.3894212918e2 5.5015643181e-4
        """
    ),
    "sum_of_squares": 1.2455138894e-1,
}
MGH09: dict[str, Any] = {
    "x": _numbers(
        """
        4 2 1 0.5 0.25 0.167 0.125 0.1 0.0833 0.0714 0.0625
        """
    ),
    "y": _numbers(
        """
        0.1957 0.1947 0.1735 0.16 0.0844 0.0627 0.0456 0.0342 0.0323 0.0235 0.0246
        """
    ),
    "starts": [[25, 39, 41.5, 39], [0.25, 0.39, 0.415, 0.39]],
    "certified": _numbers(
        """
        1.9280693458e-1 1.9128232873e-1 1.2305650693e-1 1.3606233068e-1
        """
    ),
    "sum_of_squares": 3.0750560385e-4,
}
THURBER: dict[str, Any] = {
    "x": _numbers(
        """
        -3.067 -2.981 -2.921 -2.912 -2.84 -2.797 -2.702 -2.699 -2.633 -2.481 -2.363
        -2.322 -1.501 -1.46 -1.274 -1.212 -1.1 -1.046 -0.915 -0.714 -0.566 -0.545 -0.4
        -0.309 -0.109 -0.103 0.01 0.119 0.377 0.79 0.963 1.006 1.115 1.572 1.841 2.047
        2.2
        """
    ),
    "y": _numbers(
        """
        80.574 84.248 87.264 87.195 89.076 89.608 89.868 90.101 92.405 95.854 100.696
        101.06 401.672 390.724 567.534 635.316 733.054 759.087 894.206 990.785 1090.109
        1080.914 1122.643 1178.351 1260.531 1273.514 1288.339 1327.543 1353.863 1414.509
        1425.208 1421.384 1442.962 1464.35 1468.705 1447.894 1457.628
        """
    ),
    "starts": [[1000, 1000, 400, 40, 0.7, 0.3, 0.03], [1300, 1500, 500, 75, 1, 0.4, 0.05]],
    "certified": _numbers(
        """
        1.2881396800e3 1.4910792535e3 5.8323836877e2 7.5416644291e1 9.6629502864e-1
        3.9797285797e-1 4.9727297349e-2
        """
    ),
    "sum_of_squares": 5.6427082397e3,
}


def misra1a_residual(X: np.ndarray) -> np.ndarray:
    """Exponential approach to a plateau: residuals ``(n, 14)``."""
    t, y = np.array(MISRA1A["x"]), np.array(MISRA1A["y"])
    with np.errstate(over="ignore"):
        return y - X[:, :1] * (1 - np.exp(-X[:, 1:2] * t))


def mgh09_residual(X: np.ndarray) -> np.ndarray:
    """Rational function with two quadratics: residuals ``(n, 11)``."""
    t, y = np.array(MGH09["x"]), np.array(MGH09["y"])
    a, b, c, d = (column[:, None] for column in X.T)
    with np.errstate(divide="ignore", invalid="ignore"):
        return y - a * (t**2 + t * b) / (t**2 + t * c + d)


def thurber_residual(X: np.ndarray) -> np.ndarray:
    """Rational function with two cubics: residuals ``(n, 37)``."""
    t, y = np.array(THURBER["x"]), np.array(THURBER["y"])
    b = [column[:, None] for column in X.T]
    with np.errstate(divide="ignore", invalid="ignore"):
        top = b[0] + b[1] * t + b[2] * t**2 + b[3] * t**3
        return y - top / (1 + b[4] * t + b[5] * t**2 + b[6] * t**3)
