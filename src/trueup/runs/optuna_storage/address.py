"""Address of a storage: checked, with the installed driver, and shown without its password."""

import importlib.util
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from trueup._secrets import is_secret, mask
from trueup.errors import MissingExtraError, StorageError, listing

_EXAMPLES = "such as sqlite:///study.db or postgresql://user:password@host/database"
_JOURNAL = ".log"  # ending of a file that is a journal of Optuna
_FILES = (".db", ".sqlite", ".sqlite3", _JOURNAL)  # endings that are recognised without a URL


@dataclass(frozen=True)
class Address:
    """Address of a storage."""

    url: str = field(repr=False)
    """URL with its password; never shown."""
    shown: str
    """URL for messages, without it."""
    backend: str
    """Kind of the database: ``sqlite``, ``postgresql``, ``mysql``."""
    secrets: tuple[str, ...] = field(repr=False)
    """Texts that no message may hold."""
    file: Path | None
    """File of an SQLite storage or of a journal."""
    is_journal: bool = False
    """Whether the file is a journal of Optuna."""

    def hide(self, text: str) -> str:
        """``text`` on one line, with its secrets masked."""
        return " ".join(mask(text, self.secrets).split())


def parse_address(url: str) -> Address:
    """Read the URL of a storage, or the name of its file, which needs one of the known endings.

    The login ends at the last ``@`` before the query, so a password may contain ``/`` and ``@``.

    Raises:
        StorageError: it is not the URL of a database, or of one that only this process has.
        MissingExtraError: optuna is not installed.
    """
    if importlib.util.find_spec("optuna") is None:
        raise MissingExtraError("an Optuna storage", "storage", "optuna")
    import sqlalchemy
    from sqlalchemy.exc import ArgumentError

    if (file := Path(url)).suffix.lower() in _FILES and "://" not in url:
        if file.suffix.lower() == _JOURNAL:
            return Address(url, url, "journal", (), file.expanduser(), is_journal=True)
        url = _sqlite_url(file.expanduser())
    try:
        parsed = sqlalchemy.make_url(_with_quoted_password(url))
    except (ArgumentError, ValueError):
        # Not repeated: a URL with a typing error may still hold a password.
        kept = repr(url) if not set("@:") & set(url) else "that address"
        raise StorageError(
            f"{kept} is not the URL of a storage, {_EXAMPLES}, and has "
            f"none of the endings {listing(_FILES)} of a file"
        ) from None
    backend = parsed.get_backend_name()
    if backend == "postgres":
        backend = "postgresql"
        parsed = parsed.set(drivername=parsed.drivername.replace("postgres", "postgresql", 1))
    if parsed.drivername == "postgresql" and importlib.util.find_spec("psycopg") is not None:
        parsed = parsed.set(drivername="postgresql+psycopg")
    in_query = [v for k, v in parsed.query.items() if is_secret(k) and isinstance(v, str)]
    complete = parsed.render_as_string(hide_password=False)
    shown = mask(complete)
    database = parsed.database or ""
    if backend == "sqlite" and database in ("", ":memory:"):
        raise StorageError(
            f"{shown} is in the memory of one process: name a file, such as sqlite:///study.db"
        )
    return Address(
        url=complete,
        shown=shown,
        backend=backend,
        secrets=tuple(filter(None, [parsed.password, *in_query])),
        file=Path(database) if backend == "sqlite" and not database.startswith("file:") else None,
    )


def _sqlite_url(path: Path) -> str:
    """URL of a file."""
    import sqlalchemy

    return sqlalchemy.URL.create("sqlite", database=str(path)).render_as_string()


def _with_quoted_password(url: str) -> str:
    """A URL whose password has its ``/``, ``@`` and ``:`` percent-encoded."""
    found = re.match(r"(?!sqlite)([\w.+-]+://[^:@/?]*:)([^?]*)(@.*)$", url) or re.match(
        r"(?!sqlite)([\w.+-]+://[^:@/?]*:)(.*)(@.*)$", url
    )
    if found is None:
        return url
    return found[1] + quote(found[2], safe="%") + found[3]
