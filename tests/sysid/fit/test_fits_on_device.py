"""Fits of parts of a problem begin on the device of the whole one."""

from types import SimpleNamespace

import numpy as np
import pytest
from single_precision import OnDevice

from trueup import fitting
from trueup.fitting import test_problems
from trueup.fitting.linearisation import final_jacobian
from trueup.sysid.causes.freed import Freed, fit_freed
from trueup.sysid.fit.profiles import profile_intervals


@pytest.fixture
def toy():
    return test_problems.misra1a()


def _intervals(problem, toy):
    """Profile intervals of all parameters ``(p, 2)``, and the linearised half-widths ``(p,)``."""
    solution = fitting.minimise(toy.problem, fitting.LeastSquares(toy.space))
    _, jacobian, _ = final_jacobian(toy.problem, solution.x)
    freedom = len(jacobian) - toy.space.size
    variance = 2 * solution.cost / freedom
    widths = 2 * np.sqrt(variance * np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    covariance = SimpleNamespace(
        half_widths=widths, variance_inflation=np.full(toy.space.size, variance)
    )
    names = list(toy.space.names)
    found = profile_intervals(problem, solution, covariance, names, 0.95)
    return np.array([found[name] for name in names]), widths * toy.space.slope(solution.x)


def test_profiles_are_those_of_double_precision(toy):
    plain, on_device = OnDevice(toy.problem, least=1000), OnDevice(toy.problem)
    wanted, widths = _intervals(plain, toy)
    found, _ = _intervals(on_device, toy)
    assert (np.abs(found - wanted) < 0.02 * widths[:, None]).all()
    assert not plain.batches["single"]
    # what is left for the CPU is the end of each fit
    assert sum(on_device.batches["double"]) < 0.7 * sum(plain.batches["double"])


def test_a_fit_of_a_cause_begins_on_the_device_and_ends_in_double_precision(toy):
    nothing, begin = np.zeros(0, int), toy.space.start
    guesses = [()] * toy.space.size

    def fit(problem):
        problem.noise_scale, problem.sequences = 1.0, []
        return fit_freed(problem, ("a",), np.arange(2), nothing, begin, guesses, iterations=40)

    plain, on_device = OnDevice(toy.problem, least=1000), OnDevice(toy.problem)
    wanted, found = fit(plain), fit(on_device)
    assert found.cost == pytest.approx(wanted.cost, rel=1e-3)
    assert found.cost == pytest.approx(float(toy.problem.costs(found.x[None])[0, 0]), rel=1e-12)
    assert sum(on_device.batches["double"]) < sum(plain.batches["double"])


def test_a_part_has_the_device_of_the_whole_for_batches_that_pay(toy):
    whole = OnDevice(toy.problem, least=10)
    whole.noise_scale, whole.sequences = 1.0, []
    part = Freed(whole, np.array([1]), toy.space.start)
    assert part.quick(9) is part
    part.quick(10).costs(np.tile(toy.space.start[1:], (10, 1)))
    assert whole.batches == {"single": [10], "double": []}
