"""Atomic writing of all files, with masked secrets and the current mark.

The content goes to a temporary file in the same folder, reaches the disk, and takes the name of the
file in one step. If the process is killed or the disk is full, the previous file is unchanged.
"""

import contextlib
import os
import secrets
import stat
from pathlib import Path

from trueup._marks import ENDING, archive_with_mark, current_mark, with_mark
from trueup._secrets import mask
from trueup.errors import RunDirectoryError

_TEMPORARY_SUFFIX = ".trueup-partial"


def write_bytes(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write ``content`` to ``path`` in one step and return the path.

    A file that exists keeps its permissions; a new one gets those of the process (its umask). A
    symbolic link is replaced by a file. Within :func:`trueup._marks.marked` the file gets the mark.

    Raises:
        RunDirectoryError: the folder does not exist, cannot be written, or the disk is full. The
            previous file is unchanged, and the temporary file is removed.
    """
    path = Path(path)
    mark_file = path.with_name(path.name + ENDING)
    marked_content = _with_mark(path, content)
    if marked_content is None:
        _write_whole(mark_file, f"{path.name}: {current_mark()}\n".encode())
    else:
        with contextlib.suppress(OSError):
            mark_file.unlink(missing_ok=True)
    return _write_whole(path, content if marked_content is None else marked_content)


def _with_mark(path: Path, content: bytes) -> bytes | None:
    """The content with the current mark; None if its format does not support one."""
    if current_mark() is None:
        return content
    if path.suffix.lower() == ".npz":
        return archive_with_mark(content)
    try:
        text = with_mark(path, content.decode("utf-8"))
    except ValueError:
        return None
    return None if text is None else text.encode("utf-8")


def _write_whole(path: Path, content: bytes) -> Path:
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
        former = " The previous file is unchanged." if path.exists() else ""
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

    Invalid characters (bytes of a file name in another encoding) become question marks.
    """
    return write_bytes(path, mask(text).encode("utf-8", "replace"))


def remove_partial(folder: str | os.PathLike[str]) -> None:
    """Remove temporary files of killed processes in ``folder``."""
    for path in Path(folder).glob(f".*{_TEMPORARY_SUFFIX}"):
        process = path.name.removesuffix(_TEMPORARY_SUFFIX).split(".")[-2]
        if not (process.isdecimal() and _is_alive(int(process))):
            path.unlink(missing_ok=True)


def _write_new(path: Path, content: bytes, permissions: int | None) -> None:
    # Opened with 0o666 rather than by tempfile (0o600), so that the umask applies.
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
    """Sync the new name to the disk, if the file system supports it; for power failures only."""
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
