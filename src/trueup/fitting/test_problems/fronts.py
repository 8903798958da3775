"""Two objectives with a known Pareto front: E. Zitzler, K. Deb, L. Thiele, "Comparison of
multiobjective evolutionary algorithms: empirical results" (2000), the test functions T1 to T3."""

from collections.abc import Callable

import numpy as np

from trueup.fitting.problem import VectorisedCosts
from trueup.fitting.test_problems.test_problem import TestProblem, box

# The five pieces of the front of T3, as intervals of the first objective: where its second one
# falls below all that came before.
_PIECES = (
    (0.0, 0.083001534926),
    (0.182228728030, 0.257762363387),
    (0.409313674809, 0.453882104088),
    (0.618396794440, 0.652511703804),
    (0.823331798327, 0.851832865436),
)


def zdt1(dimension: int = 30) -> TestProblem:
    """A convex front: ``f2 = 1 - sqrt(f1)``."""
    return _zdt("ZDT1", dimension, lambda f, g: 1.0 - np.sqrt(f / g), _whole())


def zdt2(dimension: int = 30) -> TestProblem:
    """A concave front: ``f2 = 1 - f1**2``."""
    return _zdt("ZDT2", dimension, lambda f, g: 1.0 - np.square(f / g), _whole())


def zdt3(dimension: int = 30) -> TestProblem:
    """A front of five pieces: parts of ``f2 = 1 - sqrt(f1) - f1 sin(10 pi f1)``."""
    pieces = np.concatenate([np.linspace(*piece, 200) for piece in _PIECES])
    return _zdt(
        "ZDT3",
        dimension,
        lambda f, g: 1.0 - np.sqrt(f / g) - f / g * np.sin(10.0 * np.pi * f),
        pieces,
    )


def _whole() -> np.ndarray:
    return np.linspace(0.0, 1.0, 1001)


def _zdt(
    name: str,
    dimension: int,
    shape: Callable[[np.ndarray, np.ndarray], np.ndarray],
    first: np.ndarray,
) -> TestProblem:
    def costs(X: np.ndarray) -> np.ndarray:
        f = X[:, 0]
        g = 1.0 + 9.0 * X[:, 1:].mean(axis=1)
        return np.stack([f, g * shape(f, g)], axis=1)

    problem = VectorisedCosts(costs, box(np.full(dimension, 0.5), 0.0, 1.0), ("f1", "f2"))
    front = np.stack([first, shape(first, np.ones_like(first))], axis=1)
    return TestProblem(f"{name} {dimension}-D", problem, 0.0, front=front)
