"""Sums of squares with a known minimum: linear, exponential, classics, and one that fails."""

import numpy as np

from trueup.fitting.problem import Vectorised
from trueup.fitting.test_problems.test_problem import TestProblem, box

_TIMES = np.linspace(0.0, 3.0, 40)


def linear(dimension: int = 4, rows: int = 30) -> TestProblem:
    """A straight fit whose residual does not vanish at the optimum.

    Args:
      dimension: number of unknowns.
      rows: number of residuals, more than unknowns.
    """
    grid = np.linspace(-1.0, 1.0, rows)
    design = np.polynomial.chebyshev.chebvander(grid, dimension - 1)
    data = np.exp(grid) + 0.1 * np.cos(40.0 * grid)
    x, (squares,), _, _ = np.linalg.lstsq(design, data, rcond=None)
    space = box(np.zeros(dimension), -5.0, 5.0)
    problem = Vectorised(lambda X: X @ design.T - data, space)
    return TestProblem(f"linear {dimension}-D", problem, 0.5 * float(squares), x)


def exponential_decay() -> TestProblem:
    """Amplitude and rate of a decay; the rate is searched on a log scale over four decades."""
    x = np.array([2.5, 1.3])
    space = box([1.0, 0.05], [0.1, 0.01], [10.0, 100.0], [False, True])
    data = x[0] * np.exp(-x[1] * _TIMES)
    problem = Vectorised(lambda X: X[:, :1] * np.exp(-X[:, 1:] * _TIMES) - data, space)
    return TestProblem("exponential decay", problem, 0.0, x)


def failing_decay() -> TestProblem:
    """The decay with a model that diverges for fast rates, which are half of the box."""
    decay = exponential_decay()
    residual = decay.problem.residuals

    def failing(X: np.ndarray) -> np.ndarray:
        values = residual(X)
        values[X[:, 1] > 3.0] = np.nan
        return values

    return TestProblem("failing decay", Vectorised(failing, decay.space), 0.0, decay.x)


def sine() -> TestProblem:
    """Frequency and amplitude of a sine: a local minimum a period of the beat."""
    times = np.linspace(0.0, 2.0, 120)
    x = np.array([7.3, 1.5])
    space = box([1.0, 1.0], [0.5, 0.1], [12.0, 3.0])
    data = x[1] * np.sin(2.0 * np.pi * x[0] * times)
    problem = Vectorised(lambda X: X[:, 1:] * np.sin(2.0 * np.pi * X[:, :1] * times) - data, space)
    return TestProblem("sine", problem, 0.0, x)


def rosenbrock_residual() -> TestProblem:
    """Rosenbrock's valley as two residuals (Moré, Garbow and Hillstrom 1981, problem 1)."""
    problem = Vectorised(_rosenbrock, box([-1.2, 1.0], -5.0, 5.0))
    return TestProblem("Rosenbrock residual", problem, 0.0, np.ones(2))


def powell_singular() -> TestProblem:
    """A minimum where the Jacobian loses its rank (the same, problem 13)."""
    problem = Vectorised(_powell_singular, box([3.0, -1.0, 0.0, 1.0], -5.0, 5.0))
    return TestProblem("Powell singular", problem, 0.0, np.zeros(4))


def bard() -> TestProblem:
    """Fifteen residuals that do not vanish, sum of squares 8.21487e-3 (the same, problem 8)."""
    problem = Vectorised(_bard, box(np.ones(3), 0.01, 10.0))
    x = np.array([0.0824105598, 1.1330360920, 2.3436951720])
    return TestProblem("Bard", problem, 0.5 * 8.214877306578e-3, x)


def _rosenbrock(X: np.ndarray) -> np.ndarray:
    return np.stack([10.0 * (X[:, 1] - X[:, 0] ** 2), 1.0 - X[:, 0]], axis=1)


def _powell_singular(X: np.ndarray) -> np.ndarray:
    a, b, c, d = X.T
    return np.stack(
        [a + 10 * b, np.sqrt(5) * (c - d), (b - 2 * c) ** 2, np.sqrt(10) * (a - d) ** 2], axis=1
    )


_U = np.arange(1.0, 16)
_V = 16 - _U
_Y = np.array(
    [0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.1, 4.39]
)


def _bard(X: np.ndarray) -> np.ndarray:
    w = np.minimum(_U, _V)
    return _Y - (X[:, :1] + _U / (_V * X[:, 1:2] + w * X[:, 2:3]))
