"""Recordings: columns on one or several clocks."""

import numpy as np
import pytest

from trueup.errors import ColumnError, RecordingError, SignalError
from trueup.signals import Recording, Stream


def two_clocks() -> Recording:
    """A joint at 100 Hz from 10 s, a command at 20 Hz from 10.22 s."""
    fast = 10.0 + np.arange(101) / 100
    slow = 10.22 + np.arange(14) / 20
    return Recording(
        "swing",
        (
            Stream("joint", fast, {"joint/angle": 2.0 * fast}, {"joint/angle": "rad"}),
            Stream("command", slow, {"command/torque": np.arange(14.0)}),
        ),
    )


class TestColumns:
    def test_column_comes_with_its_own_clock(self):
        times, values = two_clocks().column("command/torque")
        assert times[0] == 10.22
        assert values.tolist() == list(range(14))

    def test_leading_slash_may_be_given(self):
        assert two_clocks().column("/joint/angle")[1].size == 101

    def test_unknown_column_names_near_ones_and_all(self):
        with pytest.raises(ColumnError, match=r"Did you mean 'joint/angle'.*command/torque"):
            two_clocks().column("joint/angel")

    def test_column_that_was_left_out_gives_the_reason(self):
        recording = Recording(
            "a",
            (Stream("", np.arange(2.0), {"q": np.zeros(2)}),),
            metadata={"left_out": {"label": "it contains text"}},
        )
        with pytest.raises(ColumnError, match="it contains text"):
            recording.column("label")

    def test_same_name_in_two_streams_is_refused(self):
        stream = Stream("", np.arange(2.0), {"q": np.zeros(2)})
        with pytest.raises(RecordingError, match="'q'"):
            Recording("a", (stream, stream))

    def test_unequal_lengths_and_bad_times_are_refused(self):
        with pytest.raises(RecordingError, match=r"\(2,\), expected \(3,\) as its clock"):
            Stream("", np.arange(3.0), {"q": np.zeros(2)})
        with pytest.raises(RecordingError, match=r"row 2"):
            Stream("", np.array([0.0, np.nan]), {})
        with pytest.raises(RecordingError, match="no samples"):
            Stream("", np.array([]), {})

    def test_clock_that_runs_backwards_is_kept(self):
        assert Stream("", np.array([1.0, 0.5]), {}).times.tolist() == [1.0, 0.5]


class TestSamples:
    def test_values_at_other_times_keep_what_is_missing(self):
        recording = two_clocks()
        recording.streams[0].columns["joint/angle"][50] = np.nan
        times = np.array([10.3, 10.505, 10.61, 20.0])
        values = recording.at(times, ["command/torque", "/joint/angle"])
        np.testing.assert_allclose(values[:, 0], [1.6, 5.7, 7.8, 13.0])
        np.testing.assert_allclose(values[:, 1], [20.6, np.nan, 21.22, 22.0])
        held = recording.at(times, ["command/torque"], "zoh")
        assert held[:, 0].tolist() == [1.0, 5.0, 7.0, 13.0]
        with pytest.raises(ColumnError, match="joint/angel"):
            recording.at(times, ["joint/angel"])

    def test_own_times_give_own_samples(self):
        stream = two_clocks().streams[0]
        values = two_clocks().at(stream.times[3:40], ["joint/angle"])
        np.testing.assert_array_equal(values[:, 0], stream.columns["joint/angle"][3:40])

    def test_rows_keep_units_and_clock(self):
        stream = Stream("s", np.arange(4.0), {"q": np.arange(4.0)}, {"q": "rad"}, "t", "ms")
        last = stream.rows(np.array([3, 0]))
        assert (last.times.tolist(), last.columns["q"].tolist()) == ([3.0, 0.0], [3.0, 0.0])
        assert (last.units, last.clock_column, last.clock_unit) == ({"q": "rad"}, "t", "ms")

    def test_only_a_recording_with_one_clock_has_a_stream(self):
        with pytest.raises(RecordingError, match=r"recording 'swing' has 2 clocks.*merged"):
            _ = two_clocks().stream
        one = two_clocks().merged()
        assert one.stream is one.streams[0]
        changed = one.with_columns({"extra": np.zeros(len(one.stream.times))})
        assert changed.columns == (*one.columns, "extra")

    def test_notes_say_what_was_done_in_order(self):
        recording = two_clocks()
        assert recording.notes == ()
        noted = recording.noted("first").noted("second", name="b")
        assert (noted.notes, noted.name, recording.notes) == (("first", "second"), "b", ())

    def test_notes_of_the_file_are_not_those_of_its_reading(self):
        stream = Stream("", np.arange(2.0), {"q": np.zeros(2)})
        recording = Recording("a", (stream,), metadata={"notes": ["bench 3"]}).noted("sorted")
        assert recording.notes == ("sorted",)
        assert recording.metadata == {"notes": ["bench 3"]}


