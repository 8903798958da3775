"""Provenance of a result: versions, machine, seed, settings and the hash of every input file.

It may be published with the result: it contains no host name, no user name, no password and no path
in a home folder.
"""

import datetime
import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from trueup._mujoco_files import installed_version, mujoco_version
from trueup._secrets import MASK, is_secret, mask_arguments, masked
from trueup._version import __version__
from trueup.errors import RunDirectoryError
from trueup.runs.store.atomic import read_json, to_plain
from trueup.runs.store.input_files import FileHash, hash_of
from trueup.runs.store.run_directory import check_format_version

#: Version of the layout of the collected block.
FORMAT_VERSION = 2

_PACKAGES = ("numpy", "scipy", "mujoco", "numba")
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
_HOME = re.compile(r"(/home|/Users|/var/home)/[^/\s:;,'\"]+|(?<![\w/])/root(?![\w-])")


def collect(
    seed: int | None,
    inputs: Iterable[str | os.PathLike[str] | Mapping[str, Any]],
    settings: dict[str, Any],
    *,
    relative_to: str | os.PathLike[str] | None = None,
    arguments: Sequence[str] | None = None,
    packages: Sequence[str] = _PACKAGES,
) -> dict[str, Any]:
    """Return the provenance of a run that starts now, as plain data.

    Args:
        seed: seed of the run's random numbers.
        inputs: files (or folders, such as a data set) that the run reads; already hashed ones as
            entries of :func:`hashed`.
        settings: resolved settings of the run.
        relative_to: folder of the experiment file. An input below it is named relative to it,
            any other by its file name only.
        arguments: command line; that of this process unless given. Values of options that name a
            password, token or key are masked, and so are the logins in addresses.
        packages: distributions whose installed versions are recorded, without importing them.

    Returns:
        dict with ``format_version``, ``started`` (UTC), ``seed``, ``versions``, ``platform``,
        ``arguments``, ``inputs`` (``name``, ``sha256``, ``size`` [bytes] and, of a text, the hash
        ``content`` that line ends do not change) and ``settings``.

    Raises:
        RunDirectoryError: an input does not exist or cannot be read.
    """
    folder = None if relative_to is None else Path(relative_to).resolve()
    arguments = sys.argv if arguments is None else arguments
    return {
        "format_version": FORMAT_VERSION,
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seed": None if seed is None else int(seed),
        "versions": _versions(packages),
        "platform": _platform(),
        "arguments": _arguments(arguments, folder),
        "inputs": [
            {key: value for key, value in entry.items() if key != "path"}
            for entry in hashed(inputs, folder)
        ],
        "settings": to_plain(_published(masked(settings), folder)),
    }


def hashed(
    inputs: Iterable[str | os.PathLike[str] | Mapping[str, Any]],
    relative_to: str | os.PathLike[str] | None = None,
) -> list[dict[str, Any]]:
    """Hash the inputs of a run.

    Args:
        inputs: files or folders; an already hashed one as an entry of this function.
        relative_to: folder that inputs below it are named relative to.

    Returns:
        ``name``, ``sha256``, ``size`` [bytes], of a text ``content``, and ``path`` of each;
        the path is not published.

    Raises:
        RunDirectoryError: an input does not exist or cannot be read.
    """
    folder = None if relative_to is None else Path(relative_to).resolve()
    return [
        dict(entry) if isinstance(entry, Mapping) else _input(Path(entry), folder)
        for entry in inputs
    ]


def known_input(
    path: str | os.PathLike[str],
    sha256: str,
    relative_to: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Entry of :func:`hashed` for a file that was read, with the hash of the content read.

    Args:
        path: file.
        sha256: its SHA-256, in hexadecimal digits.
        relative_to: folder that a file below it is named relative to.

    Raises:
        RunDirectoryError: the file does not exist.
    """
    folder = None if relative_to is None else Path(relative_to).resolve()
    found = hash_of(Path(path))
    if found.sha256 != sha256:  # changed since it was read; the content read counts
        found = FileHash(sha256, found.size)
    return _entry(Path(path), folder, found)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Content of a ``provenance.json`` of :func:`collect`; empty if the file is missing.

    Raises:
        RunDirectoryError: the file is damaged or of a newer version.
    """
    if not Path(path).is_file():
        return {}
    content = read_json(path)
    inputs = content.get("inputs") if isinstance(content, dict) else None
    if not isinstance(inputs, list) or not all(
        isinstance(entry, dict) and isinstance(entry.get(key), str)
        for entry in inputs
        for key in ("name", "sha256")
    ):
        raise RunDirectoryError(
            f"{path} is damaged: it lists no inputs with their hashes. Restore it from a copy "
            "of the run, or remove it: the run is then resumed without a check of its inputs"
        )
    check_format_version(Path(path), content.get("format_version", 1), FORMAT_VERSION)
    return content


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file; of a folder, that of its sorted file names and file hashes.

    Raises:
        RunDirectoryError: the path does not exist or cannot be read.
    """
    return hash_of(Path(path)).sha256


def _versions(packages: Sequence[str]) -> dict[str, str | None]:
    versions: dict[str, str | None] = {
        "trueup": __version__,
        "python": platform.python_version(),
    }
    for package in packages:
        found = mujoco_version() if package == "mujoco" else installed_version(package)
        versions[package] = found
    return versions


def _platform() -> dict[str, Any]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu_count": os.cpu_count(),
        "cpu_count_usable": usable,
        # The number of threads can change the order of a sum, and with it the last digits.
        "thread_limits": {
            name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ
        },
    }


def _input(path: Path, folder: Path | None) -> dict[str, Any]:
    return _entry(path, folder, hash_of(path))


def _entry(path: Path, folder: Path | None, found: FileHash) -> dict[str, Any]:
    entry = {"name": _portable(path, folder), "sha256": found.sha256, "size": found.size}
    if found.content is not None:
        entry["content"] = found.content
    return {**entry, "path": path.absolute()}


def _portable(path: PurePath, folder: Path | None) -> str:
    """Name of a path without its location on this machine."""
    resolved = Path(path).resolve()
    if folder is not None and resolved.is_relative_to(folder):
        return resolved.relative_to(folder).as_posix()
    return resolved.name or "/"


def _published(value: Any, folder: Path | None) -> Any:
    """Plain data without paths of this machine; secrets in its strings are already masked."""
    if isinstance(value, dict):
        return {
            key: MASK if is_secret(key) and v is not None else _published(v, folder)
            for key, v in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_published(v, folder) for v in value]
    if isinstance(value, PurePath):
        return _portable(value, folder) if value.is_absolute() else _text(str(value), folder)
    if isinstance(value, str):
        return _text(value, folder)
    return value


def _arguments(arguments: Sequence[str], folder: Path | None) -> list[str]:
    shown = []
    for position, argument in enumerate(mask_arguments(arguments)):
        name, separator, value = argument.partition("=")
        if position == 0:
            shown.append(PurePath(argument).name)
        elif separator and argument.startswith("-"):
            shown.append(f"{name}={_text(value, folder)}")
        else:
            shown.append(_text(argument, folder))
    return shown


def _text(text: str, folder: Path | None) -> str:
    # A ROS topic starts with a slash too: only names in an existing folder are paths.
    if text.startswith("/") and "\n" not in text and len(text) < 4096:
        path = Path(text)
        if path.parent != Path("/") and path.parent.is_dir():
            return _portable(path, folder)
    return _HOME.sub("~", text.replace(str(Path.home()), "~") if str(Path.home()) != "/" else text)
