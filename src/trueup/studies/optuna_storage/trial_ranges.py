"""The ranges of parameters as Optuna writes them beside every value of a trial."""

import math
from typing import Any

import numpy as np

from trueup.parameters import Space

_FAR = 1e3
"""Where a parameter has no bound: this many times its start value, or 1 where that is less."""


class TrialRanges:
    """Ranges of the parameters of a space.

    Optuna's ranges are finite. Where a bound is infinite (or zero on a log scale), the range ends
    at 1000 times the start value, at least 1000 (or at a thousandth of it); it is the same for all
    trials, for Optuna's samplers take no others, except where a value lies outside.

    Args:
        space: the parameters.
    """

    def __init__(self, space: Space):
        from optuna.distributions import FloatDistribution

        self.names = space.names
        self.unbounded: list[str] = []
        """Parameters whose range is one that was made up."""
        self.distributions: list[Any] = []
        for name, lower, upper, start, log in zip(
            space.names,
            space.lower.tolist(),
            space.upper.tolist(),
            space.start.tolist(),
            space.log.tolist(),
            strict=True,
        ):
            low, high = _finite_range(lower, upper, start, log)
            if (low, high) != (lower, upper):
                self.unbounded.append(name)
            self.distributions.append(FloatDistribution(low, high, log=log))
        self._documents = [_document(distribution) for distribution in self.distributions]

    def rows(self, trial: int, x: np.ndarray) -> list[dict[str, Any]]:
        """Rows of the table ``trial_params`` for the values ``x`` (p,) of a trial.

        A value that is not finite, or not positive on a log scale, has no row.
        """
        rows = []
        for i, value in enumerate(x.tolist()):
            document = self._document_for(i, value)
            if document is not None:
                rows.append(
                    {
                        "trial_id": trial,
                        "param_name": self.names[i],
                        "param_value": value,
                        "distribution_json": document,
                    }
                )
        return rows

    def _document_for(self, i: int, value: float) -> str | None:
        from optuna.distributions import FloatDistribution

        there = self.distributions[i]
        if there.low <= value <= there.high:
            return self._documents[i]
        if not math.isfinite(value) or (there.log and value <= 0.0):
            return None
        return _document(
            FloatDistribution(min(there.low, value), max(there.high, value), log=there.log)
        )


def _finite_range(lower: float, upper: float, start: float, log: bool) -> tuple[float, float]:
    far = _FAR * max(abs(start), 1.0)
    if log:
        low = lower if 0.0 < lower < math.inf else start / _FAR
        return low, upper if math.isfinite(upper) else far
    low = lower if math.isfinite(lower) else -far
    return low, upper if math.isfinite(upper) else far


def _document(distribution: Any) -> str:
    from optuna.distributions import distribution_to_json

    return distribution_to_json(distribution)
