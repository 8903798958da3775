"""Streams with clocks of their own: what all cover, and one clock for it, with nothing made up."""

import numpy as np
import pytest

from trueup.errors import ColumnError, RecordingError
from trueup.signals import Recording, Stream, split_at_gaps
from trueup.signals.clocks.common import (
    clocks_of,
    common_interval,
    every_clock,
    on_one_clock,
    slowest_clock,
)


def recorded(**streams: np.ndarray) -> Recording:
    """A stream a name, with a column of the same name that holds its times doubled."""
    return Recording("run", tuple(Stream(n, t, {n: 2 * t}) for n, t in streams.items()))


def test_the_interval_is_what_every_stream_covers():
    both = recorded(q=np.linspace(0, 4, 401), v=np.linspace(1, 3, 201))
    interval = common_interval(both)
    assert (interval.start, interval.end, interval.begins_late) == (1.0, 3.0, True)
    assert interval.note == (
        "only 1 to 3 s of 0 to 4 s is used, the part that all streams cover: v begins at 1 s and "
        "v ends at 3 s"
    )
    asked = common_interval(both, start=1.5, end=2.5)
    assert (asked.start, asked.end, asked.begins_late, asked.note) == (1.5, 2.5, False, "")


def test_the_last_command_holds_for_its_longest_step():
    recording = recorded(q=np.linspace(0, 4, 401), u=np.array([0.0, 0.2, 0.4, 1.0, 1.2]))
    assert common_interval(recording).end == 1.2
    held = common_interval(recording, ["u"])
    assert held.end == pytest.approx(1.8)
    assert held.note.endswith("u ends at 1.8 s")


def test_ends_that_differ_by_a_sample_of_the_slower_clock_are_no_loss():
    recording = recorded(q=np.linspace(0, 4, 401), v=0.09 + np.arange(40) / 10)
    assert common_interval(recording).note == ""


def test_streams_of_different_epochs_have_no_time_in_common():
    times = np.linspace(0.0, 1.0, 100)
    with pytest.raises(
        RecordingError, match=r"'run': of 0 to 1 s, no part is covered by all .*Omit a stream"
    ):
        common_interval(recorded(q=times, m=times + 1.7e9), ["m"])
    with pytest.raises(RecordingError, match=r"only 0.95 to 1 s: m begins at 0.95 s"):
        common_interval(recorded(q=times, m=times + 0.95))


def test_columns_are_compared_at_the_times_of_the_slowest():
    recording = recorded(q=np.linspace(0, 4, 401), v=np.linspace(0, 4, 101), w=np.zeros(1) + 2)
    interval = common_interval(recorded(q=np.linspace(0.5, 2, 4)))
    times, note = slowest_clock(recording, ["q", "v"], interval)
    np.testing.assert_array_equal(times, np.linspace(0, 4, 101)[13:51])
    assert note == ("q has 151 samples, v 38: all signals are compared at the times of v")
    assert slowest_clock(recording, ["q"], interval)[1] == ""


def test_no_command_is_missed_on_the_clock_of_all():
    fast, slow = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 2.0, 2.5])
    recording = Recording(
        "run", (Stream("a", fast, {"a": fast}), Stream("b", slow, {"b": 10 * slow}))
    )
    times = every_clock(recording, ["a", "b"], 0.5, 3.0)
    np.testing.assert_array_equal(times, [0.5, 1.0, 2.0, 2.5, 3.0])
    held = recording.at(times, ["a", "b"], "zoh")
    np.testing.assert_array_equal(held, [[0, 0], [1, 0], [2, 20], [2, 25], [3, 25]])
    joined = recording.at(times, ["b", "a"], "linear")
    np.testing.assert_array_equal(joined, [[5, 0.5], [10, 1], [20, 2], [25, 2.5], [25, 3]])
    np.testing.assert_array_equal(every_clock(recording, ["b"], 0.5, 2.0), [0.5, 2.0])


def test_a_clock_is_named_after_the_first_column_on_it():
    times = np.arange(3.0)
    stream = Stream("", times, {"a": times, "b": times})
    recording = Recording("run", (stream, Stream("c", times, {"c": times})))
    assert list(clocks_of(recording, ["b", "a", "c"])) == ["b", "c"]
    with pytest.raises(ColumnError, match="no column 'd'"):
        clocks_of(recording, ["d"])


def test_columns_are_put_on_the_fastest_clock_and_commands_held():
    angle = np.linspace(0, 4, 401)
    slow = np.linspace(0.505, 3.505, 31)
    steps = np.where(np.arange(31) % 2, 1.0, -1.0)
    values = np.sin(angle)
    values[200] = np.nan
    recording = Recording(
        "run",
        (
            Stream("joint", angle, {"q": values}, {"q": "rad"}),
            Stream("drive", slow, {"u": steps, "i": slow}),
        ),
    )
    one = on_one_clock(recording, held=("u", "absent"))
    stream = one.stream
    # the last command of 0.1 s holds until 3.605 s, but the current ends at 3.505 s
    np.testing.assert_array_equal(stream.times, angle[(angle >= 0.505) & (angle <= 3.505)])
    assert set(np.unique(stream.columns["u"])) == {-1.0, 1.0}
    np.testing.assert_allclose(stream.columns["i"], stream.times)
    # a missing value is for the checks to report
    np.testing.assert_array_equal(stream.columns["q"], values[51:351])
    assert stream.units == {"q": "rad"}
    assert one.notes == (
        "2 clocks resampled to one of 300 samples; only 0.505 to 3.505 s of 0 to 4 s is used, the "
        "part that all streams cover: i begins at 0.505 s and i ends at 3.505 s",
    )
    alone = recorded(q=angle)
    assert on_one_clock(alone) is alone
    with pytest.raises(RecordingError, match="'run' contains commands but no measurement"):
        on_one_clock(recorded(u=angle, v=slow), held=("u", "v"))


def test_nothing_is_interpolated_across_a_gap_of_a_slower_clock():
    fast, slow = np.linspace(0, 4, 401), np.linspace(0, 4, 81)
    kept = slow[(slow < 1.01) | (slow > 1.99)]
    sparse = np.array([0.0, 0.01, 0.02, 3.5])
    one = on_one_clock(recorded(q=fast, v=kept, u=sparse), held=("u",))
    times = one.stream.times
    np.testing.assert_array_equal(times, fast[(fast < 1.005) | (fast > 1.995)])
    before, after = split_at_gaps(one)
    assert (before.end, after.start) == (pytest.approx(1.0), pytest.approx(2.0))
    # a command that seldom changes has no gaps: it holds
    assert one.stream.columns["u"][times == 3.0] == 0.04
