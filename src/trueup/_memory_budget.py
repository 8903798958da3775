"""Limit on the memory that an input file may need, checked before it is allocated.

Compressed formats, fill values and repeated entries let a file of a few kilobytes state gigabytes.
Each reader adds up what a file declares, and the limit refuses what no recording needs.
"""

import os
from pathlib import Path

from trueup.errors import InputFileError

_ALWAYS = 2**28
"""Size that is accepted from any file [bytes]."""
_RATIO = 200
"""Largest plausible ratio of the size in memory to the size of the file."""
_CONTAINER_LIMITS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)


class MemoryBudget:
    """Memory that the values of a file, or of a folder, may need.

    Args:
      path: file or folder, for the message.
      packed: its size on the disk [bytes]; None reads that of the file.
    """

    def __init__(self, path: Path, packed: int | None = None):
        self.path = path
        self.packed = max(path.stat().st_size if packed is None else packed, 1)
        self.taken = 0

    def take(self, size: int) -> None:
        """Add the size of values [bytes] before they are read.

        Raises:
          InputFileError: the sum exceeds half of the memory, or is implausible for the size of the
            file.
        """
        self.taken += size
        implausible = self.taken > _ALWAYS and self.taken > _RATIO * self.packed
        if implausible or self.taken > memory_size() / 2:
            raise InputFileError(
                f"{self.path} has {self.packed / 2**20:.1f} MB and would unpack to "
                f"{self.taken / 2**30:.1f} GB, which is "
                + (
                    "implausible for a recording: check where the file comes from"
                    if implausible
                    else "more than half of the memory: split it into several files"
                )
            )


def memory_size() -> int:
    """Memory of the machine, or of the container if that has less [bytes]."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in _CONTAINER_LIMITS:
        try:
            text = Path(file).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdecimal():
            sizes.append(int(text))
    return min(sizes)
