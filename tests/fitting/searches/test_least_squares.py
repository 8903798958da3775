"""Least squares: known optima, bounds, losses, failures, resumption."""

import itertools
import json

import fitting_problems as zoo
import numpy as np
import pytest
from scipy.optimize import least_squares as scipy_least_squares

from trueup.errors import FitError
from trueup.fitting import minimise
from trueup.fitting.losses import LOSSES
from trueup.fitting.problem import LARGE_RESIDUAL, PerCandidate, Problem, Vectorised
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.searches.scipy_least_squares import (
    scipy_least_squares as minimise_with_scipy,
)
from trueup.fitting.solution import Status


def fit(problem, **settings):
    return minimise(problem, LeastSquares(problem.space, LeastSquaresSettings(**settings)))


@pytest.mark.parametrize("start", [[-1.2, 1.0], [-12.0, 10.0], [1.0, 1.0]])
def test_rosenbrock(start):
    solution = fit(zoo.problem(zoo.rosenbrock, start))
    assert solution.success
    np.testing.assert_allclose(solution.x, [1, 1], atol=1e-9)


def test_an_exact_fit_is_called_exact():
    assert fit(zoo.problem(zoo.rosenbrock, [-1.2, 1.0])).status is Status.EXACT


def test_powell_singular_reaches_the_minimum_where_the_jacobian_has_no_full_rank():
    solution = fit(zoo.problem(zoo.powell_singular, [3.0, -1.0, 0.0, 1.0]))
    assert solution.success
    assert solution.cost < 1e-15


def test_bard_has_the_published_sum_of_squares():
    solution = fit(zoo.problem(zoo.bard, [1.0, 1.0, 1.0]))
    assert solution.status is Status.CONVERGED
    assert 2 * solution.cost == pytest.approx(8.21487e-3, rel=1e-6)


@pytest.mark.parametrize(
    ("function", "data", "start"),
    [
        (zoo.misra1a, zoo.MISRA1A, 0),
        (zoo.misra1a, zoo.MISRA1A, 1),
        (zoo.mgh09, zoo.MGH09, 1),
        (zoo.thurber, zoo.THURBER, 0),
        (zoo.thurber, zoo.THURBER, 1),
    ],
)
def test_certified_values_of_nist(function, data, start):
    solution = fit(zoo.problem(function, data["starts"][start]))
    assert solution.success
    # a forward difference leaves the cost flat to rounding: six digits of the parameters
    np.testing.assert_allclose(solution.x, data["certified"], rtol=2e-5)
    assert 2 * solution.cost == pytest.approx(data["sum_of_squares"], rel=1e-8)


def test_the_zoo_takes_a_sane_number_of_evaluations():
    starts = [
        (zoo.rosenbrock, [-1.2, 1.0]),
        (zoo.bard, [1.0, 1.0, 1.0]),
        (zoo.misra1a, zoo.MISRA1A["starts"][0]),
        (zoo.misra1a, zoo.MISRA1A["starts"][1]),
        (zoo.mgh09, zoo.MGH09["starts"][1]),
        (zoo.thurber, zoo.THURBER["starts"][0]),
        (zoo.thurber, zoo.THURBER["starts"][1]),
    ]
    total = sum(fit(zoo.problem(f, s)).stats["evaluations"] for f, s in starts)
    assert total < 800


@pytest.mark.parametrize(
    "lower, upper", [([-5, -5], [0.5, 5]), ([-5, 1.5], [5, 5]), ([0, 0], [0.3, 0.05])]
)
def test_active_bounds_agree_with_scipy(lower, upper):
    start = (np.array(lower) + np.array(upper)) / 2
    solution = fit(zoo.problem(zoo.rosenbrock, start, lower=lower, upper=upper))
    reference = scipy_least_squares(
        lambda x: zoo.rosenbrock(x[None])[0], start, bounds=(lower, upper), xtol=1e-15, ftol=1e-15
    )
    assert solution.status is Status.CONVERGED
    assert solution.cost <= reference.cost * (1 + 1e-9)
    # scipy's interior method only approaches the bound
    np.testing.assert_allclose(solution.x, reference.x, atol=2e-4)
    assert (solution.x >= lower).all() and (solution.x <= upper).all()


