"""Checks of the files of ROS bags, before the package that reads them opens them."""

import bz2
import contextlib
import io
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from trueup._input_files import check_folder, read_settings, safe_yaml
from trueup._memory_budget import MemoryBudget
from trueup.errors import RecordingError
from trueup.signals.readers._zstd_size import unpacked_size
from trueup.signals.readers.mcap import check_chunks

_CHUNK = b"\x05"
_FIRST_LINE = 13  # bytes of "#ROSBAG V2.0\n"
_STEP = 2**20  # bytes that are unpacked at once


def check_bag(path: Path) -> tuple[Path, ...]:
    """Check a bag; return the files of a folder.

    Raises:
        InputFileError: A part is not a regular file of the folder, or unpacks to an implausible
            size.
        RecordingError: A database contains more than plain tables.
    """
    if path.is_file():
        _check_file(path, by_message=False)
        return ()
    files = check_folder(path)
    stated = safe_yaml(read_settings(path / "metadata.yaml"))
    bag = stated.get("rosbag2_bagfile_information") if isinstance(stated, dict) else None
    mode = str(bag.get("compression_mode", "")).lower() if isinstance(bag, dict) else ""
    for file in files:
        _check_file(file, by_message=mode == "message")
    return tuple(files)


def _check_file(file: Path, by_message: bool) -> None:
    suffix = file.suffix.lower()
    if suffix == ".db3":
        _check_database(file, by_message)
    elif suffix == ".mcap":
        check_chunks(file)
    elif suffix == ".bag":
        _check_ros1(file)
    elif suffix in (".zstd", ".zst"):
        with file.open("rb") as content:
            MemoryBudget(file).take(unpacked_size(content, file.stat().st_size))


def _check_database(file: Path, by_message: bool) -> None:
    """Check a database of messages: a view or a computed column may give rows without end."""
    address = f"file:{quote(str(file.resolve()))}?immutable=1"
    budget = MemoryBudget(file)
    with contextlib.closing(sqlite3.connect(address, uri=True)) as database:
        for kind, name, made in database.execute("SELECT type, name, sql FROM sqlite_master"):
            made_by = str(made or "").upper().split()
            columns = database.execute("SELECT hidden FROM pragma_table_xinfo(?)", (name,))
            computed = kind == "table" and any(hidden for (hidden,) in columns)
            if kind not in ("table", "index") or "VIRTUAL" in made_by[:2] or computed:
                raise RecordingError(
                    f"{file} is not a bag: its {kind} {name!r} computes its content. Record it "
                    "again, or convert it with  ros2 bag convert."
                )
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        if "messages" not in tables:
            return  # which the reader reports
        for (size,) in database.execute("SELECT length(data) FROM messages"):
            budget.take(size if isinstance(size, int) else 0)
        if by_message:
            for (data,) in database.execute("SELECT data FROM messages"):
                if isinstance(data, bytes):
                    size = unpacked_size(io.BytesIO(data), len(data))
                    MemoryBudget(file).take(size)  # each is unpacked and released again


def _check_ros1(file: Path) -> None:
    """Check the chunks of a ROS 1 bag (ROS wiki, Bags/Format/2.0)."""
    budget = MemoryBudget(file)
    with file.open("rb") as content:
        content.seek(_FIRST_LINE)
        for header, length in _records(content, file.stat().st_size):
            fields = _fields(header)
            after = content.tell() + length
            if fields.get(b"op") == _CHUNK:
                stated = int.from_bytes(fields.get(b"size", b""), "little")
                budget.take(stated)
                unpacked = _more_than(content, length, stated, fields.get(b"compression"))
                if unpacked:
                    raise RecordingError(
                        f"{file} is damaged: a chunk of {length} bytes unpacks to more than the "
                        f"{stated} bytes that it states. Copy it again, or repair it with  "
                        "rosbag fix."
                    )
            content.seek(after)


def _records(content: BinaryIO, size: int) -> Iterator[tuple[bytes, int]]:
    """Header and length of the data of each record; the file is at the data."""
    while len(prefix := content.read(4)) == 4:
        length = struct.unpack("<I", prefix)[0]
        if length > size - content.tell():
            return  # truncated, which the reader reports
        header = content.read(length)
        counted = content.read(4)
        if len(counted) < 4 or struct.unpack("<I", counted)[0] > size - content.tell():
            return
        yield header, struct.unpack("<I", counted)[0]


def _fields(header: bytes) -> dict[bytes, bytes]:
    found, place = {}, 0
    while place + 4 <= len(header):
        length = struct.unpack_from("<I", header, place)[0]
        name, _, value = header[place + 4 : place + 4 + length].partition(b"=")
        found[name] = value
        place += 4 + length
    return found


def _more_than(content: BinaryIO, length: int, stated: int, compression: bytes | None) -> bool:
    """Whether the data of a chunk unpack to more than it states; in steps, none of them kept."""
    unpacker: Any
    if compression == b"bz2":
        unpacker = bz2.BZ2Decompressor()
    elif compression == b"lz4":
        import lz4.frame

        unpacker = lz4.frame.LZ4FrameDecompressor()
    else:
        return False
    data, total = content.read(length), 0
    try:
        while not unpacker.eof and total <= stated:
            part = unpacker.decompress(data, max_length=_STEP)
            if not part and unpacker.needs_input:
                break  # truncated, which the reader reports
            data, total = b"", total + len(part)
    except (OSError, RuntimeError, EOFError):
        return False  # damaged, which the reader reports
    return total > stated
