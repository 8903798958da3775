"""Gradient and Gauss-Newton Hessian by finite differences in batches, in bounded memory."""

import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.fitting.losses import Loss
from trueup.fitting.problem import Failures, Problem
from trueup.parameters import Space

IN_MEMORY = 300_000_000
"""Maximum size of a Jacobian in memory [bytes]; a larger one is in a temporary file."""


@dataclass(frozen=True)
class Linearisation:
    """The cost and its quadratic model at a point, in search coordinates."""

    costs: np.ndarray
    """Cost of the point and of its neighbours ``(n,)``."""
    gradient: np.ndarray
    """``J' r``, weighted by the loss ``(p,)``."""
    gram: np.ndarray
    """``J' J``, weighted by the loss ``(p, p)``."""
    failed_columns: np.ndarray
    """Columns with a failed difference ``(p,)`` bool; they are zero."""
    rows: int = 0
    """Number of residuals; 0 if saved by an older version."""

    def state(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "costs": self.costs,
            "gradient": self.gradient,
            "gram": self.gram,
            "failed_columns": self.failed_columns,
            "rows": self.rows,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Linearisation":
        """Inverse of :meth:`state`."""
        return cls(
            np.array(state["costs"], float),
            np.array(state["gradient"], float),
            np.array(state["gram"], float),
            np.array(state["failed_columns"], bool),
            int(state.get("rows", 0)),
        )


def typical_size(space: Space, x: np.ndarray) -> np.ndarray:
    """Magnitude of each element in search coordinates ``(p,)``, never zero.

    For an element with bounds the larger of its current magnitude and a tenth of its range;
    otherwise of its current magnitude and a tenth of its start magnitude.
    """
    lower, upper = space.search_bounds
    z, start = space.to_search(x), space.to_search(space.start)
    with np.errstate(invalid="ignore"):
        span = upper - lower
    floor = 0.1 * np.where(np.isfinite(span), span, np.abs(start))
    size = np.maximum(np.abs(z), floor)
    return np.where(size > 0, size, 1.0)


def difference_points(
    space: Space, x: np.ndarray, relative: float, central: bool, flipped: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The point and its finite-difference neighbours.

    Args:
      space: search space.
      x: the point ``(p,)``.
      relative: step relative to the element, or to a tenth of its range if that is larger.
      central: two neighbours per element instead of one.
      flipped: elements to step the other way ``(p,)``.

    Returns:
      Points ``(1 + g, p)`` or ``(1 + 2 g, p)`` for g groups of elements (one each, unless the space
      groups elements that affect different residuals), and the signed steps in search coordinates,
      ``(p,)`` or ``(2 p,)``. Neighbours stay within the bounds.
    """
    group = space.groups
    lower, upper = space.search_bounds
    z = space.to_search(x)
    size = relative * typical_size(space, x)
    # towards the farther bound, so that the neighbour is never clipped
    up = (upper - z) >= (z - lower)
    signs = np.where(up ^ flipped, 1.0, -1.0)
    index = np.arange(space.size)
    offset = np.zeros((int(group.max()) + 1, space.size))
    offset[group, index] = signs * size
    forward = np.clip(z + offset, lower, upper)
    if central:
        backward = np.clip(z - offset, lower, upper)
        neighbours = np.vstack([forward, backward])
    else:
        neighbours = forward
    points = space.from_search(np.vstack([z[None, :], neighbours]))
    # the actual step, after rounding and clipping
    made = space.to_search(points[1:])
    rows = np.concatenate([group, group + len(offset)]) if central else group
    columns = np.concatenate([index, index]) if central else index
    return points, made[rows, columns] - z[columns]


def difference_jacobian(
    values: np.ndarray,
    steps: np.ndarray,
    central: bool,
    space: Space,
    columns: np.ndarray | slice = slice(None),
) -> np.ndarray:
    """Columns of the Jacobian from the values of a point and its neighbours.

    Args:
      values: ``(1 + g, b)`` or ``(1 + 2 g, b)`` residuals.
      steps: signed steps from :func:`difference_points`.
      central: how the neighbours were chosen.
      space: search space.
      columns: elements of the requested columns; default all.

    Returns:
      ``(columns, b)``; zero for an element that cannot move.
    """
    p = space.size
    width = steps[:p] - steps[p:] if central else steps
    slope = np.where(width != 0, 1.0 / np.where(width != 0, width, 1.0), 0.0)
    groups = (len(values) - 1) // (2 if central else 1)
    change = values[1 : 1 + groups] - (values[1 + groups :] if central else values[0])
    if space.together is not None:
        change = change[space.together[columns]]
    else:
        change = change[columns]
    return change * slope[columns][:, None]


def failed_elements(space: Space, failures: Failures) -> np.ndarray:
    """Elements with a failed difference ``(p,)`` bool, from the failures of the neighbours."""
    groups = int(space.groups.max()) + 1
    failed = np.zeros(groups, bool)
    for row in failures:
        if row > 0:
            failed[(row - 1) % groups] = True
    return failed[space.groups]


def linearise(
    problem: Problem,
    X: np.ndarray,
    steps: np.ndarray,
    central: bool,
    loss: Loss,
    failures: Failures,
) -> Linearisation:
    """Gradient and Gauss-Newton Hessian from one batch, summed over blocks of rows."""
    p = X.shape[1]
    costs = np.zeros(len(X))
    gradient, gram = np.zeros(p), np.zeros((p, p))
    for rows, values in problem.residual_blocks(X, failures):
        block_loss = Loss() if rows.start >= problem.data_rows else loss
        weights = problem.weights_of(rows)
        costs += block_loss.costs(values, weights)
        acting = problem.acting_on(rows)
        # skip initial states of other windows, or the cost would be quadratic in the windows
        columns: slice | np.ndarray = slice(None)
        square: Any = columns
        if acting is not None:
            columns = np.flatnonzero(acting)
            square = np.ix_(columns, columns)
        jacobian = difference_jacobian(values, steps, central, problem.space, columns)
        if block_loss.is_linear and weights is None:
            gradient[columns] += jacobian @ values[0]
            gram[square] += jacobian @ jacobian.T
        else:
            first, second = _weighted(block_loss, values[0], weights)
            gradient[columns] += jacobian @ (first * values[0])
            gram[square] += (jacobian * second) @ jacobian.T
    failed = failed_elements(problem.space, failures)
    costs[list(failures)] = np.inf
    gradient[failed] = 0.0
    gram[failed, :] = 0.0
    gram[:, failed] = 0.0
    return Linearisation(costs, gradient, gram, failed, problem.counted_rows)


def exact_linearisation(
    problem: Problem, x: np.ndarray, loss: Loss, failures: Failures
) -> Linearisation:
    """Gradient and Gauss-Newton Hessian from the problem's own derivatives at ``x`` (p,)."""
    p = x.size
    cost = 0.0
    gradient, gram = np.zeros(p), np.zeros((p, p))
    slope = problem.space.slope(x)[:, None]
    for rows, values, derivatives in problem.jacobian_blocks(x, failures):
        block_loss = Loss() if rows.start >= problem.data_rows else loss
        weights = problem.weights_of(rows)
        cost += float(block_loss.costs(values[None, :], weights)[0])
        jacobian = derivatives * slope
        first, second = _weighted(block_loss, values, weights)
        gradient += jacobian @ (first * values)
        gram += (jacobian * second) @ jacobian.T
    costs = np.array([np.inf if failures else cost])
    return Linearisation(costs, gradient, gram, np.zeros(p, bool), problem.counted_rows)


def _weighted(
    loss: Loss, residual: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of a residual ``(m,)`` in gradient and Hessian, times those of its rows."""
    first, second = loss.weights(residual)
    return (first, second) if weights is None else (first * weights, second * weights)


def final_jacobian(
    problem: Problem, x: np.ndarray, relative: float = 1e-5, central: bool = True
) -> tuple[np.ndarray, np.ndarray, Failures]:
    """Residual and Jacobian at a point, in search coordinates.

    Args:
      problem: the problem.
      x: the point ``(p,)``.
      relative: finite-difference step, see :func:`difference_points`.
      central: two neighbours per element; one halves the work, with a first-order error.

    Returns:
      Residual ``(m,)``; Jacobian ``(m, p)`` with respect to the search coordinates (the logarithm
      of elements on a log scale), a memory map where it is large; and the failures of neighbours.
    """
    flipped = np.zeros(problem.space.size, bool)
    points, steps = difference_points(problem.space, x, relative, central, flipped)
    failures: Failures = {}
    return *jacobian_of_points(problem, points, steps, central, failures), failures


def jacobian_of_points(
    problem: Problem, points: np.ndarray, steps: np.ndarray, central: bool, failures: Failures
) -> tuple[np.ndarray, np.ndarray]:
    """Residual ``(m,)`` and Jacobian ``(m, p)`` of a point, from its finite-difference points.

    Points, steps and ``central`` are those of :func:`difference_points`; the Jacobian is a memory
    map where it is large, with columns of zeros for failed neighbours.
    """
    p = problem.space.size
    residual = np.empty(problem.residual_size)
    shape = (problem.residual_size, p)
    if fits_in_memory(problem):
        jacobian = np.empty(shape)
    else:
        # the file is unnamed and is removed with the array
        with tempfile.TemporaryFile() as file:
            jacobian = np.memmap(file, float, "w+", shape=shape)
    for rows, values in problem.residual_blocks(points, failures):
        residual[rows] = values[0]
        acting = problem.acting_on(rows)
        if acting is None:
            jacobian[rows] = difference_jacobian(values, steps, central, problem.space).T
            continue
        columns = np.flatnonzero(acting)
        part = difference_jacobian(values, steps, central, problem.space, columns)
        jacobian[rows] = 0.0
        jacobian[rows, columns] = part.T
    failed = failed_elements(problem.space, failures)
    if failed.any():
        jacobian[:, failed] = 0.0
    return residual, jacobian


def fits_in_memory(problem: Problem) -> bool:
    """Whether the Jacobian of a problem is at most :data:`IN_MEMORY`."""
    return 8 * problem.residual_size * problem.space.size <= IN_MEMORY
