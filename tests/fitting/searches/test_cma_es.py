"""CMA-ES: cma's own path, scales, bounds, invalid and noisy costs, restarts, reasons."""

import warnings

import numpy as np
import pytest

from trueup.errors import FitError, ParameterError
from trueup.fitting import CmaEs, CmaEsSettings, Status, VectorisedCosts, minimise, test_problems
from trueup.fitting.cma_es.noise import Contenders
from trueup.fitting.cma_es.restarts import STOP_REASONS, FinishedRun, describe_stop, next_run
from trueup.parameters import Parameter, ParameterDict, Space


def _space(size, lower=-5.0, upper=5.0, start=2.0, **options):
    return Space(
        tuple(f"x{i}" for i in range(size)),
        np.full(size, float(lower)),
        np.full(size, float(upper)),
        np.full(size, float(start)),
        np.zeros(size, bool),
        **options,
    )


def _ellipsoid(X):
    return np.square(X - 0.3) @ 10.0 ** np.linspace(0, 4, X.shape[1])


def _search(function, space, seed=0, noisy=False, **settings):
    problem = VectorisedCosts(function, space, noisy=noisy)
    search = CmaEs(space, CmaEsSettings(**settings), seed)
    return minimise(problem, search), search


# --- the path of cma -----------------------------------------------------------------------------


