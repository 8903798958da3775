import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trueup.errors import SignalError
from trueup.signals import SignalType, TimeSeries, butterworth, savitzky_golay
from trueup.signals.filters import causal_butterworth

RATE = 200.0
TIMES = np.arange(800) / RATE

signals = arrays(np.float64, TIMES.size, elements=st.floats(-10, 10, width=32))


def gain(frequency, **settings):
    """Amplitude that a filter leaves of a sine, away from the ends."""
    times = np.arange(8000) / RATE
    sine = np.sin(2 * np.pi * frequency * times)
    filtered = butterworth(times, sine, **settings)
    middle = slice(2000, 6000)
    return np.sqrt(np.mean(filtered[middle] ** 2) / np.mean(sine[middle] ** 2))


class TestButterworth:
    @pytest.mark.parametrize("order", [1, 2, 4, 7])
    @pytest.mark.parametrize("cutoff", [5.0, 20.0, 80.0])
    @pytest.mark.parametrize("band", ["lowpass", "highpass"])
    def test_gain_of_both_passes_is_half_power_at_the_corner(self, band, cutoff, order):
        assert gain(cutoff, cutoff=cutoff, order=order, band=band) == pytest.approx(
            np.sqrt(0.5), rel=1e-3
        )

    @pytest.mark.parametrize("band", ["bandpass", "bandstop"])
    def test_both_corners_of_a_band_are_half_power(self, band):
        for corner in (10.0, 30.0):
            assert gain(corner, cutoff=(10.0, 30.0), band=band) == pytest.approx(
                np.sqrt(0.5), rel=1e-3
            )

    def test_passes_and_stops(self):
        assert gain(2.0, cutoff=20.0) == pytest.approx(1.0, abs=1e-6)
        assert gain(80.0, cutoff=20.0) < 1e-4
        assert gain(2.0, cutoff=20.0, band="highpass") < 1e-4
        assert gain(17.3, cutoff=(10.0, 30.0), band="bandpass") == pytest.approx(1.0, abs=0.02)
        assert gain(17.3, cutoff=(10.0, 30.0), band="bandstop") < 0.01

    def test_nothing_is_delayed(self):
        slow = np.sin(2 * np.pi * 1.0 * TIMES)
        np.testing.assert_allclose(butterworth(TIMES, slow, cutoff=30.0), slow, atol=2e-4)

    @given(signals)
    @settings(max_examples=20, deadline=None)
    def test_reversing_time_reverses_the_result(self, values):
        forwards = butterworth(TIMES, values, cutoff=15.0)
        backwards = butterworth(TIMES, values[::-1], cutoff=15.0)[::-1]
        np.testing.assert_allclose(forwards, backwards, atol=1e-6)

    @given(signals, signals, st.floats(-3, 3), st.floats(-3, 3))
    @settings(max_examples=20, deadline=None)
    def test_is_linear(self, first, second, a, b):
        def smooth(values):
            return butterworth(TIMES, values, cutoff=15.0)

        np.testing.assert_allclose(
            smooth(a * first + b * second), a * smooth(first) + b * smooth(second), atol=1e-8
        )

    @pytest.mark.parametrize("cutoff", [0.1, 2.0, 30.0])
    def test_a_line_stays_a_line_up_to_the_ends(self, cutoff):
        line = 3.0 - 2.0 * TIMES
        np.testing.assert_allclose(butterworth(TIMES, line, cutoff=cutoff), line, atol=1e-7)

    def test_channels_are_filtered_one_by_one(self):
        values = np.random.default_rng(0).normal(size=(TIMES.size, 3))
        filtered = butterworth(TIMES, values, cutoff=10.0)
        for channel in range(3):
            np.testing.assert_array_equal(
                filtered[:, channel], butterworth(TIMES, values[:, channel], cutoff=10.0)
            )

    def test_input_is_left_alone(self):
        values = np.random.default_rng(0).normal(size=TIMES.size)
        before = values.copy()
        butterworth(TIMES, values, cutoff=10.0)
        np.testing.assert_array_equal(values, before)

    def test_time_series_keeps_its_clock_and_names(self):
        mapping = {"elbow": (SignalType.MjStateQPos, np.array([0]))}
        series = TimeSeries(TIMES, np.sin(TIMES)[:, None], mapping)
        filtered = butterworth(series, cutoff=10.0)
        assert isinstance(filtered, TimeSeries)
        assert filtered.signal_mapping is mapping
        np.testing.assert_array_equal(filtered.times, TIMES)
        np.testing.assert_allclose(filtered.data, series.data, atol=1e-4)

    @pytest.mark.parametrize(
        ("settings_", "message"),
        [
            ({"cutoff": 100.0}, "between 0 and 100 Hz"),
            ({"cutoff": 0.0}, "between 0 and 100 Hz"),
            ({"cutoff": np.nan}, "between 0 and 100 Hz"),
            ({"cutoff": (5.0, 10.0)}, "one corner frequency"),
            ({"cutoff": 5.0, "band": "bandpass"}, "a pair"),
            ({"cutoff": (10.0, 5.0), "band": "bandpass"}, "low < high"),
            ({"cutoff": 5.0, "band": "low"}, "Did you mean 'lowpass'"),
            ({"cutoff": 5.0, "order": 0}, "1 to 20"),
            ({"cutoff": 5.0, "irregular": "guess"}, "Available: 'refuse', 'resample'"),
        ],
    )
    def test_wrong_settings(self, settings_, message):
        with pytest.raises(SignalError, match=message):
            butterworth(TIMES, np.sin(TIMES), **settings_)

    def test_too_short(self):
        with pytest.raises(SignalError, match="at least 15 samples, the signal has 14"):
            butterworth(TIMES[:14], TIMES[:14], cutoff=10.0)

    def test_series_and_values_at_once(self):
        with pytest.raises(SignalError, match="contains its values: pass either"):
            butterworth(TimeSeries(TIMES, TIMES[:, None]), TIMES, cutoff=10.0)
        with pytest.raises(SignalError, match="values are missing"):
            butterworth(TIMES, cutoff=10.0)


