"""Files of a run whose content is not what trueup wrote."""

import contextlib
import os
from collections.abc import Iterator

from trueup.errors import RunDirectoryError, TrueupError


@contextlib.contextmanager
def read_as_written(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors about keys and types of what a file holds into one that names the file.

    Args:
        path: the file, or the run directory that is read.

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
            " Take it from a copy"
        ) from error