class TestSliceAndShift:
    def test_slice_keeps_both_ends(self):
        part = two_clocks().slice(10.5, 10.7)
        times, values = part.column("joint/angle")
        assert times[[0, -1]] == pytest.approx([10.5, 10.7])
        np.testing.assert_array_equal(values, 2.0 * times)
        assert part.units == {"joint/angle": "rad"}

    def test_open_ends(self):
        recording = two_clocks()
        assert recording.slice(None, 10.5).start == recording.start
        assert recording.slice(10.5).end == recording.end

    def test_slice_outside_says_how_long_it_lasts(self):
        with pytest.raises(RecordingError, match="it lasts from 10 to 11"):
            two_clocks().slice(20.0, 30.0)

    def test_shift_keeps_the_streams_apart_by_the_same_time(self):
        shifted = two_clocks().shifted_to_zero()
        assert shifted.column("joint/angle")[0][0] == 0.0
        assert shifted.column("command/torque")[0][0] == pytest.approx(0.22)
        assert shifted.metadata["time_shift"] == 10.0
        assert shifted.slice(0.5).shifted_to_zero().metadata["time_shift"] == 10.5


class TestMerged:
    def test_interval_is_what_all_columns_cover(self):
        merged = two_clocks().merged(rate=1000)
        (stream,) = merged.streams
        assert stream.times[0] == pytest.approx(10.22)
        assert stream.times[-1] == pytest.approx(10.87)
        assert np.diff(stream.times) == pytest.approx(1e-3)
        np.testing.assert_allclose(stream.columns["joint/angle"], 2.0 * stream.times)
        np.testing.assert_allclose(
            stream.columns["command/torque"], (stream.times - 10.22) * 20, atol=1e-9
        )

    def test_without_a_rate_the_fastest_clock_is_used(self):
        merged = two_clocks().merged()
        own = two_clocks().column("joint/angle")[0]
        inside = own[(own >= 10.22) & (own <= 10.87)]
        np.testing.assert_array_equal(merged.streams[0].times, inside)

    def test_commands_are_held(self):
        merged = two_clocks().merged(
            times=np.array([10.25, 10.3]), method={"command/torque": "zoh"}
        )
        assert merged.column("command/torque")[1].tolist() == [0.0, 1.0]
        np.testing.assert_allclose(merged.column("joint/angle")[1], [20.5, 20.6])

    def test_single_stream_keeps_its_clock_and_values(self):
        times = np.array([3.0, 3.5, 4.1])
        merged = Recording("a", (Stream("", times, {"q": times**2}),)).merged()
        np.testing.assert_array_equal(merged.streams[0].times, times)
        np.testing.assert_array_equal(merged.column("q")[1], times**2)

    def test_nan_is_bridged_and_counted(self):
        times = np.arange(6.0)
        values = np.array([np.nan, 1.0, np.nan, 3.0, 4.0, 5.0])
        other = np.arange(6.0)
        merged = Recording("a", (Stream("", times, {"q": values, "u": other}),)).merged()
        assert merged.column("q")[0].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
        assert merged.column("q")[1].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
        assert merged.metadata["bridged"] == {"q": 2}

    def test_duration_that_is_no_multiple_of_the_step_does_not_drift(self):
        times = np.linspace(0, 1.0007, 2001)
        merged = Recording("a", (Stream("", times, {"q": times}),)).merged(rate=500)
        np.testing.assert_allclose(np.diff(merged.streams[0].times), 0.002, atol=1e-12)
        np.testing.assert_allclose(merged.column("q")[1], merged.streams[0].times, atol=1e-12)

    @pytest.mark.parametrize(
        ("arguments", "match"),
        [
            ({"times": [0.0, 1.0], "rate": 10}, "not both"),
            ({"times": [10.0, 10.5]}, "exceed the interval"),
            ({"times": [10.5, 10.4]}, "strictly increasing"),
            ({"rate": -1}, "rate"),
            ({"method": {"joint/angel": "zoh"}}, "joint/angle"),
        ],
    )
    def test_bad_arguments(self, arguments, match):
        with pytest.raises(RecordingError, match=match):
            two_clocks().merged(**arguments)

    def test_unknown_method(self):
        with pytest.raises(SignalError, match="linear"):
            two_clocks().merged(method="liner")

    def test_streams_that_do_not_overlap_are_named(self):
        late = Stream("b", np.array([5.0, 6.0]), {"b/q": np.zeros(2)})
        early = Stream("a", np.array([0.0, 1.0]), {"a/q": np.zeros(2)})
        with pytest.raises(RecordingError, match=r"'b/q' begins at 5 s, 'a/q' ends at 1 s"):
            Recording("x", (early, late)).merged()

    def test_clock_that_runs_backwards_is_refused_with_its_sample(self):
        stream = Stream("", np.array([0.0, 2.0, 1.0]), {"q": np.zeros(3)})
        with pytest.raises(RecordingError, match=r"2 s is followed by 1 s \(sample 3\)"):
            Recording("x", (stream,)).merged()

    def test_column_without_a_number_is_refused(self):
        stream = Stream("", np.arange(3.0), {"q": np.full(3, np.nan)})
        with pytest.raises(RecordingError, match="'q'"):
            Recording("x", (stream,)).merged()
