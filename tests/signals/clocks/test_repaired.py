"""Broken clocks and missing values: refused in one sentence, or repaired with notes."""

import numpy as np
import pytest

from trueup.errors import RecordingError
from trueup.signals import Recording, Stream, repaired, split_at_gaps
from trueup.signals.clocks.repair import check_usable

TIMES = np.arange(100) / 100


def recorded(times: np.ndarray = TIMES, source: str = "a.csv", **columns: np.ndarray) -> Recording:
    return Recording("a", (Stream("", times, {"q": times.copy(), **columns}),), source)


def without(values: np.ndarray, *rows: slice) -> np.ndarray:
    values = values.copy()
    for each in rows:
        values[each] = np.nan
    return values


def test_a_sound_recording_stays_as_it_is():
    sound = recorded(u=np.sin(TIMES))
    check_usable(sound)
    again = repaired(sound)
    assert again.notes == ()
    assert again.stream.columns["u"] is sound.stream.columns["u"]


def test_rows_are_sorted_and_repeated_times_dropped():
    order = np.r_[0:30, 60:100, 30:60]
    mixed = recorded(
        np.r_[TIMES[order], TIMES[59], TIMES[59]], u=np.r_[order, -1, -1].astype(float)
    )
    with pytest.raises(
        RecordingError, match=r"^a\.csv: time runs backwards at 0\.3 s .sample 71., 3 "
    ):
        check_usable(mixed)
    good = repaired(mixed)
    np.testing.assert_array_equal(good.stream.times, TIMES)
    np.testing.assert_array_equal(good.stream.columns["u"], np.arange(100.0))
    assert good.notes == ("rows sorted by time", "2 rows with a duplicate time removed")


def test_a_time_that_was_rounded_onto_the_one_before_is_moved():
    times = TIMES.copy()
    times[41] = times[40]
    with pytest.raises(RecordingError, match=r"repeats at 0\.4 s.*Do this to sort the rows"):
        check_usable(recorded(times), "Do this")
    good = repaired(recorded(times))
    np.testing.assert_allclose(good.stream.times, TIMES)
    assert good.notes[0] == "1 times that were rounded onto the previous one moved"


def test_a_rounded_time_is_found_in_rows_out_of_order():
    times = TIMES.copy()
    times[41] = times[40]
    order = np.r_[0:100:2, 1:100:2]
    good = repaired(recorded(times[order], u=order.astype(float)))
    np.testing.assert_allclose(good.stream.times, TIMES)
    np.testing.assert_array_equal(good.stream.columns["u"], np.arange(100.0))


def test_a_few_missing_values_are_held_or_bridged():
    holed = recorded(u=without(np.round(5 * TIMES), slice(38, 43)), v=without(TIMES, slice(7, 9)))
    with pytest.raises(
        RecordingError, match=r"5 of 100 values of u are not finite, the first at 0\.38 s"
    ):
        check_usable(holed)
    good = repaired(holed, held=("u",))
    np.testing.assert_array_equal(good.stream.columns["u"][38:43], 2.0)
    np.testing.assert_allclose(good.stream.columns["v"], TIMES)
    assert good.notes == (
        "5 missing values of u held from the previous one", "2 missing values of v bridged"
    )  # fmt: skip
    check_usable(good)


def test_a_long_hole_becomes_a_gap():
    holed = recorded(u=without(TIMES, slice(0, 3), slice(40, 46)), v=without(TIMES, slice(45, 48)))
    good = repaired(holed)
    np.testing.assert_array_equal(good.stream.times, np.r_[TIMES[3:40], TIMES[48:]])
    assert "11 rows removed where values of 'u', 'v' are missing" in good.notes[0]
    assert [len(part.stream.times) for part in split_at_gaps(good)] == [37, 52]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"u": np.full(100, np.nan)}, "u contains no finite value"),
        ({"u": np.where(np.arange(100) % 50, np.nan, 1.0)}, "no 10 samples in a row remain"),
    ],
)
def test_what_no_repair_can_help_is_refused(columns, words):
    with pytest.raises(RecordingError, match=words):
        repaired(recorded(**columns))
    with pytest.raises(RecordingError, match="recording 'a': expected at least 2 samples, found 1"):
        repaired(recorded(np.array([3.0]), source=""))


def test_each_stream_is_repaired_by_its_own_clock():
    slow = np.array([0.0, 1.0, 3.0, 2.0])
    recording = Recording("a", (*recorded().streams, Stream("slow", slow, {"u": slow})))
    good = repaired(recording)
    np.testing.assert_array_equal(good.streams[1].columns["u"], [0, 1, 2, 3])
    assert good.notes[0] == "slow: rows sorted by time"
