"""Least squares of a part of the recordings, then of all: the optimum of the usual search."""

import numpy as np
import pytest

from trueup.fitting import Failures, LeastSquaresSettings, final_jacobian, minimise
from trueup.fitting.problem import Problem
from trueup.fitting.searches.least_squares import LeastSquares
from trueup.fitting.searches.part_first import SHARE, part_first
from trueup.fitting.solution import Status
from trueup.parameters import Parameter, ParameterDict

TIMES = np.linspace(0.0, 8.0, 800)
NOISE = np.random.default_rng(3).normal(size=len(TIMES))


class Recorded(Problem):
    """Residuals of a function of time; the part holds its first times."""

    def __init__(self, function, space, truth, noise, times=TIMES):
        self.function, self.space, self.truth, self.noise = function, space, truth, noise
        self.times, self.data_rows = times, len(times)
        self.simulated = 0.0
        self.whole = self

    def residual_blocks(self, X, failures: Failures):
        self.whole.simulated += len(X) * len(self.times) / len(TIMES)
        measured = self.function(np.asarray(self.truth)[None], self.times)
        measured = measured + self.noise * NOISE[: len(self.times)]
        yield slice(0, self.data_rows), self.function(X, self.times) - measured

    def part(self, share):
        count = round(share * len(self.times))
        shorter = Recorded(self.function, self.space, self.truth, self.noise, self.times[:count])
        shorter.whole = self
        return shorter


def swinging(X, t):
    """A damped oscillation: amplitude, rate of decay, frequency, phase."""
    a, b, w, p = (X[:, i : i + 1] for i in range(4))
    return a * np.exp(-b * t) * np.sin(w * t + p)


def late(X, t):
    """A decay, and a ramp that begins after the part."""
    return X[:, :1] * np.exp(-X[:, 1:2] * t) + X[:, 2:3] * np.maximum(t - 4.0, 0.0)


def other_course(X, t):
    """A slope that changes after the part, where the part's own slope is far off."""
    return X[:, :1] * np.sin(X[:, 1:2] * t)


def space(start, lower, upper):
    out = ParameterDict()
    for i, (value, low, high) in enumerate(zip(start, lower, upper, strict=True)):
        out.add(Parameter(f"p{i}", value, low, high))
    return out.space()


SWINGING = space([0.8, 0.5, 2.6, 0.1], [0.0, 0.0, 1.0, -1.0], [5.0, 3.0, 9.0, 1.0])
TRUTH = [1.4, 0.23, 2.9, 0.37]


def search_of(problem, **settings):
    cost = float(problem.costs(problem.space.start[None])[0, 0])
    return part_first(problem, LeastSquaresSettings(**settings), cost)


@pytest.mark.parametrize("noise", [1e-3, 0.05, 0.3])
def test_the_optimum_is_that_of_the_usual_search_with_fewer_simulations(noise):
    problem = Recorded(swinging, SWINGING, TRUTH, noise)
    usual = minimise(problem, LeastSquares(SWINGING))
    final_jacobian(problem, usual.x)
    of_usual, problem.simulated = problem.simulated, 0.0
    quick = search_of(problem)
    problem.simulated = 0.0
    found = minimise(problem, quick)
    simulated = problem.simulated
    assert found.status is Status.CONVERGED
    assert found.cost <= usual.cost * (1 + 1e-6)
    _, jacobian, _ = final_jacobian(problem, usual.x)
    errors = np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)) * noise**2)
    assert np.all(np.abs(found.x - usual.x) < 0.1 * errors)
    assert simulated < 0.8 * of_usual
    assert quick.evaluations == pytest.approx(simulated, abs=1.0)


@pytest.mark.parametrize("noise", [1e-3, 0.05, 0.3])
def test_the_stored_jacobian_gives_the_standard_errors_of_the_optimum(noise):
    problem = Recorded(swinging, SWINGING, TRUTH, noise)
    quick = search_of(problem)
    found = minimise(problem, quick)
    residual, jacobian = quick.linear
    own, at_optimum, _ = final_jacobian(problem, found.x)
    np.testing.assert_array_equal(residual, own)
    ratio = np.diag(np.linalg.inv(jacobian.T @ jacobian)) / np.diag(
        np.linalg.inv(at_optimum.T @ at_optimum)
    )
    np.testing.assert_allclose(np.sqrt(ratio), 1.0, atol=0.1)


def test_history_begins_at_the_start_values_and_never_rises():
    problem = Recorded(swinging, SWINGING, TRUTH, 0.05)
    found = minimise(problem, search_of(problem))
    assert found.history[0]["x"] == SWINGING.start.tolist()
    assert found.history[0]["cost"] == pytest.approx(problem.costs(SWINGING.start[None])[0, 0])
    costs = [record["cost"] for record in found.history]
    assert costs == sorted(costs, reverse=True) and costs[-1] == found.cost
    assert [record["iteration"] for record in found.history] == list(range(len(costs)))
    left = [record["cost"] - record["reduction"] for record in found.history]
    np.testing.assert_allclose(left, [*costs[1:], costs[-1]], rtol=1e-12)


def test_elements_without_effect_in_the_part_lead_to_the_usual_search():
    unknowns = space([2.0, 1.0, 0.0], [0.0, 0.0, -5.0], [5.0, 5.0, 5.0])
    problem = Recorded(late, unknowns, [1.3, 0.6, -0.4], 0.01)
    quick = search_of(problem)
    found = minimise(problem, quick)
    usual = minimise(problem, LeastSquares(unknowns))
    np.testing.assert_array_equal(found.x, usual.x)
    assert quick.linear is None


def test_a_part_whose_optimum_is_worse_than_the_start_is_dismissed():
    unknowns = space([1.0, 3.0], [0.0, 0.1], [3.0, 9.0])
    problem = Recorded(other_course, unknowns, [1.0, 3.0], 0.0)
    first = Recorded(other_course, unknowns, [1.0, 7.5], 0.0, TIMES[:200])
    first.whole = problem
    problem.part = lambda share: first
    problem.noise = 0.02
    found = minimise(problem, search_of(problem))
    usual = minimise(problem, LeastSquares(unknowns))
    np.testing.assert_array_equal(found.x, usual.x)
    costs = [record["cost"] for record in found.history]
    assert costs == sorted(costs, reverse=True)


def test_an_exact_fit_is_still_called_exact():
    problem = Recorded(swinging, SWINGING, TRUTH, 0.0)
    found = minimise(problem, search_of(problem))
    assert found.status is Status.EXACT
    np.testing.assert_allclose(found.x, TRUTH, rtol=1e-9)


def test_an_interrupt_in_the_part_returns_the_start_values():
    problem = Recorded(swinging, SWINGING, TRUTH, 0.05)

    def stop(search):
        raise KeyboardInterrupt

    found = minimise(problem, search_of(problem), stop)
    assert found.status is Status.INTERRUPTED
    np.testing.assert_array_equal(found.x, SWINGING.start)
    assert found.cost == pytest.approx(problem.costs(SWINGING.start[None])[0, 0])


@pytest.mark.parametrize(
    "settings", [{"loss": "huber"}, {"max_iters": 3}, {"difference": 1e-4}, {"scale": "none"}]
)
def test_other_settings_keep_the_usual_search(settings):
    assert search_of(Recorded(swinging, SWINGING, TRUTH, 0.05), **settings) is None


def test_a_part_with_few_rows_keeps_the_usual_search():
    times = TIMES[:: 800 // 70]
    assert len(times) * SHARE < 20 * SWINGING.size
    problem = Recorded(swinging, SWINGING, TRUTH, 0.05, times)
    assert search_of(problem) is None
