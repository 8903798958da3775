"""Files are whole, whatever happens while they are written."""

import dataclasses
import enum
import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.waiting import until

from trueup.errors import RunDirectoryError
from trueup.runs import atomic

_WRITER = """
import sys
from trueup.runs import atomic
n = 0
while True:
    n += 1
    atomic.write_json(sys.argv[1], {"n": n, "body": [n] * 50_000, "last": n})
"""


def _names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_kill_leaves_a_whole_file(tmp_path):
    path = tmp_path / "parameters.json"
    for writes in (5, 11, 17):
        writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)])
        before = path.stat().st_ino if path.exists() else None
        until(lambda before=before: path.exists() and path.stat().st_ino != before, writer)
        while writes:  # a reader at any moment finds a whole file too
            content = json.loads(path.read_text())
            assert content["n"] == content["last"] == content["body"][-1]
            now = path.stat().st_ino
            writes, before = writes - (now != before), now
        writer.kill()
        writer.wait()
        content = json.loads(path.read_text())
        assert content["n"] == content["last"]
    atomic.remove_partial(tmp_path)
    assert _names(tmp_path) == ["parameters.json"]


def test_partial_files_of_living_processes_stay(tmp_path):
    mine = tmp_path / f".a.json.{os.getpid()}.0123abcd.trueup-partial"
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    other = tmp_path / f".a.json.{dead.pid}.0123abcd.trueup-partial"
    mine.touch()
    other.touch()
    atomic.remove_partial(tmp_path)
    assert mine.exists()
    assert not other.exists()


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_former_file(tmp_path, monkeypatch, call):
    path = tmp_path / "a.json"
    atomic.write_json(path, {"former": 1})

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if call == "write":
        monkeypatch.setattr(os, "fdopen", full)
    elif call == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(RunDirectoryError, match=r"No space left.*unchanged.*free space"):
        atomic.write_json(path, {"new": 2})
    monkeypatch.undo()
    assert json.loads(path.read_text()) == {"former": 1}
    assert _names(tmp_path) == ["a.json"]


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(RunDirectoryError, match="missing"):
        atomic.write_text(tmp_path / "missing" / "a.txt", "x")


def test_permissions_are_those_of_the_umask_and_then_kept(tmp_path):
    path = tmp_path / "a.txt"
    former = os.umask(0o027)
    try:
        atomic.write_text(path, "x")
        assert path.stat().st_mode & 0o777 == 0o640
        path.chmod(0o604)
        atomic.write_text(path, "y")
        assert path.stat().st_mode & 0o777 == 0o604
    finally:
        os.umask(former)


def test_numbers_that_are_not_finite_become_words_that_python_reads(tmp_path):
    value = {"nan": np.nan, "up": np.inf, "array": np.array([1.0, -np.inf])}
    back = atomic.read_json(atomic.write_json(tmp_path / "a.json", value))
    assert back == {"nan": "NaN", "up": "Infinity", "array": [1.0, "-Infinity"]}
    assert np.isnan(float(back["nan"]))
    assert float(back["array"][1]) == -np.inf


def test_what_python_offers_becomes_plain():
    class Colour(enum.Enum):
        RED = "r"

    @dataclasses.dataclass
    class Point:
        x: np.float32
        where: Path

    value = {
        "point": Point(np.float32(0.5), Path("a") / "b"),
        Colour.RED: (np.int64(3), np.bool_(True), Colour.RED),
        4: {"b", "a"},
        "0-d": np.array(2.0),
    }
    assert atomic.to_plain(value) == {
        "point": {"x": 0.5, "where": "a/b"},
        "RED": [3, True, "RED"],
        "4": ["a", "b"],
        "0-d": 2.0,
    }
    with pytest.raises(TypeError, match=r"value\['a'\]\[1\] is a complex"):
        atomic.to_plain({"a": [0, 1j]})


@given(st.floats(allow_nan=False))
def test_floats_come_back_to_the_last_bit(number):
    assert float(json.loads(atomic.to_json(np.array([number])))[0]).hex() == number.hex()


def test_reading_what_is_not_json(tmp_path):
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(RunDirectoryError, match="not a JSON file"):
        atomic.read_json(tmp_path / "a.json")
    with pytest.raises(RunDirectoryError, match="cannot read"):
        atomic.read_json(tmp_path / "b.json")
