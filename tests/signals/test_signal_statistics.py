import numpy as np
import pytest

from trueup.signals._signal_statistics import is_constant, moves, noise_level, resolution, runs


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


def test_constant_up_to_rounding():
    assert is_constant(np.array([0.1 + 0.2, 0.3]))
    assert not is_constant(np.array([0.3, 0.3 + 1e-9]))
    assert not moves(np.array([0.1 + 0.2, 0.3] * 20), 0.0)