@pytest.mark.parametrize(("lower", "upper"), [(-np.inf, np.inf), (-5.0, 5.0), (0.0, np.inf)])
def test_candidates_are_those_of_cma_to_rounding(lower, upper):
    import cma

    space = _space(3, lower, upper, deviation=np.full(3, 0.5))
    search, rng = CmaEs(space, seed=7), np.random.default_rng(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strategy = cma.CMAEvolutionStrategy(
            np.zeros(3),
            1.0,
            {
                "bounds": [(lower - 2.0) / 0.5, (upper - 2.0) / 0.5],
                "randn": lambda *shape: rng.standard_normal(shape),
                "seed": np.nan,
                "verbose": -10,
                "verb_log": 0,
            },
        )
        while search.done() is None:
            X, U = search.ask(), strategy.ask()
            first = len(X) - len(U)  # the start value, once
            np.testing.assert_allclose(X[first:], 2.0 + 0.5 * np.array(U), atol=1e-14)
            costs = _ellipsoid(X)
            search.tell(X, costs, {})
            strategy.tell(U, costs[first:].tolist())
            stop = strategy.stop()
    assert search.evaluations == strategy.countevals + 1
    assert "tolfun" in stop and "tolfun" in search.message
    assert search.done() is Status.CONVERGED


def test_the_start_value_is_never_worsened():
    solution, _ = _search(_ellipsoid, _space(3, start=0.3), max_generations=3)
    assert solution.x.tolist() == [0.3, 0.3, 0.3] and solution.cost == 0.0


def test_other_searches_and_the_terminal_are_not_disturbed(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.random.seed(11)
    expected = np.random.rand(3)
    np.random.seed(11)
    for options in ({}, {"integer_variables": [0]}, {"CMA_diagonal": 10}):
        _search(_ellipsoid, _space(3), max_generations=30, options=options)
    np.testing.assert_array_equal(np.random.rand(3), expected)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [{}, {"integer_variables": [0, 2]}, {"CMA_diagonal": 10}])
def test_a_search_does_not_depend_on_the_global_generator(options):
    histories = []
    for seed in (1, 2):
        np.random.seed(seed)
        _, search = _search(_ellipsoid, _space(4), max_generations=40, options=options)
        histories.append(search.history)
    assert histories[0] == histories[1]


def test_integer_elements_are_given_whole_numbers():
    search = CmaEs(_space(4), CmaEsSettings(options={"integer_variables": [0, 2]}))
    for _ in range(10):
        X = search.ask()
        np.testing.assert_array_equal(X[:, [0, 2]], np.round(X[:, [0, 2]]))
        search.tell(X, _ellipsoid(X), {})


# --- scales and bounds ---------------------------------------------------------------------------


def test_one_unknown_is_enough():
    solution, _ = _search(lambda X: np.square(X[:, 0] - 0.123), _space(1))
    assert solution.success and solution.x[0] == pytest.approx(0.123, abs=1e-5)


def test_units_do_not_matter():
    histories = []
    for unit in (1.0, 1e-9):
        space = _space(4, -5 * unit, 5 * unit, 2 * unit)
        _, search = _search(lambda X, unit=unit: _ellipsoid(X / unit), space)
        histories.append([record["cost"] for record in search.history])
    assert len(histories[0]) == len(histories[1])
    np.testing.assert_allclose(histories[0][:100], histories[1][:100], rtol=1e-6)


def test_scales_are_searched_in_their_coordinates():
    made = ParameterDict()
    made.add(Parameter("inertia", 1e-2, 1e-6, 1e2, scale="log"))
    made.add(Parameter("efficiency", 0.5, 0.0, 1.0, scale="logit"))
    made.add(Parameter("offset", 0.1, -np.inf, np.inf))
    truth = np.array([3e-5, 0.998, -7.0])
    space = made.space()
    goal = space.to_search(truth)

    def cost(X):
        return np.square(space.to_search(X) - goal).sum(axis=1)

    solution, _ = _search(cost, space)
    np.testing.assert_allclose(solution.x, truth, rtol=1e-4)


def test_the_first_generation_is_spread_as_asked():
    space = _space(4, -np.inf, np.inf, deviation=np.array([0.01, 0.1, 1.0, np.nan]))
    search = CmaEs(space, CmaEsSettings(population=4000, deviation=0.3))
    spread = search.ask()[1:].std(axis=0)
    np.testing.assert_allclose(spread, [0.01, 0.1, 1.0, 0.6], rtol=0.05)
    boxed = CmaEs(_space(2, -5, 5, 0.0), CmaEsSettings(population=4000, deviation=0.1))
    np.testing.assert_allclose(boxed.ask()[1:].std(axis=0), 1.0, rtol=0.05)


def correlated(correlation):
    start, bound = np.zeros(3), np.full(3, np.inf)
    names, spread = ("a", "b", "c"), np.array([0.5, 2.0, 10.0])
    return Space(names, -bound, bound, start, start > 0, deviation=spread, correlation=correlation)


def test_the_first_generation_is_correlated_as_asked():
    asked = np.array([[1.0, 0.9, -0.3], [0.9, 1.0, -0.2], [-0.3, -0.2, 1.0]])
    search = CmaEs(correlated(asked), CmaEsSettings(population=4000))
    X = search.ask()[1:]  # the first one is the start
    np.testing.assert_allclose(np.corrcoef(X.T), asked, atol=0.05)
    np.testing.assert_allclose(X.std(axis=0), [0.5, 2.0, 10.0], rtol=0.05)
    deviation, correlation = search.distribution
    np.testing.assert_allclose(deviation, [0.5, 2.0, 10.0], rtol=1e-12)
    np.testing.assert_allclose(correlation, asked, atol=1e-12)


def test_a_search_goes_on_from_the_distribution_of_another():
    shear = np.array([[1.0, 0.8, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 2.0]])

    def costs(X, failures=None):
        return (((X - 20.0) @ shear) ** 2).sum(axis=1)

    def told(space, generations):
        search = CmaEs(space, CmaEsSettings(population=20), seed=1)
        for _ in range(generations):
            X = search.ask()
            search.tell(X, costs(X), {})
        return search

    former = told(correlated(None), 60)
    deviation, correlation = former.distribution
    # of a quadratic cost the covariance comes to the inverse of its curvature
    expected = np.linalg.inv(shear @ shear.T)
    spread = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(correlation, expected / np.outer(spread, spread), atol=0.25)
    space = Space(
        former.space.names, former.space.lower, former.space.upper, former.x, former.space.log,
        deviation=deviation, correlation=correlation,
    )  # fmt: skip
    again = told(space, 0).distribution
    np.testing.assert_allclose(again[0], deviation, rtol=1e-9)
    np.testing.assert_allclose(again[1], correlation, atol=1e-9)


def test_correlations_have_the_shape_of_the_space():
    with pytest.raises(ParameterError, match=r"correlation has shape \(2, 2\), expected \(3, 3\)"):
        correlated(np.eye(2))


def test_optima_on_bounds_are_found_on_them():
    space = Space(
        ("half", "other half", "box", "free"),
        np.array([0.0, -np.inf, 0.0, -np.inf]),
        np.array([np.inf, 2.0, 1.0, np.inf]),
        np.array([0.0, 2.0, 0.5, 1.0]),
        np.zeros(4, bool),
        deviation=np.array([0.1, np.nan, np.nan, np.nan]),
    )
    target = np.array([-1.0, 3.0, 4.0, 5.0])
    seen = []

    def cost(X):
        seen.append(X.copy())
        return np.square(X - target).sum(axis=1)

    solution, _ = _search(cost, space)
    np.testing.assert_allclose(solution.x, [0.0, 2.0, 1.0, 5.0], atol=1e-5)
    X = np.concatenate(seen)
    np.testing.assert_array_equal(np.clip(X, space.lower, space.upper), X)


def test_many_unknowns_have_a_diagonal_covariance():
    assert CmaEs(_space(101))._run.strategy.opts["CMA_diagonal"] is True
    assert not CmaEs(_space(100))._run.strategy.opts["CMA_diagonal"]
    assert not CmaEs(_space(101), CmaEsSettings(separable=False))._run.strategy.opts["CMA_diagonal"]


def test_settings_reach_cma():
    settings = CmaEsSettings(active=False, elitist=True, options={"tolx": 1e-3, "popsize": 20})
    strategy = CmaEs(_space(3), settings)._run.strategy
    assert not strategy.opts["CMA_active"] and strategy.opts["CMA_elitist"]
    assert strategy.opts["tolx"] == 1e-3 and strategy.popsize == 20
    assert min(strategy.sp.weights) >= 0  # no negative update


# --- invalid and noisy costs ---------------------------------------------------------------------


def test_invalid_candidates_do_not_hide_the_optimum():
    toy = test_problems.failing_sphere(4)
    search = CmaEs(toy.space)
    solution = minimise(toy.problem, search)
    assert solution.success and toy.excess(solution.x)[0] < 1e-9
    assert sum(record["invalid"] for record in search.history) > 10


def test_a_search_returns_from_where_nothing_is_valid():
    # valid only near the start: most of the first generations fail altogether
    space = _space(6, start=0.0)
    solution, search = _search(
        lambda X: np.where(np.square(X).sum(1) < 0.3**2, _ellipsoid(X + 0.25), np.nan),
        space,
        deviation=0.4,
    )
    first = search.history[0]
    assert first["invalid"] == search._run.population  # all but the start
    assert solution.success and solution.cost < 1e-8


def test_a_search_ends_where_nothing_is_ever_valid():
    solution, _ = _search(lambda X: np.full(len(X), np.nan), _space(3))
    assert solution.status is Status.START_FAILED
    assert solution.x.tolist() == [2.0, 2.0, 2.0]
    assert "no valid candidate in 50 generations" in solution.message


def test_the_best_of_a_noisy_cost_is_no_lucky_draw():
    bias, plain_bias = [], []
    for seed in range(3):
        toy = test_problems.noisy_sphere(5, 0.5, seed)
        solution = minimise(toy.problem, CmaEs(toy.space, CmaEsSettings(max_generations=100), seed))
        bias.append(solution.cost - toy.excess(solution.x)[0])
        assert toy.excess(solution.x)[0] < 0.6
        toy = test_problems.noisy_sphere(5, 0.5, seed)
        settings = CmaEsSettings(max_generations=100, noisy=False)
        plain = minimise(toy.problem, CmaEs(toy.space, settings, seed))
        plain_bias.append(plain.cost - toy.excess(plain.x)[0])
    assert max(plain_bias) < -0.7  # what it would be
    assert np.abs(np.mean(bias)) < 0.2


def test_noise_is_met_by_averaging_and_quiet_costs_are_not_averaged():
    _, quiet = _search(_ellipsoid, _space(4), noisy=True, max_generations=40)
    assert {record["repeats"] for record in quiet.history} == {1}
    rng = np.random.default_rng(0)
    _, loud = _search(
        lambda X: rng.standard_normal(len(X)), _space(4), noisy=True, max_generations=60
    )
    assert loud.history[-1]["repeats"] == 10
    assert 0.4 < loud._noise.variance < 2.5
    assert loud.history[-1]["step"] > 0.5  # noise does not make it converge
    assert loud.history[30]["cost"] > -2.0  # the least of all draws is below -3
    assert min(record["generation_best"] for record in loud.history[:30]) < -1.8


def test_noise_can_be_left_to_the_population():
    """No candidate is evaluated twice; the best and its challenger are, as often as is asked."""
    rng, counts = np.random.default_rng(0), []

    def cost(X):
        counts.append(len(X))
        return np.square(X - 0.3).sum(1) + rng.standard_normal(len(X))

    settings = {"noise_treatment": False, "contender_evaluations": 4, "max_generations": 12}
    solution, search = _search(cost, _space(3), noisy=True, population=20, **settings)
    assert {record["repeats"] for record in search.history} == {1}
    # from the third on, once the first has said that costs are noisy
    assert counts[:2] == [21, 20] and set(counts[2:-1]) == {24, 28}
    assert np.isnan(search._noise.variance)
    assert abs(solution.cost - np.square(solution.x - 0.3).sum()) < 4.0 / np.sqrt(20)


def test_where_the_noise_is_not_known_only_many_evaluations_decide():
    contenders = Contenders()
    contenders.propose(np.zeros(2), expected=5.0)
    contenders.propose(np.ones(2), expected=0.0)
    assert contenders.incumbent is not None and contenders.challenger is not None
    contenders.incumbent.take(np.full(10, 5.0))
    for _ in range(9):
        contenders.challenger.take(np.array([1.0]))
        contenders.settle(np.nan)
        assert contenders.challenger is not None
    contenders.challenger.take(np.array([1.0]))
    contenders.settle(np.nan)
    assert contenders.challenger is None
    assert np.array_equal(contenders.incumbent.x, np.ones(2))


def test_a_challenger_is_judged_by_fresh_evaluations():
    contenders = Contenders()
    old, new = np.zeros(2), np.ones(2)
    contenders.propose(old, expected=-9.0)
    incumbent = contenders.incumbent
    assert incumbent is not None and incumbent.cost == -9.0
    incumbent.take(np.array([1.0, 1.2, 0.8]))
    assert incumbent.cost == pytest.approx(1.0)
    for costs, is_better in (([1.5, 1.6, 1.7], False), ([0.5, 0.4, 0.45], True)):
        contenders.propose(new, expected=-9.0)
        assert len(contenders.to_evaluate()) == 2
        for cost in costs:
            contenders.settle(0.1)
            assert contenders.challenger is not None
            contenders.challenger.take(np.array([cost]))
        contenders.settle(0.1)
        assert contenders.challenger is None and contenders.incumbent is not None
        assert np.array_equal(contenders.incumbent.x, new if is_better else old)


def test_a_noisy_search_ends_with_the_mean_and_the_best_judged_anew():
    rng, counts = np.random.default_rng(0), []

    def cost(X):
        counts.append(len(X))
        return np.square(X - 0.3).sum(1) + 0.01 * rng.standard_normal(len(X))

    solution, _ = _search(
        cost, _space(3), noisy=True, options={"maxiter": 50}, final_evaluations=25
    )
    assert counts[-1] == 50
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.cost == pytest.approx(np.square(solution.x - 0.3).sum(), abs=4 * 0.01 / 5)


# --- restarts ------------------------------------------------------------------------------------


def test_ipop_restarts_with_a_larger_population_from_elsewhere():
    toy = test_problems.rotated_rastrigin(3)
    search = CmaEs(toy.space, CmaEsSettings(restarts="ipop", max_restarts=3))
    starts = [search._run_start]
    while search.done() is None:
        X = search.ask()
        search.tell(X, toy.problem.costs(X), {})
        if not np.array_equal(search._run_start, starts[-1]):
            starts.append(search._run_start)
    populations = [run.population for run in search.finished]
    assert populations == [7, 14, 28, 56]
    assert len(starts) == 4 and np.abs(np.diff(starts, axis=0)).min() > 1e-3
    assert sum(run.evaluations for run in search.finished) == search.evaluations
    assert search.cost == min(run.cost for run in search.finished) < 1e-9
    assert search.finished[0].cost > 0.9  # the first run ends in another minimum
    assert search.message.startswith("cost") and "best of 4 runs" in search.message
    costs = [record["cost"] for record in search.history]
    assert costs == sorted(costs, reverse=True)


def test_bipop_takes_the_regime_that_has_spent_less():
    rng = np.random.default_rng(0)
    finished = [FinishedRun(10, 1000, 1.0, "converged", "", "large")]
    regimes, plans = [], []
    while (plan := next_run("bipop", finished, 4, 2.0, rng)) is not None:
        small, large = (
            sum(r.evaluations for r in finished[1:] if r.regime == regime)
            for regime in ("small", "large")
        )
        assert (plan.regime == "small") == (small < large)
        regimes.append(plan.regime)
        plans.append(plan)
        spent = plan.population * min(plan.max_generations or 100, 100)
        finished.append(FinishedRun(plan.population, spent, 1.0, "", "", plan.regime))
    large = [plan.population for plan in plans if plan.regime == "large"]
    assert large == [20, 40, 80, 160]
    for plan in plans:
        if plan.regime == "small":
            assert 10 <= plan.population <= 80 and 0.01 <= plan.step <= 1.0
            assert plan.max_generations is not None
    assert regimes.count("small") > 4


def test_a_search_without_restarts_is_one_run():
    run = FinishedRun(10, 1000, 1.0, "converged", "", "large")
    assert next_run("none", [run], 9, 2.0, np.random.default_rng(0)) is None
    assert next_run("ipop", [run, run], 1, 2.0, np.random.default_rng(0)) is None


# --- limits and reasons --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "status", "words"),
    [
        ({"max_evaluations": 100}, Status.EVALUATION_LIMIT, "limit of 100 evaluations"),
        ({"max_generations": 7}, Status.ITERATION_LIMIT, "limit of 7 generations"),
        ({"target_cost": 1e-2}, Status.TARGET_REACHED, "reached the target of 0.01"),
        ({"options": {"ftarget": 1e-2}}, Status.TARGET_REACHED, "reached the target"),
        ({"options": {"maxfevals": 100}}, Status.EVALUATION_LIMIT, "limit of 100 evaluations"),
        ({"options": {"maxiter": 5}}, Status.ITERATION_LIMIT, "5 generations of a run"),
        ({"options": {"tolx": 1e-2}}, Status.CONVERGED, "below 0.01 of the initial deviations"),
        ({"options": {"tolfun": 1e-3}}, Status.CONVERGED, "differ by less than 0.001"),
    ],
)
def test_why_it_ended_is_said_in_words(settings, status, words):
    solution, search = _search(_ellipsoid, _space(4), **settings)
    assert solution.status is status and words in solution.message
    if settings.get("max_generations"):
        assert len(search.history) == 7


