"""Connection to an Optuna storage: its tables, its studies, and transactions that are retried.

Optuna's own ``add_trial`` takes a transaction and many queries a trial: some 10 trials per second
in SQLite, where a study evaluates thousands. So trials go into Optuna's tables directly, many rows
a statement. The tables are read from the database itself and checked; studies are made by Optuna.
"""

import contextlib
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from trueup.errors import StorageError, did_you_mean, listing
from trueup.runs.optuna_storage.address import Address, parse_address

if TYPE_CHECKING:
    from optuna.storages import RDBStorage
    from sqlalchemy import Connection, Engine, Table

Result = TypeVar("Result")

_CONNECT_SECONDS = 10  # [s] that a server may take to answer a new connection
_LOCK_SECONDS = 60.0  # [s] that a writer of an SQLite file waits for the others
_LONGEST_PAUSE = 1.0  # [s] between two attempts to reach a storage

_ATTEMPTS_TO_CREATE = 10

#: Columns that are written, by table; further ones have to take NULL or a default.
_COLUMNS = {
    "studies": {"study_id", "study_name"},
    "study_system_attributes": {"study_id", "key", "value_json"},
    "trials": {
        "trial_id",
        "number",
        "study_id",
        "state",
        "datetime_start",
        "datetime_complete",
    },
    "trial_params": {"trial_id", "param_name", "param_value", "distribution_json"},
    "trial_values": {"trial_id", "objective", "value", "value_type"},
    "trial_user_attributes": {"trial_id", "key", "value_json"},
}


