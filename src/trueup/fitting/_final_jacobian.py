"""Residual and Jacobian at the optimum, by central differences, for the uncertainty estimate."""

import tempfile

import numpy as np

from trueup.fitting.linearisation import (
    difference_jacobian,
    difference_points,
    failed_elements,
)
from trueup.fitting.problem import Failures, Problem

IN_MEMORY = 300_000_000
"""Bytes of a Jacobian that are held in memory; a larger one lies in a temporary file."""


def final_jacobian(
    problem: Problem, x: np.ndarray, relative: float = 1e-5
) -> tuple[np.ndarray, np.ndarray, Failures]:
    """Residual and Jacobian at a point, in search coordinates.

    Args:
      problem: the problem.
      x: the point ``(p,)``.
      relative: finite-difference step, see :func:`trueup.fitting.linearisation.difference_points`.

    Returns:
      Residual ``(m,)``; Jacobian ``(m, p)`` with respect to the search coordinates (the logarithm
      of elements on a log scale), a memory map where it is large; and the failures of neighbours.
    """
    p = problem.space.size
    flipped = np.zeros(p, bool)
    points, steps = difference_points(problem.space, x, relative, True, flipped)
    failures: Failures = {}
    residual = np.empty(problem.residual_size)
    shape = (problem.residual_size, p)
    if 8 * shape[0] * p <= IN_MEMORY:
        jacobian = np.empty(shape)
    else:
        # the file has no name and goes with the array
        with tempfile.TemporaryFile() as file:
            jacobian = np.memmap(file, float, "w+", shape=shape)
    for rows, values in problem.residual_blocks(points, failures):
        residual[rows] = values[0]
        acting = problem.acting_on(rows)
        jacobian[rows] = difference_jacobian(values, steps, True, problem.space, acting).T
    failed = failed_elements(problem.space, failures)
    if failed.any():
        jacobian[:, failed] = 0.0
    return residual, jacobian, failures
