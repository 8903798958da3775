"""Which run follows a finished one: restarts with growing or alternating populations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SMALL, LARGE = "small", "large"


@dataclass(frozen=True)
class RunPlan:
    """Settings of one run of CMA-ES within a search."""

    population: int
    """Candidates a generation."""
    step: float = 1.0
    """First step size, in start deviations."""
    max_generations: int | None = None
    """Generations at most; None: the limit of ``cma``."""
    regime: str = LARGE
    """``large`` or ``small``: which budget the run counts on."""


@dataclass(frozen=True)
class FinishedRun:
    """What is kept of a run."""

    population: int
    """Candidates a generation."""
    evaluations: int
    """Evaluated candidates."""
    cost: float
    """Best cost of the run."""
    status: str
    """How it ended, a value of :class:`trueup.fitting.Status`."""
    reason: str
    """The same in words."""
    regime: str
    """``large`` or ``small``."""


def next_run(
    restarts: str,
    finished: Sequence[FinishedRun],
    max_restarts: int,
    factor: float,
    rng: np.random.Generator,
) -> RunPlan | None:
    """Settings of the next run, or None when the search is over.

    Args:
      restarts: ``"none"``, ``"ipop"`` or ``"bipop"``.
      finished: the runs so far, at least one.
      max_restarts: restarts at most; of BIPOP, those with a grown population.
      factor: by which the population grows.
      rng: draws the small runs of BIPOP.

    IPOP: Auger and Hansen, "A restart CMA evolution strategy with increasing population size",
    CEC 2005. BIPOP: Hansen, "Benchmarking a BI-population CMA-ES on the BBOB-2009 function
    testbed", GECCO 2009, section 2: the regime with the smaller budget so far has its turn; a small
    run has a population of ``floor(l (large / (2 l))**(u**2))`` for a default population ``l``, a
    first step of ``10**(-2 u)`` with another uniform ``u``, and half of the large budget.
    """
    first = finished[0].population
    grown = sum(run.regime == LARGE for run in finished) - 1
    if restarts == "none":
        return None
    if restarts == "bipop":
        # the first run counts on neither budget
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
