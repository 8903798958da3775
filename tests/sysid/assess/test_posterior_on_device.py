"""Posteriors that are sampled on a device: agreement with double precision, and refusals."""

import numpy as np
import pytest
from single_precision import OnDevice

from trueup import fitting
from trueup.errors import SimulationError
from trueup.fitting import test_problems
from trueup.fitting.posterior.likelihood import NoiseLikelihood
from trueup.fitting.posterior.sampler import PosteriorSampler
from trueup.fitting.problem import ResidualGroup
from trueup.simulation.warp.devices import DeviceChoice, WarpDevice
from trueup.sysid.assess import posterior


@pytest.fixture
def problem():
    toy = test_problems.misra1a()
    found = OnDevice(toy.problem, least=10)
    found.device = DeviceChoice()
    found.device.device = WarpDevice("cuda", "cuda:0", "a card")
    return found


def _sampler(problem):
    x = fitting.minimise(problem, fitting.LeastSquares(problem.space)).x
    residual, jacobian, _ = fitting.final_jacobian(problem, x, central=True)
    spread = np.linalg.inv(jacobian.T @ jacobian) * (residual @ residual) / len(residual)
    group = ResidualGroup("run", ("y",), np.arange(len(residual)), 0)
    likelihood = NoiseLikelihood(residual, [group], np.zeros(0), white=True, parameters=2)
    return PosteriorSampler(problem, likelihood, x, spread, 0)


def test_a_device_that_agrees_simulates_all_that_follows(problem):
    sampler = _sampler(problem)
    assert posterior._moved_to_device(sampler, problem) == "a card"
    problem.batches["double"].clear()
    sampler.advance(3)
    assert problem.batches["single"] and not problem.batches["double"]


def test_small_batches_stay_on_the_cpu(problem):
    problem._least = 1000
    sampler = _sampler(problem)
    assert posterior._moved_to_device(sampler, problem) == ""
    assert not problem.batches["single"]


def test_rounding_that_changes_the_posterior_is_refused(problem, monkeypatch):
    monkeypatch.setattr(posterior, "_ROUNDING", 1e-15)
    with pytest.raises(SimulationError, match="single precision changes the log densities"):
        posterior._moved_to_device(_sampler(problem), problem)
    problem.device.name = "auto"
    sampler = _sampler(problem)
    assert posterior._moved_to_device(sampler, problem) == ""
    assert "single precision changes" in problem.device.notes[0]
    problem.batches["single"].clear()
    sampler.advance(3)
    assert not problem.batches["single"]
