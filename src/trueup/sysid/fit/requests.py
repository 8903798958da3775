"""What an experiment asks for after the fit, checked before it."""

from typing import Any

from trueup.errors import FitError, did_you_mean, listing
from trueup.fitting.problem import Problem
from trueup.sysid.experiment.settings import Experiment
from trueup.sysid.fit.cross_validation import check_folds


def check_requests(experiment: Experiment, prepared: Any, problem: Problem) -> None:
    """Raise where something that is needed only after the fit cannot be had.

    Args:
      experiment: the experiment.
      prepared: a :class:`trueup.sysid.experiment.preparation.Prepared`.
      problem: its problem.

    Raises:
      FitError: ``confidence.profile`` names what is no free parameter.
      ExperimentError: more folds than training recordings.
    """
    names = problem.space.names
    unknown = [name for name in experiment.confidence.profile if name not in names]
    if unknown:
        raise FitError(
            f"confidence.profile names {listing(unknown)}; free parameters are {listing(names)}."
            f"{did_you_mean(unknown[0], names)}"
        )
    if experiment.held_out.folds > 1:
        check_folds(prepared, experiment.held_out.folds)
