"""Estimates of several runs as one: common value, spread, runs that do not fit."""

import numpy as np
import pytest

from trueup.errors import FitError
from trueup.fitting.uncertainty.gaussian import Gaussian
from trueup.fitting.uncertainty.pooling import pool

NAMES = ("a", "b", "c")
COVARIANCE = np.array([[0.04, 0.03, 0.0], [0.03, 0.09, 0.02], [0.0, 0.02, 0.25]])
TRUTH = np.array([1.0, -2.0, 5.0])


def runs(count, seed=0, spread=0.0, changes=None):
    rng = np.random.default_rng(seed)
    out = []
    for r in range(count):
        own = TRUTH + spread * rng.normal(size=3)
        own[list((changes or {}).get(r, {}))] += list((changes or {}).get(r, {}).values())
        estimate = rng.multivariate_normal(own, COVARIANCE)
        out.append(Gaussian(NAMES, estimate, np.linalg.inv(COVARIANCE)))
    return out


def test_alike_runs_give_their_weighted_mean_and_no_spread():
    given = runs(10)
    found = pool(given)
    assert not found.outlying
    np.testing.assert_allclose(found.common, np.mean([g.centre for g in given], axis=0), atol=0.05)
    held, intervals = [], []
    for seed in range(40):
        found = pool(runs(10, seed))
        low, high = found.intervals.T
        held.append((low <= TRUTH) & (high >= TRUTH))
        intervals.append(found.spread_intervals[:, 0] == 0.0)
    assert 0.88 <= np.mean(held) <= 1.0
    assert np.mean(intervals) > 0.9  # no spread is within its interval


def test_runs_that_are_off_are_named_with_what_changed():
    found = pool(runs(10, 3, changes={2: {0: 2.0}, 7: {1: -3.0, 2: 4.0}}))
    assert {o.index for o in found.outlying} == {2, 7}
    by_index = {o.index: o for o in found.outlying}
    assert by_index[2].changed == (0,)
    assert set(by_index[7].changed) == {1, 2}
    assert by_index[2].shift[0] == pytest.approx(2.0, abs=0.7)
    low, high = found.intervals.T  # they are in neither the common value nor the spread
    assert ((low < TRUTH) & (high > TRUTH)).all()
    assert (found.spread < 1.0).all()


def test_a_spread_between_runs_is_measured_and_widens_the_common_value():
    held = []
    for seed in range(20):
        found = pool(runs(12, seed, spread=2.0))
        held.append((found.spread_intervals[:, 0] <= 2.0) & (found.spread_intervals[:, 1] >= 2.0))
    assert np.mean(held) > 0.8
    assert (found.spread_intervals[:, 0] > 0.0).all()
    assert (np.diff(found.intervals, axis=1) > 1.0).all()
    np.testing.assert_allclose(np.diag(found.new_run) - np.diag(found.covariance), found.spread**2)


def test_a_direction_that_a_run_does_not_know_is_left_to_the_others():
    given = runs(6, 1)
    blind = np.linalg.inv(COVARIANCE)
    along = np.array([0.0, 0.0, 1.0])
    seen = blind - blind @ np.outer(along, along) @ blind / (along @ blind @ along)
    given[0] = Gaussian(NAMES, np.array([1.0, -2.0, 1e6]), seen)
    found = pool(given)
    assert not found.outlying
    assert found.common[2] == pytest.approx(5.0, abs=1.0)


def test_what_no_run_knows_has_an_endless_interval():
    precision = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    centres = [np.array([1.0, 2.0, 5.0 * i]) for i in range(4)]
    found = pool([Gaussian(NAMES, centre, precision) for centre in centres])
    assert not found.outlying
    assert (found.intervals[2] == [-np.inf, np.inf]).all()
    assert np.isfinite(found.intervals[:2]).all()


def test_units_of_elements_do_not_matter():
    size = np.array([1e-4, 1.0, 1e3])
    given = runs(8, 4, changes={5: {0: 1.5}})
    scaled = [Gaussian(NAMES, g.centre * size, g.precision / np.outer(size, size)) for g in given]
    plain, other = pool(given), pool(scaled)
    np.testing.assert_allclose(other.common, plain.common * size, rtol=1e-6)
    np.testing.assert_allclose(other.spread, plain.spread * size, rtol=1e-4, atol=1e-9)
    assert [o.index for o in other.outlying] == [o.index for o in plain.outlying] == [5]


def test_too_few_runs_and_other_unknowns_are_refused():
    with pytest.raises(FitError, match="at least 3 runs, found 2"):
        pool(runs(2))
    other = Gaussian(("a", "b", "d"), TRUTH, np.eye(3))
    with pytest.raises(FitError, match="the runs have different parameters"):
        pool([*runs(3), other])
