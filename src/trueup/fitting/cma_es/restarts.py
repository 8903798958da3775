"""Termination reasons of ``cma``, and restarts: IPOP and BIPOP."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.fitting.solution import Status

SMALL, LARGE = "small", "large"


@dataclass(frozen=True)
class RunPlan:
    """Settings of one run of CMA-ES within a search."""

    population: int
    """Candidates a generation."""
    step: float = 1.0
    """Initial step size, in initial deviations."""
    max_generations: int | None = None
    """Maximum number of generations; None: the limit of ``cma``."""
    regime: str = LARGE
    """Regime of the run and its budget, ``large`` or ``small``."""


@dataclass(frozen=True)
class FinishedRun:
    """Record of a finished run."""

    population: int
    """Candidates a generation."""
    evaluations: int
    """Evaluated candidates."""
    cost: float
    """Best cost of the run."""
    status: str
    """Its status, a value of :class:`trueup.fitting.Status`."""
    reason: str
    """Reason for its end, as a sentence."""
    regime: str
    """``large`` or ``small``."""


def next_run(
    restarts: str,
    finished: Sequence[FinishedRun],
    max_restarts: int,
    factor: float,
    rng: np.random.Generator,
) -> RunPlan | None:
    """Settings of the next run, or None at the end of the search.

    Args:
      restarts: ``"none"``, ``"ipop"`` or ``"bipop"``.
      finished: the finished runs, at least one.
      max_restarts: maximum number of restarts; for BIPOP, of those with an increased population.
      factor: growth factor of the population.
      rng: draws the small runs of BIPOP.

    IPOP: Auger and Hansen, "A restart CMA evolution strategy with increasing population size",
    CEC 2005. BIPOP: Hansen, "Benchmarking a BI-population CMA-ES on the BBOB-2009 function
    testbed", GECCO 2009, section 2: the regime with the smaller budget so far is next; a small
    run has a population of ``floor(l (large / (2 l))**(u**2))`` for a default population ``l``, a
    first step of ``10**(-2 u)`` with another uniform ``u``, and half of the large budget.
    """
    first = finished[0].population
    grown = sum(run.regime == LARGE for run in finished) - 1
    if restarts == "none":
        return None
    if restarts == "bipop":
        # the first run counts towards neither budget
        spent = {
            regime: sum(run.evaluations for run in finished[1:] if run.regime == regime)
            for regime in (SMALL, LARGE)
        }
        if spent[SMALL] < spent[LARGE]:
            large = first * factor**grown
            u, v = rng.uniform(size=2)
            population = max(int(first * (large / (2.0 * first)) ** (u * u)), 4)
            generations = math.ceil(0.5 * spent[LARGE] / population)
            return RunPlan(population, 10.0 ** (-2.0 * v), generations, SMALL)
    if grown >= max_restarts:
        return None
    return RunPlan(round(first * factor ** (grown + 1)))


# In order of priority if several criteria are met.
STOP_REASONS: dict[str, tuple[Status, str]] = {
    "ftarget": (Status.TARGET_REACHED, "the cost reached the target of {value}"),
    "tolfun": (
        Status.CONVERGED,
        "the costs of the last generations differ by less than {value}",
    ),
    "tolfunhist": (
        Status.CONVERGED,
        "the best costs of the last generations differ by less than {value}",
    ),
    "tolfunrel": (
        Status.CONVERGED,
        "the costs of a generation differ by less than {value} of the total improvement",
    ),
    "tolx": (
        Status.CONVERGED,
        "the steps are below {value} of the initial deviations",
    ),
    "noeffectaxis": (Status.CONVERGED, "a step along a principal axis is below rounding"),
    "noeffectcoord": (Status.CONVERGED, "a step along a parameter is below rounding"),
    "tolflatfitness": (
        Status.STALLED,
        "most candidates of a generation have the same cost: the cost may be flat here, or rounded",
    ),
    "tolstagnation": (Status.STALLED, "no improvement over {value} generations"),
    "plateau": (
        Status.STALLED,
        "the cost has not been reduced by a ten-thousandth in {value} generations",
    ),
    "tolxstagnation": (Status.STALLED, "the mean has stopped moving"),
    "tolconditioncov": (
        Status.STALLED,
        "the axes of the distribution differ by a condition number above {value}: parameters "
        "compensate each other, or their scales differ too much",
    ),
    "tolfacupx": (
        Status.STALLED,
        "the steps grew beyond {value} times the initial deviations: these were too small, or "
        "the cost is unbounded below",
    ),
    "tolupsigma": (
        Status.STALLED,
        "the step size grew beyond {value} times the axes of the distribution: the cost decreases "
        "slowly without bound",
    ),
    "maxfevals": (Status.EVALUATION_LIMIT, "the limit of {value} evaluations"),
    "maxiter": (Status.ITERATION_LIMIT, "the limit of {value} generations of a run"),
    "invalid": (Status.STALLED, "no valid candidate in {value} generations in a row"),
}


def describe_stop(reasons: Mapping[str, Any]) -> tuple[Status, str]:
    """Status and sentence of the keys that ended a run; unknown keys are reported unchanged."""
    for key, (status, sentence) in STOP_REASONS.items():
        if key in reasons:
            return status, f"{sentence.format(value=_number(reasons[key]))} ({key})"
    return Status.STALLED, f"cma ended the run ({', '.join(sorted(reasons)) or 'no reason'})"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (int, float)) else str(value)
