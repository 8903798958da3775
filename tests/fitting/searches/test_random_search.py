"""Random, Sobol and scatter search: how points are spread, how many, fronts, bad input."""

import numpy as np
import pytest

from trueup import fitting
from trueup.errors import FitError
from trueup.fitting import RandomSearch, Status, test_problems
from trueup.fitting.searches.random import ScatterSearch, SobolSearch
from trueup.fitting.searches.unit_box import SobolPoints, to_unit
from trueup.fitting.test_problems.test_problem import box
from trueup.parameters import Space

BOTH = pytest.mark.parametrize("kind", [RandomSearch, SobolSearch])


def _asked(search, batches):
    out = []
    for _ in range(batches):
        X = search.ask()
        search.tell(X, np.zeros(len(X)), {})
        out.append(X)
    return np.vstack(out)


@BOTH
def test_points_fill_the_box_evenly_over_decades(kind):
    space = box([0.0, 1e-2], [-3.0, 1e-6], [5.0, 1e2], [False, True])
    unit = to_unit(space, _asked(kind(space, batch=50), 41)[1:])
    counts = np.histogramdd(unit, bins=4, range=[(0, 1), (0, 1)])[0]
    expected = len(unit) / 16
    limit = 4 * np.sqrt(expected) if kind is RandomSearch else 3
    assert np.abs(counts - expected).max() < limit


def test_sobol_points_are_more_even_than_random_ones():
    from scipy.stats import qmc

    space = box(np.full(4, 0.5), 0.0, 1.0)
    even, random = (
        qmc.discrepancy(_asked(kind(space, batch=257), 1)[1:])
        for kind in (SobolSearch, RandomSearch)
    )
    assert even < 0.2 * random


@BOTH
def test_the_first_candidate_is_the_given_start(kind):
    toy = test_problems.sphere(3)
    np.testing.assert_array_equal(kind(toy.space).ask()[0], toy.space.start)


@pytest.mark.parametrize("batch", [1, 7, 64, 100])
def test_the_size_of_a_batch_does_not_change_the_sobol_points(batch):
    space = test_problems.sphere(3).space
    whole = SobolSearch(space, batch=101, seed=4).ask()
    parts = _asked(SobolSearch(space, batch=batch, candidates=101, seed=4), -(-101 // batch))
    np.testing.assert_array_equal(parts, whole)


def test_any_stretch_of_the_sobol_sequence_can_be_taken():
    points = SobolPoints(3, seed=1)
    whole = points.take(0, 40)
    np.testing.assert_array_equal(points.take(17, 9), whole[17:26])
    np.testing.assert_array_equal(points.take(3, 2), whole[3:5])
    assert points.take(5, 0).shape == (0, 3)
    with pytest.raises(FitError, match="up to 21201 parameters, found 30000"):
        SobolPoints(30_000, seed=1)


@BOTH
@pytest.mark.parametrize("candidates", [1, 2, 33, 64])
def test_there_are_as_many_candidates_as_asked_for(kind, candidates):
    toy = test_problems.sphere(2)
    solution = fitting.minimise(toy.problem, kind(toy.space, candidates=candidates))
    assert solution.status is Status.EVALUATION_LIMIT
    assert solution.stats["evaluations"] == candidates
    assert solution.message.startswith(f"{candidates} candidates")


@BOTH
def test_without_a_number_it_goes_on(kind):
    toy = test_problems.sphere(2)
    solution = fitting.minimise(toy.problem, kind(toy.space), time_limit=0.05)
    assert solution.status is Status.TIME_LIMIT


@BOTH
def test_several_objectives_have_a_front_of_all_candidates(kind):
    toy = test_problems.zdt2(3)
    search = kind(toy.space, candidates=200)
    X, costs = [], []
    while search.done() is None:
        X.append(search.ask())
        costs.append(search.evaluate(toy.problem, X[-1], {}))
        search.tell(X[-1], costs[-1], {})
    whole = fitting.pareto_front(np.vstack(X), np.vstack(costs), ("f1", "f2"))
    np.testing.assert_array_equal(search.front.x, whole.x)
    np.testing.assert_array_equal(search.front.costs, whole.costs)
    best = fitting.compromise(whole.costs)
    np.testing.assert_array_equal(search.x, whole.x[best])
    assert search.cost == whole.costs[best, 0]


@BOTH
def test_invalid_candidates_are_not_in_the_front(kind):
    search = kind(box([1.0], -2.0, 2.0), candidates=64)
    while search.done() is None:
        X = search.ask()
        # what fails looks better than anything else
        fails = X[:, 0] > 1.5
        costs = np.where(fails[:, None], -9.0, np.hstack([X, -X]))
        search.tell(X, costs, {int(row): "fails" for row in np.flatnonzero(fails)})
    assert search.front.x.max() <= 1.5 and search.front.costs.min() >= -2
    assert len(search.front.x) > 40


@BOTH
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"batch": 0}, "batch must be at least 1, found 0"),
        ({"candidates": 0}, "candidates must be at least 1, found 0"),
        ({"seed": -3}, "seed must be between 0 and .*, found -3"),
    ],
)
def test_numbers_out_of_range_are_refused(kind, settings, words):
    with pytest.raises(FitError, match=words):
        kind(box([0.0], -1.0, 1.0), **settings)


