"""The ranges of parameters as Optuna writes them beside every value of a trial."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueup.parameters import Space

COLUMNS = ("trial_id", "param_name", "param_value", "distribution_json")
"""Columns of the rows of parameters."""

_FAR = 1e3
"""Bound of a parameter without one, in multiples of its start value, or of 1 if that is less."""


class TrialRanges:
    """Ranges of the parameters of a space.

    Optuna's ranges are finite. Where a bound is infinite (or zero on a log scale), the range ends
    at 1000 times the start value, at least 1000 (or at a thousandth of it); it is the same for all
    trials, for Optuna's samplers take no others, except where a value lies outside.

    Args:
        space: the parameters.
        log: which of them stand on a log scale ``(p,)``; those of the space by default. On a log
            scale, a value that is not positive has no place.
    """

    def __init__(self, space: Space, log: np.ndarray | None = None):
        from optuna.distributions import FloatDistribution

        self.names = space.names
        self.unbounded: list[str] = []
        """Parameters whose range is one that was made up."""
        self.distributions: list[Any] = []
        scales = space.log if log is None else log
        for name, lower, upper, start, on_log in zip(
            space.names,
            space.lower.tolist(),
            space.upper.tolist(),
            space.start.tolist(),
            scales.tolist(),
            strict=True,
        ):
            low, high = _finite_range(lower, upper, start, on_log)
            if (low, high) != (lower, upper):
                self.unbounded.append(name)
            self.distributions.append(FloatDistribution(low, high, log=on_log))
        self._documents = [_document(distribution) for distribution in self.distributions]

        self._low = np.array([distribution.low for distribution in self.distributions])
        self._high = np.array([distribution.high for distribution in self.distributions])

    def rows(self, trials: Sequence[int], X: np.ndarray) -> list[tuple[int, str, float, str]]:
        """Rows of the table ``trial_params``, see :data:`COLUMNS`.

        A value that is not finite, or not positive on a log scale, has no row.

        Args:
            trials: ``trial_id`` of each trial.
            X: their values ``(n, p)``.
        """
        inside = (self._low <= X) & (self._high >= X)
        outliers = set(np.flatnonzero(~np.all(inside, axis=1)).tolist())
        rows = []
        for i, (trial, values) in enumerate(zip(trials, X.tolist(), strict=True)):
            documents = self._documents_for(values) if i in outliers else self._documents
            rows += [
                (trial, name, value, document)
                for name, value, document in zip(self.names, values, documents, strict=True)
                if document is not None
            ]
        return rows

    def _documents_for(self, values: list[float]) -> list[str | None]:
        """Ranges that reach as far as the values; None where a value has no place in any."""
        from optuna.distributions import FloatDistribution

        documents: list[str | None] = list(self._documents)
        for i, (value, there) in enumerate(zip(values, self.distributions, strict=True)):
            if not math.isfinite(value) or (there.log and value <= 0.0):
                documents[i] = None
            elif not there.low <= value <= there.high:
                low, high = min(there.low, value), max(there.high, value)
                documents[i] = _document(FloatDistribution(low, high, log=there.log))
        return documents


def _finite_range(lower: float, upper: float, start: float, log: bool) -> tuple[float, float]:
    far = _FAR * max(abs(start), 1.0)
    if log:
        high = upper if math.isfinite(upper) else far
        low = lower if 0.0 < lower < math.inf else (start if start > 0.0 else high) / _FAR
        return low, high
    low = lower if math.isfinite(lower) else -far
    return low, upper if math.isfinite(upper) else far


def _document(distribution: Any) -> str:
    from optuna.distributions import distribution_to_json

    return distribution_to_json(distribution)
