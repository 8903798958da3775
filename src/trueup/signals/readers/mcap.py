"""MCAP files with ROS 2 or JSON messages."""

import contextlib
import io
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from trueup._memory_budget import MemoryBudget
from trueup.errors import RecordingError, did_you_mean, listing
from trueup.signals.readers._messages import TopicColumns
from trueup.signals.readers._optional import import_optional
from trueup.signals.readers._zstd_size import unpacked_size
from trueup.signals.readers.contents import Contents, Table

# Messages of these types contain no signals and are large.
_BULKY = (
    "Image",
    "CompressedImage",
    "PointCloud2",
    "LaserScan",
    "OccupancyGrid",
    "CompressedVideo",
)

_MAGIC_BYTES = 8
_CHUNK = 0x06
_CHUNK_HEAD = struct.Struct("<QQQII")  # start, end, size, checksum, letters of the compression


def read_mcap(path: Path, *, topics: list[str] | None = None, clock: str = "header") -> Contents:
    """Read the numbers of all topics, one stream per topic, columns named ``topic/field``.

    A sensor_msgs/JointState gives ``topic/joint/position``, ``velocity`` and ``effort``.

    Args:
        path: The file.
        topics: Topics to read; None reads all.
        clock: ``header`` for the stamps in the messages where they have them, ``log`` for the
            times at which they were recorded.

    Raises:
        RecordingError: The file is damaged or truncated, a topic does not exist, or no topic
            contains numbers.
    """
    reader_module = import_optional("mcap.reader", "Reading MCAP", "mcap")
    errors = import_optional("mcap.exceptions", "Reading MCAP", "mcap")
    factory = import_optional(
        "mcap_ros2.decoder", "Reading ROS 2 messages in MCAP", "mcap-ros2-support"
    ).DecoderFactory()
    check_clock(clock)
    wanted = None if topics is None else {topic.strip("/") for topic in topics}
    held: dict[str, TopicColumns] = {}
    left_out: dict[str, str] = {}
    seen: dict[str, None] = {}
    decoders: dict[int, Callable[[bytes], Any] | None] = {}
    count = 0
    check_chunks(path)
    budget = MemoryBudget(path)
    try:
        with path.open("rb") as file:
            for schema, channel, message in reader_module.make_reader(file).iter_messages():
                count += 1
                topic = channel.topic.lstrip("/")
                seen[topic] = None
                if wanted is not None and topic not in wanted:
                    continue
                if channel.id not in decoders:
                    decoders[channel.id] = _decoder(schema, channel, factory, left_out)
                decode = decoders[channel.id]
                if decode is not None:
                    columns = held.setdefault(topic, TopicColumns(topic, budget))
                    columns.add(message.log_time / 1e9, decode(message.data))
    except (errors.EndOfFile, errors.RecordLengthLimitExceeded) as error:
        raise RecordingError(
            f"{path} is damaged or truncated after {count} messages. Copy it again, or repair it "
            f"with  mcap recover {path.name} -o repaired.mcap."
        ) from error
    check_topics(path, wanted, seen)
    return topic_contents(path, held, clock, left_out)


def check_chunks(path: Path) -> None:
    """Check the unpacked size of the chunks of an MCAP file, without unpacking them.

    A file is a sequence of records, each with an opcode and a length; a chunk states the size of
    its records, and so does the header of its compressed data (MCAP format specification, "Chunk").

    Raises:
        InputFileError: The size is implausible.
    """
    budget = MemoryBudget(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(_MAGIC_BYTES)
        while len(head := file.read(9)) == 9:
            opcode, length = struct.unpack("<BQ", head)
            start = file.tell()
            if length > size - start:
                return  # truncated, which the reader reports
            if opcode == _CHUNK:
                budget.take(_chunk_size(file, start + length))
            file.seek(start + length, os.SEEK_SET)


def _chunk_size(file: BinaryIO, end: int) -> int:
    """Unpacked size of a chunk, the larger of those that it and its compressed data state."""
    fields = file.read(_CHUNK_HEAD.size)
    if len(fields) < _CHUNK_HEAD.size:
        return 0
    _, _, stated, _, letters = _CHUNK_HEAD.unpack(fields)
    compression = file.read(min(letters, 16))
    length = min(struct.unpack("<Q", file.read(8).ljust(8, b"\0"))[0], end - file.tell())
    return max(stated, unpacked_size(file, length) if compression == b"zstd" else 0)


def check_clock(clock: str) -> None:
    """Check the choice of a clock.

    Raises:
        RecordingError: Neither ``header`` nor ``log``.
    """
    if clock not in ("header", "log"):
        raise RecordingError(f"Unknown clock {clock!r}: give 'header' or 'log'.")


def check_topics(path: Path, wanted: set[str] | None, seen: dict[str, None]) -> None:
    """Check that a file contains all requested topics.

    Raises:
        RecordingError: A requested topic does not exist.
    """
    for topic in wanted or ():
        if topic not in seen:
            raise RecordingError(
                f"{path} has no messages of topic {topic!r}.{did_you_mean(topic, seen)} Topics: "
                f"{listing(seen)}."
            )


def topic_contents(
    path: Path, held: dict[str, TopicColumns], clock: str, left_out: dict[str, str]
) -> Contents:
    """Return the columns of all topics.

    Raises:
        RecordingError: No topic contains numbers.
    """
    tables: list[Table] = []
    clocks: dict[str, str] = {}
    for topic, columns in held.items():
        found, kind = columns.tables(clock)
        if found:
            clocks[topic] = kind
            tables += found
        else:
            left_out[topic] = "its messages contain no numbers"
    if not tables:
        reasons = "; ".join(f"{topic}: {reason}" for topic, reason in left_out.items())
        raise RecordingError(
            f"{path} contains no topic with numbers{f' ({reasons})' if reasons else ''}."
        )
    metadata: dict[str, object] = {"clock": clocks}
    if left_out:
        metadata["left_out"] = left_out
    return Contents(tuple(tables), metadata)


def is_bulky(message_type: str) -> bool:
    """Whether messages of a type are large and without signals, such as images."""
    return message_type.replace(".", "/").rsplit("/", 1)[-1] in _BULKY


def _decoder(
    schema: Any, channel: Any, factory: Any, left_out: dict[str, str]
) -> Callable[[bytes], Any] | None:
    topic = channel.topic.lstrip("/")
    if schema is not None and is_bulky(schema.name):
        left_out[topic] = f"its messages are {schema.name}"
        return None
    if channel.message_encoding == "json":
        return json.loads
    # The package prints the definitions that it cannot parse, and then raises.
    with contextlib.redirect_stdout(io.StringIO()):
        decode = factory.decoder_for(channel.message_encoding, schema)
    if decode is None:
        kind = f"{channel.message_encoding or 'unknown'} / {schema.encoding if schema else 'none'}"
        left_out[topic] = f"its encoding {kind} is not supported: JSON and ROS 2 (cdr) are"
    return decode