def test_flat_and_endless_costs_are_told_from_converged_ones():
    solution, _ = _search(lambda X: np.ones(len(X)), _space(4))
    assert solution.status is not Status.TARGET_REACHED and not solution.message.endswith(":")
    endless, _ = _search(lambda X: X[:, 0] * 1.0, _space(3, -np.inf, np.inf))
    assert endless.status is Status.STALLED and "is unbounded below" in endless.message


def test_every_reason_of_cma_has_words():
    import inspect

    from cma.evolution_strategy import _CMAStopDict

    source = inspect.getsource(_CMAStopDict._update)
    known = {part.split("'")[1] for part in source.split("_addstop(")[1:] if "'" in part[:30]}
    # those that cannot happen here: no wall clock, no callback; the last stands in dead code
    assert known - {"timeout", "callback", "flat fitness", "||xmean||^2<ftarget"} <= set(
        STOP_REASONS
    )
    status, words = describe_stop({"something": 3})
    assert status is Status.STALLED and "something" in words


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (_space(2, start=7.0), "is outside the bounds: x0 starts at 7, its bounds are .-5, 5"),
        (_space(2, start=np.nan), "outside the bounds"),
        (_space(2, 2.0, 2.0), "the bounds of 'x0', 'x1' are equal: freeze these"),
        (_space(2, -np.inf, np.inf, 0.0), "no initial deviation for 'x0', 'x1': the start is zero"),
        (_space(0), "no free parameter"),
    ],
)
def test_boxes_that_cannot_be_searched_are_refused(space, words):
    with pytest.raises(FitError, match=words):
        CmaEs(space)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"population": 3}, "population of CMA-ES is 3"),
        ({"deviation": 0.0}, "deviation of CMA-ES is 0"),
        ({"restarts": "bipob"}, "Did you mean 'bipop'"),
        ({"population_factor": 1.0}, "above 1"),
        ({"options": {"tolfum": 1}}, "Did you mean 'tolfun'"),
        ({"options": {"popsize": 9}, "population": 8}, "both population and the option 'popsize'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(FitError, match=words):
        CmaEsSettings(**settings)


def test_what_cma_refuses_is_told():
    with pytest.raises(FitError, match=r"cma cannot start with.*dimension 3 instead of 4"):
        CmaEs(_space(3), CmaEsSettings(options={"minstd": [1.0, 2.0, 3.0, 4.0]}))
    with pytest.raises(FitError, match=r"seed must be between 0 and .*, found -1"):
        CmaEs(_space(3), seed=-1)


def test_several_objectives_are_refused():
    problem = VectorisedCosts(lambda X: X, _space(2), ("a", "b"))
    with pytest.raises(FitError, match="NSGA-II"):
        minimise(problem, CmaEs(problem.space))
    search = CmaEs(problem.space)
    with pytest.raises(FitError, match="one cost, received 2 per candidate"):
        search.tell(search.ask(), np.zeros((7, 2)), {})


def test_tell_takes_what_was_asked_in_any_order():
    first, second = CmaEs(_space(4)), CmaEs(_space(4))
    rng = np.random.default_rng(0)
    for _ in range(10):
        X = first.ask()
        np.testing.assert_array_equal(X, first.ask())
        costs, failures = _ellipsoid(X), {1: "it fell"}
        first.tell(X, costs, failures)
        order = rng.permutation(len(X))
        where = {int(np.flatnonzero(order == row)[0]): why for row, why in failures.items()}
        second.ask()
        second.tell(X[order], costs[order], where)
    assert first.history == second.history
    np.testing.assert_array_equal(first.ask(), second.ask())


def test_tell_refuses_what_was_not_asked():
    search = CmaEs(_space(4))
    with pytest.raises(FitError, match="without a requested"):
        search.tell(np.zeros((8, 4)), np.zeros(8), {})
    X = search.ask()
    with pytest.raises(FitError, match="8 candidates that are not the 9"):
        search.tell(X[1:], np.zeros(8), {})
    with pytest.raises(FitError, match="9 candidates that are not the 9 of its batch"):
        search.tell(X + 1e-9, np.zeros(9), {})


def test_costs_that_become_others_are_forgotten_and_the_distribution_goes_on():
    search = CmaEs(_space(3))
    X = search.ask()
    with pytest.raises(FitError, match="between two generations"):
        search.forget_costs()
    search.tell(X, _ellipsoid(X), {})
    step = search.info()["step"]
    search.forget_costs(0.5)
    assert search.cost == np.inf and not search.history
    assert search.info()["step"] == pytest.approx(0.5 * step)
    X = search.ask()
    search.tell(X, _ellipsoid(X) + 1000.0, {})
    # dearer than all before, and the best of those that count
    assert search.cost == pytest.approx((_ellipsoid(X) + 1000.0).min())
    assert len(search.history) == 1 and search.generation == 2


def test_a_plateau_ends_a_run_with_its_reason():
    def almost_flat(X):
        return 1.0 + 1e-5 * np.square(X - 0.3).sum(axis=1)

    ended, search = _search(almost_flat, _space(4), plateau=8)
    assert ended.status is Status.STALLED and "in 8 generations (plateau)" in ended.message
    assert search.generation == 9
    falling, _ = _search(_ellipsoid, _space(4), plateau=8)
    assert falling.cost < 1e-8


def test_a_plateau_is_counted_on_after_a_resume():
    space = _space(4)
    problem = VectorisedCosts(lambda X: 1.0 + 1e-6 * np.square(X).sum(axis=1), space)
    search = CmaEs(space, CmaEsSettings(plateau=8), 0)
    for _ in range(5):
        X = search.ask()
        search.tell(X, search.evaluate(problem, X, {}), {})
    search = CmaEs.from_state(search.state(), space)
    minimise(problem, search)
    assert search.generation == 9