@BOTH
def test_a_log_scale_from_zero_has_no_finite_bounds(kind):
    with pytest.raises(FitError, match=r"above 0 on a log scale.*infinite: 'x2'"):
        kind(box([1.0, 1.0], 0.0, 2.0, [False, True]))


def test_scattered_points_are_normal_around_the_start_on_the_scale_of_each_element():
    space = box([2.0, 1e-2], [-8.0, 1e-6], [12.0, 1e2], [False, True])
    points = _asked(ScatterSearch(space, batch=2001, deviation=0.1), 2)
    np.testing.assert_array_equal(points[0], space.start)
    # a tenth of the range of 20, and of the 8 decades
    steps = np.column_stack([(points[1:, 0] - 2.0) / 2.0, np.log10(points[1:, 1] / 1e-2) / 0.8])
    assert np.abs(steps.mean(axis=0)).max() < 4 / np.sqrt(len(steps))
    assert np.abs(steps.std(axis=0) - 1.0).max() < 4 / np.sqrt(2 * len(steps))
    assert abs(np.corrcoef(steps.T)[0, 1]) < 4 / np.sqrt(len(steps))


def test_a_deviation_of_an_element_rules_and_no_bound_is_needed():
    space = Space(
        names=("a", "b"),
        start=np.zeros(2),
        lower=np.array([-np.inf, -1.0]),
        upper=np.array([np.inf, np.inf]),
        log=np.zeros(2, bool),
        deviation=np.array([0.5, 3.0]),
    )
    points = _asked(ScatterSearch(space, batch=4001), 1)[1:]
    assert points[:, 0].std() == pytest.approx(0.5, rel=0.05)
    assert points[:, 1].min() == -1.0 and 0.3 < np.mean(points[:, 1] == -1.0) < 0.45


def test_a_scattered_batch_does_not_depend_on_those_before_it_and_goes_on_from_a_state():
    toy = test_problems.sphere(4)
    whole = _asked(ScatterSearch(toy.space, batch=9, seed=3, deviation=0.3), 4)
    search = ScatterSearch(toy.space, batch=9, seed=3, deviation=0.3)
    first = _asked(search, 2)
    again = ScatterSearch.from_state(search.state(), toy.space)
    assert again.deviation == 0.3
    np.testing.assert_array_equal(np.vstack([first, _asked(again, 2)]), whole)
    other = _asked(ScatterSearch(toy.space, batch=9, seed=4, deviation=0.3), 4)
    assert not np.array_equal(other[1:], whole[1:])


def test_the_best_candidate_of_a_scatter_is_kept():
    toy = test_problems.sphere(2)
    solution = fitting.minimise(toy.problem, ScatterSearch(toy.space, candidates=300, seed=1))
    assert solution.status is Status.EVALUATION_LIMIT and solution.stats["evaluations"] == 300
    assert solution.cost < toy.problem.costs(toy.space.start[None], {})[0]


@pytest.mark.parametrize("deviation", [0.0, -1.0, np.inf, np.nan])
def test_a_deviation_has_to_be_above_zero(deviation):
    with pytest.raises(FitError, match="deviation of a scatter"):
        ScatterSearch(test_problems.sphere(2).space, deviation=deviation)


def test_an_element_without_scale_is_refused():
    space = box([0.0], -np.inf, np.inf)
    with pytest.raises(FitError, match="no initial deviation for 'x1': the start is zero"):
        ScatterSearch(space)
