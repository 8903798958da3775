"""Half width of the fit for window states: wide against noise, narrow where motion bends."""

import numpy as np
import pytest

from trueup.signals import TimeSeries
from trueup.sysid.recordings.measured_state import StateColumns, local_fit
from trueup.sysid.recordings.state_smoothing import WIDEST, chosen_half_width

TIMES = 0.001 * np.arange(4000)
COLUMNS = StateColumns({0: 0}, {}, {0: 0})


def _width(position, noise, times=TIMES):
    rng = np.random.default_rng(0)
    data = (position(times) + rng.normal(scale=noise, size=len(times)))[:, None]
    return chosen_half_width([(TimeSeries(times, data), COLUMNS)])


def _smooth(t):
    return 0.1 * np.sin(3 * t)


def _jerky(t):
    """Acceleration that changes sign ten times a second."""
    return np.cumsum(np.cumsum(np.sign(np.sin(2 * np.pi * 10 * t)))) * 1e-6


def test_noise_asks_for_the_widest_fit():
    assert _width(_smooth, 1e-4) == WIDEST


def test_a_motion_that_bends_asks_for_a_narrow_one():
    width = _width(_jerky, 1e-7)
    assert 0.002 <= width < 0.012
    # with the noise of a worse encoder the bend matters less
    assert width < _width(_jerky, 1e-5) <= WIDEST


def test_the_narrowest_of_several_recordings_is_taken():
    rng = np.random.default_rng(0)
    recordings = [
        (TimeSeries(TIMES, (f(TIMES) + rng.normal(scale=1e-7, size=4000))[:, None]), COLUMNS)
        for f in (_jerky, lambda t: 0 * t)
    ]
    assert chosen_half_width(recordings) == pytest.approx(_width(_jerky, 1e-7), rel=0.5)


@pytest.mark.parametrize("step", [0.01, 0.05])
def test_a_slow_clock_leaves_no_choice(step):
    assert _width(_jerky, 1e-7, step * np.arange(400)) == WIDEST


def test_a_fit_takes_the_samples_within_its_half_width_and_at_least_five():
    curve = 0.3 - 2.0 * (TIMES - 1.0) + 7.0 * (TIMES - 1.0) ** 2
    inside = np.abs(TIMES - 1.0) < 0.0205
    value, slope = local_fit(TIMES, np.where(inside, curve, 9.0)[:, None], 1.0, 0.0202)
    assert value == pytest.approx([0.3], abs=1e-9) and slope == pytest.approx([-2.0], abs=1e-6)
    # a sample more on each side counts, and those next to the time alone do not suffice
    assert abs(local_fit(TIMES, np.where(inside, curve, 9.0)[:, None], 1.0, 0.0212)[0] - 0.3) > 0.01
    nearest = np.abs(TIMES - 1.0) < 0.0025
    value, slope = local_fit(TIMES, np.where(nearest, curve, 9.0)[:, None], 1.0, 0.0001)
    assert value == pytest.approx([0.3], abs=1e-9) and slope == pytest.approx([-2.0], abs=1e-6)


def test_nothing_measured_leaves_the_default():
    empty = StateColumns({}, {}, {})
    assert chosen_half_width([(TimeSeries(TIMES, TIMES[:, None]), empty)]) == WIDEST
