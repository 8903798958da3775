"""The URL of a storage: checked, with the driver that is installed, and shown without password."""

import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from trueup.errors import MissingExtraError, StorageError

_EXAMPLES = "such as sqlite:///study.db or postgresql://user:password@host/database"


@dataclass(frozen=True)
class Address:
    """Where a storage is."""

    url: str = field(repr=False)
    """With the password; never shown."""
    shown: str
    """For messages: without it."""
    backend: str
    """Kind of the database: ``sqlite``, ``postgresql``, ``mysql``."""
    secrets: tuple[str, ...] = field(repr=False)
    """What no message may hold."""
    file: Path | None
    """File of an SQLite storage."""

    def hide(self, text: str) -> str:
        """``text`` with its secrets blotted out, on one line."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return " ".join(text.split())


def parse_address(url: str) -> Address:
    """Read the URL of a storage.

    Raises:
        StorageError: it is no URL of a database, or of one that only this process would see.
        MissingExtraError: optuna is not installed.
    """
    if importlib.util.find_spec("optuna") is None:
        raise MissingExtraError("an Optuna storage", "storage", "optuna")
    import sqlalchemy
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = sqlalchemy.make_url(url)
    except (ArgumentError, ValueError):
        # Not repeated: a URL with a typing error may still hold a password.
        kept = repr(url) if not set("@:") & set(url) else "that address"
        raise StorageError(f"{kept} is not the URL of a storage, {_EXAMPLES}") from None
    backend = parsed.get_backend_name()
    if backend == "postgres":
        backend = "postgresql"
        parsed = parsed.set(drivername=parsed.drivername.replace("postgres", "postgresql", 1))
    if parsed.drivername == "postgresql" and importlib.util.find_spec("psycopg") is not None:
        parsed = parsed.set(drivername="postgresql+psycopg")
    secret_query = {k: v for k, v in parsed.query.items() if "pass" in k.lower()}
    secrets = [parsed.password or "", *(v for v in secret_query.values() if isinstance(v, str))]
    secrets += [quote(secret, safe=safe) for secret in secrets for safe in ("", " +")]
    hidden = parsed.update_query_dict(dict.fromkeys(secret_query, "***"))
    shown = hidden.render_as_string().replace("%2A%2A%2A", "***")
    database = parsed.database or ""
    if backend == "sqlite" and database in ("", ":memory:"):
        raise StorageError(
            f"{shown} lives in the memory of one process: name a file, such as sqlite:///study.db"
        )
    return Address(
        url=parsed.render_as_string(hide_password=False),
        shown=shown,
        backend=backend,
        secrets=tuple(sorted({s for s in secrets if s}, key=len, reverse=True)),
        file=Path(database) if backend == "sqlite" and not database.startswith("file:") else None,
    )


def sqlite_url(path: Path) -> str:
    """URL of the SQLite storage in a file."""
    import sqlalchemy

    return sqlalchemy.URL.create("sqlite", database=str(path)).render_as_string()
