"""Polish: from a search over costs to least squares, and when not."""

import numpy as np
import pytest

from trueup import fitting
from trueup.errors import FitError
from trueup.fitting import (
    NSGA2,
    CmaEs,
    CmaEsSettings,
    LeastSquares,
    LeastSquaresSettings,
    RandomSearch,
    Status,
    Vectorised,
    test_problems,
)
from trueup.fitting.searches.polish import Polished
from trueup.fitting.searches.random import SobolSearch
from trueup.fitting.test_problems.test_problem import box


def _short_cma(space, generations=12):
    return CmaEs(space, CmaEsSettings(population=10, max_generations=generations))


def test_a_search_that_found_the_basin_is_polished_to_rounding():
    toy = test_problems.sine()
    assert toy.excess(fitting.minimise(toy.problem, LeastSquares(toy.space)).x)[0] > 10
    solution = fitting.minimise(toy.problem, Polished(_short_cma(toy.space, 25), toy.space))
    assert solution.status is Status.EXACT
    np.testing.assert_allclose(solution.x, toy.x, rtol=1e-9)
    assert "polished from" in solution.message and "25 generations" in solution.message
    phases = [record.get("polish", 0) for record in solution.history]
    assert phases == sorted(phases) and set(phases) == {0, 1}


def test_a_finished_search_may_be_polished():
    toy = test_problems.bard()
    first = _short_cma(toy.space, 30)
    rough = fitting.minimise(toy.problem, first)
    solution = fitting.minimise(toy.problem, Polished(first, toy.space))
    assert toy.excess(solution.x)[0] < 1e-10 < toy.excess(rough.x)[0]
    assert solution.stats["evaluations"] > rough.stats["evaluations"]


def test_a_search_without_end_is_left_after_its_evaluations():
    toy = test_problems.exponential_decay()
    search = Polished(RandomSearch(toy.space, batch=20), toy.space, first_evaluations=50)
    solution = fitting.minimise(toy.problem, search)
    assert search.first.evaluations == 60
    np.testing.assert_allclose(solution.x, toy.x, rtol=1e-6)
    assert "60 evaluations" in solution.message


def _assert_left_out(solution, first, words):
    assert f"not polished: {words}" in solution.message
    assert solution.status is first.status
    assert solution.cost == first.cost
    np.testing.assert_array_equal(solution.x, first.x)


def test_costs_without_residuals_are_left_as_they_are():
    toy = test_problems.sphere(2)
    first = _short_cma(toy.space)
    _assert_left_out(
        fitting.minimise(toy.problem, Polished(first, toy.space)),
        first,
        "the problem has costs but no residuals",
    )


def test_noisy_residuals_are_left_as_they_are():
    random = np.random.default_rng(0)
    space = box([1.0], -2.0, 2.0)
    problem = Vectorised(lambda X: X + 0.1 * random.standard_normal(X.shape), space)
    problem.noisy = True
    first = SobolSearch(space, candidates=16)
    solution = fitting.minimise(problem, Polished(first, space))
    _assert_left_out(solution, first, "the residuals are noisy, so finite differences")


def test_several_objectives_are_left_as_they_are():
    toy = test_problems.zdt1(3)
    problem = Vectorised(lambda X: X, toy.space)
    problem.costs = toy.problem.costs
    problem.objectives = ("f1", "f2")
    first = NSGA2(toy.space, fitting.NSGA2Settings(population=12, generations=4))
    solution = fitting.minimise(problem, Polished(first, toy.space))
    _assert_left_out(solution, first, "the problem has several objectives")
    assert solution.front is first.front


def test_a_cost_of_something_else_is_left_as_it_is():
    class Absolute(Vectorised):
        def costs(self, X, failures=None):
            return np.abs(self.residuals(X, failures)).sum(axis=1)[:, None]

    space = box([1.0, 1.0], -2.0, 2.0)
    problem = Absolute(lambda X: X - [0.3, 0.5], space)
    first = _short_cma(space)
    solution = fitting.minimise(problem, Polished(first, space))
    _assert_left_out(solution, first, f"the problem's cost {first.cost:.6g} is not that of")


def test_a_polish_that_does_not_help_changes_nothing():
    # a cost that is rough at the length of a difference: no step of least squares lowers it
    space = box([0.3], -2.0, 2.0)
    problem = Vectorised(lambda X: 1.0 + np.abs(np.sin(1e7 * X)) + np.abs(X), space)
    first = SobolSearch(space, candidates=64)
    solution = fitting.minimise(problem, Polished(first, space))
    assert solution.cost <= first.cost
    assert solution.cost == pytest.approx(problem.costs(solution.x)[0, 0])


def test_a_robust_loss_is_what_both_searches_minimise():
    times = np.linspace(0, 3, 60)
    data = 2.0 * np.exp(-1.2 * times)
    data[::7] += 5.0
    space = box([1.0, 0.5], 0.01, 10.0)
    problem = Vectorised(lambda X: X[:, :1] * np.exp(-X[:, 1:] * times) - data, space)
    settings = LeastSquaresSettings(loss="soft_l1", loss_scale=0.1)
    alone = fitting.minimise(problem, LeastSquares(space, settings))
    search = Polished(_short_cma(space, 20), space, settings)
    solution = fitting.minimise(problem, search)
    np.testing.assert_allclose(solution.x, alone.x, rtol=1e-5)
    assert search.first.cost == pytest.approx(solution.cost, rel=0.05)
    plain = fitting.minimise(problem, LeastSquares(space))
    assert abs(plain.x[0] - 2.0) > 5 * abs(solution.x[0] - 2.0)


def test_robust_costs_keep_failures():
    toy = test_problems.failing_decay()
    settings = LeastSquaresSettings(loss="huber", loss_scale=0.1)
    solution = fitting.minimise(toy.problem, Polished(_short_cma(toy.space), toy.space, settings))
    np.testing.assert_allclose(solution.x, toy.x, rtol=1e-6)
    assert solution.stats["failed_evaluations"] > 0


def test_a_foreign_search_is_refused():
    class Own(RandomSearch):
        pass

    space = box([0.0], -1.0, 1.0)
    with pytest.raises(FitError, match="a Own cannot be part of another search"):
        Polished(Own(space), space)
    with pytest.raises(FitError, match="first_evaluations must be at least 1, found 0"):
        Polished(RandomSearch(space), space, first_evaluations=0)


def test_a_state_that_holds_an_unknown_search_is_refused():
    toy = test_problems.bard()
    state = Polished(_short_cma(toy.space), toy.space).state()
    with pytest.raises(FitError, match=r"'CmaE'.*Did you mean 'CmaEs'"):
        Polished.from_state({**state, "first": "CmaE"}, toy.space)
