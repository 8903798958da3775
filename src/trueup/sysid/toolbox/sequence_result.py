"""Residuals and signals of a batch of candidates for one recorded sequence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.fitting.problem import LARGE_RESIDUAL, Failures
from trueup.signals import TimeSeries
from trueup.signals.model_signals import sensor_mapping
from trueup.signals.signal_type import SignalMapping
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.observation import ObservedSequence
from trueup.sysid.fit.problem import GrayBoxProblem


@dataclass(frozen=True)
class SequenceResult:
    """Residuals of a batch over one sequence, and the compared series."""

    residuals: np.ndarray
    """``(n, rows)``; the rows of an invalid candidate are large and finite."""
    predicted: list[TimeSeries]
    """Predicted signals of each candidate; empty where the residual function returns none."""
    measured: list[TimeSeries]
    """Measured signals in the comparison with each candidate; empty in the same case."""


def gray_box_results(
    problem: GrayBoxProblem, models_sequences: Sequence[ModelSequences], X: np.ndarray
) -> list[SequenceResult]:
    """Evaluate a batch once and return residuals and signals of each sequence.

    Args:
      problem: the problem made of these models and sequences.
      models_sequences: the models with their sequences, for the names of signals.
      X: candidates ``(n, p)``.
    """
    failures: Failures = {}
    pairs = problem.predictions(X, failures)
    trajectories = [t for models in models_sequences for t in models.measured_rollout]
    finite = np.ones(len(X), bool)
    residuals = []
    for sequence, (measured, predicted) in zip(problem.sequences, pairs, strict=True):
        difference = (measured - predicted) * _weights(problem, sequence, measured)
        flat = difference.reshape(len(X), -1)
        finite &= np.isfinite(flat).all(axis=1)
        residuals.append(flat)
    finite[list(failures)] = False
    results = []
    for sequence, trajectory, flat, (measured, predicted) in zip(
        problem.sequences, trajectories, residuals, pairs, strict=True
    ):
        mapping = trajectory.sensordata.signal_mapping or sensor_mapping(trajectory.model)
        compared = _compared(sequence, mapping)
        results.append(
            SequenceResult(
                np.where(finite[:, None], flat, LARGE_RESIDUAL),
                [TimeSeries(sequence.times, values, compared) for values in predicted],
                [
                    TimeSeries(sequence.times, measured[min(i, len(measured) - 1)], compared)
                    for i in range(len(X))
                ],
            )
        )
    return results


def _weights(
    problem: GrayBoxProblem, sequence: ObservedSequence, measured: np.ndarray
) -> np.ndarray:
    """Weights of the channels, of each candidate where parameters change the measured side."""
    if not problem.measurement_of(sequence).changes_measured:
        return sequence.weights
    return sequence.weights_for(measured)[:, None, :]


def _compared(sequence: ObservedSequence, mapping: SignalMapping) -> SignalMapping:
    """The compared signals and their columns."""
    owners = np.array(sequence.signal_names)
    return {
        name: (mapping[name][0], np.flatnonzero(owners == name))
        for name in dict.fromkeys(sequence.signal_names)
    }
