"""Problem of a search: search space, and residuals or costs of a batch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.parameters import Space
from trueup.time_limit import check_time

LARGE_RESIDUAL = 1e6
"""Residual of a candidate that diverges, does not compile or is otherwise invalid: finite, so that
it does not affect other candidates, and larger than any residual of a plausible model."""

LARGE_COST = 1e30
"""Cost of an invalid candidate of a problem without residuals."""

Failures = dict[int, str]
"""Row of the batch -> reason why it is invalid."""


@dataclass(frozen=True)
class ResidualGroup:
    """Rows of the residual of one interval of one sequence."""

    sequence: str
    """Name of the recorded sequence."""
    channels: tuple[str, ...]
    """Names of the channels; rows run over time, channels within a time."""
    times: np.ndarray
    """Times of the rows [s], ``(T,)``."""
    first: int
    """First row."""

    @property
    def rows(self) -> slice:
        """Rows of the group in the residual vector."""
        return slice(self.first, self.first + len(self.times) * len(self.channels))


class Problem:
    """Residuals or costs of a batch of candidates.

    Subclasses set :attr:`space` and implement :meth:`residual_blocks`, or override :meth:`costs`
    for problems without residuals.
    """

    space: Space
    """The unknowns."""
    groups: tuple[ResidualGroup, ...] = ()
    """Groups of the rows of the residual."""
    data_rows: int = 0
    """Number of rows from data; the following rows are priors."""
    objectives: tuple[str, ...] = ("cost",)
    """Names of the costs, one per column of :meth:`costs`."""
    noisy: bool = False
    """Whether the cost of a candidate is random."""

    @property
    def has_residuals(self) -> bool:
        """Whether least-squares searches support this problem."""
        return type(self).residual_blocks is not Problem.residual_blocks

    def acting_on(self, rows: slice) -> np.ndarray | None:
        """Elements that affect a block of rows ``(p,)`` bool; None if all may."""
        return None

    def quick(self, candidates: int) -> "Problem":
        """The same problem in single precision, if that is faster for a batch of this size.

        Its costs have errors of about 1e-6, and its finite differences need steps of about 1 %.
        Returns the problem itself where it has no faster form.
        """
        return self

    def part(self, share: float) -> "Problem | None":
        """The same problem with the first share of each recording, to be simulated in that share of
        the time; None where recordings cannot be shortened.
        """
        return None

    def weights_of(self, rows: slice) -> np.ndarray | None:
        """Weights of a block of rows in a sum of losses ``(rows,)``; None if all are 1."""
        return None

    @property
    def residual_size(self) -> int:
        """Number of rows of the residual; 0 for a problem with costs only."""
        return self.data_rows

    @property
    def counted_rows(self) -> int:
        """Number of residuals whose sum of squares is that of the rows, for their variance."""
        return self.residual_size

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Residuals of candidates ``X (n, p)``, in blocks of bounded memory.

        Yields:
          Rows and their values ``(n, rows)``. Candidates that turn out to be invalid are entered
          in ``failures`` with the reason; their values are finite.

        Raises:
          FitError: the problem has costs only.
        """
        raise FitError(
            "this problem has costs but no residuals: use a method that requires costs only, "
            "such as CMA-ES"
        )

    @property
    def has_jacobian(self) -> bool:
        """Whether the problem has exact derivatives of its residuals."""
        return type(self).jacobian_blocks is not Problem.jacobian_blocks

    def jacobian_blocks(
        self, x: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Residuals of one candidate ``x (p,)`` and their exact derivatives, in blocks.

        Yields:
          Rows, their values ``(rows,)`` and derivatives ``(p, rows)`` with respect to ``x``. A
          candidate that turns out to be invalid is entered in ``failures`` as row 0.

        Raises:
          FitError: the problem has no derivatives.
        """
        raise FitError("this problem has no derivatives: use finite differences")

    def residuals(self, X: np.ndarray, failures: Failures | None = None) -> np.ndarray:
        """Residuals ``(n, m)`` of candidates ``X (n, p)``."""
        X = np.atleast_2d(np.asarray(X, float))
        failures = {} if failures is None else failures
        out: np.ndarray | None = None
        for rows, values in self.residual_blocks(X, failures):
            if out is None:
                if values.shape[1] == self.residual_size:
                    out = values
                    continue
                out = np.empty((len(X), self.residual_size))
            out[:, rows] = values
        assert out is not None, "a problem must yield at least one block"
        for row in failures:
            out[row] = LARGE_RESIDUAL
        return out

    def costs(self, X: np.ndarray, failures: Failures | None = None) -> np.ndarray:
        """Costs ``(n, k)`` of candidates ``X (n, p)``, one column per objective.

        Unless overridden, one column: half the sum of squared residuals. An invalid candidate has
        a large finite cost, and its reason in ``failures``.
        """
        X = np.atleast_2d(np.asarray(X, float))
        failures = {} if failures is None else failures
        total = np.zeros(len(X))
        for _, values in self.residual_blocks(X, failures):
            total += 0.5 * np.einsum("ij,ij->i", values, values)
        for row in failures:
            total[row] = 0.5 * LARGE_RESIDUAL**2 * max(self.residual_size, 1)
        return total[:, None]


def _numbers(values: Any, what: str) -> np.ndarray:
    """Output of a user function as an array of floats.

    The functions receive copies, because they may modify their argument.
    """
    try:
        array = np.array(values)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"{array.dtype} is not a real numeric type")
        return array.astype(float)
    except (TypeError, ValueError) as error:
        raise FitError(f"the function must return real numbers as {what}: {error}") from error


def _check_shape(values: np.ndarray, what: str, shape: tuple[int, int]) -> None:
    if values.shape != shape:
        raise FitError(
            f"the function returned {what} of shape {values.shape} for {shape[0]} candidates, "
            f"expected {shape}: one row per candidate"
        )


class PerCandidate(Problem):
    """A problem from a function of one candidate, evaluated in a loop.

    Args:
      function: residual ``(p,) -> (m,)``.
      space: search space.
    """

    def __init__(self, function: Callable[[np.ndarray], np.ndarray], space: Space):
        self.function = function
        self.space = space
        self.data_rows = np.size(function(space.start.copy()))

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """One block with the residuals of each candidate in turn."""
        out = np.full((len(X), self.data_rows), LARGE_RESIDUAL)
        for i, x in enumerate(X):
            check_time()
            try:
                values = _numbers(self.function(x.copy()), "residuals").reshape(-1)
            except (ArithmeticError, ValueError) as error:
                failures[i] = f"the residual function failed: {error}"
                continue
            if values.shape == (self.data_rows,) and np.isfinite(values).all():
                out[i] = values
            else:
                failures[i] = "the residual is not finite or its length changed"
        yield slice(0, self.data_rows), out


class Vectorised(Problem):
    """A problem from a function of a batch: residual ``(n, p) -> (n, m)``.

    Args:
      function: residual of the batch.
      space: search space.
    """

    def __init__(self, function: Callable[[np.ndarray], np.ndarray], space: Space):
        self.function = function
        self.space = space
        values = _numbers(function(space.start[None].copy()), "residuals")
        if values.ndim != 2 or len(values) != 1:
            raise FitError(
                f"the residuals of one candidate have shape {values.shape}, expected (1, m): "
                "one row per candidate"
            )
        self.data_rows = values.shape[1]

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """One block with all rows."""
        values = _numbers(self.function(X.copy()), "residuals")
        _check_shape(values, "residuals", (len(X), self.data_rows))
        bad = ~np.isfinite(values).all(axis=1)
        for row in np.flatnonzero(bad):
            failures[int(row)] = "the residual is not finite"
        values[bad] = LARGE_RESIDUAL
        yield slice(0, self.data_rows), values


class VectorisedCosts(Problem):
    """A problem without residuals: costs ``(n, p) -> (n,)`` or ``(n, k)`` of a batch.

    A candidate with a cost that is not finite is invalid.

    Args:
      function: costs of the batch.
      space: search space.
      objectives: names of the costs.
      noisy: whether the costs are random.
    """

    def __init__(
        self,
        function: Callable[[np.ndarray], np.ndarray],
        space: Space,
        objectives: tuple[str, ...] = ("cost",),
        noisy: bool = False,
    ):
        self.function = function
        self.space = space
        self.objectives = objectives
        self.noisy = noisy

    def costs(self, X: np.ndarray, failures: Failures | None = None) -> np.ndarray:
        """Costs ``(n, k)`` of candidates ``X (n, p)``."""
        X = np.atleast_2d(np.asarray(X, float))
        values = _numbers(self.function(X.copy()), "costs")
        shape = (len(X), len(self.objectives))
        if shape[1] == 1 and values.ndim == 1:
            values = values[:, None]
        _check_shape(values, "costs", shape)
        bad = ~np.isfinite(values).all(axis=1)
        values[bad] = LARGE_COST
        if failures is not None:
            failures.update((int(row), "the cost is not finite") for row in np.flatnonzero(bad))
        return values
