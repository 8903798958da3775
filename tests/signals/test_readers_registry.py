"""Choosing a reader, adding one, and everything that holds for all formats."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest

from trueup.errors import ColumnError, MissingExtraError, RecordingError, UnitError
from trueup.signals import Contents, Table, read, read_all, register_reader
from trueup.signals.readers import registry


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "swing.csv"
    path.write_text("t,stamp_ms,q\n5,100,1\n6,200,2\n7,300,3\n")
    return path


class TestClock:
    def test_time_column_by_name(self, log):
        recording = read(log, time="stamp_ms", time_unit="ms")
        np.testing.assert_allclose(recording.streams[0].times, [0.1, 0.2, 0.3])
        assert recording.columns == ("t", "q")

    def test_unit_in_the_name_counts_where_none_is_given(self, log):
        np.testing.assert_allclose(read(log, time="stamp_ms").streams[0].times, [0.1, 0.2, 0.3])
        assert read(log, time="stamp_ms", time_unit="s").start == 100.0

    def test_clock_is_kept_as_recorded(self, log):
        assert read(log).column("q")[0].tolist() == [5.0, 6.0, 7.0]

    def test_rate(self, log):
        recording = read(log, rate=100)
        np.testing.assert_allclose(recording.streams[0].times, [0.0, 0.01, 0.02])
        assert recording.columns == ("t", "stamp_ms", "q")

    def test_errors(self, log):
        with pytest.raises(ColumnError, match=r"swing\.csv.*No time column 'tt'.*Did you mean 't'"):
            read(log, time="tt")
        with pytest.raises(RecordingError, match="not both"):
            read(log, time="t", rate=10)
        with pytest.raises(RecordingError, match="rate must be a positive number"):
            read(log, rate=0)
        with pytest.raises(UnitError, match=r"swing\.csv.*Unknown unit 'sek'"):
            read(log, time_unit="sek")
        with pytest.raises(RecordingError, match="not a unit of time"):
            read(log, time_unit="deg")


class TestProvenance:
    def test_hash_source_and_name(self, log):
        recording = read(log)
        assert recording.sha256 == hashlib.sha256(log.read_bytes()).hexdigest()
        assert recording.source == str(log)
        assert recording.name == "swing"
        assert read(log, name="first").name == "first"


class TestPaths:
    def test_missing_empty_and_unknown(self, tmp_path):
        with pytest.raises(RecordingError, match=r"No such file: .*absent\.csv"):
            read(tmp_path / "absent.csv")
        (tmp_path / "log.xyz").write_text("t,q\n0,1\n")
        with pytest.raises(RecordingError, match=r"'\.xyz'.*csv \(\.csv.*register_reader"):
            read(tmp_path / "log.xyz")
        assert read(tmp_path / "log.xyz", format="csv").columns == ("q",)
        with pytest.raises(RecordingError, match="Did you mean 'csv'"):
            read(tmp_path / "log.xyz", format="cvs")
        with pytest.raises(RecordingError, match="is not a recording: expected a LeRobot data set"):
            read(tmp_path)
        (tmp_path / "empty").mkdir()
        with pytest.raises(RecordingError, match="empty"):
            read(tmp_path / "empty")
        with pytest.raises(RecordingError, match="empty"):
            read_all(tmp_path / "empty")

    @pytest.mark.parametrize(
        "suffix", [".csv", ".parquet", ".npz", ".mat", ".json", ".h5", ".mcap", ".db3"]
    )
    def test_empty_file_and_noise_of_each_format(self, tmp_path, suffix):
        path = tmp_path / f"log{suffix}"
        path.write_bytes(b"")
        with pytest.raises(RecordingError, match="empty"):
            read(path)
        path.write_bytes(np.random.default_rng(0).bytes(500))
        with pytest.raises(RecordingError, match="log"):
            read(path)

    @pytest.mark.parametrize("suffix", [".csv", ".json", ".h5", ".mcap"])
    def test_content_of_another_format_is_recognised(self, tmp_path, suffix):
        path = tmp_path / f"log{suffix}"
        np.savez(tmp_path / "log.npz", t=np.arange(3.0), q=np.arange(3.0))
        (tmp_path / "log.npz").rename(path)
        with pytest.raises(RecordingError, match=r"looks like npz.*format='npz'"):
            read(path)
        assert read(path, format="npz").columns == ("q",)

    def test_git_lfs_pointer(self, tmp_path):
        path = tmp_path / "log.csv"
        path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
        with pytest.raises(RecordingError, match="git lfs pull"):
            read(path)

    def test_folder_of_files(self, tmp_path, log):
        (tmp_path / "again.csv").write_text("t,q\n0,1\n1,2\n")
        (tmp_path / "notes.md").write_text("hello")
        (tmp_path / "other.json").write_text("[]")
        assert [r.name for r in read_all(tmp_path, pattern="*.csv")] == ["again", "swing"]
        with pytest.raises(RecordingError, match=r"other\.json"):
            read_all(tmp_path)
        with pytest.raises(RecordingError, match=r"no readable file matching '\*\.npz'"):
            read_all(tmp_path, pattern="*.npz")
        assert len(read_all(log)) == 1


class TestOptions:
    def test_unknown_option(self, log):
        with pytest.raises(
            RecordingError, match=r"no option 'delimeter'.*Did you mean 'delimiter'"
        ):
            read(log, delimeter=",")

    def test_none_is_the_same_as_absent(self, log):
        assert read(log, header=None, topics=None).columns == ("stamp_ms", "q")


class TestOwnFormat:
    @pytest.fixture(autouse=True)
    def restore(self, monkeypatch):
        monkeypatch.setattr(registry, "_READERS", dict(registry._READERS))

    def test_columns_are_enough(self, tmp_path):
        def read_raw(path, *, gain=1.0):
            raw = np.fromfile(path, dtype=[("t", "<f8"), ("angle", "<f4")])
            return {"t": raw["t"], "angle": gain * raw["angle"]}

        register_reader("raw", ["raw"], read_raw)
        rows = np.array([(0.0, 1.5), (0.1, 2.5)], dtype=[("t", "<f8"), ("angle", "<f4")])
        rows.tofile(tmp_path / "a.RAW")
        assert read(tmp_path / "a.RAW", gain=2.0).column("angle")[1].tolist() == [3.0, 5.0]

    def test_several_recordings_with_clocks_of_their_own(self, tmp_path):
        def read_two(path):
            tables = [Table({"q": np.arange(2.0)}, times=np.array([k, k + 1.0])) for k in (3, 5)]
            return [Contents((table,), name=f"part_{k}") for k, table in enumerate(tables)]

        register_reader("two", [".two"], read_two)
        (tmp_path / "a.two").write_text("x")
        first, second = read_all(tmp_path / "a.two")
        assert (first.start, second.start, second.name) == (3.0, 5.0, "a/part_1")
        with pytest.raises(RecordingError, match=r"2 recordings.*read_all"):
            read(tmp_path / "a.two")

    def test_built_in_reader_can_be_replaced(self, log):
        register_reader("mine", [".csv"], lambda path: {"t": [0.0, 1.0], "mine": [1.0, 2.0]})
        assert read(log).columns == ("mine",)
        assert read(log, format="csv").columns == ("stamp_ms", "q")

    def test_its_failure_names_the_file_and_keeps_the_cause(self, log):
        register_reader("mine", [".csv"], lambda path: 1 / 0)
        with pytest.raises(RecordingError, match=r"swing\.csv.*ZeroDivisionError") as caught:
            read(log)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("suffix", "start", "module", "package"),
    [
        (".parquet", b"PAR1", "pyarrow.parquet", "pyarrow"),
        (".h5", b"\x89HDF\r\n\x1a\n", "h5py", "h5py"),
        (".mcap", b"\x89MCAP0\r\n", "mcap.reader", "mcap"),
        (".mcap", b"\x89MCAP0\r\n", "mcap_ros2.decoder", "mcap-ros2-support"),
        (".db3", b"SQLite format 3\x00", "rosbags.highlevel", "rosbags"),
    ],
)
def test_missing_package(tmp_path, monkeypatch, suffix, start, module, package):
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / f"log{suffix}").write_bytes(start)
    with pytest.raises(MissingExtraError, match=rf"'{package}'.*trueup\[readers\]"):
        read(tmp_path / f"log{suffix}")


def test_reading_text_needs_no_heavy_package(log):
    code = (
        "import sys; from trueup.signals import read; read(sys.argv[1]); "
        "heavy = {'scipy', 'pyarrow', 'h5py', 'mcap', 'rosbags', 'mujoco', 'pandas'}; "
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", code, str(log)], check=True)
