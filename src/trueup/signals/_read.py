"""Reads recordings from files and folders of any known format."""

import hashlib
from pathlib import Path
from typing import Any

from trueup._input_files import check_regular
from trueup.errors import RecordingError, TrueupError, UnitError, reason
from trueup.signals.readers._clock import build_streams
from trueup.signals.readers.contents import Contents
from trueup.signals.readers.registry import (
    Reader,
    can_read,
    check_content,
    check_options,
    first_bytes,
    reader_named,
    reader_of,
)
from trueup.signals.recording import Recording

_GIT_LFS = b"version https://git-lfs"  # what Git LFS leaves in place of a file


def read(
    path: str | Path,
    *,
    time: str | int | None = None,
    rate: float | None = None,
    format: str | None = None,
    time_unit: str | None = None,
    name: str | None = None,
    **options: Any,
) -> Recording:
    """Read one recording.

    Clocks are kept as recorded: they need not start at zero, and times that do not increase are
    left for the quality checks to report.

    Args:
        path: The file, or the folder of a format that is one.
        time: Column with the time; a number is the place of a column in a file without a header.
            Without it the format's own clock is used, or a usual name such as ``t``, ``time`` or
            ``timestamp``.
        rate: Samples a second, where there is no time column.
        format: Format, where the suffix does not say it: ``csv``, ``parquet``, ``npz``, ``mat``,
            ``json``, ``opensim``, ``hdf5``, ``mcap``, ``rosbag2``, ``lerobot``, or one that was
            registered.
        time_unit: Unit of the time column; without it what its name (``time_ms``) or the format
            says, else seconds.
        name: Name of the recording; the file's stem where absent.
        options: Options of the format's reader, such as ``header`` and ``delimiter`` of csv,
            ``topics`` of mcap, ``episode`` of lerobot. None is the same as absent.

    Raises:
        RecordingError: The file is missing, empty, cut short or of another format, or it holds
            several recordings.
        ColumnError: The time column does not exist or cannot be guessed.
        UnitError: The time unit is unknown.
        MissingExtraError: The package that reads this format is not installed.
    """
    path = Path(path)
    reader = _reader(path, format)
    recordings = _recordings(path, reader, time, rate, time_unit, name, options)
    if len(recordings) > 1:
        choice = "episode=" if "episode" in reader.options else "read_all"
        raise RecordingError(
            f"{path} holds {len(recordings)} recordings, {recordings[0].name!r} to "
            f"{recordings[-1].name!r}: choose one with {choice}, or read all with read_all."
        )
    return recordings[0]


def read_all(
    path: str | Path,
    *,
    pattern: str = "*",
    time: str | int | None = None,
    rate: float | None = None,
    format: str | None = None,
    time_unit: str | None = None,
    **options: Any,
) -> list[Recording]:
    """Read every recording of a file or folder.

    A LeRobot data set gives one a episode. Any other folder gives those of its files that a reader
    knows and that match ``pattern`` (such as ``*.csv``), in the order of their names; folders in
    it are read where they are recordings themselves.

    Args and errors are those of :func:`read`. One file that cannot be read is an error.
    """
    path = Path(path)
    if path.is_dir() and format is None and not can_read(path):
        items = [item for item in sorted(path.glob(pattern)) if can_read(item)]
        if not items:
            raise RecordingError(
                f"The folder {path} holds no file matching {pattern!r} that a reader knows: give "
                "a folder with recordings, or another pattern."
            )
    else:
        items = [path]
    return [
        recording
        for item in items
        for recording in _recordings(
            item, _reader(item, format), time, rate, time_unit, None, options
        )
    ]


def _reader(path: Path, format: str | None) -> Reader:
    """Return the reader of a path after looking at how the file begins."""
    if not path.exists():
        raise RecordingError(f"There is no file {path}. Give the path of a recording.")
    check_regular(path)
    if path.is_dir():
        if not any(path.iterdir()):
            raise RecordingError(f"The folder {path} is empty: give one with a recording in it.")
        return reader_of(path) if format is None else reader_named(format)
    try:
        if path.stat().st_size == 0:
            raise RecordingError(f"{path} is empty (0 bytes): record or copy it again.")
        if first_bytes(path).startswith(_GIT_LFS):
            raise RecordingError(
                f"{path} is a Git LFS pointer, not the data: run  git lfs pull  in its repository."
            )
    except OSError as error:
        raise RecordingError(f"{path} cannot be opened: {reason(error)}.") from error
    reader = reader_of(path) if format is None else reader_named(format)
    check_content(path, reader)
    return reader


def _recordings(
    path: Path,
    reader: Reader,
    time: str | int | None,
    rate: float | None,
    time_unit: str | None,
    name: str | None,
    options: dict[str, Any],
) -> list[Recording]:
    given = {key: value for key, value in options.items() if value is not None}
    check_options(reader, given)
    try:
        found = reader.contents(path, given)
    except TrueupError:
        raise
    except Exception as error:
        # Whatever a format's library throws at a damaged file, the user gets one kind of error.
        cause = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise RecordingError(
            f"{path} cannot be read as {reader.name} ({cause}). It may be cut short or damaged: "
            "record or copy it again, or give the format it really has."
        ) from error
    if not found:
        raise RecordingError(f"{path} holds no recording.")
    hashes: dict[Path, str] = {}
    clock = None if time is None else str(time)
    return [_recording(path, c, clock, rate, time_unit, name, hashes) for c in found]


def _recording(
    path: Path,
    contents: Contents,
    time: str | None,
    rate: float | None,
    time_unit: str | None,
    name: str | None,
    hashes: dict[Path, str],
) -> Recording:
    stem = path.name if path.is_dir() else path.stem
    label = name or "/".join(part for part in (stem, contents.name) if part)
    try:
        streams, metadata = build_streams(contents, time, rate, time_unit)
    except UnitError as error:
        raise UnitError(f"{path}: {error}") from error
    except RecordingError as error:
        raise type(error)(f"{path}: {error}") from error
    files = contents.files or (path,)
    for file in files:
        if file not in hashes:
            hashes[file] = _sha256(file)
    if contents.files:
        metadata["files"] = {str(f.relative_to(path)): hashes[f] for f in files}
        listed = "".join(f"{hashes[f]}  {f.relative_to(path)}\n" for f in files)
        digest = hashlib.sha256(listed.encode()).hexdigest()
    else:
        digest = hashes[path]
    return Recording(label, streams, str(path), digest, metadata)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
