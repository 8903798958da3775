"""Evaluation of a walk: cost, steadiness, verdict and report."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trueup._marks import marked
from trueup.errors import GaitError
from trueup.fitting import Verdict
from trueup.gait.costs.adult_norm import named_norm
from trueup.gait.costs.norms import GaitNorm
from trueup.gait.report._survival import Survival
from trueup.gait.report.of_run import norms_of, survivals_of
from trueup.gait.report.of_walk import WalkLook, look_at, walk_report
from trueup.gait.report.video import write_walk_video
from trueup.gait.report.walk_verdict import judge_walk
from trueup.gait.report.walk_words import curve_notes, how_it_walks, trunk_notes
from trueup.gait.search._make_problem import device_notes
from trueup.gait.search.configuration import MOST_REPEATS
from trueup.gait.search.given_walks import GivenWalk
from trueup.gait.search.myoassist.checkout import checkout_notes
from trueup.gait.walk.perturbations import PerturbationSizes
from trueup.reports import Page


@dataclass(frozen=True)
class WalkEvaluation:
    """Result of the evaluation of a walk.

    Attributes:
      walk: the walk.
      cost: cost of the walk.
      terms: cost terms; means over perturbed repeats where the cost uses them.
      verdict: whether the walk is steady and natural.
      survivals: perturbed repeats in each scenario; empty if not requested.
      notes: deviations from the vector or the configuration.
      page: report; None if not requested.
    """

    walk: GivenWalk
    cost: float
    terms: dict[str, float]
    verdict: Verdict
    survivals: Sequence[Survival] = ()
    notes: Sequence[str] = ()
    page: Page | None = field(default=None, repr=False)


def evaluate_walk(
    walk: GivenWalk,
    *,
    perturbations: int = 0,
    report: bool = False,
    norm: GaitNorm | str | Path | None = None,
    norm_speed: str = "Free",
    max_torques: Sequence[float] = (),
    film: bool = False,
) -> WalkEvaluation:
    """Simulate the walk of a vector, evaluate and report it.

    Args:
      walk: the walk, by :func:`trueup.gait.given_walk`.
      perturbations: number of repeats under perturbations that are not used in searches.
      report: whether to create a report.
      norm: norm of the verdict and the report, its file, or ``adult``; by default the tracked
        gait, or else the norm of adults if it applies to this speed and slope.
      norm_speed: speed of the norms of Schwartz et al., such as ``Slow``, ``Free`` or ``Fast``.
      max_torques: largest torques of a dose-response in the report [N m].
      film: whether the report contains a video.

    Raises:
      GaitError: the walk cannot start, or an invalid norm or torque.
      MissingExtraError: a package required for a video is not installed.
    """
    if not 0 <= perturbations <= MOST_REPEATS:
        raise GaitError(f"perturbations is {perturbations}; it must be from 0 to {MOST_REPEATS}")
    configuration, problem, vector = walk.configuration, walk.problem, walk.vector
    norms: Sequence[GaitNorm | None] = norms_of(configuration)
    if norm is not None:
        found = norm if isinstance(norm, GaitNorm) else named_norm(norm, norm_speed)
        norms = [found for _ in problem.scenarios]
    look = None
    if report:
        nominal = problem.parameters.start
        look = look_at(problem, vector, None if np.array_equal(nominal, vector) else nominal)
        cost = float(look.costs[0])
        terms = {name: float(value[0]) for name, value in look.terms.items()}
    else:
        failures: dict[int, str] = {}
        cost = float(problem.whole_costs(vector[None], failures)[0])
        if failures:
            raise GaitError(f"{walk.target}: the walk cannot start: {failures[0]}")
        terms = {name: float(value[0]) for name, value in problem.terms.items()}
    survivals: list[Survival] = []
    if perturbations:
        sizes = PerturbationSizes(**(configuration.perturbation_sizes or {}))
        survivals = survivals_of(problem, vector, perturbations, sizes)
    verdict = judge_walk(problem, vector, norms=norms, survivals=survivals)
    page = None
    if look is not None:
        video = _video(look) if film else None
        with marked(walk.mark):
            page = walk_report(
                look,
                f"Walk of {walk.target.name}",
                how_it_walks(problem),
                norm=norms,
                start_name="nominal vector",
                max_torques=max_torques,
                survivals=survivals,
                provenance={"target": str(walk.target), "configuration": configuration.to_dict()},
                video=video,
                verdict=verdict.to_dict(),
            )
    notes = [
        *checkout_notes(configuration),
        *device_notes(configuration),
        *trunk_notes(problem),
        *curve_notes(problem, vector),
    ]
    return WalkEvaluation(walk, cost, terms, verdict, survivals, notes, page)


def _video(look: WalkLook) -> bytes:
    """Video of the walk in the first scenario."""
    series = look.series[0][0]
    assert series is not None  # otherwise look_at has raised
    with tempfile.TemporaryDirectory(prefix="trueup-video-") as folder:
        walker = look.problem.scenarios[0].simulation.walker
        return write_walk_video(Path(folder) / "walk.mp4", walker, series).read_bytes()
