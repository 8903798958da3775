"""Ranks, crowding, hypervolume and compromise, against definitions and known values."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trueup import fitting
from trueup.errors import FitError
from trueup.fitting.searches.pareto import crowding_distances, domination_ranks

_costs = st.tuples(st.integers(1, 12), st.integers(1, 3)).flatmap(
    lambda shape: arrays(float, shape, elements=st.integers(0, 5).map(float))
)


@given(_costs)
@settings(max_examples=150, deadline=None)
def test_ranks_are_those_of_the_definition(costs):
    ranks = domination_ranks(costs)

    def beats(a, b):
        return (a <= b).all() and (a < b).any()

    left = set(range(len(costs)))
    for rank in itertools.count():
        if not left:
            break
        front = {i for i in left if not any(beats(costs[j], costs[i]) for j in left)}
        assert {int(i) for i in np.flatnonzero(ranks == rank)} == front
        left -= front


def test_invalid_candidates_come_last_whatever_their_costs():
    costs = np.array([[3.0, 3.0], [0.0, 0.0], [1.0, 1.0], [np.nan, 0.0]])
    valid = np.array([True, False, True, False])
    np.testing.assert_array_equal(domination_ranks(costs, valid), [1, 2, 0, 2])
    np.testing.assert_array_equal(domination_ranks(costs[:, :1], valid), [1, 2, 0, 2])
    assert (domination_ranks(costs, np.zeros(4, bool)) == 0).all()


def test_crowding_is_the_room_between_the_neighbours_of_a_front():
    front = np.array([[0.0, 10.0], [1.0, 6.0], [4.0, 2.0], [5.0, 0.0]])
    behind = front + 20.0
    costs = np.vstack([front, behind])[[0, 4, 1, 5, 2, 6, 3, 7]]
    ranks = np.tile([0, 1], 4)
    room = crowding_distances(costs, ranks).reshape(4, 2)
    expected = [np.inf, 4 / 5 + 8 / 10, 4 / 5 + 6 / 10, np.inf]
    np.testing.assert_allclose(room, np.stack([expected, expected], axis=1))


def test_crowding_of_equal_costs_is_finite_within():
    room = crowding_distances(np.ones((5, 2)), np.zeros(5, int))
    assert not np.isnan(room).any()


def test_hypervolume_of_boxes():
    assert fitting.hypervolume([[1.0, 2.0]], [3.0, 5.0]) == pytest.approx(6.0)
    assert fitting.hypervolume([[1.0, 2.0], [2.0, 1.0]], [3.0, 3.0]) == pytest.approx(3.0)
    assert fitting.hypervolume([[1.0], [2.0]], [4.0]) == pytest.approx(3.0)
    assert fitting.hypervolume([[5.0, 0.0]], [3.0, 3.0]) == 0.0
    assert fitting.hypervolume(np.empty((0, 2)), [3.0, 3.0]) == 0.0
    with pytest.raises(FitError, match="3 objectives, expected 2"):
        fitting.hypervolume([[1.0, 2.0]], [3.0, 3.0, 3.0])


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_hypervolume_is_the_share_of_random_points_that_are_dominated(objectives):
    random = np.random.default_rng(objectives)
    costs = random.uniform(size=(15, objectives))
    points = random.uniform(size=(60_000, objectives))
    share = fitting.dominates(costs, points).any(axis=0).mean()
    assert fitting.hypervolume(costs, np.ones(objectives)) == pytest.approx(share, abs=0.007)


def test_hypervolume_of_the_analytic_fronts():
    first = np.linspace(0, 1, 100_001)
    convex = np.stack([first, 1 - np.sqrt(first)], axis=1)
    concave = np.stack([first, 1 - first**2], axis=1)
    assert fitting.hypervolume(convex, [1.1, 1.1]) == pytest.approx(0.21 + 2 / 3, abs=1e-4)
    assert fitting.hypervolume(concave, [1.1, 1.1]) == pytest.approx(0.21 + 1 / 3, abs=1e-4)


def test_the_front_is_sorted_and_holds_each_candidate_once():
    X = np.array([[3.0], [1.0], [1.0], [2.0], [9.0]])
    costs = np.array([[3.0, 0.0], [1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [3.0, 3.0]])
    front = fitting.pareto_front(X, costs, ("a", "b"))
    np.testing.assert_array_equal(front.x[:, 0], [1, 2, 3])
    np.testing.assert_array_equal(front.costs, [[1, 2], [2, 1], [3, 0]])


def test_the_compromise_is_near_the_ideal_point_in_units_of_the_front():
    costs = np.array([[0.0, 1000.0], [0.3, 200.0], [0.6, 190.0], [1.0, 0.0]])
    assert fitting.compromise(costs) == 1
    assert fitting.compromise(costs * [1.0, 1e-9]) == 1
    assert fitting.compromise(np.ones((3, 2))) == 0


def test_a_large_set_is_compared_in_blocks(monkeypatch):
    costs = np.random.default_rng(0).uniform(size=(200, 2))
    whole = fitting.dominates(costs, costs)
    monkeypatch.setattr("trueup.fitting.searches.pareto._ROWS_AT_ONCE", 1000)
    np.testing.assert_array_equal(fitting.dominates(costs, costs), whole)
