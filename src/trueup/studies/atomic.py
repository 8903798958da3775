"""Write files so that a reader finds the old content or the new one, and nothing between.

The content goes to a temporary file in the same folder, reaches the disk, and takes the name of the
file in one step. A process that is killed, or a disk that fills up, leaves the former file whole.

JSON has no words for infinity and not-a-number. Here they are written as the strings
``"Infinity"``, ``"-Infinity"`` and ``"NaN"``, which ``float(...)`` of Python turns back into the
numbers; other readers see a string where a number was not finite, never an invalid file.

Passwords, tokens and keys are masked in texts and in JSON.
"""

import contextlib
import dataclasses
import datetime
import enum
import json
import math
import os
import secrets
import stat
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from trueup._input_files import check_regular
from trueup._secrets import mask, masked
from trueup.errors import RunDirectoryError

_TEMPORARY_SUFFIX = ".trueup-partial"


def write_bytes(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write ``content`` to ``path`` in one step and return the path.

    A file that exists keeps its permissions; a new one gets those of the process (its umask). A
    symbolic link is replaced by a file.

    Raises:
        RunDirectoryError: the folder does not exist, cannot be written, or the disk is full. The
            former file is whole then, and no temporary file is left.
    """
    path = Path(path)
    temporary = path.with_name(
        f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}{_TEMPORARY_SUFFIX}"
    )
    try:
        _write_new(temporary, content, permissions=_permissions(path))
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        former = " The former file is unchanged." if path.exists() else ""
        raise RunDirectoryError(
            f"cannot write {path}: {error.strerror or error}.{former} "
            "Check the free space and the permissions of the folder, or choose another one"
        ) from error
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    return path


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write ``text`` as UTF-8 to ``path`` in one step; errors as :func:`write_bytes`.

    Characters that are no text (bytes of a file name in another encoding) become question marks.
    """
    return write_bytes(path, mask(text).encode("utf-8", "replace"))


def write_json(path: str | os.PathLike[str], value: Any, *, indent: int | None = 2) -> Path:
    """Write ``value`` as JSON to ``path`` in one step; errors as :func:`write_bytes`.

    What can be written, and how, is described at :func:`to_plain`.

    Raises:
        TypeError: ``value`` holds an object that has no JSON form.
    """
    text = to_json(masked(to_plain(value)), indent=indent) + "\n"
    return write_bytes(path, text.encode("utf-8", "replace"))


def to_json(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> str:
    """Return ``value`` as JSON text, after :func:`to_plain`."""
    return json.dumps(
        to_plain(value), indent=indent, sort_keys=sort_keys, ensure_ascii=False, allow_nan=False
    )


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file.

    Raises:
        RunDirectoryError: the file does not exist, cannot be read, or is not JSON.
    """
    path = Path(path)
    check_regular(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunDirectoryError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise RunDirectoryError(f"{path} is not a JSON file: {error}") from error


def to_plain(value: Any, _where: str = "value") -> Any:
    """Turn ``value`` into what JSON knows: dict, list, str, int, float, bool and None.

    Arrays become nested lists, numpy scalars Python numbers, tuples lists, sets sorted lists,
    dataclasses dicts, enumeration members their names, paths and dates strings, non-finite numbers
    the strings ``"Infinity"``, ``"-Infinity"`` and ``"NaN"``.

    Raises:
        TypeError: an object has no such form; the message says where it stands.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return _plain_float(float(value))
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist(), _where)
    if isinstance(value, PurePath):
        return value.as_posix()
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: to_plain(getattr(value, field.name), f"{_where}.{field.name}")
            for field in dataclasses.fields(value)
        }
    if isinstance(value, dict):
        return {
            _plain_key(key, _where): to_plain(v, f"{_where}[{key!r}]") for key, v in value.items()
        }
    if isinstance(value, (set, frozenset)):
        return sorted((to_plain(v, _where) for v in value), key=repr)
    if isinstance(value, (list, tuple)):
        return [to_plain(v, f"{_where}[{i}]") for i, v in enumerate(value)]
    raise TypeError(f"{_where} is a {type(value).__name__}, which has no JSON form")


def remove_partial(folder: str | os.PathLike[str]) -> None:
    """Remove temporary files that killed processes have left in ``folder``."""
    for path in Path(folder).glob(f".*{_TEMPORARY_SUFFIX}"):
        process = path.name.removesuffix(_TEMPORARY_SUFFIX).split(".")[-2]
        if not (process.isdecimal() and _is_alive(int(process))):
            path.unlink(missing_ok=True)


def _write_new(path: Path, content: bytes, permissions: int | None) -> None:
    # Opened with 0o666 rather than by tempfile (0o600), so that the umask decides.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        if permissions is not None:
            os.fchmod(descriptor, permissions)
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _permissions(path: Path) -> int | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return stat.S_IMODE(status.st_mode) if stat.S_ISREG(status.st_mode) else None


def _sync_folder(folder: Path) -> None:
    """Bring the new name to the disk; not every file system can, and none needs it after a kill."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _plain_float(number: float) -> float | str:
    if math.isfinite(number):
        return number
    if math.isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


def _plain_key(key: Any, where: str) -> str:
    if isinstance(key, enum.Enum):
        return key.name
    if isinstance(key, str):
        return str(key)
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        return str(int(key))
    raise TypeError(f"{where} has the key {key!r}; JSON keys are strings")