class Database:
    """A storage that was reached.

    Made by :meth:`open`. Safe to use from several threads.
    """

    def __init__(self, address: Address, storage: "RDBStorage", tables: dict[str, "Table"]):
        self.address = address
        self.storage = storage
        self.tables = tables

    @classmethod
    def open(cls, url: str, *, create: bool) -> "Database":
        """Reach the storage at ``url``.

        Args:
            url: of its database.
            create: make the tables where there are none; otherwise they have to be there.

        Raises:
            StorageError: it cannot be reached, or is not a storage of this version of Optuna.
            MissingExtraError: optuna, or the driver of the database, is not installed.
        """
        address = parse_address(url)
        if not create and address.file is not None and not address.file.is_file():
            raise StorageError(
                f"there is no storage {address.shown}: the file {address.file} does not exist"
            )
        with _plain_errors(address):
            storage = _connect(address, create)
            try:
                return cls(address, storage, _tables(address, storage))
            except BaseException:
                storage.engine.dispose()
                raise

    def close(self) -> None:
        """Leave the storage."""
        self.storage.remove_session()
        self.storage.engine.dispose()

    def transact(self, work: Callable[["Connection"], Result], patience: float = 0.0) -> Result:
        """Do ``work`` in one transaction; once more where the storage was lost in the middle.

        A commit whose receipt is lost happened all the same: ``work`` has to find that out by what
        the tables hold.

        Args:
            work: given the connection; may be called several times.
            patience: how long to try [s].

        Raises:
            StorageError: the storage is still lost after that time, or refuses the work.
        """
        from sqlalchemy.exc import SQLAlchemyError

        began = time.monotonic()
        pause = 0.05
        while True:
            try:
                with self.storage.engine.begin() as connection:
                    return work(connection)
            except SQLAlchemyError as error:
                waited = time.monotonic() - began
                if not _is_lost(error) or waited >= patience:
                    raise _unusable(self.address, error, waited) from error
            # Not all at the same time: a server that comes back has a lot to do already.
            time.sleep(min(pause * random.uniform(0.5, 1.5), max(patience - waited, 0.0)))
            pause = min(2.0 * pause, _LONGEST_PAUSE)

    def study_names(self) -> list[str]:
        """Names of the studies in the storage."""
        studies = self.tables["studies"]
        query = studies.select().order_by(studies.c.study_id)
        return [row.study_name for row in self.transact(lambda c: c.execute(query).all())]

    def find_study(self, name: str) -> int | None:
        """Number of a study in the storage, or None."""
        studies = self.tables["studies"]
        query = studies.select().where(studies.c.study_name == name)
        row = self.transact(lambda connection: connection.execute(query).first())
        return None if row is None else row.study_id

    def existing_study(self, name: str) -> int:
        """Number of a study that has to be there.

        Raises:
            StorageError: it is not; the message lists those that are.
        """
        number = self.find_study(name)
        if number is None:
            names = self.study_names()
            raise StorageError(
                f"{self.address.shown} has no study {name!r}; it has {listing(names)}."
                f"{did_you_mean(name, names)}"
            )
        return number

    def create_study(self, name: str, objectives: Sequence[str]) -> int:
        """Make a study that minimises ``objectives``; one that another process made first is taken.

        Raises:
            StorageError: the storage refuses it.
        """
        from optuna.exceptions import DuplicatedStudyError
        from optuna.study import StudyDirection

        with _plain_errors(self.address), quiet_optuna():
            try:
                study = self.storage.create_new_study(
                    [StudyDirection.MINIMIZE] * len(objectives), name
                )
            except DuplicatedStudyError:
                return self.existing_study(name)
            if tuple(objectives) != ("cost",):  # what Study.set_metric_names writes
                self.storage.set_study_system_attr(study, "study:metric_names", list(objectives))
        return study

    def show(self, study: int, attributes: dict[str, Any]) -> None:
        """Write user attributes of a study, which the dashboard shows.

        Raises:
            StorageError: the storage refuses them.
        """
        with _plain_errors(self.address):
            for key, value in attributes.items():
                self.storage.set_study_user_attr(study, key, value)

    def lock(self, connection: "Connection", study: int) -> None:
        """Keep every other writer of trials of ``study`` out until the transaction ends.

        Raises:
            StorageError: the study was deleted.
        """
        # An update that changes nothing locks the row for Optuna too, which asks for it whenever
        # it numbers a trial; in SQLite it takes the lock of the file at once.
        studies = self.tables["studies"]
        here = studies.c.study_id == study
        update = studies.update().where(here).values(study_name=studies.c.study_name)
        if connection.execute(update).rowcount != 1:
            raise StorageError(f"the study was deleted from {self.address.shown}")

    def insert(
        self,
        connection: "Connection",
        table: str,
        columns: tuple[str, ...],
        rows: Sequence[tuple[Any, ...]],
    ) -> None:
        """Write rows of numbers and strings into a table."""
        if not rows:
            return
        statement = self.tables[table].insert()
        compiled = statement.compile(dialect=connection.dialect, column_keys=list(columns))
        # Past SQLAlchemy's treatment of every value, which would take most of the time.
        if compiled.positional:
            places = [columns.index(name) for name in compiled.positiontup or ()]
            given: Any = [tuple(row[i] for i in places) for row in rows]
        else:
            given = [dict(zip(columns, row, strict=True)) for row in rows]
        connection.exec_driver_sql(str(compiled), given)

    def attribute(self, connection: "Connection", study: int, key: str) -> Any:
        """A system attribute of a study, or None."""
        table = self.tables["study_system_attributes"]
        query = table.select().where(table.c.study_id == study, table.c.key == key)
        row = connection.execute(query).first()
        return None if row is None else json.loads(row.value_json)

    def attributes(self, connection: "Connection", study: int, prefix: str) -> dict[str, Any]:
        """System attributes of a study whose keys begin with ``prefix``, by the rest of the key."""
        table = self.tables["study_system_attributes"]
        begins = table.c.key.startswith(prefix, autoescape=True)
        rows = connection.execute(table.select().where(table.c.study_id == study, begins))
        return {row.key.removeprefix(prefix): json.loads(row.value_json) for row in rows}

    def set_attribute(self, connection: "Connection", study: int, key: str, value: Any) -> None:
        """Write a system attribute of a study; None removes it."""
        table = self.tables["study_system_attributes"]
        here = (table.c.study_id == study, table.c.key == key)
        if value is None:
            connection.execute(table.delete().where(*here))
            return
        document = json.dumps(value)
        changed = connection.execute(table.update().where(*here).values(value_json=document))
        if changed.rowcount == 0:
            row = {"study_id": study, "key": key, "value_json": document}
            connection.execute(table.insert(), [row])


@contextlib.contextmanager
def quiet_optuna() -> Iterator[None]:
    """Keep Optuna's notes off the terminal."""
    import optuna

    former = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(former, optuna.logging.ERROR))
    try:
        yield
    finally:
        optuna.logging.set_verbosity(former)


