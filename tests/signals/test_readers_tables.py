"""Formats that hold arrays: Parquet, NPZ, MAT and HDF5."""

import datetime

import numpy as np
import pytest
from scipy.io import savemat

from trueup.errors import ColumnError, RecordingError
from trueup.signals import SignalType, TimeSeries, read

TIMES = 3.0 + np.arange(50) / 100
ANGLE = np.sin(TIMES)


def cut_in_half(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    return path


class TestParquet:
    @pytest.fixture
    def write(self, tmp_path):
        arrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")

        def write_table(columns, name="log.parquet"):
            path = tmp_path / name
            parquet.write_table(arrow.table(columns), path)
            return path

        return write_table

    def test_round_trip_of_types(self, write):
        recording = read(
            write(
                {
                    "time": TIMES,
                    "q": ANGLE,
                    "half": ANGLE.astype(np.float32),
                    "count": np.arange(50),
                    "on": TIMES > 3.2,
                    "label": ["x"] * 50,
                    "joints": [[k, k + 0.5] for k in range(50)],
                    "imu": [{"a": {"x": k, "y": 1}} for k in range(50)],
                }
            )
        )
        np.testing.assert_array_equal(recording.column("q")[0], TIMES)
        np.testing.assert_array_equal(recording.column("q")[1], ANGLE)
        np.testing.assert_array_equal(recording.column("count")[1], np.arange(50))
        assert recording.column("on")[1].sum() == np.sum(TIMES > 3.2)
        assert recording.column("joints/1")[1][3] == 3.5
        assert recording.column("imu/a/x")[1][7] == 7.0
        with pytest.raises(ColumnError, match="its type is string"):
            recording.column("label")

    def test_points_in_time_are_seconds(self, write):
        start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        stamps = [start + datetime.timedelta(milliseconds=10 * k) for k in range(5)]
        recording = read(write({"timestamp": stamps, "q": np.arange(5.0)}))
        np.testing.assert_allclose(np.diff(recording.streams[0].times), 0.01, atol=1e-6)
        assert recording.start == pytest.approx(start.timestamp())

    def test_null_is_nan_and_ragged_lists_are_left_out(self, write):
        recording = read(write({"t": [0, 1, 2], "q": [1.0, None, 3.0], "l": [[1], [1, 2], []]}))
        np.testing.assert_array_equal(recording.column("q")[1], [1.0, np.nan, 3.0])
        assert "l" in recording.metadata["left_out"]  # type: ignore[operator]

    def test_lists_of_a_slice_keep_their_rows(self, tmp_path, write):
        arrow = pytest.importorskip("pyarrow")
        table = arrow.table({"t": np.arange(6.0), "q": [[k, 10 * k] for k in range(6)]})
        pytest.importorskip("pyarrow.parquet").write_table(
            table.slice(2, 3), tmp_path / "part.parquet"
        )
        assert read(tmp_path / "part.parquet").column("q/1")[1].tolist() == [20.0, 30.0, 40.0]

    def test_some_columns(self, write):
        assert read(write({"t": TIMES, "a": ANGLE, "b": ANGLE}), columns=["t", "b"]).columns == (
            "b",
        )

    def test_damaged(self, write, tmp_path):
        with pytest.raises(RecordingError, match="truncated or damaged"):
            read(cut_in_half(write({"t": TIMES, "q": ANGLE})))
        (tmp_path / "text.parquet").write_text("t,q\n0,1\n")
        with pytest.raises(RecordingError, match="not a parquet file"):
            read(tmp_path / "text.parquet")


class TestNpz:
    def test_round_trip_and_scalars(self, tmp_path):
        path = tmp_path / "log.npz"
        np.savez(path, t=TIMES, q=np.column_stack([ANGLE, -ANGLE]), kp=160.0, servo="XL")
        recording = read(path)
        np.testing.assert_array_equal(recording.column("q/1")[1], -ANGLE)
        assert recording.metadata == {"kp": 160.0, "servo": "XL"}

    def test_time_along_the_second_axis(self, tmp_path):
        np.savez(tmp_path / "log.npz", t=TIMES[None, :], q=np.stack([ANGLE, -ANGLE]))
        np.testing.assert_array_equal(read(tmp_path / "log.npz").column("q/1")[1], -ANGLE)

    def test_saved_time_series(self, tmp_path):
        series = TimeSeries(
            TIMES,
            np.column_stack([ANGLE, 2 * ANGLE, 3 * ANGLE, 4 * ANGLE]),
            {
                "imu": (SignalType.MjSensor, np.array([2, 0])),
                "elbow_qpos": (SignalType.MjStateQPos, np.array([1])),
            },
        )
        series.save_to_disk(tmp_path / "series.npz")
        recording = read(tmp_path / "series.npz")
        assert recording.columns == ("imu/0", "imu/1", "elbow_qpos", "data/3")
        np.testing.assert_array_equal(recording.column("imu/0")[1], 3 * ANGLE)
        np.testing.assert_array_equal(recording.column("elbow_qpos")[0], TIMES)

    def test_python_objects_are_refused(self, tmp_path):
        np.savez(tmp_path / "log.npz", t=TIMES, q=np.array([{}] * 50, dtype=object))
        with pytest.raises(RecordingError, match="'q' contains Python objects"):
            read(tmp_path / "log.npz")

    def test_other_lengths_are_left_out_with_a_reason(self, tmp_path):
        np.savez(tmp_path / "log.npz", t=TIMES, q=ANGLE, table=np.zeros(7))
        with pytest.raises(ColumnError, match=r"\(7,\) matches no clock \(t: 50 samples\)"):
            read(tmp_path / "log.npz").column("table")

    def test_damaged(self, tmp_path):
        np.savez(tmp_path / "log.npz", t=TIMES, q=ANGLE)
        with pytest.raises(RecordingError, match="truncated or damaged"):
            read(cut_in_half(tmp_path / "log.npz"))


class TestMat:
    def test_structs_scalars_and_texts(self, tmp_path):
        path = tmp_path / "log.mat"
        savemat(
            path,
            {
                "t": TIMES[:, None],
                "motor": {"q": ANGLE, "gain": 3.0, "name": "left"},
                "pair": np.column_stack([ANGLE, -ANGLE]),
                "cells": np.array([1.0, "x"], dtype=object),
                "nothing": np.zeros((0, 0)),
            },
        )
        recording = read(path)
        assert recording.columns == ("motor/q", "pair/0", "pair/1")
        np.testing.assert_array_equal(recording.column("motor/q")[1], ANGLE)
        assert recording.metadata["motor/gain"] == 3.0
        assert recording.metadata["motor/name"] == "left"

    def test_version_7_3_says_what_to_do_and_reads_as_hdf5(self, tmp_path):
        h5py = pytest.importorskip("h5py")
        path = tmp_path / "new.mat"
        with h5py.File(path, "w", userblock_size=0) as file:
            file["t"] = TIMES[None, :]
            file["q"] = ANGLE[None, :]
        with pytest.raises(RecordingError, match=r"7\.3.*format='hdf5'.*-v7"):
            read(path)
        np.testing.assert_array_equal(read(path, format="hdf5").column("q")[1], ANGLE)

    def test_version_7_3_as_matlab_writes_it(self, tmp_path):
        h5py = pytest.importorskip("h5py")
        path = tmp_path / "new.mat"
        with h5py.File(path, "w", userblock_size=512) as file:
            file["t"] = TIMES[None, :]
            file["q"] = ANGLE[None, :]
        content = bytearray(path.read_bytes())
        content[:20] = b"MATLAB 7.3 MAT-file,"
        path.write_bytes(content)
        with pytest.raises(RecordingError, match=r"7\.3"):
            read(path)
        np.testing.assert_array_equal(read(path, format="hdf5").column("q")[1], ANGLE)

    def test_damaged(self, tmp_path):
        savemat(tmp_path / "log.mat", {"t": TIMES, "q": ANGLE})
        content = (tmp_path / "log.mat").read_bytes()
        for length in range(1, len(content), 7):
            (tmp_path / "log.mat").write_bytes(content[:length])
            with pytest.raises(RecordingError, match=r"log\.mat"):
                read(tmp_path / "log.mat")
        (tmp_path / "log.mat").write_bytes(content[: len(content) // 3])
        with pytest.raises(
            RecordingError, match=r"truncated or damaged: .* need \d+ bytes, found \d+"
        ):
            read(tmp_path / "log.mat")
        (tmp_path / "text.mat").write_text("t,q\n0,1\n" * 100)
        with pytest.raises(RecordingError, match=r"text\.mat"):
            read(tmp_path / "text.mat")


class TestHdf5:
    @pytest.fixture
    def path(self, tmp_path):
        h5py = pytest.importorskip("h5py")
        path = tmp_path / "log.h5"
        with h5py.File(path, "w") as file:
            file.attrs["robot"] = "arm"
            file["joint/time"] = TIMES
            file["joint/q"] = np.column_stack([ANGLE, -ANGLE])
            file["imu/time_us"] = np.arange(500) * 1000
            file["imu/gyro/x"] = np.arange(500.0)
            file["images"] = np.zeros((50, 4, 4))
            file["mass"] = 0.5
            file["note"] = "first try"
        return path

    def test_every_group_has_its_clock(self, path):
        recording = read(path)
        assert {stream.name for stream in recording.streams} == {"joint", "imu"}
        np.testing.assert_array_equal(recording.column("joint/q/1")[1], -ANGLE)
        times, values = recording.column("imu/gyro/x")
        assert times[-1] == pytest.approx(0.499)
        assert values.size == 500
        assert recording.metadata["mass"] == 0.5
        assert recording.metadata["note"] == "first try"
        assert recording.metadata["robot"] == "arm"
        with pytest.raises(ColumnError, match=r"shape is \(50, 4, 4\)"):
            recording.column("images")

    def test_explicit_time_of_one_group_leaves_the_other_out(self, path):
        assert read(path, time="joint/time").columns == ("joint/q/0", "joint/q/1")

    def test_one_group(self, path):
        assert read(path, group="imu").columns == ("gyro/x",)
        with pytest.raises(RecordingError, match=r"no group 'imus'.*Did you mean 'imu'"):
            read(path, group="imus")

    def test_damaged(self, path):
        with pytest.raises(RecordingError, match="truncated or damaged"):
            read(cut_in_half(path))
