"""JSON recordings."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trueup.errors import RecordingError
from trueup.signals import read

ONE_FILE = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

ENTRIES = [{"timestamp": k / 10, "q": float(k), "on": k > 1} for k in range(4)]


@pytest.fixture
def write(tmp_path):
    def write_json(content, name: str = "log.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write_json


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (ENTRIES, "log.json"),
        ({"entries": ENTRIES}, "log.json"),
        ({"samples": ENTRIES}, "log.json"),
        ("\n".join(map(json.dumps, ENTRIES)), "log.jsonl"),
        ("\n".join(map(json.dumps, ENTRIES)) + "\n\n", "log.ndjson"),
        ("\n".join(map(json.dumps, ENTRIES)), "log.json"),
        ({key: [entry[key] for entry in ENTRIES] for key in ENTRIES[0]}, "log.json"),
    ],
)
def test_forms_of_the_same_recording(write, content, name):
    recording = read(write(content, name))
    times, values = recording.column("q")
    np.testing.assert_array_equal(times, [0.0, 0.1, 0.2, 0.3])
    assert values.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert recording.column("on")[1].tolist() == [0.0, 0.0, 1.0, 1.0]


def test_other_values_become_metadata(write):
    recording = read(write({"mass": 0.5, "motor": {"name": "x"}, "entries": ENTRIES}))
    assert recording.metadata == {"mass": 0.5, "motor": {"name": "x"}}


def test_nested_values_and_lists(write):
    entries = [{"t": k, "arm": {"q": [k, k + 1], "name": "left"}} for k in range(3)]
    recording = read(write(entries))
    assert recording.columns == ("arm/q/0", "arm/q/1")
    assert recording.column("arm/q/1")[1].tolist() == [1.0, 2.0, 3.0]
    assert "left" in str(recording.metadata["left_out"])


def test_null_and_missing_keys_are_nan(write):
    recording = read(write([{"t": 0, "q": 1}, {"t": 1}, {"t": 2, "q": None, "v": 5}]))
    np.testing.assert_array_equal(recording.column("q")[1], [1.0, np.nan, np.nan])
    np.testing.assert_array_equal(recording.column("v")[1], [np.nan, np.nan, 5.0])


def test_several_lists_must_be_chosen(write):
    path = write({"a": ENTRIES, "b": [{"t": 0, "v": 1}]})
    with pytest.raises(RecordingError, match="'a', 'b'"):
        read(path)
    assert read(path, entries="b").columns == ("v",)
    with pytest.raises(RecordingError, match="no list of entries 'c'"):
        read(path, entries="c")


@pytest.mark.parametrize(
    ("content", "name", "match"),
    [
        (json.dumps({"entries": ENTRIES})[:-20], "log.json", "is truncated"),
        (json.dumps(ENTRIES)[:-15], "log.json", "is truncated"),
        (json.dumps(ENTRIES[0]) + "\n" + json.dumps(ENTRIES[1])[:-4], "log.jsonl", "line 2"),
        ([{"t": 0, "q": 1}, {"t": 1, "q": "high"}], "log.json", "'q' of entry 2 is 'high'"),
        ([{"t": 0}, 5], "log.json", "entry 2 is '5'"),
        ({"mass": 1.0}, "log.json", "neither a list of entries"),
        ([], "log.json", "no entries"),
        ("5", "log.json", "expected a list of entries"),
        ("{'t': 0}", "log.json", "line 1, column 2"),
        ([{"t": None, "q": 1}, {"t": 1, "q": 2}], "log.json", "NaN"),
        ([{"a": 1, "q": 1}], "log.json", "give time|Give time"),
    ],
)
def test_bad_files(write, content, name, match):
    with pytest.raises(RecordingError, match=match):
        read(write(content, name))


def test_number_too_large_for_a_float(write):
    with pytest.raises(RecordingError):
        read(write('[{"t": 0, "q": 1' + "0" * 400 + "}]"))


@ONE_FILE
@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=20), st.booleans())
def test_written_numbers_come_back_exactly(tmp_path, values, lines):
    entries = [{"t": float(k), "value": value} for k, value in enumerate(values)]
    path = tmp_path / ("numbers.jsonl" if lines else "numbers.json")
    path.write_text("\n".join(map(json.dumps, entries)) if lines else json.dumps(entries))
    np.testing.assert_array_equal(read(path).column("value")[1], values)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["t", "q", "entries", "a/b", ""]), inner, max_size=3)
    ),
    max_leaves=12,
)


@ONE_FILE
@given(st.one_of(st.binary(max_size=100), JSON_VALUES.map(lambda v: json.dumps(v).encode())))
def test_any_content_gives_a_recording_or_a_recording_error(tmp_path, content):
    for name in ("any.json", "any.jsonl"):
        path = tmp_path / name
        path.write_bytes(content)
        for arguments in ({}, {"rate": 10.0}):
            try:
                assert read(path, **arguments).columns
            except RecordingError as error:
                assert name in str(error)


@ONE_FILE
@given(st.integers(1, 60))
def test_every_cut_is_noticed(tmp_path, cut):
    text = json.dumps({"mass": 1.0, "entries": ENTRIES})
    path = tmp_path / "cut.json"
    path.write_text(text[:-cut])
    with pytest.raises(RecordingError, match=r"is truncated|not JSON"):
        read(path)