def test_a_start_in_the_corner_can_leave_it():
    solution = fit(zoo.problem(zoo.rosenbrock, [-2.0, -2.0], lower=-2, upper=2))
    np.testing.assert_allclose(solution.x, [1, 1], atol=1e-8)


def test_an_element_with_equal_bounds_stays():
    solution = fit(zoo.problem(zoo.rosenbrock, [0.5, 0.0], lower=[0.5, -2], upper=[0.5, 2]))
    np.testing.assert_allclose(solution.x, [0.5, 0.25], atol=1e-9)


@pytest.mark.parametrize("twins", [2, 30])
def test_rank_deficient_columns_converge_to_the_best_cost(twins):
    """Only the sum of some elements matters: the fit is as good as that of their sum."""
    t = np.linspace(0, 1, 50)
    y = 3 * t + 0.1 * np.sin(40 * t)

    def residual(x):
        return y - x[:, 0:1] - x[:, 1:].sum(axis=1, keepdims=True) * t

    solution = fit(zoo.problem(residual, np.full(1 + twins, 0.1), lower=-10, upper=10))
    basis = np.stack([np.ones_like(t), t], axis=1)
    best = np.linalg.lstsq(basis, y, rcond=None)
    assert solution.success
    assert 2 * solution.cost == pytest.approx(best[1][0], rel=1e-9)
    assert solution.x[1:].sum() == pytest.approx(best[0][1], rel=1e-6)


def test_an_element_without_effect_does_not_disturb():
    def residual(x):
        return np.stack([x[:, 0] - 2, 0 * x[:, 1]], axis=1)

    solution = fit(zoo.problem(residual, [0.0, 0.3], lower=-5, upper=5))
    assert solution.x[0] == pytest.approx(2, abs=1e-9)
    assert solution.x[1] == pytest.approx(0.3)


def test_parameters_of_very_different_size():
    """A large parameter must not end the search before a small one has moved."""
    t = np.linspace(0, 1, 40)

    def residual(x):
        return (x[:, :1] * 1e-7 * t + 1e7 * x[:, 1:2] * t**2 - 3 * t - 2 * t**2) / 5

    solution = fit(zoo.problem(residual, [1e7, 1e-8], lower=[0, 0], upper=[1e9, 1e-6]))
    np.testing.assert_allclose(solution.x, [3e7, 2e-7], rtol=1e-6)


def test_small_parameters_without_bounds():
    t = np.linspace(0, 1, 40)

    def residual(x):
        return np.exp(-1e9 * x[:, :1] * t) - np.exp(-3 * t)

    solution = fit(zoo.problem(residual, [1e-9]))
    assert solution.x[0] == pytest.approx(3e-9, rel=1e-7)


