"""NSGA-II: analytic fronts, its operators' distributions, invalid candidates, how it ends."""

import numpy as np
import pytest

from trueup import fitting
from trueup.errors import FitError
from trueup.fitting import NSGA2, NSGA2Settings, Status, VectorisedCosts, test_problems
from trueup.fitting.searches.unit_box import to_unit
from trueup.fitting.searches.variation import polynomial_mutation, simulated_binary_crossover
from trueup.fitting.test_problems.test_problem import box

REFERENCE = np.array([1.1, 1.1])


@pytest.mark.parametrize(
    ("toy", "volume"),
    [
        (test_problems.zdt1(10), 0.21 + 2 / 3),
        (test_problems.zdt2(10), 0.21 + 1 / 3),
        (test_problems.zdt3(10), None),
    ],
    ids=["ZDT1", "ZDT2", "ZDT3"],
)
def test_the_analytic_fronts_are_found(toy, volume):
    volume = volume or fitting.hypervolume(toy.front, REFERENCE)
    search = NSGA2(toy.space, NSGA2Settings(population=60, generations=120))
    solution = fitting.minimise(toy.problem, search)
    assert solution.status in (Status.ITERATION_LIMIT, Status.CONVERGED)
    front = solution.front
    assert front is not None and front.objectives == ("f1", "f2") and len(front.x) > 30
    assert 0.975 < fitting.hypervolume(front.costs, REFERENCE) / volume < 1
    assert (np.diff(front.costs[:, 0]) >= 0).all()
    assert not fitting.dominates(front.costs, front.costs).any()
    np.testing.assert_array_equal(toy.problem.costs(front.x), front.costs)
    best = fitting.compromise(front.costs)
    np.testing.assert_array_equal(solution.x, front.x[best])
    assert solution.cost == front.costs[best, 0]


def test_it_ends_where_the_front_no_longer_advances():
    toy = test_problems.zdt1(5)
    solution = fitting.minimise(toy.problem, NSGA2(toy.space, NSGA2Settings(population=40)))
    assert solution.status is Status.CONVERGED
    assert "has not advanced for 30 generations" in solution.message
    assert fitting.hypervolume(solution.front.costs, REFERENCE) > 0.97 * (0.21 + 2 / 3)
    assert solution.stats["evaluations"] < 40 * 400


def test_three_objectives():
    # the front is the part of a sphere with positive coordinates (DTLZ2, Deb et al. 2005)
    def costs(X):
        g = np.square(X[:, 2:] - 0.5).sum(axis=1)
        a, b = 0.5 * np.pi * X[:, 0], 0.5 * np.pi * X[:, 1]
        shape = np.stack([np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)], axis=1)
        return (1 + g[:, None]) * shape

    problem = VectorisedCosts(costs, box(np.full(6, 0.3), 0.0, 1.0), ("a", "b", "c"))
    search = NSGA2(problem.space, NSGA2Settings(population=80, generations=80))
    front = fitting.minimise(problem, search).front
    assert np.linalg.norm(front.costs, axis=1).max() < 1.1
    assert (front.costs.max(axis=0) > 0.9).all() and (front.costs.min(axis=0) < 0.1).all()


def test_candidates_that_fail_never_get_into_the_front():
    def costs(X):
        values = np.stack([X[:, 0] ** 2, (X[:, 0] - 2) ** 2], axis=1)
        values[X[:, 0] < 0.5] = np.nan
        return values

    problem = VectorisedCosts(costs, box([1.0, 0.0], -4.0, 4.0), ("near", "far"))
    search = NSGA2(problem.space, NSGA2Settings(population=20, generations=40))
    solution = fitting.minimise(problem, search)
    assert solution.front.x[:, 0].min() >= 0.5
    assert solution.front.x[:, 0].min() == pytest.approx(0.5, abs=0.05)
    assert solution.front.x[:, 0].max() == pytest.approx(2.0, abs=0.05)


def test_as_long_as_nothing_is_valid_it_looks_elsewhere():
    space = box([0.0, 0.0], -4.0, 4.0)
    search = NSGA2(space, NSGA2Settings(population=16))
    batches = []
    for _ in range(3):
        X = search.ask()
        batches.append(X)
        search.tell(X, np.full((16, 2), np.nan), {})
    assert len(np.unique(np.vstack(batches), axis=0)) == 48
    assert search.front is None and not np.isfinite(search.cost)


def test_the_first_generation_holds_the_start_and_fills_the_box():
    space = box([0.3, 0.01], [0.0, 1e-4], [1.0, 1.0], [False, True])
    X = NSGA2(space, NSGA2Settings(population=64)).ask()
    np.testing.assert_array_equal(X[0], space.start)
    unit = to_unit(space, X[1:])
    counts = np.histogramdd(unit, bins=4, range=[(0, 1), (0, 1)])[0]
    assert counts.min() >= 2


def test_no_child_copies_a_member():
    toy = test_problems.sphere(3)
    settings = NSGA2Settings(population=30, crossover_probability=0.0, mutation_probability=0.0)
    search = NSGA2(toy.space, settings)
    X = search.ask()
    for _ in range(3):
        search.tell(X, toy.problem.costs(X), {})
        children = search.ask()
        everyone = np.vstack([search._members, children])
        assert len(np.unique(everyone, axis=0)) == len(everyone)
        X = children


