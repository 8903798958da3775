"""Delimited text."""

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trueup.errors import RecordingError
from trueup.signals import read

ONE_FILE = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def write(tmp_path):
    def write_text(text: str | bytes, name: str = "log.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write_text


@pytest.mark.parametrize(
    "text",
    [
        "t,q\n0,1\n0.1,2\n",
        "t,q\r\n0,1\r\n0.1,2",
        "t;q\n0;1\n0.1;2\n",
        "t\tq\n0\t1\n0.1\t2\n",
        "t q\n0 1\n0.1  2\n",
        "t|q\n0|1\n0.1|2\n",
        "# made by a logger\nt,q\n\n# began\n0,1\n0.1,2\n",
        "# t,q\n0,1\n0.1,2\n",
        '"t","q"\n"0","1"\n"0.1","2"\n',
        " t , q \n 0, 1\n0.1 , 2\n",
        "\ufefft,q\n0,1\n0.1,2\n",
        "t,q,\n0,1,\n0.1,2,\n",
        "t,q\n0,1,\n0.1,2,\n",
        "t,q,note\n0,1,on\n0.1,2,off\n",
        "t,q\n0,1 # begin\n0.1,2\n",
        "q,time\n1,0\n2,0.1\n",
        "Time [ms],q\n0,1\n100,2\n",
        "t_us,q\n0,1\n100000,2\n",
    ],
)
def test_ways_to_write_the_same_recording(write, text):
    recording = read(write(text))
    times, values = recording.column("q")
    np.testing.assert_allclose(times, [0.0, 0.1])
    assert values.tolist() == [1.0, 2.0]
    assert recording.columns == ("q",)


def test_utf16_and_latin1(write):
    assert read(write("t,q\n0,1\n1,2\n".encode("utf-16"))).columns == ("q",)
    assert read(write("t,q °\n0,1\n1,2\n".encode("latin-1"))).columns == ("q °",)


def test_byte_order_mark_without_header(write):
    assert read(write("\ufeff0,1\n1,2\n"), time=0).column("1")[1].tolist() == [1.0, 2.0]


def test_without_header_columns_are_named_by_place(write):
    recording = read(write("5,1,7\n6,2,8\n"), time=0)
    assert recording.columns == ("1", "2")
    assert recording.start == 5.0


def test_header_can_be_forced(write):
    assert read(write("0,1\n5,6\n7,8\n"), header=True, time="0").columns == ("1",)
    with pytest.raises(RecordingError, match="line 1"):
        read(write("t,q\n5,6\n7,8\n"), header=False, time="0")


def test_empty_cells_and_words(write):
    recording = read(write("t,q,on\n0,,true\n1,NA,false\n2,3,true\n"))
    np.testing.assert_array_equal(recording.column("q")[1], [np.nan, np.nan, 3.0])
    assert recording.column("on")[1].tolist() == [1.0, 0.0, 1.0]


def test_text_column_is_left_out_with_a_reason(write):
    recording = read(write("t,q,phase\n0,1,up\n1,2,down\n"))
    with pytest.raises(RecordingError, match="it contains text such as 'up'"):
        recording.column("phase")


def test_first_line_of_values_is_known(write):
    assert read(write("# a\nt,q\n# b\n0,1\n1,2\n")).metadata["first_line"] == 4


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (
            "t,q,v\n0,1,2\n1,2,3\n2,3",
            r"line 4: the last row is truncated: expected 3 cells, found 2",
        ),
        ("t,q,v\n0,1,2\n1,2\n2,3,4\n", r"line 3: expected 3 cells, found 2"),
        ("t,q\n0,1\n1,2,3\n2,3\n", r"line 3: expected 2 cells, found 3"),
        ("# x\nt,q\n0,1\n\n1,abc\n2,3\n", r"line 5, column 'q': 'abc' is not a number"),
        ("t,q\n0,1_0\n1,2\n", r"line 2, column 'q': '1_0'"),
        ("t,t,q\n0,1,2\n", r"several columns named 't'"),
        ("t,q\n", "header but no rows"),
        ("# nothing\n\n", "no rows"),
        ("t,q\nnan,1\n1,2\n", r"time column 't' contains 1 values that are NaN.*row 1"),
        ("t,q\n0,1\n,2\n", r"time column 't'.*row 2"),
        ("t\n0\n1\n", "No numeric column found besides the time"),
        ("a,b\n0,1\n1,2\n", r"No time column found.*time.*rate.*'a', 'b'"),
        (b"t,q\n0,1\n\x00\x00", "zero bytes"),
        ("", "empty"),
    ],
)
def test_bad_files(write, text, match):
    path = write(text)
    with pytest.raises(RecordingError, match=match) as caught:
        read(path)
    assert "log.csv" in str(caught.value)


def test_times_that_run_backwards_are_kept(write):
    assert read(write("t,q\n0,1\n2,1\n1,1\n")).column("q")[0].tolist() == [0.0, 2.0, 1.0]


def test_delimiter_must_be_one_character(write):
    with pytest.raises(RecordingError, match="one character"):
        read(write("t,q\n0,1\n"), delimiter=", ")


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@ONE_FILE
@given(
    values=arrays(float, st.tuples(st.integers(1, 8), st.integers(2, 5)), elements=FINITE),
    delimiter=st.sampled_from([",", ";", "\t"]),
    header=st.booleans(),
)
@example(values=np.array([[1.7e308, 0.0], [-1.0e292, 0.0]]), delimiter=",", header=False)
def test_written_numbers_come_back_exactly(tmp_path, values, delimiter, header):
    path = tmp_path / "numbers.csv"
    rows = [delimiter.join(map(repr, row)) for row in values.tolist()]
    names = [f"c{k}" for k in range(values.shape[1])] if header else []
    path.write_text("\n".join([delimiter.join(names), *rows] if header else rows) + "\n")
    recording = read(path, time="c0" if header else 0)
    np.testing.assert_array_equal(recording.streams[0].times, values[:, 0])
    back = np.column_stack(list(recording.streams[0].columns.values()))
    np.testing.assert_array_equal(back, values[:, 1:])


@ONE_FILE
@given(st.one_of(st.binary(max_size=200), st.text('0123456789.,;\t \n\r"#-et_nax', max_size=80)))
def test_any_bytes_give_a_recording_or_a_recording_error(tmp_path, content):
    path = tmp_path / "any.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for arguments in ({}, {"rate": 100.0}, {"header": True, "rate": 1.0}, {"time": 0}):
        try:
            recording = read(path, **arguments)
        except RecordingError as error:
            assert "any.csv" in str(error)
            assert "cannot be read as" not in str(error)
        else:
            assert recording.columns


@ONE_FILE
@given(st.integers(1, 60))
def test_cut_file_never_gives_wrong_numbers_silently_in_whole_rows(tmp_path, cut):
    text = "t,q,v\n" + "".join(f"{k / 8},{k + 0.5},{k + 0.25}\n" for k in range(6))
    path = tmp_path / "cut.csv"
    path.write_text(text[: len(text) - min(cut, len(text) - 1)])
    try:
        recording = read(path)
    except RecordingError:
        return
    _, values = recording.column("q")
    np.testing.assert_array_equal(values[:-1], np.arange(6)[: len(values) - 1] + 0.5)
