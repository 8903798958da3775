"""Errors for damaged files of a run."""

import contextlib
import os
from collections.abc import Iterator

from trueup.errors import RunDirectoryError, TrueupError


@contextlib.contextmanager
def read_as_written(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert errors on keys and types of a file's content to one that names the file.

    Args:
        path: the file or run directory.

    Raises:
        RunDirectoryError: a key is missing or unknown, or a value has the wrong type.
    """
    try:
        yield
    except TrueupError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise RunDirectoryError(
            f"{path} is damaged, or of another version of trueup ({type(error).__name__}: {error})."
            " Restore it from a copy"
        ) from error
