"""Registry of readable formats: built-in ones and those that a user registers.

A new built-in format is a module of this package and a line at the end of this file.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import RecordingError, did_you_mean, listing
from trueup.signals.readers import (
    delimited,
    hdf5,
    json_entries,
    lerobot,
    matlab,
    mcap,
    npz,
    opensim,
    parquet,
    rosbag2,
    torch_tensors,
)
from trueup.signals.readers.contents import Contents, Table

ReaderFunction = Callable[..., Contents | list[Contents] | Mapping[str, Any]]
"""Takes the path, and its options as keywords; returns columns by name, or Contents."""


@dataclass(frozen=True)
class Reader:
    """A format and the function that reads it."""

    name: str
    suffixes: tuple[str, ...]
    function: ReaderFunction
    holds_folder: Callable[[Path], bool] | None = None
    begins_with: tuple[bytes, ...] = ()
    """First bytes of files of the format."""
    always: bool = True
    """Whether all files begin with one of these; otherwise only some do."""
    is_text: bool = False
    """Whether its files are text."""

    @property
    def options(self) -> list[str]:
        """Names of the keyword options of the function."""
        parameters = list(inspect.signature(self.function).parameters.values())[1:]
        return [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]

    def contents(self, path: Path, options: Mapping[str, Any]) -> list[Contents]:
        """Run the function and return its contents as a list."""
        found = self.function(path, **options)
        if isinstance(found, Contents):
            return [found]
        if isinstance(found, Mapping):
            columns = {str(name): np.asarray(values) for name, values in found.items()}
            return [Contents((Table(columns),))]
        return list(found)


_READERS: dict[str, Reader] = {}
_PICKLES = (".pkl", ".pickle", ".p", ".joblib")
_PROTOCOLS = (b"\x02", b"\x03", b"\x04", b"\x05")


def register_reader(
    name: str,
    suffixes: Iterable[str],
    function: ReaderFunction,
    holds_folder: Callable[[Path], bool] | None = None,
    *,
    begins_with: Iterable[bytes] = (),
    always: bool = True,
    is_text: bool = False,
) -> None:
    """Add a file format, or replace one of the same name.

    The shortest reader returns its columns by name::

        def read_mylog(path):
            raw = np.fromfile(path, dtype=[("t", "<f8"), ("angle", "<f4")])
            return {"t": raw["t"], "angle": raw["angle"]}

        register_reader("mylog", [".mylog"], read_mylog)

    Args:
        name: Name of the format, for ``format=``.
        suffixes: Suffixes of its files, such as ``.mylog``.
        function: Takes the path, and options as keywords. Returns a dictionary of columns, or
            :class:`Contents` where the format defines clocks or metadata, or a list of them
            for several recordings in one file. Any exception it raises becomes a
            RecordingError that names the file.
        holds_folder: For formats that are folders: returns whether a folder is of this format.
        begins_with: First bytes of its files, to detect them under another suffix.
        always: Whether all files of the format begin so; any other file is then an error.
        is_text: Whether its files are text: one that begins like a binary format is an error.
    """
    endings = tuple(s.lower() if s.startswith(".") else f".{s.lower()}" for s in suffixes)
    _READERS[name] = Reader(
        name, endings, function, holds_folder, tuple(begins_with), always, is_text
    )


def reader_names() -> list[str]:
    """Return the names of all formats."""
    return list(_READERS)


def reader_named(name: str) -> Reader:
    """Return the reader of a format.

    Raises:
        RecordingError: The format is unknown; the message lists the formats.
    """
    if name not in _READERS:
        raise RecordingError(
            f"Unknown format {name!r}.{did_you_mean(name, _READERS)} Formats: {_formats()}."
        )
    return _READERS[name]


def reader_of(path: Path) -> Reader:
    """Return the reader of a file by its suffix, or of a folder by its content.

    Raises:
        RecordingError: No reader is registered for it.
    """
    if path.is_dir():
        for reader in _READERS.values():
            if reader.holds_folder is not None and reader.holds_folder(path):
                return reader
        raise RecordingError(
            f"The folder {path} is not a recording: expected a LeRobot data set (meta/info.json) "
            "or a "
            "rosbag2 (metadata.yaml). Give one of its files, or read all with read_all."
        )
    # The last one registered wins, so that a user can replace a built-in reader.
    for reader in reversed(_READERS.values()):
        if path.suffix.lower() in reader.suffixes:
            return reader
    if _is_pickle(path):
        raise RecordingError(
            f"{path} is a pickle, which can run any code when it is opened: it is not read. Open "
            "it where you trust it, and save its arrays with  numpy.savez('log.npz', time=..., "
            "position=...)  or as CSV."
        )
    kind = looks_like(path)
    hint = f" Its content looks like {kind}: give format={kind!r}." if kind in _READERS else ""
    raise RecordingError(
        f"{path} has the suffix {path.suffix!r}, which no reader supports.{hint} Formats: "
        f"{_formats()}. Give format=, or add a reader with register_reader."
    )


def _is_pickle(path: Path) -> bool:
    """Whether a file is a pickle: by its suffix, or by its first two bytes (protocol 2 to 5)."""
    start = first_bytes(path, 2)
    return path.suffix.lower() in _PICKLES or (start[:1] == b"\x80" and start[1:] in _PROTOCOLS)


def check_content(path: Path, reader: Reader) -> None:
    """Check that the first bytes of a file match its declared format.

    Raises:
        RecordingError: The first bytes are of another format, or of none.
    """
    kind = looks_like(path)
    marked = bool(reader.begins_with) and reader.always
    another = (marked or reader.is_text) and kind not in (None, reader.name)
    if another or (marked and kind is None):
        content = f"looks like {kind}" if kind else f"begins with {first_bytes(path, 8)!r}"
        advice = f"give format={kind!r}" if kind else "give its actual format"
        raise RecordingError(
            f"{path} is not a {reader.name} file: its content {content}. Copy it again if it is "
            f"damaged, or {advice}."
        )


def looks_like(path: Path) -> str | None:
    """Return the format detected from the first bytes of a file, or None."""
    start = first_bytes(path)
    for reader in _READERS.values():
        if reader.begins_with and start.startswith(reader.begins_with):
            return reader.name
    return None


def first_bytes(path: Path, count: int = 64) -> bytes:
    """Return the first bytes of a file."""
    with path.open("rb") as file:
        return file.read(count)


def can_read(path: Path) -> bool:
    """Whether a reader is registered for the suffix of a file, or for a folder's content."""
    if path.is_dir():
        return any(r.holds_folder is not None and r.holds_folder(path) for r in _READERS.values())
    return any(path.suffix.lower() in reader.suffixes for reader in _READERS.values())


