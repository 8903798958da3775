"""One gate for all readers: bounded memory, regular files, nothing outside of a data set."""

import bz2
import os
from collections.abc import Callable
from pathlib import Path

import hostile_files as hostile
import numpy as np
import pytest
from work import refused

from trueup import signals
from trueup.errors import InputFileError, RecordingError

TOO_LARGE = "would unpack to"

FILES: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "HDF5, a fill value": ("x.h5", hostile.hdf5_fill, TOO_LARGE),
    "HDF5, a text": ("x.hdf5", hostile.hdf5_text, TOO_LARGE),
    "HDF5, letters of MATLAB": ("x.h5", hostile.hdf5_letters, TOO_LARGE),
    "Parquet, repeats": ("x.parquet", hostile.parquet_repeats, TOO_LARGE),
    "MCAP, a stated chunk": ("x.mcap", lambda p: hostile.mcap(p, 3 * 10**9), TOO_LARGE),
    "MCAP, a stated frame": (
        "x.mcap",
        lambda p: hostile.mcap(p, 100, hostile.zstd_frame(3 * 10**9)),
        TOO_LARGE,
    ),
    "MCAP, blocks of a frame": (
        "x.mcap",
        lambda p: hostile.mcap(p, 100, hostile.zstd_blocks(10**4)),
        TOO_LARGE,
    ),
    "MAT, a cell": ("x.mat", lambda p: hostile.mat(p, (1, hostile.MANY)), TOO_LARGE),
    "MAT, numbers": ("x.mat", lambda p: hostile.mat(p, (1, hostile.MANY), 6), TOO_LARGE),
    "MAT, nested cells": ("x.mat", hostile.mat_nested, "nested more than"),
    "MAT, negative dimensions": ("x.mat", lambda p: hostile.mat(p, (-1, 5)), "is damaged"),
    "torch, a far place": ("x.pt", hostile.torch_place, "states the place"),
    "torch, a byte array": ("x.pt", hostile.torch_bytes, "is damaged"),
    "torch, one number repeated": ("x.pt", hostile.torch_expanded, TOO_LARGE),
    "torch, a table of one number": (
        "x.pth",
        lambda p: hostile.torch_expanded(p, (20_000, 20_000)),
        TOO_LARGE,
    ),
    "torch, a negative size": ("x.pt", lambda p: hostile.torch_expanded(p, (-5,)), "its storage"),
    "CSV with a hole": ("x.csv", hostile.sparse, TOO_LARGE),
    "JSON with a hole": ("x.json", hostile.sparse, TOO_LARGE),
    "OpenSim with a hole": ("x.mot", hostile.sparse, TOO_LARGE),
    "ROS 1, a stated chunk": (
        "x.bag",
        lambda p: hostile.ros1(p, 3 * 10**9, bz2.compress(b"a"), b"bz2"),
        TOO_LARGE,
    ),
    "ROS 1, a chunk of more": (
        "x.bag",
        lambda p: hostile.ros1(p, 10, bz2.compress(bytes(10**6)), b"bz2"),
        "more than the 10 bytes",
    ),
    **{
        f"database, {what}": (
            "x.db3",
            lambda p, made=made: hostile.database(p, made),
            "computes its content",
        )
        for what, made in hostile.DATABASES.items()
    },
}


@pytest.mark.parametrize("command", ["import", "check"])
@pytest.mark.parametrize("what", FILES)
def test_a_file_that_states_more_than_it_has_is_refused(command, what, place, capfd):
    folder, _ = place("sysid")
    name, make, says = FILES[what]
    make(folder / name)
    assert (folder / name).stat().st_blocks * 512 < 4 * 2**20
    words = ["import", f"{folder}/{name}", "--model", f"{folder}/pendulum.xml"]
    words += ["-o", f"{folder}/new.yaml"]
    if command == "check":
        text = (folder / "experiment.yaml").read_text().replace("run.csv", name)
        (folder / "experiment.yaml").write_text(text)
        words = ["check", f"{folder}/experiment.yaml"]
    assert says in refused(words, folder, capfd, named=(name,))


def folder_of(kind: str, folder: Path) -> tuple[Path, Path]:
    """A data set without its data: its folder and the path of its file."""
    if kind == "LeRobot":
        return folder / "set", hostile.lerobot(folder / "set")
    name = {"rosbag2": "run.db3", "rosbag2 of MCAP": "run.mcap"}[kind]
    return folder / "set", hostile.bag(folder / "set", name)


KINDS = ("LeRobot", "rosbag2", "rosbag2 of MCAP")
PARTS = {
    "a pipe": ("a pipe", os.mkfifo),
    "a device": ("a symbolic link", lambda path: path.symlink_to("/dev/zero")),
    "a link to a file outside": ("a symbolic link", lambda path: path.symlink_to("/etc/passwd")),
    "a link to a folder outside": ("a symbolic link", lambda path: path.symlink_to("/etc")),
    "a relative link outside": (
        "a symbolic link",
        lambda path: path.symlink_to(os.path.relpath("/etc/passwd", path.parent)),
    ),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_a_data_set_that_is_no_file_of_it_is_refused(kind, part, place, capfd):
    folder, _ = place("sysid")
    data, file = folder_of(kind, folder)
    says, make = PARTS[part]
    make(file)
    words = ["import", str(data), "--model", f"{folder}/pendulum.xml", "-o", f"{folder}/new.yaml"]
    assert says in refused(words, folder, capfd, named=(file.name,))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["metadata.yaml", "meta/info.json", "other/readme"])
