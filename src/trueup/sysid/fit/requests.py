"""Checks before a fit of the requested steps after it."""

from typing import Any

from trueup.errors import FitError, did_you_mean, listing
from trueup.fitting.problem import Problem
from trueup.sysid.experiment.settings import Experiment
from trueup.sysid.fit.cross_validation import check_folds


def check_requests(experiment: Experiment, prepared: Any, problem: Problem) -> None:
    """Check that the requested steps after the fit are possible.

    Args:
      experiment: the experiment.
      prepared: a :class:`trueup.sysid.experiment.preparation.Prepared`.
      problem: its problem.

    Raises:
      FitError: ``confidence.profile`` names a parameter that is not free, or the posterior
        cannot be sampled.
      ExperimentError: more folds than training recordings.
    """
    names = problem.space.names
    unknown = [name for name in experiment.confidence.profile if name not in names]
    if unknown:
        raise FitError(
            f"confidence.profile names {listing(unknown)}; the free parameters are "
            f"{listing(names)}."
            f"{did_you_mean(unknown[0], names)}"
        )
    _check_sampling(experiment)
    if experiment.held_out.folds > 1:
        check_folds(prepared, experiment.held_out.folds)


def _check_sampling(experiment: Experiment) -> None:
    """Raise FitError if the posterior of the experiment cannot be sampled."""
    if not experiment.confidence.samples:
        return
    if experiment.search.by_torques:
        raise FitError(
            "confidence.method sampling simulates the model, and the search compares torques: use "
            "another method of the search, or confidence.method auto"
        )
    if experiment.search.loss != "linear":
        raise FitError(
            "confidence.method sampling requires Gaussian noise, but search.loss is "
            f"{experiment.search.loss}: remove the loss, or use confidence.method auto"
        )
