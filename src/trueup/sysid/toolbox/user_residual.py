"""Custom residual function, with or without the toolbox's signals."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.fitting.problem import Failures, PerCandidate, Problem, Vectorised
from trueup.parameters import ParameterDict
from trueup.signals import TimeSeries
from trueup.sysid.toolbox.hooked_problem import HookedProblem
from trueup.sysid.toolbox.sequence_result import SequenceResult


class UserResidual:
    """Residuals of any function ``residual(x, params) -> (residuals, predictions, records)``.

    A function that supports ``x`` of shape ``(p, n)``, one candidate per column, is called with
    whole batches; any other one candidate at a time. This is detected at the start values.

    Args:
      function: returns a list of arrays, or an array, alone or as the first of a tuple; predictions
        and records (measured signals) are lists of TimeSeries, one per sequence.
      parameters: the parameters passed to the function; their values change.

    Raises:
      FitError: the function returns nothing, or values that are not finite at the start.
    """

    def __init__(self, function: Callable[..., Any], parameters: ParameterDict):
        self.parameters = parameters
        self.space = parameters.space()
        self.function = function
        start = self._at(self.space.start)
        if start.ndim != 1 or start.size == 0:
            raise FitError(
                f"the residual function returned an array of shape {start.shape} for one vector of "
                f"parameters; expected at least one row"
            )
        if not np.isfinite(start).all():
            raise FitError("the residual function is not finite at the start values")
        self.data_rows = start.size
        self._inner: Problem = (
            Vectorised(self._batch, self.space)
            if self._takes_batches(start)
            else PerCandidate(self._at, self.space)
        )

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """One block with all rows of the function."""
        yield from self._inner.residual_blocks(X, failures)

    def results(self, X: np.ndarray, failures: Failures) -> list[SequenceResult]:
        """Residuals and signals of each sequence for candidates ``(n, p)``, one after the other."""
        answers = [self._answer(x) for x in X]
        results = []
        for index in range(len(answers[0][0])):
            predicted = [predicted[index] for _, predicted, _ in answers if index < len(predicted)]
            measured = [records[index] for _, _, records in answers if index < len(records)]
            residuals = np.stack([residuals[index] for residuals, _, _ in answers])
            results.append(SequenceResult(residuals, predicted, measured))
        return results

    def _answer(self, x: np.ndarray) -> tuple[list[np.ndarray], list[TimeSeries], list[TimeSeries]]:
        """Residuals, predicted and measured signals of one candidate, by sequence."""
        self.parameters.update_from_vector(x)
        answer = self.function(x, self.parameters)
        parts = list(answer) if isinstance(answer, tuple) else [answer]
        residuals = parts[0] if isinstance(parts[0], list) else [parts[0]]
        series = [[_first(item) for item in part] for part in parts[1:3] if part is not None]
        predicted, records = series if len(series) == 2 else ([], [])
        if any(not isinstance(item, TimeSeries) for item in [*predicted, *records]):
            predicted, records = [], []
        return [np.asarray(r, float).reshape(-1) for r in residuals], predicted, records

    def _call(self, x: np.ndarray) -> np.ndarray:
        answer = self.function(x, self.parameters)
        if isinstance(answer, tuple):
            answer = answer[0]
        if isinstance(answer, list):
            answer = np.concatenate([np.asarray(part, float) for part in answer])
        return np.asarray(answer, float)

    def _at(self, x: np.ndarray) -> np.ndarray:
        # set the parameters too, for a function that reads them instead of x
        self.parameters.update_from_vector(x)
        values = self._call(x)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    def _batch(self, X: np.ndarray) -> np.ndarray:
        return self._call(np.ascontiguousarray(X.T)).T

    def _takes_batches(self, start: np.ndarray) -> bool:
        """Whether two candidates at once give the same result as each alone."""
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


def _first(item: Any) -> Any:
    return item[0] if isinstance(item, list | tuple) and item else item


def problem_of_function(
    function: Callable[..., Any], parameters: ParameterDict, names: Sequence[str] = ()
) -> HookedProblem:
    """Problem of a custom residual function; see :class:`UserResidual`.

    Args:
      function: the residual function.
      parameters: the parameters; a copy is passed to the function.
      names: names of the sequences.

    Raises:
      FitError: the function returns nothing, or values that are not finite at the start.
    """
    known = parameters.copy()
    known.apply_ties()
    return HookedProblem(known, UserResidual(function, known), names)


def problem_of(
    residual_fn: Callable[..., Any], parameters: ParameterDict, names: Sequence[str] = ()
) -> Problem:
    """Problem of a residual function of :func:`trueup.sysid.build_residual_fn`, or else of
    :func:`problem_of_function`.
    """
    make = getattr(residual_fn, "problem", None)
    found = make(parameters) if callable(make) else None
    if isinstance(found, Problem):
        return found
    return problem_of_function(residual_fn, parameters, names)