def test_a_pipe_anywhere_in_a_data_set_is_refused(kind, name, place, capfd):
    folder, _ = place("sysid")
    data, _ = folder_of(kind, folder)
    path = data / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    words = ["import", str(data), "--model", f"{folder}/pendulum.xml", "-o", f"{folder}/new.yaml"]
    refused(words, folder, capfd, named=("set",))


@pytest.mark.parametrize("mode", ["file", "message"])
def test_a_compressed_bag_that_unpacks_to_more_is_refused(mode, tmp_path):
    file = hostile.bag(tmp_path / "set", "run.db3.zstd" if mode == "file" else "run.db3", mode)
    if mode == "file":
        file.write_bytes(hostile.zstd_frame(3 * 10**9))
    else:
        frame = hostile.zstd_frame(3 * 10**9).hex()
        row = f"INSERT INTO messages VALUES (1, 1, 1, x'{frame}');"
        hostile.database(file, hostile.TOPICS + hostile.MESSAGES + row)
    with pytest.raises(InputFileError, match=TOO_LARGE):
        signals.read(tmp_path / "set")


def test_episodes_that_repeat_a_number_are_refused(tmp_path):
    hostile.parquet_repeats(hostile.lerobot(tmp_path / "set"), "episode_index")
    with pytest.raises(InputFileError, match=TOO_LARGE):
        signals.read_all(tmp_path / "set")


def test_texts_of_a_table_are_not_read(tmp_path):
    """A text that is repeated a million times has a few bytes in the file."""
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    count = 10_000
    letters = arrow.DictionaryArray.from_arrays(np.zeros(count, np.int32), ["a" * 10**6])
    table = arrow.table({"t": np.arange(float(count)), "x": np.ones(count), "note": letters})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    recording = signals.read(tmp_path / "x.parquet")
    assert recording.columns == ("x",)
    assert "note" in recording.metadata["left_out"]


def test_a_column_that_a_table_lacks_is_named(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    pyarrow.parquet.write_table(arrow.table({"t": [0.0, 1.0], "angle": [0.0, 1.0]}), "x.parquet")
    with pytest.raises(RecordingError, match=r"no column 'angel'.*Did you mean 'angle'"):
        signals.read("x.parquet", columns=["t", "angel"])


@pytest.fixture(autouse=True)
def _in_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_values_in_other_files_are_not_read(tmp_path):
    h5py = pytest.importorskip("h5py")
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["secret"] = np.arange(10.0)
    layout = h5py.VirtualLayout(shape=(10,), dtype="f8")
    layout[:] = h5py.VirtualSource("other.h5", "secret", shape=(10,))
    with h5py.File("x.h5", "w") as file:
        file["t"] = file["mine/x"] = np.arange(10.0)
        outside = [("/etc/passwd", 0, 100)]
        file.create_dataset("external", shape=(10,), dtype="f8", external=outside)
        file.create_virtual_dataset("virtual", layout)
        file["link"] = h5py.ExternalLink("other.h5", "secret")
        file["mine/link"] = h5py.ExternalLink("other.h5", "/")
        file["soft"] = h5py.SoftLink("/mine/link")
        file["round"] = h5py.SoftLink("/round")
        file["same"] = h5py.SoftLink("/mine")
    recording = signals.read("x.h5")
    assert recording.columns == ("mine/x",)
    assert recording.metadata["left_out"].keys() == {"external", "virtual", "link", "mine/link"}
    for group in ("mine/link", "soft", "round", "link"):
        with pytest.raises(RecordingError, match="has no group"):
            signals.read("x.h5", group=group)
    assert signals.read("x.h5", group="same", rate=10.0).columns == ("x",)


def test_links_within_a_data_set_and_to_its_cache_are_followed(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    names = ("episode_index", "timestamp", "x")
    table = arrow.table(dict(zip(names, ([0, 0], [0.0, 0.1], [1.0, 2.0]), strict=True)))
    snapshot = tmp_path / "hub/datasets--a--b/snapshots/0123"
    snapshot.parent.mkdir(parents=True)
    file = hostile.lerobot(snapshot)
    blob = tmp_path / "hub/datasets--a--b/blobs/4567"
    blob.parent.mkdir()
    pyarrow.parquet.write_table(table, blob)
    file.symlink_to(os.path.relpath(blob, file.parent))
    assert signals.read(snapshot).columns[-1] == "x"
    file.unlink()
    inside = file.with_name("kept")
    blob.rename(inside)
    file.symlink_to(inside.name)
    assert signals.read(snapshot).columns[-1] == "x"


@pytest.mark.parametrize("seed", range(150))
def test_a_flipped_mat_file_is_read_or_refused(seed, tmp_path):
    """scipy reads out of bounds where types, lengths or dimensions do not fit."""
    from scipy.io import savemat

    random = np.random.default_rng(seed)
    cells = np.array([np.arange(5.0), "x", np.arange(3)], dtype=object)
    parts = {
        "t": np.arange(20) / 20,
        "q": random.random((20, 3)),
        "cells": cells,
        "z": np.ones(5) * 1j,
    }
    savemat("x.mat", {**parts, "s": {"a": np.arange(20.0), "b": "text", "c": {"d": np.int16(3)}}})
    data = bytearray(Path("x.mat").read_bytes())
    # tags of elements, rather than their values
    places = [p for p in range(120, len(data)) if data[p] < 20]
    data[random.choice(places)] ^= 1 << random.integers(8)
    Path("x.mat").write_bytes(data)
    try:
        signals.read("x.mat", time="t")
    except (RecordingError, InputFileError) as error:
        assert "x.mat" in str(error)
