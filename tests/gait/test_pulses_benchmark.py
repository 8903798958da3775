"""What the benchmark of pulses says of walks with a pulse of torque and without."""

import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from trueup.gait import Device, load_configuration, make_problem


@pytest.fixture
def pulses(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    return importlib.import_module("gait_pulses")


@pytest.fixture
def walks(pulses):
    """Walks whose effort falls with their speed, and the same with an effort of 3 % less."""
    speed = np.linspace(1.2, 1.3, 40)
    effort = 0.009 * np.exp(-0.5 * (speed - 1.25))
    lasted = np.ones(40, bool)
    without = pulses.Walks(100.0 * effort, effort, speed, lasted)
    faster = speed + 0.02
    spared = 0.97 * 0.009 * np.exp(-0.5 * (faster - 1.25))
    with_pulse = pulses.Walks(98.0 * effort, spared, faster, lasted)
    return SimpleNamespace(without=without, with_pulse=with_pulse)


def test_what_comes_of_the_speed_alone_is_not_what_the_pulse_is_worth(pulses, walks):
    found = pulses.worth(walks.with_pulse, walks.without)
    assert found.effort == pytest.approx(100.0 * np.log(0.97), abs=1e-9)
    assert found.cost == pytest.approx(-2.0, abs=1e-9)
    assert found.error == pytest.approx(0.0, abs=1e-9)
    assert found.lasted == 40


def test_walks_that_fall_do_not_count(pulses, walks):
    lasted = np.arange(40) % 2 == 0
    fallen = walks.with_pulse._replace(
        lasted=lasted, effort=np.where(lasted, walks.with_pulse.effort, 1.0)
    )
    found = pulses.worth(fallen, walks.without)
    assert found.effort == pytest.approx(100.0 * np.log(0.97), abs=1e-9)
    assert found.lasted == 20
    few = fallen._replace(lasted=np.arange(40) < pulses.LEAST - 1)
    assert pulses.worth(few, walks.without) is None


def test_a_device_without_mass_changes_nothing_without_torque(pulses):
    configuration = load_configuration("walk").with_changes({"sim_time": 0.5})
    problem = make_problem(configuration, threads=1)
    (alone,) = problem.scenarios
    device = Device(joint="knee", turns="backward", torque=50.0)
    carried = pulses.scenario_with(device, alone)
    vectors = np.ones((2, len(problem.parameters.entries)))
    costs, _ = pulses.evaluate(alone, vectors)
    still = pulses.walked(carried, vectors, (0.0, 0.1, 0.5, 0.1))
    np.testing.assert_allclose(still.cost, costs, rtol=1e-9)
    moved = pulses.walked(carried, vectors, (0.5, 0.4, 0.5, 0.4))
    assert (moved.cost != still.cost).all()
