"""Input files of a run: hashes, comparison, and search for moved files.

Two files are the same if their bytes are equal, or if texts differ only in line ends and in empty
lines at the end: editors and version control change those, without an effect on readers.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueup.errors import RunDirectoryError

_CHUNK = 2**20  # [bytes]
_LARGEST_GUESSED = 64 * _CHUNK  # maximum size of a text with guessed original line ends
_DEEPEST = 2  # depth of the search in folders
_MOST_ENTRIES = 20_000  # maximum number of files and folders of a search


@dataclass(frozen=True)
class FileHash:
    """Hashes of a file, or of a folder as its sorted file names and file hashes."""

    sha256: str
    """SHA-256 of the bytes."""
    size: int
    """Size [bytes]."""
    content: str | None = None
    """SHA-256 of a text with Unix line ends and without empty lines at its end; None for other
    files."""


def hash_of(path: Path) -> FileHash:
    """Hashes of a file or folder.

    Raises:
        RunDirectoryError: it does not exist or cannot be read.
    """
    try:
        if not path.is_dir():
            return _hash_of_file(path)
        total, size = hashlib.sha256(), 0
        for member in sorted(p for p in path.rglob("*") if p.is_file()):
            found = _hash_of_file(member)
            total.update(f"{member.relative_to(path).as_posix()}\0{found.sha256}\n".encode())
            size += found.size
        return FileHash(total.hexdigest(), size)
    except OSError as error:
        raise RunDirectoryError(
            f"cannot read the input {path}: {error.strerror or error}. "
            "Each input is hashed for the provenance of the result"
        ) from error


def _hash_of_file(path: Path) -> FileHash:
    raw, content, size = hashlib.sha256(), hashlib.sha256(), 0
    is_text, held, cut = True, b"", b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            raw.update(chunk)
            size += len(chunk)
            is_text = is_text and b"\0" not in chunk
            if not is_text:
                continue
            chunk = cut + chunk
            cut = b"\r" if chunk.endswith(b"\r") else b""  # "\n" may follow in the next chunk
            lines = held + _unix(chunk[: len(chunk) - len(cut)])
            kept = lines.rstrip(b"\n")
            content.update(kept)
            held = lines[len(kept) :]
    return FileHash(raw.hexdigest(), size, content.hexdigest() if is_text else None)


def _unix(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def is_same(path: Path, entry: Mapping[str, Any]) -> bool:
    """Whether a file has the content of an entry of a provenance.

    Args:
        path: the file.
        entry: with ``sha256`` and, for a text, ``content``, which older versions did not record.

    Raises:
        RunDirectoryError: the file cannot be read.
    """
    found = hash_of(path)
    return same_hash(vars(found), entry) or (
        "content" not in entry and found.content is not None and _was_same(path, entry["sha256"])
    )


def same_hash(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two entries of provenances have equal content, ignoring line ends."""
    content = one.get("content")
    return one["sha256"] == other["sha256"] or (
        content is not None and content == other.get("content")
    )


def _was_same(path: Path, sha256: str) -> bool:
    """Whether a text has this hash with other line ends."""
    if path.is_dir() or path.stat().st_size > _LARGEST_GUESSED:
        return False
    lines = _unix(path.read_bytes()).rstrip(b"\n")
    for ending in (b"\n", b"\r\n"):
        text = lines.replace(b"\n", ending)
        if any(hashlib.sha256(text + n * ending).hexdigest() == sha256 for n in (0, 1, 2)):
            return True
    return False


def moved_file(entry: Mapping[str, Any], places: Iterable[Path]) -> Path | None:
    """Find the file with the content of an entry of a provenance, in or below some folders.

    Files of its size or its name are compared by their hashes. The search is limited to two levels
    of folders that are not hidden, and to 20 000 entries.

    Args:
        entry: with ``name``, ``sha256``, ``size`` and, for a text, ``content``.
        places: folders, most likely first.
    """
    name, seen = Path(entry["name"]).name, set()
    for path, size in _files_in(places):
        if path in seen or not (size == entry.get("size") or path.name == name):
            continue
        seen.add(path)
        try:
            if is_same(path, entry):
                return path
        except RunDirectoryError:
            continue  # skip unreadable files
    return None


def _files_in(places: Iterable[Path]) -> Iterator[tuple[Path, int]]:
    """Files below folders with their sizes [bytes]; those of a folder before those below it."""
    left = _MOST_ENTRIES
    known: set[Path] = set()
    for place in places:
        level = [place]
        for _ in range(_DEEPEST + 1):
            below: list[Path] = []
            for folder in level:
                if folder in known or folder.parent == folder:
                    continue
                known.add(folder)
                for entry in _entries(folder):
                    if (left := left - 1) < 0:
                        return
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        below.append(Path(entry.path))
                    elif entry.is_file():
                        yield Path(entry.path), entry.stat().st_size
            level = below


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []  # missing or unreadable
