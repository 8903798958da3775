"""An Optuna storage that was opened: its errors as one line each, without passwords."""

import contextlib
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trueup.errors import StorageError, did_you_mean, listing
from trueup.runs.optuna_storage.address import Address, parse_address

if TYPE_CHECKING:
    from optuna import Study
    from optuna.storages import BaseStorage

_LOCK_SECONDS = 60.0  # [s] that a writer of an SQLite file waits for the others
_CONNECT_SECONDS = 10  # [s] that a server may take to answer a new connection


@contextlib.contextmanager
def opened(url: str, *, create: bool) -> Iterator[tuple["BaseStorage", str]]:
    """The storage at a URL or in a file, and its address for messages.

    Optuna's log messages and warnings about experimental functions are off meanwhile.

    Args:
        url: URL of a database, or path of a file.
        create: create the storage where it does not exist.

    Raises:
        StorageError: it cannot be reached or read, also while it is open.
        MissingExtraError: optuna, or the driver of the database, is not installed.
    """
    address = parse_address(url)
    if not create and address.file is not None and not address.file.is_file():
        raise StorageError(f"the storage {address.shown} does not exist: no file {address.file}")
    with _plain_errors(address), _quiet():
        if address.is_journal:
            yield _journal(address), address.shown
            return
        storage = _database(address, create)
        try:
            yield storage, address.shown
        finally:
            storage.remove_session()
            storage.engine.dispose()


def study_names(storage: "BaseStorage") -> list[str]:
    """Names of the studies in a storage."""
    import optuna

    return optuna.get_all_study_names(storage)


def existing_study(storage: "BaseStorage", shown: str, name: str) -> "Study":
    """A study of a storage by name.

    Raises:
        StorageError: there is none; the message lists those that exist.
    """
    import optuna

    if name not in (names := study_names(storage)):
        raise StorageError(
            f"{shown} has no study {name!r}; it has {listing(names)}.{did_you_mean(name, names)}"
        )
    return optuna.load_study(study_name=name, storage=storage)


def _journal(address: Address) -> "BaseStorage":
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    try:
        return JournalStorage(JournalFileBackend(str(address.file)))
    except (ValueError, KeyError, TypeError, AssertionError) as error:  # of its lines
        raise StorageError(
            f"{address.shown} is not a journal of Optuna, or is damaged: {error}"
        ) from error


def _database(address: Address, create: bool) -> Any:
    import sqlalchemy
    from optuna.storages import RDBStorage

    arguments: dict[str, Any] = {}
    if address.backend == "sqlite":
        arguments = {"timeout": _LOCK_SECONDS}
    elif address.backend == "postgresql":
        arguments = {"connect_timeout": _CONNECT_SECONDS}
    if not create:  # Optuna would create its tables in any database
        engine = sqlalchemy.create_engine(address.url, connect_args=arguments)
        try:
            if not sqlalchemy.inspect(engine).has_table("studies"):
                raise StorageError(f"{address.shown} contains no study of Optuna")
        finally:
            engine.dispose()
    # Optuna reads braces as a template.
    url = address.url.replace("{", "{{").replace("}", "}}")
    return RDBStorage(url, engine_kwargs={"connect_args": arguments})


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    import optuna

    former = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(former, optuna.logging.ERROR))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(former)


@contextlib.contextmanager
def _plain_errors(address: Address) -> Iterator[None]:
    """Turn the errors of a database or file into one line each."""
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
    except (SQLAlchemyError, OSError) as error:
        raise _unusable(address, error) from error
    except optuna.exceptions.StorageInternalError as error:
        raise _unusable(address, error.__cause__ or error) from error
    except RuntimeError as error:  # Optuna's: the tables are of another version of it
        raise StorageError(f"{address.shown}: {address.hide(str(error))}") from error


def _unusable(address: Address, error: BaseException) -> StorageError:
    reason = address.hide(str(getattr(error, "orig", None) or error)).rstrip(".? ")
    return StorageError(
        f"the storage {address.shown} cannot be used: {reason}. "
        "Check its address, and that its server runs and accepts this user"
    )
