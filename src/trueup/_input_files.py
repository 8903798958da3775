"""Limits on input files: regular files of plausible size, YAML with bounded aliases."""

import contextlib
import os
import stat
import zipfile
import zlib
from pathlib import Path
from typing import Any

import yaml

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
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    packed = max(path.stat().st_size, 1)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if unpacked > memory / 2 or (unpacked > 2**28 and unpacked > 200 * packed):
        raise InputFileError(
            f"{path} has {packed / 2**20:.1f} MB and would unpack to {unpacked / 2**30:.1f} GB, "
            "which is implausible for a recording"
        )


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
