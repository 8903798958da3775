"""Least squares in single precision, then in double precision, on problems with both forms."""

import copy

import numpy as np
import pytest
from single_precision import OnDevice

from trueup import fitting
from trueup.fitting import (
    CmaEs,
    CmaEsSettings,
    LeastSquares,
    Status,
    Vectorised,
    test_problems,
)
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.searches.device_first import (
    STEP,
    DeviceFirst,
    least_squares,
    rough_jacobian,
)
from trueup.fitting.searches.multi_start import MultiStart
from trueup.fitting.searches.polish import Polished
from trueup.fitting.test_problems.test_problem import box


@pytest.mark.parametrize("name", ["bard", "exponential_decay", "misra1a", "thurber"])
def test_the_end_is_that_of_double_precision(name):
    toy = getattr(test_problems, name)()
    plain = fitting.minimise(toy.problem, LeastSquares(toy.space))
    problem = OnDevice(toy.problem)
    solution = fitting.minimise(problem, DeviceFirst(toy.space))
    assert solution.status in (Status.CONVERGED, Status.EXACT)
    np.testing.assert_allclose(solution.x, plain.x, rtol=1e-4)
    assert solution.cost == pytest.approx(plain.cost, rel=1e-9, abs=1e-20)
    assert "in single precision" in solution.message
    # most candidates are on the device; what is left takes few iterations
    assert sum(problem.batches["single"]) > sum(problem.batches["double"])
    assert sum(map(sum, problem.batches.values())) == solution.stats["evaluations"]


def test_steps_of_double_precision_are_rounding_in_single():
    """The reason for large steps: with small ones the search stumbles over its rounding."""
    toy = test_problems.bard()
    problem = OnDevice(toy.problem).quick(1)
    small = fitting.minimise(problem, LeastSquares(toy.space))
    large = fitting.minimise(OnDevice(toy.problem), DeviceFirst(toy.space))
    assert small.stats["evaluations"] > 3 * large.stats["evaluations"]


def test_elements_over_whose_step_the_residual_is_curved_get_a_smaller_one():
    space = box([1.0, 1.0], -5.0, 5.0)
    times = np.linspace(0, 1, 40)

    def residual(X):
        # 600 periods over the box: a step of 1 % is a third of a period
        return X[:, :1] * times + np.sin(60 * np.pi * X[:, 1:] * (1 + times))

    search = DeviceFirst(space)
    problem = OnDevice(Vectorised(residual, space))
    X = search.ask()
    assert len(X) == 1 + 4 * 2
    failures = {}
    search.tell(X, search.evaluate(problem, X, failures), failures)
    np.testing.assert_allclose(search.rough.steps, [STEP, STEP / 4])


def test_a_search_that_fails_on_the_device_starts_again_in_double_precision():
    toy = test_problems.bard()
    problem = OnDevice(toy.problem, fails=lambda x: True)
    solution = fitting.minimise(problem, DeviceFirst(toy.space))
    plain = fitting.minimise(toy.problem, LeastSquares(toy.space))
    np.testing.assert_allclose(solution.x, plain.x, rtol=1e-9)


def test_small_batches_stay_on_the_cpu():
    toy = test_problems.bard()
    problem = OnDevice(toy.problem, least=9)
    fitting.minimise(problem, DeviceFirst(toy.space))
    assert problem.batches["single"] and min(problem.batches["single"]) >= 9
    assert any(n < 9 for n in problem.batches["double"])


def test_it_continues_from_any_state_with_the_same_history():
    toy = test_problems.bard()
    whole = DeviceFirst(toy.space)
    fitting.minimise(OnDevice(toy.problem), whole)
    search, steps = DeviceFirst(toy.space), 0
    problem = OnDevice(toy.problem)
    while search.done() is None:
        search = DeviceFirst.from_state(copy.deepcopy(search.state()), toy.space)
        X, failures = search.ask(), {}
        answer = search.evaluate(problem, X, failures)
        assert search.costs_of(answer).shape[0] in (1, len(X))
        search.tell(X, answer, failures)
        steps += 1
    assert steps > 3
    assert search.history == whole.history
    np.testing.assert_array_equal(search.x, whole.x)