def test_noisy_differences_end_near_the_optimum():
    """A simulation with a rounding of 1e-7 has no derivative over steps of that size."""
    t = np.linspace(0, 4, 100)
    y = 2 * np.exp(-0.7 * t) + 0.01 * np.sin(31 * t)

    def residual(x):
        exact = y - x[:, :1] * np.exp(-x[:, 1:2] * t)
        return np.round(exact, 7)

    solution = fit(zoo.problem(residual, [1.0, 2.0], lower=0, upper=5))
    best = scipy_least_squares(
        lambda x: y - x[0] * np.exp(-x[1] * t), [1.0, 2.0], xtol=1e-15, ftol=1e-15
    )
    assert solution.success
    np.testing.assert_allclose(solution.x, best.x, rtol=1e-4)
    assert solution.stats["evaluations"] < 400


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_every_loss_finds_the_optimum_of_scipy(loss):
    rng = np.random.default_rng(4)
    t = np.linspace(0, 3, 80)
    y = 2.5 * np.exp(-1.3 * t) + 0.3 + rng.normal(scale=0.02, size=t.size)
    y[::11] += rng.choice([-1.5, 2.0], size=y[::11].size)

    def residual(x):
        return y - (x[:, :1] * np.exp(-x[:, 1:2] * t) + x[:, 2:3])

    start, lower, upper = np.array([2.0, 1.0, 0.1]), np.zeros(3), np.full(3, 8.0)
    solution = fit(
        zoo.problem(residual, start, lower=lower, upper=upper), loss=loss, loss_scale=0.1
    )
    reference = scipy_least_squares(
        lambda x: residual(x[None])[0],
        start,
        bounds=(lower, upper),
        loss=loss,
        f_scale=0.1,
        xtol=1e-14,
        ftol=1e-14,
        gtol=1e-14,
    )
    assert solution.success
    assert solution.cost == pytest.approx(reference.cost, rel=1e-7)
    np.testing.assert_allclose(solution.x, reference.x, rtol=1e-3, atol=1e-4)
    if loss != "linear":
        np.testing.assert_allclose(solution.x, [2.5, 1.3, 0.3], rtol=0.05, atol=0.05)


def test_a_log_scale_crosses_decades():
    t = np.linspace(0, 2e-3, 50)

    def residual(x):
        return np.exp(-t / x[:, :1]) - np.exp(-t / 3e-4)

    options = {"lower": 1e-8, "upper": 10.0, "log": True}
    solution = fit(zoo.problem(residual, [3e-3], **options))
    assert solution.x[0] == pytest.approx(3e-4, rel=1e-7)


def test_a_log_scale_holds_its_bounds():
    def residual(x):
        return np.log(x[:, :1]) - np.log(5e-3)

    solution = fit(zoo.problem(residual, [0.3], lower=1e-2, upper=1.0, log=True))
    assert solution.x[0] == 1e-2
    assert solution.status is Status.CONVERGED


@pytest.mark.parametrize("scale", ["jac", "none"])
def test_both_scalings_find_the_optimum(scale):
    solution = fit(zoo.problem(zoo.rosenbrock, [-1.2, 1.0]), scale=scale)
    np.testing.assert_allclose(solution.x, [1, 1], atol=1e-8)


class _WithPrior(Problem):
    """One number measured 50 times, and a belief about it."""

    def __init__(self, measured, mean, sd):
        self.measured, self.mean, self.sd = measured, mean, sd
        self.space = zoo.space([0.0], -100.0, 100.0)
        self.data_rows = measured.size

    @property
    def residual_size(self):
        return self.data_rows + 1

    def residual_blocks(self, X, failures):
        yield slice(0, self.data_rows), self.measured - X[:, :1] * np.ones(self.data_rows)
        yield slice(self.data_rows, self.data_rows + 1), (self.mean - X[:, :1]) / self.sd


def test_a_prior_pulls_as_bayes_says():
    measured = np.random.default_rng(0).normal(3, 1, 50)
    solution = fit(_WithPrior(measured, 1.0, 0.2))
    posterior = (measured.sum() + 1.0 / 0.2**2) / (50 + 1 / 0.2**2)
    assert solution.x[0] == pytest.approx(posterior, rel=1e-9)


def test_a_robust_loss_leaves_the_prior_quadratic():
    """The belief is far from the data: a bent loss on it would let it go."""
    measured = np.full(4, 100.0)
    solution = fit(_WithPrior(measured, 0.0, 0.01), loss="huber", loss_scale=0.1)
    # Huber's pull is 0.1 a row; the prior holds with x / 0.01^2
    assert solution.x[0] == pytest.approx(4 * 0.1 * 0.01**2, rel=1e-3)


# --- failures ------------------------------------------------------------------------------------


