"""Archives of plain numpy arrays."""

from pathlib import Path

import numpy as np

from trueup._input_files import DAMAGED_ARCHIVE, read_arrays
from trueup.errors import SignalError


def read_npz(path: str | Path) -> dict[str, np.ndarray]:
    """Return the arrays of an ``.npz`` file, found also by its name without the suffix.

    Raises:
        SignalError: no such file, or not an archive of plain arrays.
    """
    path = Path(path)
    if not path.is_file() and path.with_name(path.name + ".npz").is_file():
        path = path.with_name(path.name + ".npz")
    if not path.is_file():
        raise SignalError(f"No such file: {str(path)!r}.")
    try:
        return read_arrays(path)
    except DAMAGED_ARCHIVE as error:
        raise SignalError(
            f"{str(path)!r} is not an .npz archive of plain arrays: {error}"
        ) from error
