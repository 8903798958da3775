"""Searches whose generations walk over perturbations of their own.

Where all candidates of a search walk over the same few perturbations, its cheapest walk is one that
suits just these: beside a walk that only just stays up some are cheap by luck, and what a search
makes of them falls. With perturbations that no other generation has seen luck does not last. The
candidates of a generation still share theirs (common random numbers), so that they differ by what
they are. The costs of different generations are then those of a noisy cost, and the best candidate
is judged by walks that it was not chosen by during the search.

Either way the result is chosen after the search, among the candidates of the last generations and
the means of these, over perturbations that no candidate has seen (:func:`judged_anew`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trueup.errors import GaitError
from trueup.fitting import SEARCH_METHODS, CmaEs, CmaEsSettings
from trueup.fitting.problem import Failures, Problem
from trueup.gait.search.problem import GaitProblem
from trueup.gait.walk.perturbations import Perturbations
from trueup.parameters import Space

_JUDGED = 4
"""Perturbations of each generation that the best candidate, and the one that may replace it, walk
over; no other candidate does. Three generations then decide between the two, so that the mean of
the population and its cheapest candidate take turns to challenge (every other generation's)."""


_LAST, _FIFTH = 5, 5
"""Generations at the end whose candidates are left over, and of what part of them the cheapest."""

_CHOSEN, _TOLD = 16, 20
"""Least repeats for the choice among the last candidates, and for the cost of the chosen one."""

_JUDGEMENT = 2**32 - 1
"""What stands for the generation where the last candidates are judged."""


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
        for draw in np.unique(drawn):
            rows = np.flatnonzero(drawn == draw)
            others = replace(own, seed=_seed(own, self.generation, int(draw)))
            with _walked_over(walks, others):
                costs[rows] = super().evaluate(problem, X[rows], found := {})
            failures.update({int(rows[row]): reason for row, reason in found.items()})
            for name, values in walks.terms.items():
                terms.setdefault(name, np.full(len(X), np.nan))[rows] = values
        walks.terms = terms
        return costs

    def _draws(self) -> np.ndarray:
        """Draw of perturbations of each row of the batch ``(n,)``, from 0."""
        batch = self._batch
        assert batch is not None
        drawn = np.zeros(len(batch.X), int)
        for _, rows in batch.contenders:
            drawn[rows] = 1 + np.arange(len(rows))
        return drawn


class Judged(NamedTuple):
    """A candidate that was chosen among many by walks that none of them had seen."""

    x: np.ndarray
    """The candidate ``(p,)``."""
    cost: float
    """Mean over perturbations that it was not chosen by."""
    message: str
    """Sentence on the choice."""


def judges_anew(problem: GaitProblem, search: str) -> bool:
    """Whether the result of a search is chosen, and told, over perturbations that no candidate was
    scored by: the cheapest of many candidates over a few perturbations is a lucky one."""
    return SEARCH_METHODS[search].converges and problem.perturbations is not None


def means_of_generations(
    X: np.ndarray, costs: np.ndarray, generation: np.ndarray, most: int = 20
) -> np.ndarray:
    """Means of the cheaper half of each of the last generations ``(k, p)``.

    A mean is what its generation has in common, and that is not luck: it stays up over
    perturbations that make the cheapest candidate fall.

    Args:
      X, costs, generation: as of :func:`candidates_left_over`.
      most: generations.
    """
    found = []
    for number in np.unique(generation)[-most:]:
        rows = np.flatnonzero((generation == number) & np.isfinite(costs))
        if len(rows):
            cheapest = rows[np.argsort(costs[rows], kind="stable")]
            found.append(X[cheapest[: max(1, len(rows) // 2)]].mean(axis=0))
    return np.array(found).reshape(len(found), X.shape[1])


def candidates_left_over(X: np.ndarray, costs: np.ndarray, generation: np.ndarray) -> np.ndarray:
    """The cheapest fifth of each of the last five generations, without repetition ``(k, p)``.

    A candidate that walked several times in a generation counts once, by the mean of its costs.

    Args:
      X: all candidates of a search ``(n, p)``.
      costs: what they cost ``(n,)``; NaN where they could not walk.
      generation: generation of each ``(n,)``.
    """
    found = []
    for number in np.unique(generation)[-_LAST:]:
        rows = generation == number
        candidates, of = np.unique(X[rows], axis=0, return_inverse=True)
        mean = np.bincount(of.ravel(), costs[rows]) / np.bincount(of.ravel())
        order = np.argsort(mean, kind="stable")  # NaN last
        found.append(candidates[order[: max(1, len(order) // _FIFTH)]])
    return np.unique(np.concatenate(found), axis=0)


def told_over(own: Perturbations) -> Perturbations:
    """Perturbations for the result of a search: 20 repeats that no candidate has seen.

    Args:
      own: those of the search, whose kind and sizes hold here too.
    """
    return replace(own, repeats=max(own.repeats, _TOLD), seed=_seed(own, _JUDGEMENT, 1))


def judged_anew(problem: GaitProblem, candidates: np.ndarray) -> Judged:
    """The cheapest of candidates ``(k, p)`` over perturbations that no generation has seen.

    The cheapest candidates of a generation are lucky ones, and of walks that only just stay up most
    fall over other perturbations.

    Raises:
      GaitError: the problem has no perturbed repeats.
    """
    own = problem.perturbations
    if own is None:
        raise GaitError("candidates are judged over perturbed repeats, and there are none")
    repeats = max(own.repeats, _CHOSEN)
    with _walked_over(problem, replace(own, repeats=repeats, seed=_seed(own, _JUDGEMENT, 0))):
        best = candidates[[int(np.argmin(problem.costs(candidates)))]]
    others = told_over(own)
    with _walked_over(problem, others):
        cost = float(problem.costs(best)[0, 0])
    message = (
        f"cost {cost:.6g}, a mean over {others.repeats} repeats; over {repeats} others it was the "
        f"best of {len(candidates)} candidates and means of the last generations"
    )
    return Judged(best[0], cost, message)


@contextmanager
def _walked_over(problem: Any, perturbations: Perturbations) -> Iterator[None]:
    """A problem whose candidates walk over other perturbations than its own meanwhile."""
    own = problem.perturbations
    problem.perturbations = perturbations
    try:
        yield
    finally:
        problem.perturbations = own


def _seed(own: Perturbations, generation: int, draw: int) -> int:
    root = np.random.SeedSequence([own.seed, generation, draw])
    return int(root.generate_state(1, np.uint64)[0])
