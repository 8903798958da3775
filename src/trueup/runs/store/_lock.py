"""Lock on a folder, released when its process ends.

The lock is an operating-system lock on a small file, so that it is released even if the process is
killed; a stale file, or a reused process id, does not block. The process id in the file is for the
message only.
"""

import contextlib
import errno
import fcntl
import os
import threading
from pathlib import Path

from trueup.errors import RunDirectoryError

# The operating-system lock belongs to the process: a second holder in the same process would get
# it, and closing its file would release the first one. Hence this record.
_held: set[Path] = set()
_held_guard = threading.Lock()


class FolderLock:
    """Lock on a folder for this process.

    Raises:
        RunDirectoryError: on :meth:`acquire`, another running process (or another part of this one)
            holds the lock, or the file system does not support locks.
    """

    def __init__(self, path: Path):
        self._path = path
        self._key = path.resolve()
        self._descriptor: int | None = None
        self._owner: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether this object holds the lock in this process (a forked child does not)."""
        return self._descriptor is not None and self._owner == os.getpid()

    def acquire(self) -> None:
        """Acquire the lock without waiting, or raise."""
        with _held_guard:
            if self._key in _held:
                raise RunDirectoryError(self._in_use(os.getpid()))
            self._descriptor = self._lock_file()
            self._owner = os.getpid()
            _held.add(self._key)

    def release(self) -> None:
        """Release the lock and remove its file."""
        if not self.is_held or self._descriptor is None:
            return
        with _held_guard:
            # Removed while held: a process that waits on the removed file detects it in _lock_file.
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None
            _held.discard(self._key)

    def _lock_file(self) -> int:
        while True:
            try:
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError as error:
                raise RunDirectoryError(
                    f"cannot lock {self._path.parent}: {error.strerror}. "
                    "Check the permissions of the folder, or choose another one"
                ) from error
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_current(descriptor):
                    os.ftruncate(descriptor, 0)
                    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
                    return descriptor
            except OSError as error:
                holder = _process_in(descriptor)
                os.close(descriptor)
                if error.errno in (errno.EACCES, errno.EAGAIN):
                    raise RunDirectoryError(self._in_use(holder)) from None
                full = error.errno in (errno.ENOSPC, errno.EDQUOT)
                advice = "If its file system does not support locks, choose a folder on another one"
                raise RunDirectoryError(
                    f"cannot lock {self._path.parent}: {error.strerror}. "
                    f"{'Free some, or choose another folder' if full else advice}"
                ) from error
            os.close(descriptor)

    def _is_current(self, descriptor: int) -> bool:
        """Whether the locked file is still the one in the folder, not one just removed."""
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except FileNotFoundError:
            return False

    def _in_use(self, process: int | None) -> str:
        holder = "another process" if process is None else f"process {process}"
        return (
            f"a run is in progress in {self._path.parent} ({holder}): wait for it or stop it, "
            "or choose another folder with --output"
        )


def _process_in(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).strip()
    return int(text) if text.isdigit() else None
