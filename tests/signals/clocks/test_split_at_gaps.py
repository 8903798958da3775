"""A gap in the clock separates recordings: nothing is interpolated across it."""

import numpy as np
import pytest

from trueup.errors import RecordingError
from trueup.signals import Recording, Stream, split_at_gaps


def recorded(times: np.ndarray, source: str = "") -> Recording:
    return Recording("run", (Stream("", times, {"q": times**2}, {"q": "rad"}),), source)


def test_stretches_between_gaps_are_recordings_of_their_own():
    times = np.arange(600) / 100
    kept = np.r_[0:200, 260:265, 300:600]
    first, second = split_at_gaps(recorded(times[kept]))
    assert (first.name, second.name) == ("run_part1", "run_part2")
    np.testing.assert_array_equal(first.stream.times, times[:200])
    np.testing.assert_array_equal(second.stream.columns["q"], times[300:] ** 2)
    assert second.units == {"q": "rad"}
    note = "split at 2 gaps in the clock, 0.97 s in total; 1 parts of fewer than 10 samples removed"
    assert first.notes == second.notes == (note,)


def test_jitter_is_no_gap_and_one_stretch_keeps_its_name():
    times = np.cumsum(np.random.default_rng(0).uniform(0.5, 1.5, 300))
    whole = recorded(times)
    assert split_at_gaps(whole) == [whole]
    late = np.r_[times[:4], times[4:] + 100.0]
    (rest,) = split_at_gaps(recorded(late))
    assert rest.name == "run"
    np.testing.assert_array_equal(rest.stream.times, late[4:])


def test_shreds_and_several_clocks_are_refused():
    shreds = np.sort(np.r_[np.arange(12.0), np.arange(12.0) + 1e-3])
    with pytest.raises(RecordingError, match=r"^a\.csv: the clock has 11 gaps.*10 samples"):
        split_at_gaps(recorded(shreds, "a.csv"))
    two = Recording("run", (*recorded(shreds).streams, Stream("b", shreds, {"b": shreds})))
    with pytest.raises(RecordingError, match=r"'run' has 2 clocks.*merged"):
        split_at_gaps(two)
