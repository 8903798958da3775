"""Any residual function with the toolbox's result, as a problem whose fit can be assessed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.fitting.problem import Failures
from trueup.parameters import ParameterDict
from trueup.signals import TimeSeries
from trueup.sysid.toolbox.callable_problem import CallableProblem


@dataclass(frozen=True)
class CallableSequence:
    """One sequence of a residual function."""

    name: str
    times: np.ndarray
    channel_names: tuple[str, ...]
    signal_names: tuple[str, ...]
    measured: np.ndarray
    """``(T, C)``, as many elements as the sequence has residuals."""
    has_signals: bool
    """Whether the function returned the signals behind its residuals."""


class ObservedCallable(CallableProblem):
    """Residuals and signals of ``residual_fn(x, params) -> (residuals, predictions, records)``.

    A sequence whose residuals are not one for each sample and channel is shown by its residuals
    alone.

    Args:
      function: the residual function.
      parameters: the parameters.
      names: names of the sequences; numbered where there are more sequences than names.

    Raises:
      FitError: the function returns nothing, or values that are not finite at the start.
    """

    def __init__(self, function: Callable[..., Any], parameters: ParameterDict, names: list[str]):
        super().__init__(function, parameters)
        self.noise_scale = 1.0
        residuals, _, records = self._answer(self.space.start)
        self.sequences: list[CallableSequence] = []
        for i, residual in enumerate(residuals):
            name = names[i] if i < len(names) else f"sequence {i + 1}"
            record = records[i] if i < len(records) else None
            self.sequences.append(_sequence(name, residual, record))

    def predictions(
        self, X: np.ndarray, failures: Failures | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Measured and predicted signals of each sequence: ``(n, T, C)`` each."""
        answers = [self._answer(x) for x in np.atleast_2d(np.asarray(X, float))]
        out = []
        for i, sequence in enumerate(self.sequences):
            if sequence.has_signals:
                measured = np.stack([records[i].data for _, _, records in answers])
                predicted = np.stack([predicted[i].data for _, predicted, _ in answers])
            else:
                measured = np.zeros((len(answers), len(sequence.times), 1))
                predicted = -np.stack([residuals[i] for residuals, _, _ in answers])[:, :, None]
            out.append((measured, predicted))
        return out

    def _answer(self, x: np.ndarray) -> tuple[list[np.ndarray], list[TimeSeries], list[TimeSeries]]:
        self.parameters.update_from_vector(x)
        answer = self.function(x, self.parameters)
        parts = list(answer) if isinstance(answer, tuple) else [answer]
        residuals = parts[0] if isinstance(parts[0], list) else [parts[0]]
        series = [[_first(item) for item in part] for part in parts[1:3]]
        predicted, records = series if len(series) == 2 else ([], [])
        if any(not isinstance(item, TimeSeries) for item in [*predicted, *records]):
            predicted, records = [], []
        return [np.asarray(r, float).reshape(-1) for r in residuals], predicted, records


def _first(item: Any) -> Any:
    return item[0] if isinstance(item, list | tuple) and item else item


def _sequence(name: str, residual: np.ndarray, record: TimeSeries | None) -> CallableSequence:
    if record is None or record.data.size != residual.size:
        times = np.arange(residual.size, dtype=float)
        empty = np.zeros((residual.size, 1))
        return CallableSequence(name, times, ("residual",), ("residual",), empty, False)
    channels = [f"channel {i + 1}" for i in range(record.data.shape[1])]
    signals = list(channels)
    for signal, (_, columns) in (record.signal_mapping or {}).items():
        for k, column in enumerate(columns):
            channels[column] = signal if len(columns) == 1 else f"{signal}[{k}]"
            signals[column] = signal
    return CallableSequence(
        name, record.times, tuple(channels), tuple(signals), np.asarray(record.data), True
    )