class TestCausalButterworth:
    def test_the_past_does_not_depend_on_the_future(self):
        values = np.random.default_rng(0).normal(size=400)
        changed = np.r_[values[:200], -values[200:]]
        first, second = (causal_butterworth(each, 100.0, 7.0) for each in (values, changed))
        np.testing.assert_array_equal(first[:200], second[:200])
        assert np.abs(first[200:] - second[200:]).max() > 0.1

    def test_it_starts_at_the_first_sample_and_halves_the_power_at_the_corner(self):
        np.testing.assert_allclose(causal_butterworth(np.full(50, 3.0), 100.0, 5.0), 3.0)
        times = np.arange(8000) / 1000
        passed = causal_butterworth(np.sin(2 * np.pi * 20 * times), 1000.0, 20.0, order=3)
        assert np.ptp(passed[4000:]) / 2 == pytest.approx(np.sqrt(0.5), rel=1e-3)

    @pytest.mark.parametrize("cutoff", [0.0, -1.0, 50.0, np.nan])
    def test_corner_outside_of_the_band(self, cutoff):
        with pytest.raises(SignalError, match="between 0 and 50 Hz"):
            causal_butterworth(np.zeros(10), 100.0, cutoff)


class TestSavitzkyGolay:
    @pytest.mark.parametrize("derivative", [0, 1, 2, 3])
    def test_polynomial_of_its_degree_is_exact_everywhere(self, derivative):
        polynomial = np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0])
        expected = polynomial.deriv(derivative)(TIMES) if derivative else polynomial(TIMES)
        found = savitzky_golay(
            TIMES, polynomial(TIMES), window=0.1, polynomial=3, derivative=derivative
        )
        np.testing.assert_allclose(found, expected, atol=1e-5)

    def test_derivative_of_a_noisy_sine(self):
        noise = np.random.default_rng(1).normal(scale=1e-3, size=TIMES.size)
        found = savitzky_golay(TIMES, np.sin(5 * TIMES) + noise, window=0.2, derivative=1)
        raw = np.gradient(np.sin(5 * TIMES) + noise, TIMES)
        error = np.std(found - 5 * np.cos(5 * TIMES))
        assert error < 0.03
        assert error < 0.2 * np.std(raw - 5 * np.cos(5 * TIMES))

    @given(signals)
    @settings(max_examples=20, deadline=None)
    def test_reversing_time_changes_the_sign_of_the_derivative_only(self, values):
        for derivative, sign in ((0, 1.0), (1, -1.0)):

            def run(samples, derivative=derivative):
                return savitzky_golay(TIMES, samples, window=0.1, derivative=derivative)

            np.testing.assert_allclose(run(values), sign * run(values[::-1])[::-1], atol=1e-7)

    @pytest.mark.parametrize(
        ("window", "samples"), [(0.025, 5), (0.099, 19), (0.101, 21), (0.105, 21)]
    )
    def test_window_is_rounded_to_an_odd_number_of_samples(self, window, samples):
        from scipy.signal import savgol_filter

        values = np.random.default_rng(0).normal(size=TIMES.size)
        found = savitzky_golay(TIMES, values, window=window)
        np.testing.assert_allclose(found, savgol_filter(values, samples, 3), atol=1e-12)

    @pytest.mark.parametrize(
        ("settings_", "message"),
        [
            ({"window": 5.0}, "1001 samples, the signal has only 800"),
            ({"window": 0.01}, "too few for a polynomial of degree 3"),
            ({"window": 0.0}, "positive length"),
            ({"window": "long"}, "positive length"),
            ({"window": 0.1, "polynomial": 1, "derivative": 2}, "zero everywhere"),
            ({"window": 0.1, "polynomial": 2.5}, "polynomial must be a non-negative integer"),
            ({"window": 0.1, "derivative": -1}, "derivative must be a non-negative integer"),
        ],
    )
    def test_wrong_settings(self, settings_, message):
        with pytest.raises(SignalError, match=message):
            savitzky_golay(TIMES, np.sin(TIMES), **settings_)

    def test_window_that_the_message_suggests_is_accepted(self):
        for degree in range(1, 6):
            with pytest.raises(SignalError, match="at least") as caught:
                savitzky_golay(TIMES, np.sin(TIMES), window=0.001, polynomial=degree)
            suggested = float(str(caught.value).rsplit("at least ", 1)[1].split(" s")[0])
            savitzky_golay(TIMES, np.sin(TIMES), window=suggested, polynomial=degree)


