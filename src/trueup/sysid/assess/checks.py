"""Checks before a fit: data quality, sensitivity to simulation settings, identifiability."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.fitting.judgement.identifiability import analyse
from trueup.parameters import Space
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.assess.check_conclusion import conclusion, strayed
from trueup.sysid.assess.deciding_settings import deciding_settings, linearised
from trueup.sysid.experiment.preparation import Prepared, prepare
from trueup.sysid.experiment.settings import Experiment
from trueup.sysid.fit._inner_fit import refit
from trueup.sysid.fit.identification_search import check_search, check_start
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.requests import check_requests
from trueup.sysid.recordings.beginnings import beginnings, simulated_steps
from trueup.sysid.starts.better_start import Start, start_by_torques

_OF_RANGE = 0.1  # typical size of a signed parameter, as a share of its range
_FEWEST = 500  # minimum number of simulated samples of a recording
_MOST_STEPS = 500_000  # maximum simulated steps of all recordings together
_BATCH_STEPS = 60_000.0  # simulated steps of one Jacobian of the fit before the check
_SECONDS = 10.0  # limit of this fit [s]


def check_experiment(
    experiment: Experiment,
    folder: str | Path = ".",
    on_progress: Callable[[str, float], None] = lambda doing, share: None,
) -> dict[str, Any]:
    """Check an experiment near the optimum, after a few iterations of its fit.

    The quality of the data is checked on every sample. If the recordings have more than 500,000
    time steps in total, only their beginnings are simulated.

    Args:
      experiment: the experiment.
      folder: folder to which its file names are relative.
      on_progress: called with the next step, and the finished share.

    Returns:
      Plain data: ``conclusion`` (decision and reasons), ``quality`` by recording, ``simulation``
      (sentences on settings that the data speak against), ``valid_with`` (on settings with which
      the values hold), ``identifiability``, ``notes``.

    Raises:
      TrueupError: an error that makes a fit impossible.
    """
    check_search(experiment.search)
    prepared = prepare(
        experiment,
        Path(folder),
        on_read=lambda name, share: on_progress(f"reading and checking {name}", 0.7 * share),
    )
    prepared = replace(prepared, training=_shortened(prepared))
    on_progress("a short fit", 0.7)
    problem = prepared.problem()
    check_requests(experiment, prepared, problem)
    check_start(problem)
    space = problem.space
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.square(problem.residuals(space.start[None])).sum()
    if not np.isfinite(squares):
        raise FitError(
            "the squared residuals at the start values overflow: check measurement (noise, "
            "weight) and the start values of parameters"
        )
    # the data show what decides only near the optimum
    x = _near_optimum(prepared, problem)
    near = linearised(problem, x)
    slope = space.slope(x)
    data = near.jacobian[: problem.data_rows] / slope
    information = data.T @ data
    on_progress("identifiability and settings of the simulation", 0.85)
    covariance = None if near.covariance is None else near.covariance * np.outer(slope, slope)
    known = covariance is not None and np.isfinite(covariance).all()
    found = analyse(
        information,
        x,
        space.names,
        space.lower,
        space.upper,
        covariance if known else None,
        reference=_typical(space),
        is_information=True,
    )
    moving = isinstance(problem, GrayBoxProblem)
    settings = deciding_settings(prepared, near) if moving else []
    quality = {r.name: r.quality for r in prepared.recordings}
    return {
        "name": experiment.name,
        "conclusion": conclusion(
            quality, found, [s.sentence for s in settings if s.is_doubt], strayed(problem, x)
        ).to_dict(),
        "quality": {name: report.to_dict() for name, report in quality.items()},
        "simulation": [s.sentence for s in settings if s.is_doubt],
        "valid_with": [s.sentence for s in settings if not s.is_doubt],
        "identifiability": {
            "identifiable": found.identifiable,
            "sentences": list(found.sentences),
            "condition": found.condition,
            "singular_values": found.singular_values,
            "determined": list(found.determined),
        },
        "notes": prepared.notes,
    }


def _typical(space: Space) -> np.ndarray:
    """Typical sizes of parameters ``(p,)``: those of their starts, or of the range of signed ones.

    The zero of an encoder is nearly zero: a share of its value says nothing.
    """
    signed = (space.lower < 0.0) & (space.upper > 0.0)
    reach = np.where(
        signed & np.isfinite(space.upper - space.lower), space.upper - space.lower, 0.0
    )
    return np.maximum(np.abs(space.start), _OF_RANGE * reach)


def _shortened(prepared: Prepared) -> list[ModelSequences]:
    """Sequences of the check, limited to their beginnings if too long to simulate.

    Adds a note if they are shortened.
    """
    everything = [t for models in prepared.training for t in models.measured_rollout]
    steps = sum(len(t.control.times) for t in everything)
    if steps <= _MOST_STEPS:
        return prepared.training
    part = _MOST_STEPS / steps
    prepared.notes.append(
        f"The recordings have {steps} time steps in total: simulation and identifiability are "
        f"checked on the first {100 * part:.2g} % of each, the quality of the data on all."
    )
    return beginnings(prepared.training, part, prepared.experiment.control, _FEWEST)


def _near_optimum(prepared: Prepared, problem: Any) -> np.ndarray:
    """Values after a few iterations of the fit, from the best of its start values ``(p,)``.

    Beginnings of the recordings lead near the optimum of all in a part of the time. Where the
    model does not follow all of them from there, all are fitted.
    """
    x = np.asarray(problem.space.start)
    if not isinstance(problem, GrayBoxProblem):
        fit = refit(problem, x, None, _SECONDS)
        return x if fit is None else fit.x
    x = start_by_torques(prepared, problem, Start(x), _SECONDS).x
    batch = simulated_steps(prepared.training) * (len(problem.space.names) + 1)
    part = beginnings(prepared.training, _BATCH_STEPS / batch, prepared.experiment.control, _FEWEST)
    fit = refit(prepared.problem(sequences=part), x, None, _SECONDS)
    if fit is not None and batch > _BATCH_STEPS:
        before, after = problem.costs(np.stack([x, fit.x]))[:, 0]
        if after >= before or strayed(problem, fit.x):
            fit = refit(problem, x, None, _SECONDS)
    return x if fit is None else fit.x
