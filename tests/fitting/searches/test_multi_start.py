"""Several starts: the global minimum, resumption, failing starts."""

import json

import fitting_problems as zoo
import numpy as np
import pytest

from trueup.errors import FitError
from trueup.fitting import minimise
from trueup.fitting.problem import Vectorised
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.searches.multi_start import MultiStart
from trueup.fitting.solution import Status

_T = np.linspace(0, 2, 120)


def _frequency(x):
    """A sine fitted for frequency and amplitude: one basin a period of the beat."""
    return x[:, 1:2] * np.sin(2 * np.pi * x[:, :1] * _T) - 1.5 * np.sin(2 * np.pi * 7.3 * _T)


def _problem():
    return zoo.problem(_frequency, [1.0, 1.0], lower=[0.5, 0.1], upper=[12.0, 3.0])


def test_one_start_ends_in_a_local_minimum_and_several_find_the_global_one():
    problem = _problem()
    alone = minimise(problem, LeastSquares(problem.space))
    assert alone.cost > 10
    solution = minimise(problem, MultiStart(problem.space, starts=64, polished=4))
    assert solution.success
    np.testing.assert_allclose(solution.x, [7.3, 1.5], rtol=1e-7)
    assert "best of 64 starts" in solution.message
    assert solution.stats["evaluations"] < 400


def test_the_same_seed_gives_the_same_points_and_another_seed_others():
    space = _problem().space
    first, again, other = (MultiStart(space, seed=s).ask() for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[1:], other[1:])
    np.testing.assert_array_equal(first[0], space.start)
    assert ((first >= space.lower) & (first <= space.upper)).all()


@pytest.mark.parametrize("starts", [1, 2, 3, 8, 9])
def test_the_scan_has_as_many_points_as_asked(starts):
    assert len(MultiStart(_problem().space, starts=starts).ask()) == starts


def test_points_of_a_log_scale_are_spread_over_decades():
    space = zoo.space([1e-3], 1e-6, 1.0, log=True)
    points = MultiStart(space, starts=65).ask()[1:, 0]
    assert 25 <= (points < 1e-3).sum() <= 39


def test_a_search_resumed_after_every_batch_has_the_same_history():
    problem = _problem()
    whole = MultiStart(problem.space, starts=16, polished=2, seed=3)
    minimise(problem, whole)
    search = MultiStart(problem.space, starts=16, polished=2, seed=3)
    while search.done() is None:
        state = json.loads(json.dumps(search.state(), default=lambda a: a.tolist()))
        search = MultiStart.from_state(state, problem.space)
        X = search.ask()
        failures: dict[int, str] = {}
        search.tell(X, search.evaluate(problem, X, failures), failures)
    assert search.history == whole.history
    assert (search.message, search.cost) == (whole.message, whole.cost)


def test_a_failing_start_is_left_out():
    def residual(x):
        return np.where(x[:, :1] < 2, np.nan, x[:, :1] - 3)

    problem = Vectorised.__new__(Vectorised)
    problem.function, problem.space, problem.data_rows = residual, zoo.space([0.0], 0.0, 8.0), 1
    solution = minimise(problem, MultiStart(problem.space, starts=9, polished=1))
    assert solution.success
    assert solution.x[0] == pytest.approx(3, abs=1e-7)


def test_all_starts_failing_is_said():
    problem = Vectorised.__new__(Vectorised)
    problem.function = lambda x: np.full((len(x), 1), np.nan)
    problem.space, problem.data_rows = zoo.space([0.0], 0.0, 8.0), 1
    solution = minimise(problem, MultiStart(problem.space, starts=5))
    assert solution.status is Status.START_FAILED
    assert "not finite" in solution.message


def test_infinite_bounds_and_no_starts_are_refused():
    with pytest.raises(FitError, match="finite bounds"):
        MultiStart(zoo.space([1.0]))
    with pytest.raises(FitError, match="at least 1"):
        MultiStart(_problem().space, LeastSquaresSettings(), starts=0)


def test_a_large_scan_is_asked_for_and_evaluated_in_parts(monkeypatch):
    problem = _problem()
    seen = []
    blocks = problem.residual_blocks

    def watched(X, failures):
        seen.append(len(X))
        return blocks(X, failures)

    monkeypatch.setattr(problem, "residual_blocks", watched)
    monkeypatch.setattr("trueup.fitting.searches.multi_start._VALUES_AT_ONCE", 120 * 50)
    search = MultiStart(problem.space, starts=600, polished=3)
    batches = []
    while search.evaluations < 600:
        X = search.ask()
        batches.append(X)
        failures: dict[int, str] = {}
        search.tell(X, search.evaluate(problem, X, failures), failures)
    assert [len(X) for X in batches] == [256, 256, 88]
    assert max(seen) == 50 and sum(seen) == 600
    points = np.vstack(batches)
    assert len(np.unique(points, axis=0)) == 600
    costs = problem.costs(points)[:, 0]
    assert search.cost == costs.min()
    # what is polished: the given start, then the best two
    starts = [search.ask()[0], *search._queue]
    np.testing.assert_array_equal(starts, points[[0, *np.argsort(costs)[:2]]])


def test_failures_of_a_scan_in_parts_keep_their_rows(monkeypatch):
    monkeypatch.setattr("trueup.fitting.searches.multi_start._VALUES_AT_ONCE", 3)
    problem = Vectorised(lambda x: np.where(x > 0.5, np.nan, x), zoo.space([0.1], 0.0, 1.0))
    search = MultiStart(problem.space, starts=20)
    X, failures = search.ask(), {}
    costs = search.evaluate(problem, X, failures)
    np.testing.assert_array_equal(sorted(failures), np.flatnonzero(X[:, 0] > 0.5))
    np.testing.assert_array_equal(np.isinf(costs), X[:, 0] > 0.5)


def test_one_descent_begins_at_the_best_of_all():
    problem = _problem()
    search = MultiStart(problem.space, starts=64, polished=1)
    solution = minimise(problem, search)
    np.testing.assert_allclose(solution.x, [7.3, 1.5], rtol=1e-6)


def test_a_scan_resumed_between_its_batches_has_the_same_best(monkeypatch):
    monkeypatch.setattr("trueup.fitting.searches.multi_start._BATCH", 8)
    problem = _problem()
    whole = MultiStart(problem.space, starts=50, polished=3, seed=1)
    minimise(problem, whole)
    search = MultiStart(problem.space, starts=50, polished=3, seed=1)
    while search.done() is None and search.evaluations < 2000:
        search = MultiStart.from_state(search.state(), problem.space)
        X = search.ask()
        failures: dict[int, str] = {}
        search.tell(X, search.evaluate(problem, X, failures), failures)
    assert search.history == whole.history
    assert (search.message, search.cost) == (whole.message, whole.cost)
