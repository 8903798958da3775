"""Costs with many minima, of which one is the lowest."""

import numpy as np

from trueup.fitting.problem import VectorisedCosts
from trueup.fitting.test_problems.test_problem import TestProblem, box, off_centre, rotation


def rastrigin(dimension: int = 10) -> TestProblem:
    """A parabola with a cosine on each axis, in the box [-5, 5]: about ten minima an axis.

    H. Mühlenbein, M. Schomisch and J. Born, "The parallel genetic algorithm as function optimizer"
    (1991), moved so that the optimum is not in the centre.
    """
    return _rastrigin("Rastrigin", dimension, np.eye(dimension))


def rotated_rastrigin(dimension: int = 10, seed: int = 0) -> TestProblem:
    """Rastrigin's function with its grid of minima turned against the axes.

    Args:
      dimension: number of unknowns.
      seed: seed of the rotation.
    """
    return _rastrigin("rotated Rastrigin", dimension, rotation(dimension, seed))


def _rastrigin(name: str, dimension: int, axes: np.ndarray) -> TestProblem:
    x = off_centre(dimension, 1.5)

    def cost(X: np.ndarray) -> np.ndarray:
        z = (X - x) @ axes.T
        return (np.square(z) + 10.0 * (1.0 - np.cos(2.0 * np.pi * z))).sum(axis=1)

    space = box(np.full(dimension, 3.5), -5.0, 5.0)
    return TestProblem(f"{name} {dimension}-D", VectorisedCosts(cost, space), 0.0, x)
