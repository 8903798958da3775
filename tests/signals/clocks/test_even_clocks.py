"""Recordings on even clocks: commands are held, measurements interpolated, fast ones filtered."""

import numpy as np
import pytest

from trueup.errors import RecordingError
from trueup.signals import Recording, Stream, resampled
from trueup.signals.clocks.even import on_grid, sampling_rate


def recorded(times: np.ndarray, **columns: np.ndarray) -> Recording:
    return Recording("run", (Stream("", times, columns, {"q": "rad"}),))


@pytest.mark.parametrize("rate", [3.0, 100.0, 300.0, 1000.0])
def test_the_rate_of_times_that_were_rounded_or_have_gaps(rate):
    times = np.arange(3000) / rate
    assert sampling_rate(times) == pytest.approx(rate)
    assert sampling_rate(np.round(times, 3)) == pytest.approx(rate, rel=2e-3)
    assert sampling_rate(np.r_[times[:1000], times[1000:] + 50.0]) == pytest.approx(rate)


def test_samples_of_an_even_clock_are_kept():
    times = 5.0 + np.arange(50) / 100 + 1e-4 * np.sin(np.arange(50))
    values = np.random.default_rng(0).normal(size=50)
    even = resampled(recorded(times, q=values), 100.0)
    assert even.stream.columns["q"] is values
    np.testing.assert_allclose(np.diff(even.stream.times), 0.01, rtol=1e-12)
    assert even.stream.times[0] == times[0]
    assert even.notes == ("100 Hz as recorded",)
    assert even.units == {"q": "rad"}


def test_commands_are_held_and_measurements_interpolated():
    times = np.cumsum(np.random.default_rng(1).uniform(0.005, 0.015, 400))
    command = np.round(np.sin(times), 1)
    even = resampled(recorded(times, q=times, u=command), 130.0, held=("u",))
    stream = even.stream
    np.testing.assert_allclose(stream.columns["q"], stream.times)
    assert set(stream.columns["u"]) <= set(command)
    late = np.searchsorted(times, stream.times, side="right") - 1
    np.testing.assert_array_equal(stream.columns["u"], command[late])
    assert times[-1] - 1 / 130 < stream.times[-1] <= times[-1]
    assert even.notes[0].startswith("resampled from ")


def test_what_a_lower_rate_cannot_show_is_removed_without_delay():
    times = np.arange(4000) / 1000
    slow, fast = np.sin(2 * np.pi * times), 0.5 * np.sin(2 * np.pi * 130 * times)
    even = resampled(recorded(times, q=slow + fast, u=fast), 100.0, held=("u",))
    stream = even.stream
    np.testing.assert_allclose(
        stream.columns["q"][20:-20], np.sin(2 * np.pi * stream.times)[20:-20], atol=2e-3
    )
    np.testing.assert_array_equal(stream.columns["u"], fast[::10])
    assert even.notes == (
        "resampled from 1000 Hz to 100 Hz, measurements below 40 Hz only (no delay): commands "
        "held, measurements interpolated",
    )


def test_a_command_at_an_instant_counts_although_clocks_round():
    times = np.arange(100) * 0.1
    grid = times * (1 - 1e-15)
    given = {"u": times, "on": times > 5, "q": times}
    found = on_grid(times, given, grid, ("u", "on"))
    np.testing.assert_array_equal(found["u"], times)
    assert found["on"].dtype == bool
    assert (on_grid(times, given, grid, ("u",), slack=0.0)["u"] < times).any()


def test_several_clocks_are_put_on_one_before():
    times = np.arange(20.0)
    both = Recording("run", (Stream("a", times, {"a": times}), Stream("b", times, {"b": times})))
    with pytest.raises(RecordingError, match="2 clocks"):
        resampled(both, 1.0)
