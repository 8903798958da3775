"""Search by points around the start: how they are spread, bounds, scales, resume, bad input."""

import numpy as np
import pytest

from trueup import fitting
from trueup.errors import FitError
from trueup.fitting import ScatterSearch, Status, test_problems
from trueup.fitting.test_problems.test_problem import box
from trueup.parameters import Space


def _points(search, batches):
    rows = []
    for _ in range(batches):
        X = search.ask()
        search.tell(X, np.zeros(len(X)), {})
        rows.append(X)
    return np.vstack(rows)


def test_points_are_normal_around_the_start_on_the_scale_of_each_element():
    space = box([2.0, 1e-2], [-8.0, 1e-6], [12.0, 1e2], [False, True])
    points = _points(ScatterSearch(space, batch=2001, deviation=0.1), 2)
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
    points = _points(ScatterSearch(space, batch=4001), 1)[1:]
    assert points[:, 0].std() == pytest.approx(0.5, rel=0.05)
    assert points[:, 1].min() == -1.0 and 0.3 < np.mean(points[:, 1] == -1.0) < 0.45


def test_a_batch_does_not_depend_on_those_before_it_and_goes_on_from_a_state():
    toy = test_problems.sphere(4)
    whole = _points(ScatterSearch(toy.space, batch=9, seed=3, deviation=0.3), 4)
    search = ScatterSearch(toy.space, batch=9, seed=3, deviation=0.3)
    first = _points(search, 2)
    again = ScatterSearch.from_state(search.state(), toy.space)
    assert again.deviation == 0.3
    np.testing.assert_array_equal(np.vstack([first, _points(again, 2)]), whole)
    other = _points(ScatterSearch(toy.space, batch=9, seed=4, deviation=0.3), 4)
    assert not np.array_equal(other[1:], whole[1:])


def test_the_best_candidate_is_kept():
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
    with pytest.raises(FitError, match="nothing says how far to search 'x1'"):
        ScatterSearch(space)
