"""Searches whose generations walk over perturbations of their own.

Where all candidates of a search walk over the same few perturbations, its cheapest walk is one that
suits just these: beside a walk that only just stays up some are cheap by luck, and what a search
makes of them falls. With perturbations that no other generation has seen luck does not last. The
candidates of a generation still share theirs (common random numbers), so that they differ by what
they are. The costs of different generations are then those of a noisy cost, and the best candidate
is judged by walks that did not choose it.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from trueup.errors import GaitError
from trueup.fitting import CmaEs, CmaEsSettings
from trueup.fitting.problem import Failures, Problem
from trueup.gait.perturbations import Perturbations
from trueup.parameters import Space

_JUDGED = 4
"""Perturbations of each generation that the best candidate, and the one that may replace it, walk
over; no other candidate does. Three generations then decide between the two, so that the mean of
the population and its cheapest candidate take turns to challenge (every other generation's)."""


class FreshPerturbationsCmaEs(CmaEs):
    """CMA-ES whose every generation walks over perturbations that no other one has seen.

    It is for large populations, such as 128 candidates of two walks each: no candidate walks again
    for being noisy, the mean of the better half averages noise. :attr:`cost` is the mean of what
    the best candidate cost over perturbations that it was not chosen by.

    The arguments are those of :class:`trueup.fitting.CmaEs`.
    """

    def __init__(self, space: Space, settings: CmaEsSettings | None = None, seed: int = 0):
        noisy = {"noisy": True, "noise_treatment": False, "contender_evaluations": _JUDGED}
        super().__init__(space, replace(settings or CmaEsSettings(), **noisy), seed)

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> np.ndarray:
        """Costs ``(n, 1)`` of the candidates that were asked for.

        Raises:
          GaitError: the problem is evaluated in other processes, or has no perturbed repeats.
        """
        own = getattr(problem, "perturbations", None)
        if not isinstance(own, Perturbations):
            raise GaitError(
                "fresh perturbations need a gait problem with perturbed repeats, evaluated in this "
                "process: give perturbed_repeats, or leave fresh_perturbations out"
            )
        walks: Any = problem
        costs = np.full((len(X), 1), np.nan)
        terms: dict[str, np.ndarray] = {}
        drawn = self._draws()
        try:
            for draw in np.unique(drawn):
                rows = np.flatnonzero(drawn == draw)
                walks.perturbations = replace(own, seed=self._perturbation_seed(own, int(draw)))
                costs[rows] = super().evaluate(problem, X[rows], found := {})
                failures.update({int(rows[row]): reason for row, reason in found.items()})
                for name, values in walks.terms.items():
                    terms.setdefault(name, np.full(len(X), np.nan))[rows] = values
        finally:
            walks.perturbations = own
        walks.terms = terms
        return costs

    def _draws(self) -> np.ndarray:
        """Which draw of perturbations each row of the batch walks over ``(n,)``, from 0."""
        batch = self._batch
        assert batch is not None
        drawn = np.zeros(len(batch.X), int)
        for _, rows in batch.contenders:
            drawn[rows] = 1 + np.arange(len(rows))
        return drawn

    def _perturbation_seed(self, own: Perturbations, draw: int) -> int:
        root = np.random.SeedSequence([own.seed, self.generation, draw])
        return int(root.generate_state(1, np.uint64)[0])
