"""Searches with new perturbations in every generation, and reevaluation of their results.

With the same few perturbations in all generations, the best candidate is overfitted to them: near a
marginal walk some candidates have a low cost by chance, and fall under other perturbations. New
perturbations in every generation prevent this. The candidates of a generation share them (common
random numbers), so that their differences are their own. The cost is then noisy between
generations, and during the search the best candidate is evaluated on walks that were not used
for its selection.

In both cases the result is selected after the search, among the candidates of the last generations
and their means, over unseen perturbations, and by a longer walk without (:func:`reevaluated`).
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
from trueup.gait.walk.records import End
from trueup.parameters import Space

_JUDGED = 4
"""Perturbations of each generation for the best candidate and its challenger only. Three
generations decide between the two; challengers alternate between the mean of the population and its
cheapest candidate."""


_LAST, _FIFTH = 5, 5
"""Number of last generations with final candidates, and the fraction of the cheapest in each."""

_CHOSEN, _TOLD = 16, 20
"""Smallest number of repeats for the selection among the final candidates, and for its cost."""

_LONGER, _AT_ONCE = 2, 16
"""Duration of a walk without perturbations that a selected candidate completes, relative to that of
the search, and number of candidates that are simulated at once, in the order of their costs."""

_JUDGEMENT = 2**32 - 1
"""Generation number in the seed of the reevaluation."""


class FreshPerturbationsCmaEs(CmaEs):
    """CMA-ES with new perturbations in every generation.

    It is for large populations, such as 128 candidates of two walks each: candidates are not
    reevaluated, as the mean of the better half averages the noise. :attr:`cost` is the mean cost of
    the best candidate over perturbations that were not used for its selection.

    The arguments are those of :class:`trueup.fitting.CmaEs`.
    """

    def __init__(self, space: Space, settings: CmaEsSettings | None = None, seed: int = 0):
        noisy = {"noisy": True, "noise_treatment": False, "contender_evaluations": _JUDGED}
        super().__init__(space, replace(settings or CmaEsSettings(), **noisy), seed)

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> np.ndarray:
        """Costs ``(n, 1)`` of the candidates from `ask`.

        Raises:
          GaitError: the problem is evaluated in other processes, or has no perturbed repeats.
        """
        own = getattr(problem, "perturbations", None)
        if not isinstance(own, Perturbations):
            raise GaitError(
                "fresh_perturbations requires a gait problem with perturbed repeats, evaluated "
                "in this process: set perturbed_repeats, or remove fresh_perturbations"
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
        """Index of the draw of perturbations of each row of the batch ``(n,)``, from 0."""
        batch = self._batch
        assert batch is not None
        drawn = np.zeros(len(batch.X), int)
        for _, rows in batch.contenders:
            drawn[rows] = 1 + np.arange(len(rows))
        return drawn


class Reevaluated(NamedTuple):
    """A candidate selected among many on unseen walks."""

    x: np.ndarray
    """The candidate ``(p,)``."""
    cost: float
    """Mean cost over perturbations that were not used for its selection."""
    message: str
    """Text on the selection."""


def is_reevaluated(problem: GaitProblem, search: str) -> bool:
    """Whether the result of a search is selected and reported over unseen perturbations.

    The cost of the best of many candidates over a few perturbations is biased.
    """
    return SEARCH_METHODS[search].converges and problem.perturbations is not None


def means_of_generations(
    X: np.ndarray, costs: np.ndarray, generation: np.ndarray, most: int = 20
) -> np.ndarray:
    """Means of the cheaper half of each of the last generations ``(k, p)``.

    A mean averages the chance effects of its candidates: it survives perturbations
    under which the cheapest candidate falls.

    Args:
      X, costs, generation: as for :func:`final_candidates`.
      most: number of generations.
    """
    found = []
    for number in np.unique(generation)[-most:]:
        rows = np.flatnonzero((generation == number) & np.isfinite(costs))
        if len(rows):
            cheapest = rows[np.argsort(costs[rows], kind="stable")]
            found.append(X[cheapest[: max(1, len(rows) // 2)]].mean(axis=0))
    return np.array(found).reshape(len(found), X.shape[1])


def final_candidates(X: np.ndarray, costs: np.ndarray, generation: np.ndarray) -> np.ndarray:
    """The cheapest fifth of each of the last five generations, without repetition ``(k, p)``.

    A candidate evaluated several times in a generation counts once, by its mean cost.

    Args:
      X: all candidates of a search ``(n, p)``.
      costs: costs ``(n,)``; NaN where a walk could not start.
      generation: generation of each candidate ``(n,)``.
    """
    found = []
    for number in np.unique(generation)[-_LAST:]:
        rows = generation == number
        candidates, of = np.unique(X[rows], axis=0, return_inverse=True)
        mean = np.bincount(of.ravel(), costs[rows]) / np.bincount(of.ravel())
        order = np.argsort(mean, kind="stable")  # NaN last
        found.append(candidates[order[: max(1, len(order) // _FIFTH)]])
    return np.unique(np.concatenate(found), axis=0)


def evaluation_repeats(own: Perturbations) -> Perturbations:
    """Perturbations for the result of a search: 20 unseen repeats.

    Args:
      own: perturbations of the search, of the same kind and sizes.
    """
    return replace(own, repeats=max(own.repeats, _TOLD), seed=_seed(own, _JUDGEMENT, 1))


def reevaluated(problem: GaitProblem, candidates: np.ndarray) -> Reevaluated:
    """The cheapest of candidates ``(k, p)`` over unseen perturbations, of those that do not fall
    without perturbations within twice the duration of the search; of all if each falls.

    The cheapest candidates of a generation are so partly by chance, and most marginal walks fall
    under other perturbations, or slowly depart from their cycle and fall after the end of the
    walks of the search.

    Raises:
      GaitError: the problem has no perturbed repeats.
    """
    own = problem.perturbations
    if own is None:
        raise GaitError("reevaluation requires perturbed repeats, and the problem has none")
    repeats = max(own.repeats, _CHOSEN)
    with _walked_over(problem, replace(own, repeats=repeats, seed=_seed(own, _JUDGEMENT, 0))):
        ordered = candidates[np.argsort(problem.costs(candidates)[:, 0], kind="stable")]
    steady = _first_steady(problem, ordered)
    best = ordered[[steady or 0]]
    others = evaluation_repeats(own)
    with _walked_over(problem, others):
        cost = float(problem.costs(best)[0, 0])
    message = (
        f"cost {cost:.6g}, a mean over {others.repeats} repeats; selected over {repeats} other "
        f"repeats as the best of {len(candidates)} candidates and means of the last generations"
    )
    if steady:
        message += (
            f", without {steady} cheaper ones that fall without perturbations within {_LONGER} "
            "times the duration of the search"
        )
    return Reevaluated(best[0], cost, message)


def _first_steady(problem: GaitProblem, candidates: np.ndarray) -> int | None:
    """Index of the first of candidates ``(k, p)`` that does not fall without perturbations within
    :data:`_LONGER` times the duration of the search in any scenario; None if each falls."""
    simulations = [
        one.simulation.with_settings(duration=_LONGER * one.simulation.settings.duration)
        for one in problem.scenarios
    ]
    for start in range(0, len(candidates), _AT_ONCE):
        part = candidates[start : start + _AT_ONCE]
        stays_up = np.ones(len(part), bool)
        for simulation in simulations:
            records = simulation.run(problem.parameters.complete(part))
            stays_up &= records.ended == End.running
        if stays_up.any():
            return start + int(np.argmax(stays_up))
    return None


@contextmanager
def _walked_over(problem: Any, perturbations: Perturbations) -> Iterator[None]:
    """Context manager: a problem with other perturbations."""
    own = problem.perturbations
    problem.perturbations = perturbations
    try:
        yield
    finally:
        problem.perturbations = own


def _seed(own: Perturbations, generation: int, draw: int) -> int:
    root = np.random.SeedSequence([own.seed, generation, draw])
    return int(root.generate_state(1, np.uint64)[0])
