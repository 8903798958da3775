"""What every search keeps, whatever it does inside: one suite over all of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from trueup.errors import FitError
from trueup.fitting import minimise
from trueup.fitting.cma_es import CmaEs, CmaEsSettings
from trueup.fitting.problem import Problem, Vectorised, VectorisedCosts
from trueup.fitting.searches.auto import AutoSearch
from trueup.fitting.searches.least_squares import LeastSquares
from trueup.fitting.searches.multi_start import MultiStart
from trueup.fitting.searches.nsga2 import NSGA2, NSGA2Settings
from trueup.fitting.searches.polish import Polished
from trueup.fitting.searches.random import RandomSearch, ScatterSearch, SobolSearch
from trueup.fitting.solution import Status
from trueup.fitting.test_problems import (
    exponential_decay,
    failing_sphere,
    noisy_sphere,
    rough_sphere,
    sphere,
    zdt1,
)
from trueup.fitting.test_problems.test_problem import box
from trueup.runs import Budget, RunDirectory, Store, run_search
from trueup.runs.store.state_codec import decode_state, encode_state


@dataclass(frozen=True)
class Kind:
    """A search, and what may be expected of it."""

    make: Callable[[Any, int], Any]
    excess: float = 1e-6
    """Cost above the optimum that it reaches on an easy problem."""
    needs_residuals: bool = False
    is_random: bool = True
    needs_bounds: bool = True
    any_order: bool = True
    """Whether the rows of a batch may be told in any order."""
    several_objectives: bool = False

    def __call__(self, space, seed=0):
        return self.make(space, seed)


def _cma(space, seed):
    return CmaEs(space, CmaEsSettings(population=8, max_generations=100), seed)


def _nsga2(space, seed):
    return NSGA2(space, NSGA2Settings(population=24, generations=60), seed)


KINDS = {
    "least squares": Kind(
        lambda space, seed: LeastSquares(space),
        needs_residuals=True,
        is_random=False,
        needs_bounds=False,
        any_order=False,
    ),
    "multi-start": Kind(
        lambda space, seed: MultiStart(space, starts=8, polished=2, seed=seed),
        needs_residuals=True,
        any_order=False,
    ),
    "cma-es": Kind(_cma, needs_bounds=False),
    "cma-es with restarts": Kind(
        lambda space, seed: CmaEs(
            space,
            CmaEsSettings(
                population=6,
                restarts="bipop",
                max_restarts=1,
                options={"maxiter": 15},
            ),
            seed,
        ),
        excess=1e-1,
        needs_bounds=False,
    ),
    "nsga-ii": Kind(_nsga2, excess=1e-2, several_objectives=True),
    "random": Kind(
        lambda space, seed: RandomSearch(space, batch=10, candidates=125, seed=seed),
        excess=2.0,
        several_objectives=True,
    ),
    "sobol": Kind(
        lambda space, seed: SobolSearch(space, batch=10, candidates=125, seed=seed),
        excess=2.0,
        several_objectives=True,
    ),
    "scatter": Kind(
        lambda space, seed: ScatterSearch(
            space, batch=10, candidates=400, seed=seed, deviation=0.7
        ),
        excess=2.0,
        several_objectives=True,
        needs_bounds=False,
    ),
    "polished cma-es": Kind(
        lambda space, seed: Polished(_cma(space, seed), space, first_evaluations=57),
        needs_bounds=False,
        any_order=False,
    ),
    "polished nsga-ii": Kind(
        lambda space, seed: Polished(_nsga2(space, seed), space, first_evaluations=96),
        any_order=False,
    ),
    "auto": Kind(
        lambda space, seed: Polished(
            AutoSearch(space, CmaEsSettings(population=8, max_generations=30), seed=seed), space
        ),
        needs_bounds=False,
        any_order=False,
    ),
    "scan, then cma-es": Kind(
        lambda space, seed: AutoSearch(
            space, CmaEsSettings(population=8, max_generations=40), 40, seed
        ),
        excess=1e-2,
        needs_bounds=False,
    ),
}
COSTS_ONLY = {name: kind for name, kind in KINDS.items() if not kind.needs_residuals}
RANDOM = {name: kind for name, kind in KINDS.items() if kind.is_random}
ANY_ORDER = {name: kind for name, kind in KINDS.items() if kind.any_order}


def over(kinds):
    """Run a test for each of some searches."""
    return pytest.mark.parametrize("kind", kinds.values(), ids=kinds.keys())


def step(search, problem):
    """One batch; returns its candidates, costs and failures."""
    X = search.ask()
    failures: dict[int, str] = {}
    own = getattr(search, "evaluate", None)
    answer = problem.costs(X, failures) if own is None else own(problem, X, failures)
    costs = search.costs_of(answer) if hasattr(search, "costs_of") else answer
    search.tell(X, answer, failures)
    return X, np.array(costs), failures


def steps(search, problem, most=40):
    """Batches until the search is done, at most so many."""
    out = []
    while search.done() is None and len(out) < most:
        out.append(step(search, problem))
    return out


def in_bounds(X, space):
    """Whether all candidates lie within the bounds, to the last bit."""
    return bool((np.clip(X, space.lower, space.upper) == X).all())


def restored(search, space):
    """The search after its state went through a file."""
    document, arrays = encode_state(search.state())
    return type(search).from_state(decode_state(document, arrays), space)


def bent(scale) -> Problem:
    """Two residuals of two unknowns, of which the second ranges over decades or near a bound."""
    flags = np.array([False, True])
    space = box([1.0, 0.02], [-2.0, 1e-4], [3.0, 1.0], flags if scale == "log" else False)
    if scale == "logit":
        space = replace(space, logit=flags)
    return Vectorised(lambda X: (X - [0.4, 0.004]) * [1.0, 30.0], space)


class Trap(Problem):
    """A sphere of three residuals; part of the box fails with residuals that look perfect."""

    def __init__(self, lost=(), perfect=True):
        self.space = box([1.5, 1.0, 1.0], -3.0, 3.0)
        self.data_rows = 3
        self.perfect = perfect
        self.lost = set(lost)
        self.calls = 0

    def residual_blocks(self, X, failures):
        values = X - [0.5, -0.3, 0.2]
        fails = X[:, 0] < -0.5
        if self.calls in self.lost:
            fails = np.ones(len(X), bool)
        self.calls += 1
        values[fails] = 0.0 if self.perfect else np.nan
        failures.update((int(row), "not a valid candidate") for row in np.flatnonzero(fails))
        yield slice(0, 3), values


@over(KINDS)
def test_the_optimum_of_an_easy_problem_is_found_and_the_search_says_how_it_ended(kind):
    toy = exponential_decay()
    search = kind(toy.space)
    solution = minimise(toy.problem, search)
    assert isinstance(solution.status, Status) and solution.status is search.done()
    assert solution.message and f"{solution.cost:.3g}"[:3] in solution.message
    assert toy.excess(solution.x)[0] < kind.excess
    assert solution.cost == pytest.approx(toy.problem.costs(solution.x)[0, 0], abs=1e-12)
    assert solution.stats["evaluations"] > 0 and solution.history


@over(KINDS)
def test_a_limit_of_evaluations_is_not_passed(kind):
    toy = exponential_decay()
    first = len(kind(toy.space).ask())
    most = 3 * first + 1
    solution = minimise(toy.problem, kind(toy.space), max_evaluations=most)
    assert first <= solution.stats["evaluations"] <= most
    if solution.stats["evaluations"] < most:
        assert solution.status in (Status.EVALUATION_LIMIT, Status.CONVERGED)
    if not hasattr(kind(toy.space), "ask_at_most") and first > 1:
        with pytest.raises(FitError, match=f"below the first batch of this search, {first} cand"):
            minimise(toy.problem, kind(toy.space), max_evaluations=first - 1)


@over(KINDS)
@pytest.mark.parametrize("corner", [-9.0, 9.0])
def test_bounds_are_never_broken(kind, corner):
    # the optimum lies beyond a corner, so that every search runs against the bounds
    space = box([1.0, -1.0, 0.3], [-2.0, -2.0, -1.0], [2.0, 1.0, 1.5])
    problem = Vectorised(lambda X: X - corner, space)
    for X, _, _ in steps(kind(space), problem):
        assert X.ndim == 2 and X.shape[1] == 3 and np.isfinite(X).all()
        assert in_bounds(X, space)


@over(KINDS)
def test_an_infinite_bound_is_kept_or_refused(kind):
    space = box([1.0, 2.0], [0.0, -np.inf], [np.inf, 4.0])
    if kind.needs_bounds:
        with pytest.raises(FitError, match=r"finite bounds.*'x1', 'x2'"):
            kind(space)
        return
    problem = Vectorised(lambda X: X - [-3.0, 2.5], space)
    for X, _, _ in steps(search := kind(space), problem, most=400):
        assert (X[:, 0] >= 0.0).all() and (X[:, 1] <= 4.0).all()
    np.testing.assert_allclose(search.x, [0.0, 2.5], atol=2e-1 if kind.excess > 1e-2 else 1e-3)


@over(KINDS)
@pytest.mark.parametrize("scale", ["log", "logit"])
def test_scales_of_the_unknowns_are_kept(kind, scale):
    problem = bent(scale)
    search = kind(problem.space)
    for X, _, _ in steps(search, problem, most=400):
        assert in_bounds(X, problem.space)
    assert search.cost < kind.excess


@over(KINDS)
def test_one_unknown_is_enough(kind):
    problem = Vectorised(lambda X: X - 0.7, box([2.0], 0.0, 3.0))
    search = kind(problem.space)
    steps(search, problem, most=400)
    assert search.x[0] == pytest.approx(0.7, abs=0.3)


@over(KINDS)
def test_the_same_seed_has_the_same_history(kind):
    toy = exponential_decay()
    one, two = kind(toy.space, 3), kind(toy.space, 3)
    for (X, costs, _), (Y, others, _) in zip(
        steps(one, toy.problem), steps(two, toy.problem), strict=True
    ):
        assert X.tobytes() == Y.tobytes() and costs.tobytes() == others.tobytes()
    assert one.history == two.history and one.message == two.message


@over(RANDOM)
def test_another_seed_has_another_history(kind):
    toy = exponential_decay()
    batches = [
        np.vstack([X for X, _, _ in steps(kind(toy.space, seed), toy.problem, 6)])
        for seed in (3, 4)
    ]
    assert batches[0].shape != batches[1].shape or not np.array_equal(*batches)


@over(COSTS_ONLY)
def test_noisy_costs_have_the_same_history_with_the_same_seeds(kind):
    histories = []
    for _ in range(2):
        toy = noisy_sphere(3, seed=5)
        steps(search := kind(toy.space, 1), toy.problem, 15)
        histories.append(search.history)
    assert histories[0] == histories[1]


@over(KINDS)
def test_what_was_asked_is_asked_again_until_it_is_told(kind):
    toy = exponential_decay()
    search = kind(toy.space)
    for _ in range(12):
        if search.done() is not None:
            break
        first = search.ask().copy()
        assert first.tobytes() == search.ask().tobytes()
        # a state that is saved in between holds nothing of the question
        assert first.tobytes() == restored(search, toy.space).ask().tobytes()
        step(search, toy.problem)


@over(ANY_ORDER)
def test_a_batch_may_be_told_in_any_order(kind):
    toy = failing_sphere(3)
    plain, shuffled = kind(toy.space, 2), kind(toy.space, 2)
    random = np.random.default_rng(0)
    for _ in range(12):
        if plain.done() is not None:
            break
        X, costs, failures = step(plain, toy.problem)
        assert shuffled.ask().tobytes() == X.tobytes()
        order = random.permutation(len(X))
        row_after = np.argsort(order)
        shuffled.evaluate(toy.problem, X[order], {})
        shuffled.tell(X[order], costs[order], {int(row_after[i]): w for i, w in failures.items()})
    assert plain.history == shuffled.history
    assert plain.x.tobytes() == shuffled.x.tobytes()


@over(KINDS)
@pytest.mark.parametrize("perfect", [True, False])
def test_the_best_is_a_valid_candidate(kind, perfect):
    problem = Trap(perfect=perfect)
    search = kind(problem.space)
    batches = steps(search, problem, most=400)
    assert search.x[0] >= -0.5
    assert 0 <= search.cost < kind.excess
    assert search.cost == pytest.approx(problem.costs(search.x)[0, 0], abs=1e-12)
    if kind.is_random:
        assert any(failures for _, _, failures in batches)


@over(COSTS_ONLY)
def test_costs_that_are_not_finite_are_survived(kind):
    toy = failing_sphere(3)
    search = kind(toy.space)
    batches = steps(search, toy.problem, most=400)
    told = np.concatenate([np.ravel(costs) for _, costs, _ in batches])
    assert np.isnan(told).any() and np.isinf(told).any() and (told == -1).any()
    # a search that is left early for a polish that costs do not allow has not come far
    assert 0 <= search.cost < 0.2 * toy.excess(toy.space.start)[0]
    assert toy.excess(search.x)[0] == pytest.approx(search.cost, abs=1e-12)
    assert search.status is None or search.status is not Status.START_FAILED


@over(COSTS_ONLY)
@pytest.mark.parametrize("lost", [(0, 1), (3, 4)])
def test_a_generation_without_a_valid_candidate_is_survived(kind, lost):
    problem = Trap(lost)
    search = kind(problem.space)
    steps(search, problem, most=400)
    assert np.isfinite(search.cost) and search.x[0] >= -0.5
    assert search.cost == pytest.approx(problem.costs(search.x)[0, 0], abs=1e-12)


@over(KINDS)
def test_a_problem_that_always_fails_is_said(kind):
    problem = Trap(range(10**6))
    solution = minimise(problem, kind(problem.space))
    assert solution.status is Status.START_FAILED
    assert solution.message and not np.isfinite(solution.cost)
    np.testing.assert_array_equal(solution.x, problem.space.start)


def _continues_equally(kind, problem, most):
    whole, search = kind(problem.space, 7), kind(problem.space, 7)
    expected = steps(whole, problem, most)
    for X, costs, _ in expected:
        search = restored(search, problem.space)
        Y, others, _ = step(search, problem)
        assert X.tobytes() == Y.tobytes() and costs.tobytes() == others.tobytes()
    search = restored(search, problem.space)
    assert search.history == whole.history
    assert (search.message, search.cost, search.done()) == (whole.message, whole.cost, whole.done())
    assert search.x.tobytes() == whole.x.tobytes()
    assert search.evaluations == whole.evaluations
    return search, whole


@over(KINDS)
def test_a_search_restored_after_every_batch_goes_on_equally(kind):
    _continues_equally(kind, exponential_decay().problem, 25)
    _continues_equally(kind, Trap(), 8)


@over(COSTS_ONLY)
def test_a_search_restored_among_bad_costs_goes_on_equally(kind):
    _continues_equally(kind, failing_sphere(3).problem, 12)
    _continues_equally(kind, rough_sphere(3).problem, 8)


@over({name: kind for name, kind in KINDS.items() if kind.several_objectives})
def test_a_search_of_several_objectives_goes_on_equally(kind):
    search, whole = _continues_equally(kind, zdt1(3).problem, 12)
    assert search.front.objectives == whole.front.objectives == ("f1", "f2")
    assert search.front.x.tobytes() == whole.front.x.tobytes()
    assert search.front.costs.tobytes() == whole.front.costs.tobytes()


@over(KINDS)
def test_a_state_of_another_version_is_refused(kind):
    toy = exponential_decay()
    search = kind(toy.space)
    step(search, toy.problem)
    for version in (99, None):
        with pytest.raises(FitError, match=f"version {version}"):
            type(search).from_state({**search.state(), "version": version}, toy.space)


def _study(path, kind, problem, generations, resume=False):
    directory = RunDirectory.open(path) if resume else RunDirectory.create(path)
    return run_search(
        problem,
        kind(problem.space, 1),
        directory,
        resume=resume,
        budget=Budget(max_generations=generations),
        verbose=False,
    )


@over(KINDS)
def test_a_resumed_study_equals_an_uninterrupted_one(kind, tmp_path):
    problem = exponential_decay().problem
    whole = _study(tmp_path / "whole", kind, problem, 20)
    for generations in (2, 9, 20):
        parts = _study(tmp_path / "parts", kind, problem, generations, resume=generations > 2)
    assert parts.history == whole.history
    assert (parts.cost, parts.status) == (whole.cost, whole.status)
    with (
        Store.open(tmp_path / "whole" / "study.sqlite") as one,
        Store.open(tmp_path / "parts" / "study.sqlite") as two,
    ):
        assert one.history().X.tobytes() == two.history().X.tobytes()
        assert one.history().costs.tobytes() == two.history().costs.tobytes()


@over(KINDS)
def test_nothing_is_printed_and_numpys_own_generator_is_left_alone(kind, capfd):
    before = np.random.get_state()
    toy = exponential_decay()
    steps(kind(toy.space), toy.problem, 15)
    after = np.random.get_state()
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]
    assert capfd.readouterr() == ("", "")


@over(KINDS)
def test_the_best_cost_of_the_history_never_rises(kind):
    toy = exponential_decay()
    steps(search := kind(toy.space), toy.problem, 60)
    if isinstance(search, MultiStart):  # a record of each descent, one descent after the other
        return
    costs = [record["cost"] for record in search.history]
    assert (np.diff(costs)[np.isfinite(costs[:-1])] <= 0).all()


@over(KINDS)
def test_no_unknown_and_a_start_outside_are_refused(kind):
    with pytest.raises(FitError, match="no free parameter"):
        kind(box([]))
    if kind.needs_residuals:
        return
    space = replace(sphere(2).space, start=np.array([9.0, 0.0]))
    with pytest.raises(FitError, match=r"x1.*outside|outside.*x1"):
        kind(space)
    with pytest.raises(FitError, match="bounds of 'x1' are equal: freeze"):
        kind(box([1.0, 2.0], [1.0, 0.0], [1.0, 3.0]))


def test_a_search_of_one_cost_refuses_several():
    problem = zdt1(3).problem
    for name in ("cma-es", "auto", "scan, then cma-es"):
        with pytest.raises(FitError, match="minimises one cost"):
            step(KINDS[name](problem.space), problem)


def test_costs_may_come_as_a_vector():
    space = box([1.0, 1.0], -2.0, 2.0)
    problem = VectorisedCosts(lambda X: np.square(X).sum(axis=1), space)
    for kind in COSTS_ONLY.values():
        one, two = kind(space), kind(space)
        for _ in range(3):
            X, costs, _ = step(one, problem)
            two.ask()
            two.evaluate(problem, X, {})
            two.tell(X, costs[:, 0], {})
        assert one.history == two.history
