"""A user's own residual function as a problem that every search can solve."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.fitting.problem import (
    LARGE_RESIDUAL,
    Failures,
    PerCandidate,
    Problem,
    Vectorised,
)
from trueup.parameters import ParameterDict
from trueup.sysid.fit.prior_rows import PriorRows


class CallableProblem(Problem):
    """Residuals of any function ``residual(x, params) -> (residuals, ...)``, and of priors.

    A function that takes ``x`` of shape ``(p, n)``, one candidate a column, is called with whole
    batches; any other one candidate at a time. Which it is, is found out at the start values.

    Args:
      function: returns a list of arrays, or an array, alone or as the first of a tuple.
      parameters: the parameters; the function is given a copy.

    Raises:
      FitError: the function returns nothing, or values that are not finite at the start.
    """

    def __init__(self, function: Callable[..., Any], parameters: ParameterDict):
        self.parameters = parameters.copy()
        self.parameters.apply_ties()
        self.space = self.parameters.space()
        self.function = function
        self._priors = PriorRows(self.parameters)
        start = self._at(self.space.start)
        if start.ndim != 1 or start.size == 0:
            raise FitError(
                f"the residual function returned an array of shape {start.shape} for one vector of "
                f"parameters; it has to return at least one row"
            )
        if not np.isfinite(start).all():
            raise FitError("the residual function is not finite at the start values")
        self.data_rows = start.size
        self._inner: Problem = (
            Vectorised(self._batch, self.space)
            if self._takes_batches(start)
            else PerCandidate(self._at, self.space)
        )

    @property
    def residual_size(self) -> int:
        """Rows of the function and of the priors."""
        return self.data_rows + len(self._priors)

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows of the function, then those of the priors."""
        X = np.atleast_2d(np.asarray(X, float))
        for rows, values in self._inner.residual_blocks(X, failures):
            yield rows, values
        if len(self._priors):
            values = self._priors.values(self.parameters.value_table(X))
            values[list(failures)] = LARGE_RESIDUAL
            yield slice(self.data_rows, self.residual_size), values

    def _call(self, x: np.ndarray) -> np.ndarray:
        answer = self.function(x, self.parameters)
        if isinstance(answer, tuple):
            answer = answer[0]
        if isinstance(answer, list):
            answer = np.concatenate([np.asarray(part, float) for part in answer])
        return np.asarray(answer, float)

    def _at(self, x: np.ndarray) -> np.ndarray:
        # a function that reads the parameters instead of x sees the candidate too
        self.parameters.update_from_vector(x)
        values = self._call(x)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    def _batch(self, X: np.ndarray) -> np.ndarray:
        return self._call(np.ascontiguousarray(X.T)).T

    def _takes_batches(self, start: np.ndarray) -> bool:
        """Whether two candidates at once give what each gives alone."""
        x = self.space.start
        inward = np.where(x < self.space.upper, self.space.upper, self.space.lower)
        step = np.where(np.isfinite(inward), 1e-3 * (inward - x), 1e-3 * np.sign(inward))
        other = x + step
        try:
            pair = self._batch(np.stack([x, other]))
            alone = self._at(other)
        except Exception:
            return False
        return pair.shape == (2, start.size) and bool(
            np.allclose(pair, np.stack([start, alone]), rtol=1e-9, atol=1e-12, equal_nan=True)
        )