def test_a_scan_of_starts_is_on_the_device():
    toy = test_problems.sine()
    problem = OnDevice(toy.problem, least=20)
    solution = fitting.minimise(problem, MultiStart(toy.space, starts=64))
    assert sum(problem.batches["single"]) >= 64
    np.testing.assert_allclose(solution.x, toy.x, rtol=1e-6)


def test_descents_of_several_starts_begin_on_the_device():
    times = np.linspace(0, 3, 50)
    noise = 0.1 * np.random.default_rng(0).standard_normal(50)

    def residual(X):
        return X[:, :1] * np.exp(-X[:, 1:] * times) - 2 * np.exp(-0.7 * times) - noise

    exact = Vectorised(residual, box([0.5, 3.0], 0.0, 5.0))
    plain = fitting.minimise(exact, MultiStart(exact.space, starts=16))
    # costs of the quick form are a fifth too small
    problem = OnDevice(exact, least=2, factor=0.9)
    search = MultiStart(exact.space, starts=16, device_first=True)
    scan, single = 16, problem.batches["single"]
    solution = fitting.minimise(problem, search)
    np.testing.assert_allclose(solution.x, plain.x, rtol=1e-4)
    # the cost is one of double precision, not of a candidate that single precision favours
    assert solution.cost == pytest.approx(float(exact.costs(solution.x[None])[0, 0]), 1e-12)
    assert sum(single) > 2 * scan
    assert {record["descent"] for record in search.history} == {0, 1, 2}


def test_descents_of_several_starts_continue_from_any_state():
    toy = test_problems.bard()
    whole = MultiStart(toy.space, starts=4, device_first=True)
    fitting.minimise(OnDevice(toy.problem), whole)
    search = MultiStart(toy.space, starts=4, device_first=True)
    problem = OnDevice(toy.problem)
    while search.done() is None:
        search = MultiStart.from_state(copy.deepcopy(search.state()), toy.space)
        X, failures = search.ask(), {}
        search.tell(X, search.evaluate(problem, X, failures), failures)
    np.testing.assert_array_equal(search.x, whole.x)
    assert (search.evaluations, search.message) == (whole.evaluations, whole.message)
    former = search.state()
    del former["device_first"]  # as earlier versions wrote it
    assert not MultiStart.from_state({**former, "descent": None}, toy.space).device_first


def test_the_device_is_taken_where_its_jacobians_pay():
    toy = test_problems.bard()
    enough = 4 * toy.space.size + 1
    assert isinstance(least_squares(OnDevice(toy.problem, least=enough)), DeviceFirst)
    assert type(least_squares(OnDevice(toy.problem, least=enough + 1))) is LeastSquares
    assert type(least_squares(toy.problem)) is LeastSquares
    begin = toy.space.start * 1.1
    np.testing.assert_array_equal(least_squares(OnDevice(toy.problem), begin=begin).x, begin)


def test_a_rough_jacobian_is_that_of_double_precision_but_for_a_percent():
    toy = test_problems.bard()
    _, wanted, _ = final_jacobian(toy.problem, toy.space.start)
    problem = OnDevice(toy.problem)
    _, found, _ = rough_jacobian(problem, toy.space.start)
    assert problem.batches == {"single": [2 * toy.space.size + 1], "double": []}
    assert np.abs(found - wanted).max() < 0.01 * np.abs(wanted).max()
    _, same, _ = rough_jacobian(toy.problem, toy.space.start)
    np.testing.assert_array_equal(
        same, final_jacobian(toy.problem, toy.space.start, central=False)[1]
    )


def test_cma_es_is_on_the_device_and_ends_in_double_precision():
    toy = test_problems.sine()
    problem = OnDevice(toy.problem, least=10)
    first = CmaEs(toy.space, CmaEsSettings(population=10, max_generations=25))
    solution = fitting.minimise(problem, Polished(first, toy.space))
    np.testing.assert_allclose(solution.x, toy.x, rtol=1e-9)
    assert "polished from" in solution.message
    assert len(problem.batches["single"]) >= 25
