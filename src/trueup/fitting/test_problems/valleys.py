"""Costs with one minimum: sphere, ellipsoids, Rosenbrock's valley, and spheres that misbehave."""

from collections.abc import Callable

import numpy as np

from trueup.fitting.problem import Failures, Problem, VectorisedCosts
from trueup.fitting.test_problems.test_problem import TestProblem, box, off_centre, rotation

_REACH = 5.0


def sphere(dimension: int = 10) -> TestProblem:
    """Squared distance from the optimum, in the box [-5, 5]."""
    x = off_centre(dimension, 3.0)

    def cost(X: np.ndarray) -> np.ndarray:
        return np.square(X - x).sum(axis=1)

    return _valley("sphere", cost, x)


def ellipsoid(dimension: int = 10, condition: float = 1e6) -> TestProblem:
    """Squared distance with axes of very different length.

    Args:
      dimension: number of unknowns.
      condition: ratio of the largest to the smallest curvature.
    """
    x = off_centre(dimension, 3.0)
    weights = condition ** np.linspace(0.0, 1.0, dimension)

    def cost(X: np.ndarray) -> np.ndarray:
        return np.square(X - x) @ weights

    return _valley("ellipsoid", cost, x)


def rotated_ellipsoid(dimension: int = 10, condition: float = 1e6, seed: int = 0) -> TestProblem:
    """An ellipsoid whose axes are not those of the parameters.

    Args:
      dimension: number of unknowns.
      condition: ratio of the largest to the smallest curvature.
      seed: seed of the rotation.
    """
    x = off_centre(dimension, 3.0)
    weights = condition ** np.linspace(0.0, 1.0, dimension)
    axes = rotation(dimension, seed)

    def cost(X: np.ndarray) -> np.ndarray:
        return np.square((X - x) @ axes.T) @ weights

    return _valley("rotated ellipsoid", cost, x)


def rosenbrock(dimension: int = 10) -> TestProblem:
    """A bent valley with the minimum at ones, started at the usual -1.2, 1, -1.2, ...

    H. H. Rosenbrock, "An automatic method for finding the greatest or least value of a function"
    (1960), chained over neighbours. From four unknowns on there is a second, local minimum near
    (-1, 1, 1, ...).
    """
    start = np.where(np.arange(dimension) % 2 == 0, -1.2, 1.0)

    def cost(X: np.ndarray) -> np.ndarray:
        steps = 100.0 * np.square(X[:, 1:] - np.square(X[:, :-1])) + np.square(1.0 - X[:, :-1])
        return steps.sum(axis=1)

    return _valley("Rosenbrock", cost, np.ones(dimension), start)


def noisy_sphere(dimension: int = 10, deviation: float = 0.1, seed: int = 0) -> TestProblem:
    """A sphere with Gaussian noise that is drawn again at each evaluation.

    The noise comes from one generator that is seeded when the problem is made. So the same calls in
    the same order on a new problem of the same seed give the same costs; the same candidate
    evaluated twice does not.

    Args:
      dimension: number of unknowns.
      deviation: standard deviation of the noise.
      seed: seed of the noise.
    """
    plain = sphere(dimension)
    random = np.random.default_rng(seed)

    def cost(X: np.ndarray) -> np.ndarray:
        return plain.problem.costs(X)[:, 0] + deviation * random.standard_normal(len(X))

    return TestProblem(
        f"noisy sphere {dimension}-D",
        VectorisedCosts(cost, plain.space, noisy=True),
        0.0,
        plain.x,
        exact=plain.problem,
    )


def rough_sphere(dimension: int = 10, deviation: float = 0.1, seed: int = 0) -> TestProblem:
    """A sphere with Gaussian noise that belongs to the candidate.

    The noise is a function of the seed and the candidate alone: whenever, in whichever order and on
    whichever machine a candidate is evaluated, its cost is the same; that of its neighbour differs.

    Args:
      dimension: number of unknowns.
      deviation: standard deviation of the noise.
      seed: seed of the noise.
    """
    plain = sphere(dimension)

    def cost(X: np.ndarray) -> np.ndarray:
        return plain.problem.costs(X)[:, 0] + deviation * _noise_of(X, seed)

    return TestProblem(
        f"rough sphere {dimension}-D",
        VectorisedCosts(cost, plain.space),
        0.0,
        plain.x,
        exact=plain.problem,
    )


class FailingCosts(Problem):
    """Costs of which a part of the box fails, in each way in which a candidate can fail.

    Candidates whose first element lies beyond ``edge`` are invalid: by turns over the digits of
    that element, their cost is nan, infinite, or a small number with the reason in ``failures``.

    Args:
      problem: costs of the rest.
      edge: where the failing part begins.
    """

    def __init__(self, problem: Problem, edge: float):
        self.problem = problem
        self.space = problem.space
        self.edge = edge

    def costs(self, X: np.ndarray, failures: Failures | None = None) -> np.ndarray:
        """Costs ``(n, 1)`` of candidates ``X (n, p)``, some of them not finite."""
        X = np.atleast_2d(np.asarray(X, float))
        costs = self.problem.costs(X, failures)
        fails = X[:, 0] > self.edge
        kind = np.floor(X[:, 0] * 1e6) % 3
        costs[fails & (kind == 0)] = np.nan
        costs[fails & (kind == 1)] = np.inf
        costs[fails & (kind == 2)] = -1.0
        if failures is not None:
            failures.update((int(i), "out of reach") for i in np.flatnonzero(fails & (kind == 2)))
        return costs


def failing_sphere(dimension: int = 10) -> TestProblem:
    """A sphere of which nearly a third of the box fails, the optimum next to it."""
    plain = sphere(dimension)
    assert plain.x is not None
    return TestProblem(
        f"failing sphere {dimension}-D",
        FailingCosts(plain.problem, edge=float(plain.x[0]) + 0.1),
        0.0,
        plain.x,
    )


def _valley(
    name: str,
    cost: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    start: np.ndarray | None = None,
) -> TestProblem:
    first = np.zeros(x.size) if start is None else start
    space = box(first, -_REACH, _REACH)
    return TestProblem(f"{name} {x.size}-D", VectorisedCosts(cost, space), 0.0, x)


def _noise_of(X: np.ndarray, seed: int) -> np.ndarray:
    """Standard normal numbers ``(n,)`` from the bits of each row (splitmix64, then Box-Muller)."""
    # adding 0.0 makes one zero of 0.0 and -0.0
    bits = np.ascontiguousarray(X + 0.0).view(np.uint64)
    mixed = np.full(len(X), np.uint64(seed))
    for column in bits.T:
        mixed = _splitmix(mixed ^ column)
    first, second = _uniform(_splitmix(mixed + np.uint64(1))), _uniform(_splitmix(mixed))
    return np.sqrt(-2.0 * np.log1p(-first)) * np.cos(2.0 * np.pi * second)


def _splitmix(z: np.ndarray) -> np.ndarray:
    """Mix 64 bits: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number
    generators" (2014), figure 17."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _uniform(z: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1) from 64 bits."""
    return (z >> np.uint64(11)).astype(float) * 2.0**-53
