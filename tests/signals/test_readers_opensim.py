"""Tables of OpenSim: headers, units of angles, vectors, and damaged files."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.errors import RecordingError, TrueupError
from trueup.gait.export import write_opensim
from trueup.signals import read

GOOD = "walk\nversion=1\nnRows=2\nnColumns=2\ninDegrees=yes\nendheader\ntime\tq\n0\t1\n1\t2\n"


def table(tmp_path, text, name="walk.mot", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(path, **options)


def test_columns_and_clock_are_those_of_the_file(tmp_path):
    found = table(tmp_path, GOOD)
    assert found.columns == ("q",) and found.stream.clock_column == "time"
    np.testing.assert_array_equal(found.stream.times, [0.0, 1.0])
    np.testing.assert_array_equal(found.column("q")[1], [1.0, 2.0])
    assert found.metadata["inDegrees"] == "yes"
    assert table(tmp_path, GOOD, rate=100.0).end == pytest.approx(0.01)
    assert table(tmp_path, GOOD, "walk.table", format="opensim").columns == ("q",)


@pytest.mark.parametrize("name", [
    "hip_flexion_r", "pelvis_tilt", "lumbar_extension", "knee_angle_l/value", "arm_flex_r", "q1",
    "/jointset/hip_r/hip_flexion_r/value", "mtp_angle_r",
])  # fmt: skip
def test_angles_of_a_table_in_degrees_have_that_unit(tmp_path, name):
    assert table(tmp_path, GOOD.replace("\tq\n", f"\t{name}\n")).units == {name: "deg"}
    radians = GOOD.replace("\tq\n", f"\t{name}\n").replace("=yes", "=no")
    assert table(tmp_path, radians).units == {}


def test_speeds_of_states_are_degrees_a_second(tmp_path):
    name = "/jointset/knee_r/knee_angle_r/speed"
    assert table(tmp_path, GOOD.replace("\tq\n", f"\t{name}\n")).units == {name: "deg/s"}


@pytest.mark.parametrize("name", [
    "pelvis_tx", "/jointset/ground_pelvis/pelvis_ty/value", "ground_force_vy", "1_ground_force_px",
    "ground_torque_y", "knee_angle_r_moment", "/forceset/soleus_r/activation",
    "soleus_r.fiber_length", "pelvis_tz/speed", "r_FX", "hip_flexion_r_reserve", "device_l_power",
])  # fmt: skip
def test_what_is_not_an_angle_has_no_unit(tmp_path, name):
    assert table(tmp_path, GOOD.replace("\tq\n", f"\t{name}\n")).units == {}


@pytest.mark.parametrize("text", [
    GOOD.replace("\n", "\r\n"),
    GOOD.replace("\t", "   "),
    GOOD.replace("nRows=2\nnColumns=2", "datarows 2\ndatacolumns 2").replace("=yes", "=Yes"),
    GOOD.replace("endheader", "  EndHeader "),
    GOOD + "\n\n",
    "\ufeff" + GOOD,
    GOOD.replace("\t1\n", "\t1e0\t\n"),
])  # fmt: skip
def test_written_otherwise_it_is_the_same(tmp_path, text):
    found = table(tmp_path, text)
    np.testing.assert_array_equal(found.column("q")[1], [1.0, 2.0])
    assert found.units == {"q": "deg"}


def test_vectors_become_columns(tmp_path):
    found = table(tmp_path, GOOD.replace("\t1\n", "\t1,2,3\n").replace("\t2\n", "\t4,5,nan\n"))
    assert found.columns == ("q/0", "q/1", "q/2")
    np.testing.assert_array_equal(found.column("q/2")[1], [3.0, np.nan])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("endheader", "end"), "no line 'endheader'"),
        (("nRows=2", "nRows=3"), "cut short: its header states 3 rows, and it has 2"),
        (("1\t2\n", "1\n"), "line 9: 1 values where 2 columns are named"),
        (("1\t2\n", "1\t2\t3\n"), "line 9: 3 values where 2 columns are named"),
        (("1\t2\n", "1\ttwo\n"), "line 9, column 'q': 'two' is not a number"),
        (("1\t2\n", "1\t2,3\n"), "line 9, column 'q': '2,3' has 2 values, those above have 1"),
        (("\tq\n", "\ttime\n"), "several columns named 'time': .* line 7"),
        (("0\t1\n1\t2\n", ""), "no rows below its header"),
        (("\tq\n", "\n"), "line 8: 2 values where 1 columns"),
        (("\n0\t", "\nnan\t"), "1 values that are NaN or infinite"),
        (("walk", "\0"), "zero bytes"),
        (("walk", "SQLite format 3\0"), "looks like rosbag2"),
    ],
)
def test_damage_is_named(tmp_path, change, message):
    with pytest.raises(RecordingError, match=message):
        table(tmp_path, GOOD.replace(*change))


def test_an_empty_file_and_a_wrong_time_are_refused(tmp_path):
    with pytest.raises(RecordingError, match="is empty"):
        table(tmp_path, "")
    with pytest.raises(TrueupError, match=r"No time column 'tine'.*Did you mean 'time'"):
        table(tmp_path, GOOD, time="tine")


@given(
    st.lists(st.text("abcxyz_/.0123456789", min_size=1, max_size=8), unique=True, min_size=1,
             max_size=4),
    st.integers(1, 5),
    st.booleans(),
    st.randoms(use_true_random=False),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_what_is_written_is_read(tmp_path_factory, names, rows, degrees, random):
    columns = ("time", *(f"c{name}" for name in names))
    values = np.array([[random.uniform(-1e3, 1e3) for _ in columns] for _ in range(rows)])
    values[:, 0] = np.arange(rows)
    path = tmp_path_factory.mktemp("storage") / "table.sto"
    found = read(write_opensim(path, columns, values, degrees=degrees)).stream
    assert tuple(found.columns) == columns[1:]
    read_values = np.column_stack([found.times, *found.columns.values()])
    np.testing.assert_allclose(read_values, values, rtol=1e-8, atol=1e-8)


@given(st.text(max_size=60), st.integers(0, len(GOOD)), st.integers(0, 20))
@settings(max_examples=80, deadline=None)
def test_damaged_files_are_refused_or_read(tmp_path_factory, text, at, cut):
    """Whatever a file contains: a recording or one clear error."""
    path = tmp_path_factory.mktemp("damaged") / "table.mot"
    path.write_text(GOOD[:at] + text + GOOD[at + cut :], encoding="utf-8")
    try:
        read(path)
    except TrueupError as error:
        assert str(path) in str(error)