class _Cliff(Problem):
    """``r = x - target``; candidates within ``invalid`` fail as a simulation does."""

    def __init__(self, start, target, invalid):
        self.space = zoo.space(start, -10.0, 10.0)
        self.target, self.invalid = np.asarray(target, float), invalid
        self.data_rows = self.space.size
        self.batches = 0

    def residual_blocks(self, X, failures):
        self.batches += 1
        assert self.batches < 300, "the search does not end"
        values = X - self.target
        for row in np.flatnonzero(self.invalid(X)):
            failures[int(row)] = "fell over"
            values[row] = LARGE_RESIDUAL
        yield slice(0, self.data_rows), values


def test_a_failing_start_is_said():
    solution = fit(_Cliff([1.0], [0.0], lambda X: X[:, 0] > 0.5))
    assert solution.status is Status.START_FAILED
    assert "fell over" in solution.message
    assert not np.isfinite(solution.cost)


def test_a_failing_neighbour_is_tried_on_the_other_side():
    """Differences go up from 0; there the simulation fails."""
    solution = fit(_Cliff([0.0, 0.0], [-1.0, 2.0], lambda X: X[:, 0] > 0))
    np.testing.assert_allclose(solution.x, [-1, 2], atol=1e-8)


def test_an_element_that_fails_on_both_sides_is_left_alone():
    solution = fit(_Cliff([0.0, 0.0, 0.0], [-1.0, 2.0, 1.0], lambda X: X[:, 0] != 0))
    assert solution.x[0] == 0
    np.testing.assert_allclose(solution.x[1:], [2, 1], atol=1e-8)


def test_failing_both_ways_everywhere_is_no_convergence():
    solution = fit(_Cliff([0.0, 0.0], [1.0, 1.0], lambda X: (X != 0).any(axis=1)))
    assert solution.status is Status.STALLED
    assert not solution.success


def test_steps_into_a_failing_region_are_shortened():
    """The full step from 0 lands beyond the cliff at 1, where the optimum 0.9 is not."""
    solution = fit(_Cliff([-5.0], [0.9], lambda X: X[:, 0] > 1))
    assert solution.x[0] == pytest.approx(0.9, abs=1e-7)

    def saturating(X):
        return 10 * np.arctan(X) - 1

    blocked = Vectorised(saturating, zoo.space([3.0], -10.0, 10.0))
    assert fit(blocked).x[0] == pytest.approx(np.tan(0.1), rel=1e-8)


def test_a_function_that_is_not_finite_or_raises_is_a_failure_of_its_candidate():
    def root(x):
        if x[0] < 0:
            raise ValueError("negative")
        return np.array([np.sqrt(x[0]) - 2, x[1] - 1])

    solution = fit(PerCandidate(root, zoo.space([0.01, 0.0], -9.0, 9.0)))
    np.testing.assert_allclose(solution.x, [4, 1], atol=1e-7)


def test_a_rough_cost_stalls():
    """Differences promise a reduction that no step finds."""

    def narrow_dips(x):
        # exactly where differences look, and nowhere else
        away = np.abs(x[:, :1])
        dip = np.zeros_like(away)
        for h in (2e-7, 2e-5):
            dip += 3 * h * (np.abs(x[:, :1] - h) < 1e-3 * h)
        return 1 + away - dip

    solution = fit(zoo.problem(narrow_dips, [0.0], lower=-1, upper=1))
    assert solution.status is Status.STALLED
    assert solution.x[0] == 0
    assert "although a reduction by 0.5 was predicted" in solution.message


@pytest.mark.parametrize("size, status", [(0.03, Status.CONVERGED), (0.3, Status.STALLED)])
def test_roughness_far_below_the_noise_is_no_stall(size, status):
    """A reduction that no step finds is promised: 0.03 or 0.3 standard errors of the estimate."""
    noise = np.random.default_rng(0).normal(size=200)

    def rough(x):
        away = np.abs(x[:, :1])
        dip = np.zeros_like(away)
        for h in (2e-7, 2e-5):
            dip += 3 * h * (np.abs(x[:, :1] - h) < 1e-3 * h)
        return np.hstack([np.tile(noise, (len(x), 1)), size + away - dip])

    solution = fit(zoo.problem(rough, [0.0], lower=-1, upper=1))
    assert solution.status is status
    assert ("standard errors" in solution.message) == (status is Status.CONVERGED)


