"""Recognises a format by the first bytes of a file."""

from pathlib import Path

# Format name -> how its files begin.
MAGIC = {
    "parquet": (b"PAR1",),
    "npz": (b"PK\x03\x04", b"PK\x05\x06"),
    # MATLAB 7.3 puts a text before the HDF5 signature.
    "hdf5": (b"\x89HDF\r\n\x1a\n", b"MATLAB 7.3"),
    "mcap": (b"\x89MCAP",),
    "rosbag2": (b"SQLite format 3\x00", b"#ROSBAG V2.0"),
}
_MATLAB_5 = b"MATLAB 5.0"
_GIT_LFS = b"version https://git-lfs"


def first_bytes(path: Path, count: int = 64) -> bytes:
    """Return how a file begins."""
    with path.open("rb") as file:
        return file.read(count)


def looks_like(path: Path) -> str | None:
    """Return the format that a file begins like, or None."""
    start = first_bytes(path)
    for name, beginnings in MAGIC.items():
        if start.startswith(beginnings):
            return name
    return "mat" if start.startswith(_MATLAB_5) else None


def is_git_lfs_pointer(path: Path) -> bool:
    """Whether a file is what Git LFS leaves in place of a file that was not downloaded."""
    return first_bytes(path).startswith(_GIT_LFS)
