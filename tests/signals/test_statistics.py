import numpy as np
import pytest

from trueup.signals.checks.recorded import Channel
from trueup.signals.checks.statistics import noise_level, resolution, runs, turns_one_way


@pytest.mark.parametrize("step", [1e-7, 2 * np.pi / 4096, 0.1, 16.0])
def test_resolution_of_multiples(step):
    multiples = np.random.default_rng(0).integers(-200, 200, 3000)
    assert resolution(5.0 + step * multiples) == pytest.approx(step, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("samples", [30, 200, 3000])
def test_continuous_values_have_no_resolution(samples, seed):
    assert resolution(np.random.default_rng(seed).normal(size=samples)) == 0.0


def test_resolution_of_few_levels():
    assert resolution(np.full(9, 3.0)) == 0.0
    assert resolution(np.array([0.0, 2.5, 2.5, 0.0])) == 2.5


@pytest.mark.parametrize("deviation", [1e-4, 0.01, 3.0])
def test_noise_level_on_a_smooth_signal(deviation):
    times = np.linspace(0, 10, 5000)
    noise = np.random.default_rng(0).normal(scale=deviation, size=times.size)
    steps = 7.0 * (times > 4.0)
    assert noise_level(np.sin(times) + steps + noise) == pytest.approx(deviation, rel=0.1)


def test_runs():
    starts, stops = runs(np.array([True, True, False, True, False, False, True]))
    assert list(zip(starts, stops)) == [(0, 2), (3, 4), (6, 7)]
    assert [part.size for part in runs(np.zeros(4, dtype=bool))] == [0, 0]


def channel(values):
    return Channel("q", np.asarray(values, float))


def test_constant_up_to_rounding():
    assert channel([0.1 + 0.2, 0.3]).is_constant
    assert not channel([0.3, 0.3 + 1e-9]).is_constant
    assert not channel([0.1 + 0.2, 0.3] * 20).moves


def test_noise_and_resolution_are_no_motion():
    random = np.random.default_rng(0)
    assert not channel(random.normal(size=2000)).moves
    assert not channel(0.1 * random.integers(0, 4, 2000)).moves
    assert channel(random.normal(size=2000) + np.linspace(0, 20, 2000)).moves


def test_a_wheel_turns_one_way_and_a_joint_comes_back():
    turns = np.linspace(0, 40, 500)
    assert turns_one_way(turns, 12.0)
    assert turns_one_way(-turns, 12.0)
    assert not turns_one_way(20 * np.sin(turns), 12.0)
    assert not turns_one_way(turns / 4, 12.0)
    # a joint that ends away from where it began, but has been as far on the other side
    assert not turns_one_way(np.concatenate([-turns, np.linspace(-40, 13, 500)]), 12.0)