def check_options(reader: Reader, options: Mapping[str, Any]) -> None:
    """Check that a reader has all given options.

    Raises:
        RecordingError: An option is unknown.
    """
    parameters = inspect.signature(reader.function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    for option in options:
        if option not in reader.options:
            raise RecordingError(
                f"The {reader.name} reader has no option {option!r}."
                f"{did_you_mean(option, reader.options)} Its options: {listing(reader.options)}."
            )


def _formats() -> str:
    return ", ".join(
        f"{reader.name} ({', '.join(reader.suffixes) or 'folder'})" for reader in _READERS.values()
    )


register_reader("csv", [".csv", ".tsv", ".txt", ".dat"], delimited.read_delimited, is_text=True)
register_reader("parquet", [".parquet", ".pq"], parquet.read_parquet, begins_with=[b"PAR1"])
# an archive of numpy is a zip file
register_reader("npz", [".npz"], npz.read_npz, begins_with=[b"PK\x03\x04", b"PK\x05\x06"])
register_reader("mat", [".mat"], matlab.read_mat, begins_with=[b"MATLAB 5.0"], always=False)
register_reader("json", [".json", ".jsonl", ".ndjson"], json_entries.read_json, is_text=True)
register_reader("opensim", opensim.ENDINGS, opensim.read_opensim, is_text=True)
register_reader("hdf5", [".h5", ".hdf5", ".hdf"], hdf5.read_hdf5, begins_with=hdf5.BEGINS_WITH)
register_reader("mcap", [".mcap"], mcap.read_mcap, begins_with=[b"\x89MCAP"])
register_reader(
    "rosbag2",
    [".db3", ".bag"],
    rosbag2.read_rosbag,
    rosbag2.is_rosbag,
    begins_with=[b"SQLite format 3\x00", b"#ROSBAG V2.0"],
)
register_reader(
    "torch", [".pt", ".pth"], torch_tensors.read_torch, begins_with=[b"PK\x03\x04"], always=False
)
register_reader("lerobot", [], lerobot.read_lerobot, lerobot.is_lerobot)