def test_crossed_values_spread_as_the_distribution_says():
    random = np.random.default_rng(0)
    n, index = 200_000, 15.0
    mothers, fathers = np.full((n, 1), 0.499), np.full((n, 1), 0.501)
    first, second = simulated_binary_crossover(mothers, fathers, random, 1.0, index)
    np.testing.assert_allclose(first + second, 1.0, atol=1e-12)
    crossed = first[:, 0] != mothers[:, 0]
    spread = np.abs(first - second)[crossed, 0] / 0.002
    # with room on both sides: half of the children lie between their parents (equation 3 of 1995)
    for beta in (0.9, 0.97, 1.0):
        assert (spread <= beta).mean() == pytest.approx(0.5 * beta ** (index + 1), abs=0.006)
    assert (spread <= 1.05).mean() == pytest.approx(1 - 0.5 / 1.05 ** (index + 1), abs=0.006)


@pytest.mark.parametrize("index", [0.0, 2.0, 20.0])
def test_children_stay_in_the_box(index):
    random = np.random.default_rng(1)
    mothers = random.choice([0.0, 1e-12, 0.3, 1.0 - 1e-12, 1.0], (5000, 4))
    fathers = random.permuted(mothers, axis=0)
    children = np.vstack(simulated_binary_crossover(mothers, fathers, random, 0.9, index))
    moved = polynomial_mutation(children, np.ones(children.shape, bool), random, index)
    for points in (children, moved):
        assert (points >= 0).all() and (points <= 1).all() and np.isfinite(points).all()


def test_mutations_are_as_long_as_the_distribution_says():
    random, index = np.random.default_rng(2), 20.0
    points = np.full((200_000, 2), 0.5)
    chosen = np.zeros(points.shape, bool)
    chosen[:, 0] = True
    moved = polynomial_mutation(points, chosen, random, index)
    np.testing.assert_array_equal(moved[:, 1], 0.5)
    length = np.abs(moved[:, 0] - 0.5)
    for reach in (0.01, 0.03, 0.1):
        expected = 1 - (1 - reach) ** (index + 1)
        assert (length <= reach).mean() == pytest.approx(expected, abs=0.005)
    assert (moved[:, 0] > 0.5).mean() == pytest.approx(0.5, abs=0.005)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("population", 3),
        ("generations", 0),
        ("crossover_probability", 1.5),
        ("mutation_probability", -0.1),
        ("crossover_index", -1.0),
        ("mutation_index", float("nan")),
        ("tolerance", -1.0),
        ("patience", 0),
    ],
)
def test_settings_out_of_range_are_refused(setting, value):
    with pytest.raises(FitError, match=f"{setting} is {value}"):
        NSGA2(box([0.0], -1.0, 1.0), NSGA2Settings(**{setting: value}))


def test_a_negative_seed_is_refused():
    with pytest.raises(FitError, match=r"seed must be between 0 and .*, found -1"):
        NSGA2(box([0.0], -1.0, 1.0), seed=-1)


@pytest.mark.parametrize("population", [4, 7, 31])
def test_any_size_of_a_population(population):
    toy = test_problems.zdt1(3)
    search = NSGA2(toy.space, NSGA2Settings(population=population, generations=5))
    for _ in range(5):
        X = search.ask()
        assert X.shape == (population, 3)
        search.tell(X, toy.problem.costs(X), {})
    assert search.done() is Status.ITERATION_LIMIT


def test_near_a_bound_the_distribution_is_cut_and_not_clipped():
    random = np.random.default_rng(4)
    mothers, fathers = np.full((20_000, 1), 0.01), np.full((20_000, 1), 0.05)
    children = np.vstack(simulated_binary_crossover(mothers, fathers, random, 1.0, 2.0))
    moved = polynomial_mutation(children, np.ones(children.shape, bool), random, 2.0)
    assert (children == 0).mean() < 1e-3 and (children < 0.003).mean() > 0.01
    assert (moved == 0).mean() < 1e-3


def test_a_restored_search_ends_where_the_whole_one_does():
    toy = test_problems.zdt1(2)
    settings = NSGA2Settings(population=20, patience=4, tolerance=0.02)
    whole = NSGA2(toy.space, settings)
    fitting.minimise(toy.problem, whole)
    search = NSGA2(toy.space, settings)
    for _ in range(whole.generation):
        assert search.done() is None
        search = NSGA2.from_state(search.state(), toy.space)
        X = search.ask()
        search.tell(X, search.evaluate(toy.problem, X, {}), {})
    assert whole.generation > 8
    assert search.message == whole.message


def test_another_seed_varies_the_same_population_in_another_way():
    toy = test_problems.zdt1(3)
    one, two = (NSGA2(toy.space, NSGA2Settings(population=12), seed) for seed in (1, 2))
    X = one.ask()
    for search in (one, two):
        search.tell(X, toy.problem.costs(X), {})
    assert not np.array_equal(one.ask(), two.ask())