def _connect(address: Address, create: bool) -> "RDBStorage":
    import sqlalchemy
    from optuna.storages import RDBStorage
    from sqlalchemy.exc import SQLAlchemyError

    arguments: dict[str, Any] = {}
    if address.backend == "sqlite":
        arguments = {"timeout": _LOCK_SECONDS}
    elif address.backend == "postgresql":
        # A server that vanished without a word is given up after half a minute.
        arguments = {"connect_timeout": _CONNECT_SECONDS, "tcp_user_timeout": 30_000}
    if not create:
        engine = sqlalchemy.create_engine(address.url, connect_args=arguments)
        try:
            if not _is_complete(engine):
                raise StorageError(f"{address.shown} holds no study of Optuna")
        finally:
            engine.dispose()
    # Optuna reads braces as a template.
    url = address.url.replace("{", "{{").replace("}", "}}")
    attempts = 0
    while True:
        attempts += 1
        try:
            with quiet_optuna():
                return RDBStorage(url, engine_kwargs={"connect_args": arguments})
        except SQLAlchemyError as error:
            # Two processes that make the tables at once get into each other's way.
            if attempts == _ATTEMPTS_TO_CREATE or not _is_there_already(error):
                raise
        time.sleep(random.uniform(0.05, 0.2))


def _is_complete(engine: "Engine") -> bool:
    """Whether a storage was made, up to the version of its tables, which Optuna notes last."""
    import sqlalchemy

    inspector = sqlalchemy.inspect(engine)
    if not (inspector.has_table("trials") and inspector.has_table("alembic_version")):
        return False
    with engine.connect() as connection:
        return connection.exec_driver_sql("SELECT 1 FROM alembic_version").first() is not None


def _is_there_already(error: Exception) -> bool:
    from sqlalchemy.exc import IntegrityError

    return isinstance(error, IntegrityError) or "already exists" in str(error)


def _tables(address: Address, storage: "RDBStorage") -> dict[str, "Table"]:
    import optuna
    import sqlalchemy

    metadata = sqlalchemy.MetaData()
    metadata.reflect(storage.engine, only=lambda name, _: name in _COLUMNS)
    for name, needed in _COLUMNS.items():
        table = metadata.tables.get(name)
        there = set() if table is None else set(table.columns.keys())
        strange = [] if table is None else [c.name for c in table.columns if _is_demanded(c)]
        if not needed <= there or not set(strange) <= needed:
            raise StorageError(
                f"{address.shown} has other tables than trueup can write: {name!r} has the columns "
                f"{listing(sorted(there))}. They are those of optuna {optuna.__version__}: try "
                "another version of it, or a new storage"
            )
    return dict(metadata.tables)


def _is_demanded(column: Any) -> bool:
    return not column.nullable and column.server_default is None and not column.primary_key


@contextlib.contextmanager
def _plain_errors(address: Address) -> Iterator[None]:
    """Turn the errors of a first contact into one line each."""
    import optuna
    from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

    try:
        yield
    except NoSuchModuleError:
        raise StorageError(
            f"{address.shown}: there is no database {address.backend!r}; "
            "use sqlite:///FILE, postgresql://... or mysql://..."
        ) from None
    except ImportError as error:
        missing = getattr(error.__cause__ or error, "name", None) or "the driver of the database"
        raise StorageError(
            f"{address.shown} needs {missing!r}, which is not installed; "
            'PostgreSQL comes with  pip install "trueup[storage]"'
        ) from error
    except SQLAlchemyError as error:
        raise _unusable(address, error) from error
    except optuna.exceptions.StorageInternalError as error:
        raise _unusable(address, error.__cause__ or error) from error
    except RuntimeError as error:  # Optuna's: the tables are of another version of it
        raise StorageError(f"{address.shown}: {address.hide(str(error))}") from error


def _is_lost(error: Exception) -> bool:
    """Whether the same work may well succeed later."""
    from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

    if isinstance(error, (OperationalError, InterfaceError)):
        return True
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _unusable(address: Address, error: BaseException, waited: float = 0.0) -> StorageError:
    reason = address.hide(str(getattr(error, "orig", None) or error)).rstrip(".? ")
    tried = f" (tried for {waited:.0f} s)" if waited >= 1.0 else ""
    return StorageError(
        f"the storage {address.shown} cannot be used{tried}: {reason}. "
        "Check its address, and that its server runs and lets this user in"
    )
