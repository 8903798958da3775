"""k-fold cross-validation: each fold is predicted by a fit to the others."""

from dataclasses import dataclass, replace

import numpy as np

from trueup.errors import ExperimentError
from trueup.fitting.losses import Loss
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.signals import k_fold
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.assess.assessment import SequenceSignals, sequence_signals
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit._inner_fit import inner_fit


@dataclass(frozen=True)
class CrossValidation:
    """Result of :func:`cross_validate`."""

    folds: int
    names: tuple[str, ...]
    values: np.ndarray
    """Estimates without each fold ``(folds, p)``."""
    training_error: np.ndarray
    """Root mean square of the weighted residual on the fitted part ``(folds,)``."""
    held_out_error: np.ndarray
    """The same on the fold ``(folds,)``."""
    held_out: tuple[tuple[str, ...], ...]
    """Sequences of each fold."""
    signals: tuple[SequenceSignals, ...] = ()
    """Each sequence as predicted by the fit without its fold."""


def cross_validate(
    prepared: Prepared,
    x: np.ndarray,
    folds: int,
    noise_scale: float = 1.0,
    loss: Loss | None = None,
) -> CrossValidation:
    """Refit without each fold of sequences in turn, from the optimum of all data.

    Args:
      prepared: the experiment with its recordings.
      x: optimum of all data ``(p,)``.
      folds: number of folds.
      noise_scale: noise in the unit of the residual, to weight priors.
      loss: robust loss of the fit.

    Raises:
      ExperimentError: fewer training recordings than folds.
    """
    loss = loss or Loss()
    settings = LeastSquaresSettings(max_iters=50, loss=loss.name, loss_scale=loss.scale)
    names = check_folds(prepared, folds)
    values, training, tested, parts = [], [], [], []
    signals: list[SequenceSignals] = []
    for split in k_fold(names, folds, seed=prepared.experiment.seed):
        fit_on = _chosen(prepared.training, split.training)
        test_on = _chosen(prepared.training, split.held_out)
        problem = prepared.problem(sequences=fit_on)
        problem.noise_scale = noise_scale
        fit = inner_fit(problem, LeastSquares(problem.space, settings, x))
        other = prepared.problem(sequences=test_on)
        other.noise_scale = noise_scale
        values.append(fit.x)
        training.append(np.sqrt(2 * problem.costs(fit.x[None])[0, 0] / problem.data_rows))
        tested.append(np.sqrt(2 * other.costs(fit.x[None])[0, 0] / other.data_rows))
        parts.append(tuple(split.held_out))
        signals += sequence_signals(other, other.space.start, fit.x, held_out=True)
    return CrossValidation(
        folds,
        prepared.problem().space.names,
        np.array(values),
        np.array(training),
        np.array(tested),
        tuple(parts),
        tuple(replace(each, repeats_training=True) for each in signals),
    )


def check_folds(prepared: Prepared, folds: int) -> list[str]:
    """Names of the training sequences.

    Raises:
      ExperimentError: there are fewer of them than folds.
    """
    names = [n for models in prepared.training for n in models.sequence_name]
    if len(names) < folds:
        raise ExperimentError(
            f"held_out.folds is {folds}, but there are only {len(names)} training recordings: use "
            "at "
            f"most {len(names)} folds, or hold out a fraction of the time"
        )
    return names


def _chosen(groups: list[ModelSequences], names: tuple[str, ...]) -> list[ModelSequences]:
    chosen = []
    for models in groups:
        inside = [n for n in models.sequence_name if n in names]
        if inside:
            chosen.append(models[inside])
    return chosen
