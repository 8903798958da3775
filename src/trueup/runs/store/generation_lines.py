"""Text files of a run with one line per generation."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from trueup.runs.store import atomic
from trueup.runs.store.thinning import kept_generations


class GenerationLines:
    """A text file with one line per generation, which stays below about its limit.

    A killed run may have written lines of generations that are computed again on resume: they, and
    a line that was cut off, are removed before the first new line is written. A file above its
    limit is thinned (:mod:`trueup.runs.store.thinning`) once the generation that passed the limit
    is in the store, or the search has ended, and in one step. So the file of a resumed run is that
    of one that was not killed.

    Args:
      path: the file.
      number_of: generation of a line; None for an unreadable one.
      limit: limit of the file [bytes].
      header: first line of the file, without its end; empty for none.
    """

    def __init__(
        self, path: Path, number_of: Callable[[bytes], int | None], limit: int, header: str = ""
    ):
        self.path = path
        self._number_of = number_of
        self._limit = limit
        self._header = f"{header}\n".encode() if header else b""
        self._is_open = False
        self._passed: int | None = None  # generation of the line that passed the limit

    def append(self, line: str, generation: int, committed: int) -> None:
        """Append the line of a generation.

        Args:
          line: content, without its end.
          generation: index of the generation.
          committed: index of the last generation in the store.
        """
        if not self._is_open:
            self._remove_from(generation)
            self._is_open = True
        with self.path.open("ab") as file:
            file.write(f"{line}\n".encode())
            size = file.tell()
        if self._passed is None and size > self._limit:
            self._passed = generation
        if self._passed is not None and self._passed <= committed:
            self._thin(committed)

    def finish(self) -> None:
        """Thin the file at the end of a search, when all its generations are in the store."""
        if self.path.is_file() and self.path.stat().st_size > self._limit:
            self._thin(sys.maxsize)

    def _remove_from(self, generation: int) -> None:
        """Remove the last lines from a generation on, and one that is cut off."""
        lines = self._lines()
        count = len(lines)
        while count and not self._stays(lines[count - 1], generation):
            count -= 1
        if self._header and (not self.path.is_file() or not self._starts_with_header()):
            atomic.write_bytes(self.path, self._header + b"".join(lines[:count]))
        elif count < len(lines):
            os.truncate(self.path, len(self._header) + sum(map(len, lines[:count])))
        if self.path.is_file() and self.path.stat().st_size > self._limit:
            self._passed = generation - 1

    def _stays(self, line: bytes, generation: int) -> bool:
        """Whether a line is complete and of a generation before ``generation``."""
        number = self._number_of(line)
        return line.endswith(b"\n") and (number is None or number < generation)

    def _thin(self, committed: int) -> None:
        """Thin the file as of each generation in the store that passed the limit."""
        lines = self._lines()
        numbers = self._numbers(lines)
        sizes = np.array([len(line) for line in lines])
        kept, self._passed = np.full(len(lines), True), None
        first = 0
        while True:
            total = len(self._header) + np.cumsum(sizes * kept)
            passed = np.flatnonzero(kept & (total > self._limit))
            passed = passed[passed >= first]
            if not len(passed):
                break
            end = int(passed[0])
            if numbers[end] > committed:
                self._passed = int(numbers[end])
                break
            rows = np.flatnonzero(kept[: end + 1])
            kept[rows] = kept_generations(numbers[rows], sizes[rows], self._limit)
            first = end + 1
        if not kept.all():
            content = [line for line, stays in zip(lines, kept, strict=True) if stays]
            atomic.write_bytes(self.path, self._header + b"".join(content))

    def _lines(self) -> list[bytes]:
        """Lines after the header, with their ends."""
        if not self.path.is_file():
            return []
        lines = self.path.read_bytes().splitlines(keepends=True)
        return lines[1:] if self._header and self._starts_with_header() else lines

    def _starts_with_header(self) -> bool:
        with self.path.open("rb") as file:
            return file.read(len(self._header)) == self._header

    def _numbers(self, lines: list[bytes]) -> np.ndarray:
        """Generation of each line ``(n,)``; that of the line before for an unreadable one."""
        found, last = [], 0
        for line in lines:
            number = self._number_of(line)
            last = last if number is None else number
            found.append(last)
        return np.array(found, dtype=int)
