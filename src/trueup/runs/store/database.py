"""History and search state of a study in one SQLite file: ``study.sqlite``.

A commit is one transaction with whole generations and the state of the search after the last of
them. So history and state in the file are always consistent, even if the process is killed.

Tables (format version 1):

``meta``
    ``key``, ``value``: ``names`` (JSON list of the parameters), ``settings_hash``, ``trueup``, and
    ``removed`` (JSON: numbers of the evaluations that a long study no longer contains).
``generations``
    ``generation`` (from 0), ``evaluations`` (up to and with it), ``seconds`` (of the run, up to and
    with it, [s]), ``info`` (JSON: what the search reports about itself).
``evaluations``
    ``generation``, ``candidate`` (from 0), ``x`` (little-endian float64), ``cost`` (the first
    objective; NULL where it is not a number), ``objectives`` (little-endian float64 where there are
    several, else NULL), ``reason`` (why the candidate is invalid, else NULL).
``state``, ``state_arrays``
    state after the last generation: a JSON document, and its arrays as ``.npy``.

A study that passes :data:`LARGEST` is thinned, in the transaction of the generation that passes it.

The journal is a rollback journal and not a write-ahead log: the file alone is complete after each
commit, and works on the network file systems of clusters.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup._version import __version__
from trueup.errors import RunDirectoryError, listing
from trueup.runs.store.atomic import to_json
from trueup.runs.store.history import History, history_from_rows
from trueup.runs.store.removed import Removed
from trueup.runs.store.run_directory import check_format_version
from trueup.runs.store.state_codec import decode_state, encode_state
from trueup.runs.store.thinning import kept_generations

#: Version of the tables that this version of trueup writes, and the highest that it reads.
FORMAT_VERSION = 1

LARGEST = 64 * 2**20
"""Limit of the history in the file [bytes]."""

_APPLICATION_ID = 0x74727570  # "trup", in the header of the file

_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE generations (generation INTEGER PRIMARY KEY, evaluations INTEGER NOT NULL,"
    " seconds REAL NOT NULL, info TEXT NOT NULL)",
    "CREATE TABLE evaluations (generation INTEGER NOT NULL, candidate INTEGER NOT NULL,"
    " x BLOB NOT NULL, cost REAL, objectives BLOB, reason TEXT,"
    " PRIMARY KEY (generation, candidate)) WITHOUT ROWID",
    "CREATE TABLE state (generation INTEGER PRIMARY KEY, document TEXT NOT NULL)",
    "CREATE TABLE state_arrays (name TEXT PRIMARY KEY, npy BLOB NOT NULL) WITHOUT ROWID",
)

_ROW_BYTES = 32
"""Bytes of a row without its values, about."""
_SIZE = f"length(x) + coalesce(length(objectives), 0) + coalesce(length(reason), 0) + {_ROW_BYTES}"
_GENERATION_SIZE = f"length(info) + {_ROW_BYTES}"


class Store:
    """The file ``study.sqlite``, open for reading, or for the one process that runs the study.

    ``settings_hash`` identifies the problem and the settings of a saved state.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection):
        self._path = path
        self._connection = connection
        self._pending: list[_Generation] = []
        self._evaluations = 0
        self._committed = -1
        self._size = 0  # of the committed history, see _SIZE [bytes]
        self._names: tuple[str, ...] = ()

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], names: Sequence[str], settings_hash: str = ""
    ) -> "Store":
        """Create the file of a new study with the parameters ``names``.

        Raises:
            RunDirectoryError: the file is not empty, or cannot be written.
        """
        store = cls(Path(path), _connect(Path(path), writable=True))
        try:
            with store._errors("write"):
                if not store._is_blank():
                    raise RunDirectoryError(
                        f"{path} already exists: resume it with --resume, or choose another "
                        "--output"
                    )
                with store._transaction() as connection:
                    for table in _TABLES:
                        connection.execute(table)
                    meta = {
                        "names": json.dumps(list(names)),
                        "settings_hash": settings_hash,
                        "trueup": __version__,
                    }
                    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
                    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                    connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
                store._names = tuple(names)
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, writable: bool = False, verify: bool = True
    ) -> "Store":
        """Open the file of a study that exists.

        Args:
            path: the file.
            writable: for the one process that runs the study.
            verify: read all of it and check its integrity; slow for a large file.

        Raises:
            RunDirectoryError: the file does not exist, is not a study, was written by a newer
                version of trueup, or is damaged.
        """
        path = Path(path)
        if not path.is_file():
            raise RunDirectoryError(f"no such file: {path}; this run has saved no history")
        store = cls(path, _connect(path, writable))
        try:
            with store._errors("read"):
                if store._pragma("application_id") != _APPLICATION_ID:
                    raise RunDirectoryError(f"{path} is not a study file of trueup")
                check_format_version(path, store._pragma("user_version"), FORMAT_VERSION)
                fault = store._pragma("quick_check(1)") if verify else "ok"
                if fault != "ok":
                    raise sqlite3.DatabaseError(" ".join(str(fault).split()))
                store._names = tuple(json.loads(store._meta("names")))
                row = store._connection.execute(
                    "SELECT max(evaluations), max(generation) FROM generations"
                ).fetchone()
                store._evaluations = row[0] or 0
                store._committed = -1 if row[1] is None else row[1]
                if writable:
                    store._size = sum(size for _, size in store._sizes())
        except BaseException:
            store.close()
            raise
        return store

    @staticmethod
    def is_blank(path: str | os.PathLike[str]) -> bool:
        """Whether there is no study at ``path``: no file, or an incomplete one."""
        if not Path(path).exists():
            return True
        store = Store(Path(path), _connect(Path(path), writable=True))
        with contextlib.closing(store), store._errors("read"):
            return store._is_blank()

    def close(self) -> None:
        """Close the file; uncommitted records are dropped."""
        # An empty journal makes commits faster; the file is complete without it. SQLite removes it
        # under a lock, so that the journal of another process is never lost. The file is intact
        # even if this fails, for example on a full disk.
        with contextlib.suppress(sqlite3.Error):
            self._connection.rollback()
            self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self._names

    @property
    def settings_hash(self) -> str:
        """Hash of the problem and the settings of the study."""
        with self._errors("read"):
            return self._meta("settings_hash")

    @property
    def evaluations(self) -> int:
        """Number of evaluations, including uncommitted ones."""
        return self._evaluations

    @property
    def committed(self) -> int:
        """Index of the last committed generation; -1 before the first."""
        return self._committed

    @property
    def has_pending(self) -> bool:
        """Whether a generation is uncommitted."""
        return bool(self._pending)

    def record(
        self,
        generation: int,
        X: np.ndarray,
        costs: np.ndarray,
        failures: dict[int, str] | None = None,
        *,
        info: dict[str, Any] | None = None,
        seconds: float = 0.0,
    ) -> None:
        """Add a generation to the next commit.

        Args:
            generation: its index; one more than that of the last.
            X: candidates ``(n, p)``.
            costs: their costs ``(n,)`` or ``(n, k)``.
            failures: reason for an invalid candidate, by row.
            info: state variables of the search, such as its step size.
            seconds: time of the run up to here [s].

        Raises:
            ValueError: inconsistent shapes.
        """
        X = np.array(X, dtype="<f8", order="C", ndmin=2)
        costs = np.array(costs, dtype="<f8", order="C")
        if costs.ndim == 1:
            costs = costs[:, None]
        if X.shape[1] != len(self._names) or costs.shape[0] != X.shape[0] or costs.ndim != 2:
            raise ValueError(
                f"generation {generation}: candidates of shape {X.shape} and costs of shape "
                f"{costs.shape} do not match {len(self._names)} parameters"
            )
        self._evaluations += len(X)
        self._pending.append(
            _Generation(
                generation,
                X,
                costs,
                dict(failures or {}),
                to_json(info or {}),
                seconds,
                self._evaluations,
            )
        )

    def flush(self, state: dict[str, Any]) -> None:
        """Commit the recorded generations with the state of the search after the last of them.

        Raises:
            RunDirectoryError: the disk is full or the file cannot be written. The last commit is
                intact, and the recorded generations remain uncommitted.
        """
        if not self._pending:
            return
        document, arrays = encode_state(state)
        size = self._size
        with self._errors("write"), self._transaction() as connection:
            for generation in self._pending:
                connection.execute("INSERT INTO generations VALUES (?, ?, ?, ?)", generation.row)
                rows = generation.evaluation_rows()
                connection.executemany("INSERT INTO evaluations VALUES (?, ?, ?, ?, ?, ?)", rows)
                size += generation.size
                # after each generation: the result does not depend on the time of a checkpoint
                if size > LARGEST:
                    size = self._thin(connection)
            connection.execute("DELETE FROM state")
            connection.execute("DELETE FROM state_arrays")
            last = self._pending[-1].generation
            connection.execute("INSERT INTO state VALUES (?, ?)", (last, document))
            connection.executemany("INSERT INTO state_arrays VALUES (?, ?)", arrays.items())
        self._size, self._committed = size, last
        self._pending.clear()

    def commit(
        self,
        generation: int,
        X: np.ndarray,
        costs: np.ndarray,
        failures: dict[int, str] | None,
        state: dict[str, Any],
    ) -> None:
        """:meth:`record` a generation and :meth:`flush` at once."""
        self.record(generation, X, costs, failures)
        self.flush(state)

    def last_state(self) -> tuple[int, dict[str, Any]] | None:
        """Return the last committed generation and the state after it; None before the first."""
        with self._errors("read"):
            row = self._connection.execute("SELECT generation, document FROM state").fetchone()
            if row is None:
                return None
            arrays = dict(self._connection.execute("SELECT name, npy FROM state_arrays"))
        return row[0], decode_state(row[1], arrays)

    def seconds(self) -> float:
        """Time that the committed generations took [s]."""
        with self._errors("read"):
            return self._connection.execute(
                "SELECT coalesce(max(seconds), 0.0) FROM generations"
            ).fetchone()[0]

    def failed_evaluations(self) -> int:
        """Number of committed invalid candidates."""
        with self._errors("read"):
            query = "SELECT count(reason) FROM evaluations"
            return self._connection.execute(query).fetchone()[0] + self._removed().failed

    def best(self) -> tuple[int, np.ndarray, float] | None:
        """Return generation, values ``(p,)`` and cost of the best valid committed candidate."""
        with self._errors("read"):
            row = self._connection.execute(
                "SELECT generation, x, cost FROM evaluations"
                " WHERE reason IS NULL AND cost BETWEEN ? AND ?"
                " ORDER BY cost, generation, candidate LIMIT 1",
                (-np.finfo(float).max.item(), np.finfo(float).max.item()),
            ).fetchone()
        if row is None:
            return None
        return row[0], np.frombuffer(row[1], "<f8").astype(float), row[2]

    def history(self, first: int = 0) -> History:
        """Return the committed evaluations from the generation ``first`` on.

        A long study contains a part of its generations, see :mod:`trueup.runs.store.thinning`.
        """
        with self._errors("read"):
            rows = self._connection.execute(
                "SELECT generation, candidate, x, cost, objectives, reason FROM evaluations"
                " WHERE generation >= ? ORDER BY generation, candidate",
                (first,),
            ).fetchall()
            generations = self._connection.execute(
                "SELECT generation, evaluations, seconds, info FROM generations"
                " WHERE generation >= ? ORDER BY generation",
                (first,),
            ).fetchall()
            removed = self._removed() if first == 0 else Removed()
        return history_from_rows(self._names, rows, generations, removed)

    def _sizes(self) -> list[tuple[int, int]]:
        """Index and size of each generation [bytes]."""
        return self._connection.execute(
            f"SELECT generation, {_GENERATION_SIZE} + coalesce((SELECT sum({_SIZE})"
            " FROM evaluations WHERE evaluations.generation = generations.generation), 0)"
            " FROM generations ORDER BY generation"
        ).fetchall()

    def _thin(self, connection: sqlite3.Connection) -> int:
        """Remove generations within a transaction; the size of those that stay [bytes]."""
        numbers, sizes = np.array(self._sizes()).T
        history = self.history()
        valid = np.asarray(np.isfinite(history.costs).all(axis=1))
        valid[list(history.reasons)] = False
        best = np.full((len(numbers), history.costs.shape[1]), np.inf)
        rows = np.searchsorted(numbers, history.generation)
        np.minimum.at(best, rows[valid], history.costs[valid])
        kept = kept_generations(numbers, sizes, LARGEST, best)
        goes = ~kept[rows]
        reasons = [reason for row, reason in history.reasons.items() if goes[row]]
        removed = history.removed.with_more(int(goes.sum()), int((goes & ~valid).sum()), reasons)
        gone = [(int(number),) for number in numbers[~kept]]
        connection.executemany("DELETE FROM evaluations WHERE generation = ?", gone)
        connection.executemany("DELETE FROM generations WHERE generation = ?", gone)
        content = json.dumps(removed.to_dict())
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('removed', ?)", (content,))
        return int(sizes[kept].sum())

    def _removed(self) -> Removed:
        query = "SELECT value FROM meta WHERE key = 'removed'"
        row = self._connection.execute(query).fetchone()
        return Removed() if row is None else Removed.from_dict(json.loads(row[0]))

    def _meta(self, key: str) -> str:
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise sqlite3.DatabaseError(f"the table meta has no {key}")
        return row[0]

    def _pragma(self, name: str) -> Any:
        return self._connection.execute(f"PRAGMA {name}").fetchone()[0]

    def _is_blank(self) -> bool:
        tables = self._connection.execute("SELECT name FROM sqlite_schema LIMIT 3").fetchall()
        if tables and self._pragma("application_id") != _APPLICATION_ID:
            raise RunDirectoryError(
                f"{self._path} is not a study file of trueup: it contains the tables "
                f"{listing(name for (name,) in tables)}"
            )
        return not tables

    def _has_checkpoint(self) -> bool:
        try:
            found = self._connection.execute("SELECT 1 FROM state LIMIT 1").fetchone()
        except sqlite3.Error:  # no tables yet
            return False
        return found is not None

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # SQLite may already have rolled back
                self._connection.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        """Convert SQLite's errors to RunDirectoryError with advice."""
        try:
            yield
        except sqlite3.OperationalError as error:
            has_checkpoint = doing != "write" or self._has_checkpoint()
            kept = " The last checkpoint is kept." if doing == "write" else ""
            raise RunDirectoryError(
                f"cannot {doing} {self._path}: {error}."
                f"{kept if has_checkpoint else ' Nothing of the search was saved.'} Check the free "
                "space and the permissions of the folder, then "
                f"{'resume with --resume' if has_checkpoint else 'restart'}"
            ) from error
        except (sqlite3.DatabaseError, ValueError) as error:
            raise RunDirectoryError(
                f"{self._path} is damaged or is not a study file of trueup: {error}. "
                "Restore it from a backup, or choose another --output"
            ) from error


