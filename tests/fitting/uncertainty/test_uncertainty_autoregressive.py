"""Autoregressive models: coefficients, order, bias, and what they claim to know."""

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.signal import lfilter

from trueup.fitting.uncertainty.autoregressive import (
    AutoregressiveModel,
    fit_autoregressive,
    polynomial_of,
    reflections_by_autocovariance,
    reflections_by_burg,
)
from trueup.fitting.uncertainty.newey_west import fixed_b_quantile, newey_west


def realisation(coefficients, samples, seed=0):
    noise = np.random.default_rng(seed).standard_normal(samples + 1000)
    return lfilter([1.0], coefficients, noise)[1000:]


def test_order_and_coefficients_are_recovered():
    true = np.array([1.0, -1.5, 0.8])
    model = fit_autoregressive(realisation(true, 20_000))
    assert 2 <= model.order <= 12
    np.testing.assert_allclose(model.coefficients[:3], true, atol=0.05)
    assert model.innovation_variance == pytest.approx(1.0, rel=0.03)


def test_white_noise_has_no_memory():
    orders = [
        fit_autoregressive(np.random.default_rng(seed).standard_normal(1000)).order
        for seed in range(50)
    ]
    assert np.mean(np.array(orders) == 0) > 0.5


def test_levinson_inverts_the_step_up():
    reflections = np.array([-0.9, 0.3, -0.2])
    polynomial = polynomial_of(reflections)
    impulse = lfilter([1.0], polynomial, np.eye(1, 5000)[0])
    covariance = np.array([impulse[: 5000 - k] @ impulse[k:] for k in range(4)])
    np.testing.assert_allclose(reflections_by_autocovariance(covariance), reflections, atol=1e-9)


def test_burg_is_stable_for_a_pure_tone():
    reflections = reflections_by_burg(np.sin(0.1 * np.arange(500)), 10)
    assert (np.abs(reflections) <= 1.0).all()


def test_coefficient_covariance_is_the_inverse_autocovariance():
    model = AutoregressiveModel(np.array([1.0, -1.3, 0.4, 0.05]), 1.0, 500)
    impulse = lfilter([1.0], model.coefficients, np.eye(1, 5000)[0])
    covariance = np.array([impulse[: 5000 - k] @ impulse[k:] for k in range(3)])
    expected = np.linalg.inv(toeplitz(covariance)) / 500
    np.testing.assert_allclose(model.coefficient_covariance(), expected, rtol=1e-6)


@pytest.mark.parametrize(("rho", "samples"), [(0.95, 750), (0.97, 1500)])
def test_slow_noise_is_sized_without_bias(rho, samples):
    sizes = [
        fit_autoregressive(realisation([1.0, -rho], samples, seed)).long_run_deviation * (1 - rho)
        for seed in range(400)
    ]
    assert np.mean(sizes) == pytest.approx(1.0, abs=0.05)


def test_constant_and_short_signals_are_white():
    assert fit_autoregressive(np.zeros(100)).order == 0
    assert fit_autoregressive(np.ones(5)).order == 0


def test_fixed_b_quantiles_are_those_of_the_limit():
    rng = np.random.default_rng(0)
    steps, draws, b = 400, 8000, 0.2
    walk = rng.standard_normal((draws, steps)) / np.sqrt(steps)
    total = walk.sum(axis=1)
    centred = walk - walk.mean(axis=1, keepdims=True)
    width = int(b * steps)
    variance = np.array([newey_west([row[:, None]], width)[0, 0] for row in centred])
    ratio = np.abs(total) / np.sqrt(variance)
    for alpha in (0.2, 0.1, 0.05, 0.02):
        simulated = np.quantile(ratio, 1.0 - alpha)
        assert fixed_b_quantile(b, alpha) == pytest.approx(simulated, rel=0.05)
    assert fixed_b_quantile(0.0, 0.05) == pytest.approx(1.96, abs=1e-3)


def test_newey_west_weights_lags_by_a_triangle():
    scores = np.random.default_rng(1).standard_normal((60, 2))
    scores -= scores.mean(axis=0)
    expected = scores.T @ scores
    for lag in range(1, 7):
        product = scores[lag:].T @ scores[:-lag]
        expected += (1.0 - lag / 7.0) * (product + product.T)
    np.testing.assert_allclose(newey_west([scores[:20], scores[20:]], 7), expected, rtol=1e-10)
