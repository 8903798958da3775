"""Limits on input files: regular files of plausible size, YAML with bounded aliases."""

import contextlib
import io
import os
import stat
import zipfile
import zlib
from pathlib import Path
from typing import Any

import yaml

from trueup._memory_budget import MemoryBudget
from trueup.errors import InputFileError

DAMAGED_ARCHIVE = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    RuntimeError,  # a damaged flag means encryption, or a compression that Python lacks
    zipfile.BadZipFile,
    zlib.error,
)
"""Exceptions of numpy for a damaged ``.npz``. As numpy does not close a file after such an error,
files are read from their bytes."""
LARGEST_TEXT = 64 * 2**20
"""Maximum plausible size of a file of settings or of a vector [bytes]."""
_MOST_NODES = 200_000  # maximum nodes of a YAML document, with aliases expanded
_DEEPEST = 2000  # maximum nesting of YAML for the C parser, well within the stack of any thread
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def check_regular(path: Path, largest: int | None = None) -> None:
    """Check that a path is a regular file, before it is opened; folders are not checked.

    Reading a pipe or a device may not terminate.

    Args:
      path: the file; a missing one is not an error here.
      largest: maximum size [bytes].

    Raises:
      InputFileError: it is a pipe, a device or a socket, or too large.
    """
    try:
        status = path.stat()
    except OSError:
        return
    kind = _KINDS.get(stat.S_IFMT(status.st_mode))
    if kind is not None:
        raise InputFileError(f"{path} is {kind}, not a regular file: give the path of a file")
    if largest is not None and stat.S_ISREG(status.st_mode) and status.st_size > largest:
        raise InputFileError(
            f"{path} has {status.st_size / 2**20:.0f} MB, expected at most "
            f"{largest / 2**20:.0f} MB: check that it is the right file"
        )


def check_archive(path: Path) -> None:
    """Check that the unpacked size of a zip archive, such as ``.npz``, is plausible.

    Raises:
      InputFileError: its unpacked size exceeds half of the memory, or its compression ratio is
        implausible.
      zipfile.BadZipFile: it is not a zip archive.
    """
    budget = MemoryBudget(path)
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            budget.take(member.file_size)


def archive_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Content of a member of a zip archive, at most as long as the archive states.

    Raises:
      KeyError: no such member.
      Exception: one of :data:`DAMAGED_ARCHIVE`; it cannot be read.
    """
    with archive.open(name) as member:
        # a size stated too small does not make it unpack everything at once
        return member.read(archive.getinfo(name).file_size)


def check_folder(folder: Path) -> list[Path]:
    """Check the parts of a data set that is a folder, before any is opened; return its files.

    Raises:
      InputFileError: a part is a pipe, a device or a socket, or a symbolic link to a file outside
        of the folder.
    """
    inside = _places_of(folder)
    files: list[Path] = []
    for parent, folders, names in os.walk(folder):
        for name in sorted([*folders, *names]):
            path = Path(parent, name)
            if path.is_symlink() and path.exists():
                target = path.resolve()
                if not any(target.is_relative_to(place) for place in inside):
                    raise InputFileError(
                        f"{path} is a symbolic link to {target}, outside of the data set: "
                        "copy the file into it"
                    )
            check_regular(path)
            if path.is_file():
                files.append(path)
    return sorted(files)


def _places_of(folder: Path) -> list[Path]:
    """The folder, and where the cache of Hugging Face keeps the files of one of its snapshots."""
    whole = folder.resolve()
    shared = [
        above.parent / "blobs"
        for above in whole.parents
        if above.name == "snapshots" and (above.parent / "blobs").is_dir()
    ]
    return [whole, *shared]


def read_arrays(path: Path) -> dict[str, Any]:
    """Arrays of an ``.npz`` archive by name, without pickled objects.

    Raises:
      InputFileError: it is not a regular file, or its unpacked size is implausible.
      Exception: one of :data:`DAMAGED_ARCHIVE`; it cannot be read.
    """
    import numpy as np

    check_regular(path)
    # from memory: numpy does not close a file that it rejects
    content = io.BytesIO(path.read_bytes())
    if not zipfile.is_zipfile(content):
        single = content.getvalue().startswith(np.lib.format.MAGIC_PREFIX)
        raise ValueError(f"it {'is a single array' if single else 'is not an archive of numpy'}")
    check_archive(path)
    content.seek(0)
    try:
        with np.load(content, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except MemoryError as error:
        raise ValueError(f"an array states a size that no memory holds ({error})") from error


def read_settings(path: Path) -> str:
    """Text of a file of settings.

    Raises:
      InputFileError: it is not a regular file, or implausibly large.
      OSError: it cannot be read.
      UnicodeDecodeError: it is not text.
    """
    check_regular(path, LARGEST_TEXT)
    return path.read_text(encoding="utf-8")


def safe_yaml(text: str) -> Any:
    """Plain data of a YAML document.

    Raises:
      yaml.YAMLError: it is not YAML, or its aliases expand to too many values.
    """
    if _is_quick(text):
        with contextlib.suppress(yaml.YAMLError):
            return plain_data(yaml.compose(text, Loader=yaml.CSafeLoader))
    return plain_data(yaml.compose(text, Loader=yaml.SafeLoader))


def _is_quick(text: str) -> bool:
    """Whether the C parser, eight times as fast, gives the same result as the Python parser.

    Its errors are less precise, so that documents with an error are parsed again. It accepts some
    tabs, question marks and byte order marks that the Python parser rejects, and it crashes the
    process if a document is nested too deep.
    """
    # a level is opened by a bracket, or by a deeper indentation
    levels = text.count("[") + text.count("{") + max(map(len, text.split("\n")))
    alike = not any(each in text for each in "\t?\ufeff")
    return alike and levels <= _DEEPEST and hasattr(yaml, "CSafeLoader")


def plain_data(node: Any) -> Any:
    """Plain data of a composed YAML document.

    Raises:
      yaml.YAMLError: its aliases expand to too many values.
    """
    if node is None:
        return None
    check_aliases(node)
    return yaml.constructor.SafeConstructor().construct_document(node)


def check_aliases(node: Any) -> None:
    """Check that the aliases of a composed YAML document are bounded.

    Raises:
      yaml.YAMLError: an alias contains itself, or the aliases expand to too many values.
    """
    if _nodes(node, {}, set()) > _MOST_NODES:
        raise yaml.YAMLError(
            f"its aliases expand to more than {_MOST_NODES} values: write the values without "
            "aliases"
        )


def _nodes(node: Any, known: dict[int, int], above: set[int]) -> int:
    """Number of values below a node, with shared ones counted at each use."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) in above:
        raise yaml.YAMLError("an alias contains itself: write the values without aliases")
    if id(node) not in known:
        above.add(id(node))
        mapping = isinstance(node, yaml.MappingNode)
        inner = [child for pair in node.value for child in pair] if mapping else node.value
        known[id(node)] = 1 + sum(_nodes(child, known, above) for child in inner)
        above.remove(id(node))
    return known[id(node)]
