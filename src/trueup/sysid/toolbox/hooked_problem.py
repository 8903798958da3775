"""Problem of the toolbox's functions with a custom residual."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from trueup.fitting.problem import LARGE_RESIDUAL, Failures, Problem
from trueup.parameters import ParameterDict
from trueup.parameters.prior_rows import PriorRows
from trueup.signals import TimeSeries
from trueup.sysid.toolbox.sequence_result import SequenceResult


class ResidualSource(Protocol):
    """Residuals and signals of recorded sequences from custom functions."""

    @property
    def data_rows(self) -> int:
        """Number of rows of the residual."""
        ...

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of rows and their values ``(n, rows)`` for candidates ``(n, p)``."""
        ...

    def results(self, X: np.ndarray, failures: Failures) -> list[SequenceResult]:
        """Residuals and signals of each sequence for candidates ``(n, p)``."""
        ...


@dataclass(frozen=True)
class HookedSequence:
    """One sequence for a report."""

    name: str
    times: np.ndarray
    """``(T,)`` [s]; row indices for residuals without signals."""
    channel_names: tuple[str, ...]
    signal_names: tuple[str, ...]
    measured: np.ndarray
    """``(T, C)``, as many elements as the sequence has residuals."""
    has_signals: bool
    """Whether the signals of the residuals are known; otherwise the residuals are shown."""


class HookedProblem(Problem):
    """Residuals from custom functions: a rollout, a comparison, or the whole residual.

    Rows of the source, then one row for each Gaussian prior.

    Args:
      parameters: all parameters; the free ones are estimated.
      source: residuals and signals of candidates.
      names: names of the sequences; numbered if there are more sequences than names.
    """

    def __init__(
        self, parameters: ParameterDict, source: ResidualSource, names: Sequence[str] = ()
    ):
        self.parameters = parameters
        self.space = parameters.space()
        self.source = source
        self.names = list(names)
        self.noise_scale = 1.0
        self._priors = PriorRows(parameters)

    @property
    def data_rows(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Rows of the source."""
        return self.source.data_rows

    @property
    def residual_size(self) -> int:
        """Rows of the source and of the priors."""
        return self.data_rows + len(self._priors)

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of the source, then the priors."""
        X = np.atleast_2d(np.asarray(X, float))
        end = 0
        for rows, values in self.source.residual_blocks(X, failures):
            yield rows, values
            end = max(end, rows.stop)
        if len(self._priors):
            values = self._priors.values(self.parameters.value_table(X))
            values[list(failures)] = LARGE_RESIDUAL
            yield slice(end, end + len(self._priors)), values

    def results(self, X: np.ndarray, failures: Failures) -> list[SequenceResult]:
        """Residuals and signals of each sequence for candidates ``(n, p)``."""
        return self.source.results(np.atleast_2d(np.asarray(X, float)), failures)

    @cached_property
    def sequences(self) -> list[HookedSequence]:
        """All sequences, in the order of the residual."""
        found = []
        for i, result in enumerate(self.results(self.space.start, {})):
            name = self.names[i] if i < len(self.names) else f"sequence {i + 1}"
            record = result.measured[0] if result.measured else None
            found.append(_sequence(name, result.residuals[0], record))
        return found

    def predictions(
        self, X: np.ndarray, failures: Failures | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Measured and predicted signals of each sequence: ``(n, T, C)`` each."""
        results = self.results(X, {} if failures is None else failures)
        pairs = []
        for sequence, result in zip(self.sequences, results, strict=True):
            if sequence.has_signals:
                measured = np.stack([series.data for series in result.measured])
                predicted = np.stack([series.data for series in result.predicted])
            else:
                # without signals the residual is shown as measured, with a prediction of zero
                predicted = -result.residuals[:, :, None]
                measured = np.zeros_like(predicted)
            pairs.append((measured, predicted))
        return pairs


def _sequence(name: str, residual: np.ndarray, record: TimeSeries | None) -> HookedSequence:
    if record is None or record.data.size != residual.size:
        times = np.arange(residual.size, dtype=float)
        empty = np.zeros((residual.size, 1))
        return HookedSequence(name, times, ("residual",), ("residual",), empty, False)
    channels = [f"channel {i + 1}" for i in range(record.data.shape[1])]
    signals = list(channels)
    for signal, (_, columns) in (record.signal_mapping or {}).items():
        for k, column in enumerate(columns):
            channels[column] = signal if len(columns) == 1 else f"{signal}[{k}]"
            signals[column] = signal
    return HookedSequence(
        name, record.times, tuple(channels), tuple(signals), np.asarray(record.data), True
    )