def test_the_iteration_limit_is_said_and_zero_iterations_only_look():
    for limit in (0, 3):
        solution = fit(zoo.problem(zoo.rosenbrock, [-1.2, 1.0]), max_iters=limit)
        assert solution.status is Status.ITERATION_LIMIT
        assert not solution.success
        assert len(solution.history) == limit + 1
    assert fit(zoo.problem(zoo.bard, fit(zoo.problem(zoo.bard, [1, 1, 1])).x), max_iters=0).success


@pytest.mark.parametrize(("limit", "evaluations"), [(1.5, 0), (8.5, 3)])
def test_a_time_limit_cuts_a_batch_off_and_keeps_what_was_found(limit, evaluations):
    now = itertools.count()

    def slow(x):
        next(now)
        return np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])

    problem = PerCandidate(slow, zoo.problem(zoo.rosenbrock, [-1.2, 1.0]).space)
    now = itertools.count()
    search = LeastSquares(problem.space)
    solution = minimise(problem, search, time_limit=limit, clock=lambda: next(now))
    assert solution.status is Status.TIME_LIMIT
    assert search.evaluations == evaluations
    # the batch under way has no answer
    assert np.isfinite(solution.cost) == (evaluations > 0)
    if evaluations:
        np.testing.assert_allclose(0.5 * np.square(slow(solution.x)).sum(), solution.cost)
    else:
        np.testing.assert_array_equal(solution.x, problem.space.start)


def test_time_and_interrupt_end_a_search_with_what_it_has():
    problem = zoo.problem(zoo.rosenbrock, [-1.2, 1.0])
    solution = minimise(problem, LeastSquares(problem.space), time_limit=0.0)
    assert solution.status is Status.TIME_LIMIT

    def interrupt(search):
        if search.iteration == 3:
            raise KeyboardInterrupt

    solution = minimise(problem, LeastSquares(problem.space), interrupt)
    assert solution.status is Status.INTERRUPTED
    assert solution.cost < problem.costs(problem.space.start[None])[0, 0]


def test_settings_and_spaces_out_of_range_are_refused():
    space = zoo.space([1.0])
    for settings in ({"trials": 0}, {"max_iters": -1}, {"difference": 0.0}, {"loss": "hubber"}):
        with pytest.raises(FitError):
            LeastSquares(space, LeastSquaresSettings(**settings))
    with pytest.raises(FitError, match="frozen"):
        LeastSquares(zoo.space([]))


def _nearly_linear(noise=0.0):
    """Decays whose optimum is a few Gauss-Newton steps away, each far shorter than the last."""
    t = np.linspace(0.0, 3.0, 200)
    measured = 1.1 * np.exp(-0.9 * t) + noise * np.random.default_rng(0).standard_normal(t.size)
    return Vectorised(
        lambda X: X[:, :1] * np.exp(-X[:, 1:] * t) - measured,
        zoo.space([1.0, 1.0]),
    )


def _batches(problem, **settings):
    sizes = []
    search = LeastSquares(problem.space, LeastSquaresSettings(**settings))
    solution = minimise(problem, search, lambda s: sizes.append(s.evaluations - sum(sizes)))
    return sizes, solution


def test_the_last_step_needs_no_jacobian_where_the_end_is_foreseen():
    sizes, solution = _batches(_nearly_linear(noise=0.05))
    assert solution.status is Status.CONVERGED
    assert sizes[-1] == 1
    strict = fit(_nearly_linear(noise=0.05), cost_tolerance=1e-15)
    assert solution.cost <= strict.cost * (1 + 1e-9)
    np.testing.assert_allclose(solution.x, strict.x, rtol=1e-5)


