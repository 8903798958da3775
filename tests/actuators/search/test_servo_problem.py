"""Servo identification as a problem: residuals, exact Jacobian, a known truth found again."""

import dataclasses

import numpy as np
import pytest
from bench_logs import make_log, make_model

from trueup.actuators import BenchSimulator, Objective, ServoProblem
from trueup.fitting import LeastSquares, LeastSquaresSettings, minimise
from trueup.fitting.problem import LARGE_COST, LARGE_RESIDUAL

FREE = ("kt", "armature", "friction_base", "friction_viscous", "q_offset")


def recorded(model, log):
    motion = BenchSimulator(model, [log]).simulate()
    return dataclasses.replace(
        log,
        position=motion.position[0][0],
        speed=motion.speed[0][0],
        load=motion.duty[0][0],
    )


@pytest.fixture(scope="module")
def logs():
    model, still = make_model("m1"), {"position": np.zeros(240), "speed": np.zeros(240)}
    return [
        recorded(model, make_log("a", 240, kp=100.0, off_from=0.9, **still)),
        recorded(model, make_log("b", 240, kp=300.0, mass=0.3, **still)),
    ]


def test_residuals_and_jacobian_agree(logs):
    simulator = BenchSimulator(make_model("m1"), logs, free=FREE)
    problem = ServoProblem(simulator, Objective(position=1.0, duty=0.5))
    assert problem.has_residuals and problem.has_jacobian
    x = 1.05 * problem.space.start
    residuals = problem.residuals(np.array([x, problem.space.start]))
    assert residuals.shape == (2, 4 * 240) and problem.groups[0].channels == ("position", "duty")
    # torque off: no duty cycle to compare
    assert not residuals[0, : 2 * 240].reshape(240, 2)[180:, 1].any()
    failures = {}
    for rows, values, jacobian in problem.jacobian_blocks(x, failures):
        np.testing.assert_allclose(values, residuals[0, rows], atol=1e-9)
        for k, width in enumerate(1e-6 * np.maximum(np.abs(x), 1e-3)):
            pair = np.array([x, x])
            pair[0, k] += width
            pair[1, k] -= width
            high, low = problem.residuals(pair)[:, rows]
            error = np.abs(jacobian[k] - (high - low) / (2 * width))
            assert np.quantile(error, 0.97) < 1e-4 * np.abs(jacobian[k]).max() + 1e-6
    assert not failures


def test_least_squares_with_the_exact_jacobian_finds_the_truth(logs):
    simulator = BenchSimulator(make_model("m1"), logs, free=FREE)
    problem = ServoProblem(simulator)
    truth = simulator.model.vector(FREE)
    start = truth * [1.3, 0.7, 1.5, 0.6, 0.5]
    problem.space = dataclasses.replace(problem.space, start=start)
    settings = LeastSquaresSettings(jacobian="exact")
    solution = minimise(problem, LeastSquares(problem.space, settings))
    np.testing.assert_allclose(solution.x, truth, rtol=1e-4)
    assert problem.costs(solution.x)[0, 0] < 1e-6
    assert problem.model_at(solution.x).values["R"] == simulator.model.values["R"]


@pytest.mark.parametrize("jacobian", ["exact", "differences"])
def test_least_squares_finds_the_minimum_of_the_objective_for_logs_of_unequal_length(
    logs, jacobian
):
    rng = np.random.default_rng(1)
    model = make_model("m1", friction_base=0.03)  # a compromise between two servos
    short = recorded(model, dataclasses.replace(make_log("c", 60, kp=200.0)))
    unequal = [
        dataclasses.replace(log, position=log.position + 1e-3 * rng.standard_normal(len(log)))
        for log in (*logs, short)
    ]
    simulator = BenchSimulator(make_model("m1"), unequal, free=FREE)
    objective = Objective("rmse")
    problem = ServoProblem(simulator, objective)
    solution = minimise(
        problem, LeastSquares(problem.space, LeastSquaresSettings(jacobian=jacobian))
    )
    cost, gradient = simulator.cost_gradients(solution.x[None], objective)
    # half the weighted sum of squares is the squared objective times half the number of samples
    assert 2.0 * solution.cost / problem.data_rows == pytest.approx(cost[0] ** 2, rel=1e-9)
    unweighted = ServoProblem(simulator, objective)
    unweighted.weights_of = lambda rows: None
    other = minimise(unweighted, LeastSquares(problem.space, LeastSquaresSettings()))
    steps = problem.space.upper - problem.space.lower
    _, elsewhere = simulator.cost_gradients(other.x[None], objective)
    assert np.abs(gradient * steps).max() < 0.05 * np.abs(elsewhere * steps).max()
    assert cost[0] < simulator.costs(other.x[None], objective)[0]


def test_a_candidate_that_diverges_keeps_to_itself(logs):
    problem = ServoProblem(BenchSimulator(make_model("m1"), logs, free=FREE))
    X = np.array([problem.space.start, np.full(5, np.nan)])
    failures = {}
    residuals = problem.residuals(X, failures)
    assert list(failures) == [1]
    assert np.abs(residuals[0]).max() < 1e-6 and (residuals[1] == LARGE_RESIDUAL).all()
    assert problem.costs(X)[:, 0].tolist() == [pytest.approx(0.0, abs=1e-9), LARGE_COST]
    blocks = list(problem.jacobian_blocks(X[1], failures := {}))
    assert failures and all((values == LARGE_RESIDUAL).all() for _, values, _ in blocks)