FILTERS = [
    pytest.param(lambda *a, **k: butterworth(*a, cutoff=20.0, **k), id="butterworth"),
    pytest.param(lambda *a, **k: savitzky_golay(*a, window=0.1, **k), id="savitzky_golay"),
]


@pytest.mark.parametrize("smooth", FILTERS)
class TestClock:
    def test_jitter_is_refused_with_a_way_out(self, smooth):
        jittered = TIMES + np.random.default_rng(0).uniform(-1e-3, 1e-3, TIMES.size)
        with pytest.raises(SignalError, match=r"not uniform.*irregular='resample'"):
            smooth(jittered, np.sin(jittered))
        found = smooth(jittered, np.sin(5 * jittered), irregular="resample")
        np.testing.assert_allclose(found, np.sin(5 * jittered), atol=2e-3)

    def test_rounded_times_are_uniform(self, smooth):
        rounded = np.round(TIMES + 1.7e9, 6)
        np.testing.assert_allclose(
            smooth(rounded, np.sin(TIMES)), smooth(TIMES, np.sin(TIMES)), atol=1e-9
        )

    def test_gap_is_refused_even_when_resampling(self, smooth):
        times = np.concatenate((TIMES[:300], TIMES[300:] + 0.5))
        with pytest.raises(SignalError, match=r"gap of 0.505 s at 1.495 s"):
            smooth(times, np.sin(times), irregular="resample")

    def test_nan_is_refused(self, smooth):
        values = np.sin(TIMES)
        values[[17, 40]] = np.nan, np.inf
        with pytest.raises(SignalError, match=r"2 values that are NaN or infinite.*sample 17"):
            smooth(TIMES, values)

    def test_clock_that_does_not_increase(self, smooth):
        times = TIMES.copy()
        times[5] = times[4]
        with pytest.raises(SignalError, match=r"does not increase.*sample 5"):
            smooth(times, times)

    def test_lengths_differ(self, smooth):
        with pytest.raises(SignalError, match="800 times and 799 values"):
            smooth(TIMES, TIMES[1:])


def test_velocity_of_a_real_joint(recorded_data):
    """The derivative of a recorded joint angle agrees with the recorded joint velocity."""
    rows = np.genfromtxt(
        recorded_data / "ur10e" / "identification_data" / "ur-20_02_05-20sec_8harm.csv",
        delimiter=",",
    )
    times, angle, velocity = rows[:, 0], rows[:, 1], rows[:, 7]
    with pytest.raises(SignalError, match="not uniform"):
        savitzky_golay(times, angle, window=0.1, derivative=1)
    found = savitzky_golay(times, angle, window=0.1, derivative=1, irregular="resample")
    assert np.sqrt(np.mean((found - velocity) ** 2)) < 0.01 * np.ptp(velocity)
