"""Run directory: paths of its files, its lock, and checks on opening."""

import contextlib
import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from trueup._version import __version__
from trueup.errors import RunDirectoryError
from trueup.runs.store import atomic
from trueup.runs.store._lock import FolderLock

#: Version of the layout that this version of trueup writes, and the highest that it reads.
FORMAT_VERSION = 1

_FORMAT = "trueup run"
_MARKER = "run.json"
_LOCK = "run.lock"
_REPLACED = "replaced"


class RunDirectory:
    """The folder of one run.

    Created by :meth:`create` for a new run and :meth:`open` for an existing one. The file
    ``run.json`` marks the folder as a run, with the version of its layout.
    """

    def __init__(self, path: Path):
        self._path = path
        self._lock = FolderLock(path / _LOCK)

    def __repr__(self) -> str:
        return f"RunDirectory({str(self._path)!r})"

    @classmethod
    def create(cls, path: str | os.PathLike[str], *, overwrite: bool = False) -> "RunDirectory":
        """Create the folder of a new run.

        Args:
            path: a folder that does not exist or is empty.
            overwrite: replace the run in the folder. All files of the old run are removed.

        Raises:
            RunDirectoryError: the folder contains a run (and ``overwrite`` is not set), or files
                that are not a run (also with ``overwrite``), or a run in progress; or it cannot be
                created.
        """
        root = Path(path).expanduser().resolve()
        try:
            cls._clear_replaced(root)
            replaced = cls._move_away(root, overwrite) if cls._is_occupied(root) else None
            try:
                root.mkdir(parents=True, exist_ok=True)
                atomic.write_json(
                    root / _MARKER,
                    {"format": _FORMAT, "format_version": FORMAT_VERSION, "trueup": __version__},
                )
            except BaseException:
                if replaced is not None:
                    shutil.rmtree(root, ignore_errors=True)
                    replaced.rename(root)
                raise
            if replaced is not None:
                shutil.rmtree(replaced)
        except OSError as error:
            raise RunDirectoryError(
                f"cannot create the run directory {root}: {error.strerror or error}. "
                "Choose another one with --output"
            ) from error
        return cls(root)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "RunDirectory":
        """Open the folder of an existing run.

        Raises:
            RunDirectoryError: no such folder, it is not a run, or it was written by a newer
                version of trueup.
        """
        root = Path(path).expanduser().resolve()
        if not root.is_dir():
            what = "is a file" if root.exists() else "does not exist"
            raise RunDirectoryError(f"{root} {what}; expected a run directory")
        if not (root / _MARKER).is_file():
            raise RunDirectoryError(f"{root} is not a run of trueup: it has no {_MARKER}")
        marker = atomic.read_json(root / _MARKER)
        if not isinstance(marker, dict) or marker.get("format") != _FORMAT:
            raise RunDirectoryError(
                f"{root} is not a run of trueup: its {_MARKER} is of another program"
            )
        check_format_version(root, marker.get("format_version"), FORMAT_VERSION)
        return cls(root)

    @property
    def path(self) -> Path:
        """The folder, absolute and without symbolic links."""
        return self._path

    @property
    def experiment(self) -> Path:
        """``experiment.yaml``: the resolved experiment."""
        return self._path / "experiment.yaml"

    @property
    def provenance(self) -> Path:
        """``provenance.json``: versions, seed, machine and hashes of the inputs."""
        return self._path / "provenance.json"

    @property
    def parameters(self) -> Path:
        """``parameters.json``: the best parameters so far, kept up to date while running."""
        return self._path / "parameters.json"

    @property
    def study(self) -> Path:
        """``study.sqlite``: history and state of the search."""
        return self._path / "study.sqlite"

    @property
    def log(self) -> Path:
        """``log.jsonl``: events with their times, one JSON object per line."""
        return self._path / "log.jsonl"

    @property
    def solution(self) -> Path:
        """``solution.json``: the final result."""
        return self._path / "solution.json"

    @property
    def report(self) -> Path:
        """``report.html``."""
        return self._path / "report.html"

    def model(self, name: str = "model") -> Path:
        """``<name>.xml``: an identified model.

        Raises:
            RunDirectoryError: as :meth:`inside`, because names of models may be user input.
        """
        return self.inside(f"{name}.xml")

    def inside(self, relative: str | os.PathLike[str]) -> Path:
        """Return the path of a file in the run directory.

        Raises:
            RunDirectoryError: ``relative`` is absolute, empty, contains ``..``, or leads out of
                the folder through a symbolic link.
        """
        text = os.fspath(relative)
        parts = PurePosixPath(text).parts
        if "\0" in text or not parts or ".." in parts or PurePosixPath(text).is_absolute():
            raise RunDirectoryError(
                f"{text!r} is not a name within the run directory {self._path}: "
                "give a relative path without '..'"
            )
        path = self._path.joinpath(*parts)
        try:
            resolved = path.resolve()
        except (OSError, RuntimeError) as error:  # Python 3.11 and 3.12: RuntimeError for a loop
            raise RunDirectoryError(f"{path} cannot be resolved: {error}") from error
        if not resolved.is_relative_to(self._path):
            raise RunDirectoryError(
                f"{path} leads out of the run directory, to {resolved}: remove that symbolic link"
            )
        return path

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the run directory for this process; nested use of the same object is supported.

        Raises:
            RunDirectoryError: another running process holds it.
        """
        if self._lock.is_held:
            yield
            return
        self._lock.acquire()
        try:
            atomic.remove_partial(self._path)
            yield
        finally:
            self._lock.release()

    def check_free(self) -> None:
        """Check early that no other process uses the run directory.

        Raises:
            RunDirectoryError: another running process holds it.
        """
        if (self._path / _LOCK).exists() and not self._lock.is_held:
            self._lock.acquire()
            self._lock.release()

    @classmethod
    def _is_occupied(cls, root: Path) -> bool:
        if not root.exists():
            return False
        if not root.is_dir():
            raise RunDirectoryError(
                f"{root} is a file: choose another --output for the run directory"
            )
        # A kill during create leaves at most the temporary file of the marker.
        atomic.remove_partial(root)
        return any(root.iterdir())

    @classmethod
    def _move_away(cls, root: Path, overwrite: bool) -> Path:
        """Check that ``root`` may be replaced, and rename it."""
        if not (root / _MARKER).is_file():
            raise RunDirectoryError(
                f"{root} is not empty and is not a run of trueup: choose another --output"
            )
        if not overwrite:
            raise RunDirectoryError(
                f"{root} already contains a run: resume it with --resume, choose another --output, "
                "or replace it with --overwrite"
            )
        if Path.cwd().is_relative_to(root):
            raise RunDirectoryError(
                f"{root} is the current folder and cannot be replaced: run the command in another "
                "folder"
            )
        with cls(root).lock():
            replaced = root.with_name(f".{root.name}.{_REPLACED}-{secrets.token_hex(4)}")
            return root.rename(replaced)

    @staticmethod
    def _clear_replaced(root: Path) -> None:
        """Remove the remains of a run after a kill during its replacement."""
        for leftover in root.parent.glob(f".{glob.escape(root.name)}.{_REPLACED}-*"):
            if (root / _MARKER).is_file():
                shutil.rmtree(leftover)
                continue
            # Killed before the new run existed: restore the old one.
            with contextlib.suppress(FileNotFoundError):
                root.rmdir()
            leftover.rename(root)


def check_format_version(path: Path, found: object, known: int) -> None:
    """Raise RunDirectoryError unless ``found`` is a supported format version."""
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise RunDirectoryError(f"{path} has no valid format version (found {found!r})")
    if found > known:
        raise RunDirectoryError(
            f"{path} was written by a newer version of trueup: its format is {found}, "
            f"trueup {__version__} supports formats up to {known}. Install a newer trueup"
        )
