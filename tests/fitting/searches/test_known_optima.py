"""The test problems: their optima are optima, their noise and failures are what they say."""

import numpy as np
import pytest

from trueup import fitting
from trueup.errors import FitError
from trueup.fitting import test_problems as toys

_WITH_OPTIMUM = [
    toys.sphere(4),
    toys.ellipsoid(4),
    toys.rotated_ellipsoid(4),
    toys.rosenbrock(4),
    toys.rastrigin(4),
    toys.rotated_rastrigin(4),
    toys.noisy_sphere(4),
    toys.rough_sphere(4),
    toys.failing_sphere(4),
    toys.linear(),
    toys.exponential_decay(),
    toys.failing_decay(),
    toys.sine(),
    toys.rosenbrock_residual(),
    toys.powell_singular(),
    toys.bard(),
    toys.misra1a(),
    toys.mgh09(),
    toys.thurber(),
]
_FRONTS = [toys.zdt1(5), toys.zdt2(5), toys.zdt3(5)]


@pytest.mark.parametrize("toy", _WITH_OPTIMUM, ids=lambda toy: toy.name)
def test_no_candidate_is_better_than_the_optimum(toy):
    space = toy.space
    assert ((toy.x >= space.lower) & (toy.x <= space.upper)).all()
    size = 1e-10 + 1e-9 * toy.excess(space.start)[0]
    assert abs(toy.excess(toy.x)[0]) < size
    random = np.random.default_rng(0)
    scale = np.where(toy.x == 0, 1.0, np.abs(toy.x))
    near = toy.x + scale * random.standard_normal((300, space.size)) * 10 ** random.uniform(
        -5, 0, (300, 1)
    )
    excess = toy.excess(np.clip(near, space.lower, space.upper))
    if "failing sphere" in toy.name:
        failures: dict[int, str] = {}
        costs = toy.problem.costs(np.clip(near, space.lower, space.upper), failures)[:, 0]
        valid = np.isfinite(costs)
        valid[list(failures)] = False
        assert 0 < valid.sum() < len(valid)
        excess = excess[valid]
    assert excess.min() > -size
    assert toy.excess(space.start)[0] > size


@pytest.mark.parametrize("toy", _FRONTS, ids=lambda toy: toy.name)
def test_no_candidate_dominates_the_front(toy):
    assert not fitting.dominates(toy.front, toy.front).any()
    random = np.random.default_rng(0)
    X = random.uniform(size=(2000, 5))
    X[:1000, 1:] *= 10 ** random.uniform(-6, 0, (1000, 1))
    X[:500, 1:] = 0.0
    costs = toy.problem.costs(X)
    # a candidate with a first objective between two points of the front may pass between them
    assert not fitting.dominates(costs + 1e-2, toy.front).any()
    # and the front can be reached
    reached = toy.problem.costs(np.hstack([toy.front[:, :1], np.zeros((len(toy.front), 4))]))
    np.testing.assert_allclose(reached, toy.front, atol=1e-12)


def test_the_gaps_of_zdt3_are_where_a_scan_finds_them():
    first = np.linspace(0, 1, 200_001)
    second = 1 - np.sqrt(first) - first * np.sin(10 * np.pi * first)
    on_front = second <= np.minimum.accumulate(second)
    edges = first[np.flatnonzero(np.diff(on_front))]
    known = toys.zdt3().front[:, 0].reshape(5, 200)[:, [0, -1]].reshape(-1)[1:]
    np.testing.assert_allclose(edges, known, atol=1.1e-5)


def test_a_rotation_keeps_the_curvatures_and_mixes_the_axes():
    toy = toys.rotated_ellipsoid(4, condition=100.0, seed=3)
    steps = np.eye(4) * 1e-3
    pairs = toy.excess(toy.x + (steps[:, None] + steps[None]).reshape(-1, 4)).reshape(4, 4)
    alone = toy.excess(toy.x + steps)
    hessian = (pairs - alone[:, None] - alone[None]) / 1e-6
    np.testing.assert_allclose(
        np.linalg.eigvalsh(hessian), 2 * 100 ** np.linspace(0, 1, 4), rtol=1e-6
    )
    assert np.abs(hessian[~np.eye(4, dtype=bool)]).min() > 1e-2
    other = toys.rotated_ellipsoid(4, condition=100.0, seed=4)
    assert not np.allclose(toy.excess(toy.x + steps), other.excess(toy.x + steps))


def test_fresh_noise_follows_the_seed_and_the_order_of_calls():
    X = np.zeros((50, 3))
    toy, again, other = toys.noisy_sphere(3), toys.noisy_sphere(3), toys.noisy_sphere(3, seed=1)
    first, second = toy.problem.costs(X), toy.problem.costs(X)
    np.testing.assert_array_equal(first, again.problem.costs(X))
    np.testing.assert_array_equal(second, again.problem.costs(X))
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, other.problem.costs(X))
    assert toy.problem.noisy
    assert np.ptp(toy.excess(X)) == 0


def test_frozen_noise_belongs_to_the_candidate():
    toy, other = toys.rough_sphere(3, deviation=0.5), toys.rough_sphere(3, deviation=0.5, seed=1)
    X = np.random.default_rng(0).uniform(-5, 5, (20_000, 3))
    noise = (toy.problem.costs(X) - toy.exact.costs(X))[:, 0] / 0.5
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(toy.problem.costs(X[order]), toy.problem.costs(X)[order])
    np.testing.assert_array_equal(toy.problem.costs(X[7:8]), toy.problem.costs(X)[7:8])
    assert not toy.problem.noisy
    assert abs(noise.mean()) < 4 / np.sqrt(len(X))
    assert noise.std() == pytest.approx(1, abs=0.03)
    assert np.mean(noise**4) == pytest.approx(3, abs=0.25)
    strange = (other.problem.costs(X) - other.exact.costs(X))[:, 0]
    assert abs(np.corrcoef(noise, strange)[0, 1]) < 0.03
    beside = (toy.problem.costs(X + 1e-9) - toy.exact.costs(X + 1e-9))[:, 0]
    assert abs(np.corrcoef(noise, beside)[0, 1]) < 0.03
    zeros = np.array([[0.0, 0.0, 0.0], [-0.0, 0.0, -0.0]])
    assert np.ptp(toy.problem.costs(zeros)) == 0


def test_failing_costs_fail_in_every_way():
    toy = toys.failing_sphere(3)
    X = np.random.default_rng(0).uniform(-5, 5, (300, 3))
    failures: dict[int, str] = {}
    costs = toy.problem.costs(X, failures)[:, 0]
    beyond = X[:, 0] > toy.x[0] + 0.1
    assert np.isnan(costs).any() and np.isinf(costs).any() and len(failures) > 10
    said = np.zeros(300, bool)
    said[list(failures)] = True
    np.testing.assert_array_equal(said | ~np.isfinite(costs), beyond)


def test_half_of_the_failing_decay_fails():
    toy = toys.failing_decay()
    lower, upper = toy.space.search_bounds
    z = np.random.default_rng(0).uniform(lower, upper, (400, 2))
    failures: dict[int, str] = {}
    assert np.isfinite(toy.problem.costs(toy.space.from_search(z), failures)).all()
    assert 0.3 < len(failures) / 400 < 0.5


def test_a_start_that_nist_does_not_have_is_refused():
    with pytest.raises(FitError, match="Thurber has no start 3"):
        toys.thurber(3)
    assert not np.array_equal(toys.thurber(1).space.start, toys.thurber(2).space.start)