@pytest.mark.parametrize(("slope", "curvature"), [(1e-3, 1e4), (1e-4, 1e2), (1e-5, 1e2)])
@pytest.mark.parametrize("step_tolerance", [1e-10, 0.02])
def test_a_damped_step_that_promises_little_is_no_end(slope, curvature, step_tolerance):
    """A second element that seems harmless and is not: only a heavily damped step gains at all."""
    problem = zoo.problem(
        lambda X: np.stack(
            [10 * (X[:, 0] - 1), 1 - slope * X[:, 1], curvature * X[:, 1] ** 2], axis=1
        ),
        [0.0, 0.0],
        lower=[-5, -0.5],
        upper=[5, 0.5],
    )
    solution = fit(problem, step_tolerance=step_tolerance)
    assert solution.status is Status.CONVERGED
    assert solution.cost == pytest.approx(0.5, rel=1e-4)
    assert solution.x[0] == pytest.approx(1.0, rel=1e-3)


def test_the_first_line_search_may_go_farther_than_the_linear_model():
    # the slope of the root is small where it starts, so that the model asks for too short a step
    problem = zoo.problem(lambda X: X**4 - 1.0, [0.5])
    assert fit(problem).x == pytest.approx([1.0], rel=1e-9)
    search = LeastSquares(problem.space)
    search.tell(X := search.ask(), search.evaluate(problem, X, {}), {})
    plain, stretched = search.ask()[:, 0] - 0.5
    assert stretched == pytest.approx(2 * plain)


# --- state ---------------------------------------------------------------------------------------


def _round_trip(state):
    """Through JSON, as a store keeps it."""
    return json.loads(json.dumps(state, default=lambda a: a.tolist()))


@pytest.mark.parametrize("trials", [1, 2, 5])
def test_a_search_resumed_after_every_batch_has_the_same_history(trials):
    problem = zoo.problem(zoo.thurber, zoo.THURBER["starts"][0])
    settings = LeastSquaresSettings(trials=trials)
    whole = LeastSquares(problem.space, settings)
    minimise(problem, whole)
    search = LeastSquares(problem.space, settings)
    while search.done() is None:
        search = LeastSquares.from_state(_round_trip(search.state()), problem.space)
        X = search.ask()
        failures: dict[int, str] = {}
        search.tell(X, search.evaluate(problem, X, failures), failures)
    assert search.history == whole.history
    assert search.message == whole.message
    np.testing.assert_array_equal(search.x, whole.x)


def test_a_search_resumed_among_failures_has_the_same_history():
    def make():
        return _Cliff([0.0, 0.0], [-1.0, 2.0], lambda X: (X[:, 0] > 0) | (X[:, 1] > 2.5))

    whole = LeastSquares(make().space)
    minimise(make(), whole)
    problem, search = make(), LeastSquares(make().space)
    while search.done() is None:
        search = LeastSquares.from_state(_round_trip(search.state()), problem.space)
        X = search.ask()
        failures: dict[int, str] = {}
        search.tell(X, search.evaluate(problem, X, failures), failures)
    assert search.history == whole.history


def test_costs_of_history_fall():
    solution = fit(zoo.problem(zoo.thurber, zoo.THURBER["starts"][0]))
    costs = [record["cost"] for record in solution.history]
    assert costs == sorted(costs, reverse=True)
    assert solution.history[-1]["evaluations"] == solution.stats["evaluations"]


def test_costs_in_the_history_of_scipy_are_those_of_its_points():
    problem = zoo.problem(zoo.rosenbrock, [-1.2, 1.0])
    solution = minimise_with_scipy(problem, LeastSquaresSettings(max_iters=20))
    X = np.array([record["x"] for record in solution.history])
    costs = 0.5 * (problem.residuals(X) ** 2).sum(axis=1)
    np.testing.assert_allclose([record["cost"] for record in solution.history], costs)
    assert len(costs) > 5 and costs[-1] < 1e-12 < costs[0]
