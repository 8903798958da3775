"""Files that hold a reference to data in place of the data."""

from pathlib import Path

from trueup.errors import RecordingError

_GIT_LFS = b"version https://git-lfs"  # first bytes of a Git LFS pointer


def check_not_pointer(path: Path) -> None:
    """Raise RecordingError for a Git LFS pointer, with the command that brings the data."""
    with path.open("rb") as file:
        begins = file.read(len(_GIT_LFS))
    if begins == _GIT_LFS:
        raise RecordingError(
            f"{path} is a Git LFS pointer, not the data: run  git lfs pull  in its repository."
        )
