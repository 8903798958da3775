"""From columns to signals in SI units."""

import math

import numpy as np
import pytest

from trueup.errors import ColumnError, RecordingError, UnitError
from trueup.signals import Recording, Stream, select
from trueup.signals.mapping import ColumnMapping

TIMES = 5.0 + np.arange(4) / 10


@pytest.fixture
def recording() -> Recording:
    return Recording(
        "bench",
        (
            Stream("a", TIMES, {"a/angle": np.array([0.0, 90.0, 180.0, 270.0]), "a/raw": TIMES}),
            Stream("b", TIMES + 0.05, {"b/i": np.array([0.0, 500.0, 1000.0, 0.0])}, {"b/i": "mA"}),
        ),
        source="bench.mcap",
        metadata={"servo": "x"},
    )


def test_units_offset_and_scale(recording):
    chosen = select(
        recording,
        {
            "elbow_qpos": {"column": "a/angle", "unit": "deg", "offset": 90, "scale": -1},
            "current": "b/i",
        },
    )
    np.testing.assert_allclose(
        chosen.column("elbow_qpos")[1], [math.pi / 2, 0.0, -math.pi / 2, -math.pi]
    )
    assert chosen.units == {"elbow_qpos": "rad", "current": "A"}
    assert chosen.column("current")[1].tolist() == [0.0, 0.5, 1.0, 0.0]
    assert chosen.source == "bench.mcap"
    assert chosen.metadata["servo"] == "x"
    assert chosen.metadata["signals"]["elbow_qpos"]["offset"] == 90  # type: ignore[index]


def test_explicit_unit_comes_before_the_files(recording):
    chosen = select(recording, {"current": ColumnMapping("b/i", unit="A")})
    assert chosen.column("current")[1][1] == 500.0


def test_input_is_not_changed(recording):
    select(recording, {"q": ColumnMapping("a/angle", unit="deg", offset=1)})
    assert recording.column("a/angle")[1][1] == 90.0


def test_clocks_are_kept_apart_and_one_column_may_serve_twice(recording):
    chosen = select(recording, {"q": "/a/angle", "again": "a/angle", "i": "b/i"})
    assert [list(stream.columns) for stream in chosen.streams] == [["q", "again"], ["i"]]


def test_stream_without_a_chosen_signal_does_not_narrow_the_merge(recording):
    merged = select(recording, {"q": "a/angle"}).merged()
    np.testing.assert_array_equal(merged.streams[0].times, TIMES)


def test_interpolation_of_a_command_reaches_the_merge(recording):
    held = {"q": "a/angle", "i": ColumnMapping("b/i", interpolation="zoh")}
    merged = select(recording, held).merged(times=np.array([5.1, 5.12]))
    assert merged.column("i")[1].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(merged.column("q")[1], [90.0, 108.0])
    linear = select(recording, {"q": "a/angle", "i": "b/i"}).merged(times=np.array([5.1, 5.12]))
    np.testing.assert_allclose(linear.column("i")[1], [0.25, 0.35])


def test_number_names_a_column_without_header():
    plain = Recording("x", (Stream("", TIMES, {"3": TIMES}),))
    assert select(plain, {"q": 3}).column("q")[1][0] == 5.0  # type: ignore[dict-item]


def test_errors_name_the_signal(recording):
    with pytest.raises(ColumnError, match=r"signal 'q'.*Did you mean 'a/angle'"):
        select(recording, {"q": "a/angel"})
    with pytest.raises(RecordingError, match=r"no key 'units'.*Did you mean 'unit'"):
        select(recording, {"q": {"column": "a/angle", "units": "deg"}})
    with pytest.raises(RecordingError, match="signal 'q' has no key 'column'"):
        select(recording, {"q": {"unit": "deg"}})
    with pytest.raises(RecordingError, match="expected a column name"):
        select(recording, {"q": None})  # type: ignore[dict-item]
    with pytest.raises(UnitError, match=r"signal 'q'.*degree"):
        select(recording, {"q": {"column": "a/angle", "unit": "degres"}})
    with pytest.raises(RecordingError, match="at least one"):
        select(recording, {})
