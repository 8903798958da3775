"""Whiteness and size tests: their level under the null, and their power."""

import numpy as np
import pytest
from scipy.signal import lfilter

from trueup.errors import FitError
from trueup.fitting import heteroscedasticity, ljung_box, whiteness

RNG = np.random.default_rng(0)


def slow_noise(samples, rho=0.95, rng=RNG):
    return lfilter([1.0], [1.0, -rho], rng.standard_normal(samples))


def test_the_statistic_is_that_of_the_definition():
    r = RNG.standard_normal(50)
    r -= r.mean()
    correlation = [r[: 50 - k] @ r[k:] / (r @ r) for k in (1, 2, 3)]
    expected = 50 * 52 * sum(c**2 / (50 - k) for k, c in zip((1, 2, 3), correlation))
    test = ljung_box(r, lags=3)
    assert test.statistic == pytest.approx(expected)
    assert test.lag_one_correlation == pytest.approx(correlation[0])


def test_white_noise_is_called_coloured_as_often_as_the_level_says():
    called = [not ljung_box(RNG.standard_normal(1000)).white for _ in range(500)]
    assert 0.025 < np.mean(called) < 0.085


def test_coloured_noise_is_told_by_channel():
    residuals = np.column_stack([RNG.standard_normal(1000), slow_noise(1000)])
    white, coloured = whiteness(residuals, ["position", "velocity"])
    assert white.sentence.startswith("position: the residual is consistent with white noise")
    assert not coloured.white
    assert coloured.lag_one_correlation == pytest.approx(0.95, abs=0.04)
    assert "velocity: the residual is not white noise" in coloured.sentence


def test_lags_follow_the_length():
    assert ljung_box(RNG.standard_normal(1500)).lags == 32
    assert ljung_box(RNG.standard_normal(30)).lags == 6


def test_a_constant_residual_is_no_error():
    test = ljung_box(np.full(100, 0.3))
    assert test.white
    assert "constant" in test.sentence


def moving(samples=1500, rho=None, rng=RNG):
    """Speed, and noise that doubles while it is high."""
    speed = np.sin(0.02 * np.arange(samples)) * 0.6
    noise = rng.standard_normal(samples) if rho is None else slow_noise(samples, rho, rng)
    return speed, noise * np.where(np.abs(speed) > np.median(np.abs(speed)), 2.0, 1.0)


@pytest.mark.parametrize("rho", [None, 0.95])
def test_noise_that_doubles_when_moving_is_reported(rho):
    speed, noise = moving(rho=rho)
    (test,) = heteroscedasticity(noise, speed, ["position"], "speed")
    assert not test.constant
    assert test.ratio == pytest.approx(2.0, rel=0.15)
    assert test.sentence.startswith("position: the residual is ")
    assert "times as large where the speed is large as where it is small" in test.sentence


@pytest.mark.parametrize("rho", [None, 0.95])
def test_constant_noise_is_rarely_reported(rho):
    speed, _ = moving()
    reported = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal(1500) if rho is None else slow_noise(1500, rho, rng)
        reported.append(not heteroscedasticity(noise, speed)[0].constant)
    assert np.mean(reported) < 0.04


def test_each_channel_may_have_its_own_driver():
    speed, noise = moving()
    residuals = np.column_stack([noise, RNG.standard_normal(1500)])
    first, second = heteroscedasticity(residuals, np.column_stack([speed, speed]))
    assert not first.constant
    assert second.constant
    assert "does not depend" in second.sentence


def test_a_constant_driver_explains_nothing():
    (test,) = heteroscedasticity(RNG.standard_normal(100), np.ones(100))
    assert test.constant
    assert test.ratio == 1.0


def test_wrong_arguments_are_named():
    with pytest.raises(FitError, match="at least 10"):
        ljung_box(np.zeros(4))
    with pytest.raises(FitError, match=r"lags must be between 1 and 19.*found 20"):
        ljung_box(RNG.standard_normal(20), lags=20)
    with pytest.raises(FitError, match="not finite"):
        ljung_box(np.r_[np.nan, np.ones(20)])
    with pytest.raises(FitError, match="driver 'speed' has shape"):
        heteroscedasticity(np.zeros(20), np.zeros(19), driver_name="speed")
    with pytest.raises(FitError, match="2 channel names"):
        whiteness(np.zeros((20, 1)), ["a", "b"])