@dataclass(frozen=True)
class _Generation:
    generation: int
    X: np.ndarray
    costs: np.ndarray
    failures: dict[int, str]
    info: str
    seconds: float
    evaluations: int

    @property
    def row(self) -> tuple[int, int, float, str]:
        return self.generation, self.evaluations, self.seconds, self.info

    @property
    def size(self) -> int:
        """Size in the file, as :data:`_SIZE` counts it [bytes]."""
        values = self.X.nbytes + (self.costs.nbytes if self.costs.shape[1] > 1 else 0)
        texts = sum(map(len, self.failures.values())) + len(self.info)
        return values + texts + _ROW_BYTES * (len(self.X) + 1)

    def evaluation_rows(self) -> list[tuple[Any, ...]]:
        single = self.costs.shape[1] == 1
        objectives = [None] * len(self.X) if single else [row.tobytes() for row in self.costs]
        first = [None if np.isnan(cost) else cost for cost in self.costs[:, 0].tolist()]
        # A reason may quote a file name that is not valid text.
        reasons = {i: r.encode("utf-8", "replace").decode() for i, r in self.failures.items()}
        return [
            (self.generation, i, x.tobytes(), first[i], objectives[i], reasons.get(i))
            for i, x in enumerate(self.X)
        ]


def _connect(path: Path, writable: bool) -> sqlite3.Connection:
    # A reader opens for writing if permitted: the first connection must roll back the journal of a
    # killed run, and a read-only connection rejects such a file.
    may_write = writable or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
    mode = "rw" if may_write else "ro"
    try:
        if writable and not path.exists():
            # SQLite would create it without the write permission of the group, whatever the umask
            path.touch(0o666)
    except OSError as error:
        raise RunDirectoryError(
            f"cannot open {path}: {error.strerror or error}. Check that its folder exists and its "
            "permissions"
        ) from error
    try:
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode={mode}", uri=True, timeout=30.0, isolation_level=None
        )
    except sqlite3.Error as error:
        raise RunDirectoryError(
            f"cannot open {path}: {error}. Check that its folder exists and its permissions"
        ) from error
    try:
        if not writable and _has_hot_journal(connection):
            connection.close()
            connection = _rolled_back(path)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(
            "PRAGMA journal_mode = TRUNCATE" if writable else "PRAGMA query_only = ON"
        )
    except sqlite3.Error as error:
        connection.close()
        raise RunDirectoryError(
            f"{path} is damaged or is not a study file of trueup: {error}. "
            "Restore it from a backup, or choose another --output"
        ) from error
    return connection


def _has_hot_journal(connection: sqlite3.Connection) -> bool:
    """Whether a killed run left a transaction that this connection may not roll back."""
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        return error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK
    return False


def _rolled_back(path: Path) -> sqlite3.Connection:
    """A copy in memory of a file in a folder that cannot be written, with its journal applied."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / path.name
        for suffix in ("", "-journal"):
            shutil.copyfile(f"{path}{suffix}", f"{file}{suffix}")
        with contextlib.closing(sqlite3.connect(file)) as source:
            source.backup(copy)
    return copy
