"""Files of a few kilobytes that state gigabytes, name other files, or compute rows without end."""

import os
import sqlite3
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np

MANY = 400_000_000
"""Numbers that a file states; 3 GB."""


def hdf5_fill(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file["t"] = np.arange(10.0)
        file.create_dataset("x", shape=(MANY,), dtype="f8", chunks=(10**6,), fillvalue=1.0)


def hdf5_text(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file["t"] = np.arange(10.0)
        file.create_dataset("name", shape=(), dtype=f"S{10**9}")


def hdf5_letters(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file["t"] = np.arange(10.0)
        letters = file.create_dataset("x", shape=(1, MANY), dtype="u2", chunks=(1, 10**5))
        letters.attrs["MATLAB_class"] = "char"


def parquet_repeats(path: Path, column: str = "x") -> None:
    import pyarrow
    import pyarrow.parquet

    rows = pyarrow.table({"t": np.zeros(10**6, bool), column: np.zeros(10**6, bool)})
    with pyarrow.parquet.ParquetWriter(path, rows.schema) as writer:
        for _ in range(25):
            writer.write_table(rows)


def mcap(path: Path, stated: int, data: bytes = b"", compression: bytes = b"zstd") -> None:
    head = struct.pack("<QQQII", 0, 1, stated, 0, len(compression)) + compression
    chunk = head + struct.pack("<Q", len(data)) + data
    start = b"\x89MCAP0\r\n"
    header = struct.pack("<BQI4sI", 1, 12, 4, b"ros2", 0)
    footer = struct.pack("<BQQQI", 2, 20, 0, 0, 0)
    path.write_bytes(start + header + struct.pack("<BQ", 6, len(chunk)) + chunk + footer + start)


def zstd_frame(size: int) -> bytes:
    """A frame that states a size of eight bytes, and has one block that repeats a byte."""
    block = (1 | 1 << 1 | (128 * 1024) << 3).to_bytes(3, "little") + b"a"
    return b"\x28\xb5\x2f\xfd" + bytes([0b11100000]) + struct.pack("<Q", size) + block


def zstd_blocks(count: int) -> bytes:
    """A frame without a size, of blocks that repeat a byte."""
    block = (0 | 1 << 1 | (128 * 1024) << 3).to_bytes(3, "little") + b"a"
    last = (1 | 1 << 1 | 10 << 3).to_bytes(3, "little") + b"a"
    return b"\x28\xb5\x2f\xfd\x00\x50" + block * count + last


def mat(path: Path, dimensions: tuple[int, int], kind: int = 1, inner: bytes = b"") -> None:
    """A compressed variable ``x`` of a kind (1 is a cell, 6 are numbers) with stated dimensions."""
    content = struct.pack("<II4xII", 6, 8, kind, 0)[:8] + struct.pack("<II", kind, 0)
    content += struct.pack("<IIii", 5, 8, *dimensions) + struct.pack("<HHc3x", 1, 1, b"x") + inner
    packed = zlib.compress(struct.pack("<II", 14, len(content)) + content)
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    path.write_bytes(header + struct.pack("<II", 15, len(packed)) + packed)


def mat_nested(path: Path, depth: int = 5000) -> None:
    content = b""
    for level in range(depth):
        inner = struct.pack("<II", 14, len(content)) + content
        name = struct.pack("<II", 1, 0) if level < depth - 1 else struct.pack("<HHc3x", 1, 1, b"x")
        content = struct.pack("<IIII", 6, 8, 1, 0) + struct.pack("<IIii", 5, 8, 1, 1) + name + inner
    packed = zlib.compress(struct.pack("<II", 14, len(content)) + content)
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    path.write_bytes(header + struct.pack("<II", 15, len(packed)) + packed)


def torch_pickle(path: Path, pickled: bytes, storage: bytes = bytes(8)) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("log/data.pkl", pickled)
        archive.writestr("log/data/0", storage)


def torch_place(path: Path) -> None:
    """A pickle that puts one entry at a far place of its memo."""
    torch_pickle(path, b"\x80\x02}r" + struct.pack("<I", 0x0FFFFFFF) + b".")


def torch_bytes(path: Path) -> None:
    torch_pickle(path, b"\x80\x05\x96" + struct.pack("<Q", 2**31) + b"a.")


def torch_expanded(path: Path, size: tuple[int, ...] = (MANY,)) -> None:
    """One stored number that is repeated, as ``torch.zeros(1).expand(n)`` saves it."""

    # written by hand: torch need not be installed
    strides = b"(" + b"K\x00" * len(size) + b"t"
    sizes = b"(" + b"".join(b"J" + struct.pack("<i", n) for n in size) + b"t"
    storage = b"(X\x07\x00\x00\x00storagectorch\nDoubleStorage\nX\x01\x00\x00\x000"
    storage += b"X\x03\x00\x00\x00cpuK\x01tQ"
    rebuild = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + sizes + strides
    rebuild += b"\x89ccollections\nOrderedDict\n)RtR"
    torch_pickle(path, b"\x80\x02}X\x01\x00\x00\x00x" + rebuild + b"s.")


def database(path: Path, tables: str) -> None:
    """A database of a bag, of which some tables are made by other statements."""
    with sqlite3.connect(path) as connection:
        connection.executescript(tables)
    connection.close()


TOPICS = "CREATE TABLE topics(id INTEGER, name TEXT, type TEXT, serialization_format TEXT);"
MESSAGES = "CREATE TABLE messages(id INTEGER, topic_id INTEGER, timestamp INTEGER, data BLOB);"
DATABASES = {
    "a view": TOPICS
    + "CREATE VIEW messages AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT i AS id, 1 AS topic_id, i AS timestamp, x'00' AS data FROM n;",
    "a view of definitions": TOPICS
    + MESSAGES
    + "CREATE VIEW schema AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT count(*) AS schema_version FROM n;",
    "a computed column": TOPICS
    + "CREATE TABLE messages(id INTEGER, topic_id INTEGER, timestamp INTEGER, "
    "data BLOB AS (zeroblob(1000000000)));",
    "a virtual table": TOPICS + MESSAGES + "CREATE VIRTUAL TABLE extra USING fts5(text);",
}


def bag(folder: Path, file: str = "run.db3", mode: str = "") -> Path:
    """The description of a rosbag2, and the path of its file, which is not made."""
    folder.mkdir()
    storage = "mcap" if "mcap" in file else "sqlite3"
    (folder / "metadata.yaml").write_text(
        "rosbag2_bagfile_information:\n  version: 5\n"
        f"  storage_identifier: {storage}\n  relative_file_paths: [{file}]\n"
        "  duration: {nanoseconds: 1}\n  starting_time: {nanoseconds_since_epoch: 1}\n"
        "  message_count: 1\n  topics_with_message_count: []\n"
        f"  compression_format: '{'zstd' if mode else ''}'\n  compression_mode: '{mode}'\n"
    )
    return folder / file


def ros1(path: Path, stated: int, data: bytes, compression: bytes) -> None:
    """A bag of ROS 1 with one chunk."""
    fields = (b"op=\x05", b"compression=" + compression, b"size=" + struct.pack("<I", stated))
    header = b"".join(struct.pack("<I", len(field)) + field for field in fields)
    chunk = struct.pack("<I", len(header)) + header + struct.pack("<I", len(data)) + data
    path.write_bytes(b"#ROSBAG V2.0\n" + chunk)


def sparse(path: Path, size: int = 2**40) -> None:
    """A file that begins as a table, and then has a hole of a terabyte."""
    path.write_bytes(b"t,x\n" + b"0.1,1\n" * 20_000)
    os.truncate(path, size)


def lerobot(folder: Path) -> Path:
    """The description of a LeRobot data set, and the path of its file, which is not made."""
    (folder / "meta").mkdir(parents=True)
    (folder / "meta" / "info.json").write_text('{"codebase_version": "v3.0", "features": {}}')
    file = folder / "data" / "chunk-000" / "file-000.parquet"
    file.parent.mkdir(parents=True)
    return file
