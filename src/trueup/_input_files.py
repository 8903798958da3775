"""Limits on what is read: regular files of plausible size, YAML whose aliases stay small."""

import contextlib
import os
import stat
import zipfile
from pathlib import Path
from typing import Any

import yaml

from trueup.errors import InputFileError

LARGEST_TEXT = 64 * 2**20
"""Size from which a file of settings or of a vector is implausible [bytes]."""
_MOST_NODES = 200_000  # of a YAML document, aliases counted each time
_DEEPEST = 2000  # levels of YAML that fit onto the stack of any thread, several times
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def check_regular(path: Path, largest: int | None = None) -> None:
    """Refuse what cannot be read like a file, before it is opened; a folder is left to the caller.

    Reading a pipe or a device may never end.

    Args:
      path: the file; one that does not exist is left to the caller too.
      largest: size from which it is refused [bytes].

    Raises:
      InputFileError: it is a pipe, a device or a socket, or larger than that.
    """
    try:
        status = path.stat()
    except OSError:
        return
    kind = _KINDS.get(stat.S_IFMT(status.st_mode))
    if kind is not None:
        raise InputFileError(f"{path} is {kind}, no regular file: give the path of a file")
    if largest is not None and stat.S_ISREG(status.st_mode) and status.st_size > largest:
        raise InputFileError(
            f"{path} holds {status.st_size / 2**20:.0f} MB, and this kind of file at most "
            f"{largest / 2**20:.0f} MB: is it the right file?"
        )


def check_archive(path: Path) -> None:
    """Refuse a zip archive, such as ``.npz``, that unpacks to implausibly much.

    Raises:
      InputFileError: it would unpack to more than half of the memory, or is packed as no recording
        can be.
      zipfile.BadZipFile: it is no such archive.
    """
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    packed = max(path.stat().st_size, 1)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if unpacked > memory / 2 or (unpacked > 2**28 and unpacked > 200 * packed):
        raise InputFileError(
            f"{path} holds {packed / 2**20:.1f} MB and would unpack to {unpacked / 2**30:.1f} GB, "
            "which is implausible for a recording: it is not read"
        )


def read_settings(path: Path) -> str:
    """Text of a file of settings.

    Raises:
      InputFileError: it is no regular file, or implausibly large.
      OSError: it cannot be read.
      UnicodeDecodeError: it is no text.
    """
    check_regular(path, LARGEST_TEXT)
    return path.read_text(encoding="utf-8")


def safe_yaml(text: str) -> Any:
    """Plain data of a YAML document.

    Raises:
      yaml.YAMLError: it is no YAML, or its aliases stand for far more than the file says.
    """
    if _is_quick(text):
        with contextlib.suppress(yaml.YAMLError):
            return plain_data(yaml.compose(text, Loader=yaml.CSafeLoader))
    return plain_data(yaml.compose(text, Loader=yaml.SafeLoader))


def _is_quick(text: str) -> bool:
    """Whether the parser in C, which takes an eighth of the time, does what that in Python does.

    It says less of what is wrong, so that what it refuses is parsed again. It takes tabs, question
    marks and marks of the byte order where that in Python does not, and ends the process where a
    document is nested too deep.
    """
    # what opens a level is a bracket, or stands further right in its line than the level above
    levels = text.count("[") + text.count("{") + max(map(len, text.split("\n")))
    alike = not any(each in text for each in "\t?\ufeff")
    return alike and levels <= _DEEPEST and hasattr(yaml, "CSafeLoader")


def plain_data(node: Any) -> Any:
    """Plain data of a composed YAML document.

    Raises:
      yaml.YAMLError: its aliases stand for far more than the file says.
    """
    if node is None:
        return None
    check_aliases(node)
    return yaml.constructor.SafeConstructor().construct_document(node)


def check_aliases(node: Any) -> None:
    """Refuse a composed YAML document that would grow without bound where it is walked through.

    Raises:
      yaml.YAMLError: an alias contains itself, or the aliases stand for too many values.
    """
    if _nodes(node, {}, set()) > _MOST_NODES:
        raise yaml.YAMLError(
            f"its aliases stand for more than {_MOST_NODES} values: write out what is meant"
        )


def _nodes(node: Any, known: dict[int, int], above: set[int]) -> int:
    """Number of values below a node, shared ones counted wherever they are used."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) in above:
        raise yaml.YAMLError("an alias contains itself: write out what is meant")
    if id(node) not in known:
        above.add(id(node))
        mapping = isinstance(node, yaml.MappingNode)
        inner = [child for pair in node.value for child in pair] if mapping else node.value
        known[id(node)] = 1 + sum(_nodes(child, known, above) for child in inner)
        above.remove(id(node))
    return known[id(node)]
