"""Layout of the variables of a MATLAB 5 file, checked before scipy reads them.

Layout (MathWorks, MAT-File Format, chapter 1): elements, each with a tag of two 4-byte integers,
its type and its length. A matrix consists of elements: flags, dimensions, name, and its values;
those of a cell or a struct are matrices again. A compressed element is one matrix.
"""

import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

from trueup._memory_budget import MemoryBudget
from trueup.errors import RecordingError

HEADER_BYTES = 128
"""Length of the header of a file."""
BYTE_ORDERS = {b"IM": "<", b"MI": ">"}
"""Last bytes of the header, and the byte order in the notation of ``struct``."""
_TAG = 8
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT, _OBJECT, _SPARSE = 1, 2, 3, 5
_KINDS = range(1, 16)  # of matrices; functions and newer objects have layouts of their own
_COMPLEX = 1 << 11
_DEEPEST = 100  # scipy reads nested matrices by recursion in compiled code
_STEP = 2**16


_SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
"""Bytes of a number of each type; scipy reads one of another type out of bounds."""
_TEXTS = (16, 17, 18)
_CHAR = 4


class _DamagedError(Exception):
    """The data end too early, or do not have this layout."""


def check_mat(path: Path) -> None:
    """Check the layout and the sizes of all variables of a file.

    Raises:
        InputFileError: They need an implausible amount of memory.
        RecordingError: A variable is damaged, or cells or structs are nested too deeply.
    """
    budget = MemoryBudget(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        order = BYTE_ORDERS.get(file.read(HEADER_BYTES)[126:128])
        while order is not None and file.tell() + _TAG <= size:
            kind, length = struct.unpack(f"{order}II", file.read(_TAG))
            end = file.tell() + length
            source = _Source(file, length, kind == _COMPRESSED, order)
            try:
                if kind == _COMPRESSED:
                    kind, length = source.tag()
                if kind == _MATRIX:
                    _check_matrix(path, source, length, budget, depth=0)
            except (_DamagedError, zlib.error, struct.error) as error:
                raise RecordingError(
                    f"{path} is damaged: the layout of a variable is none of MATLAB. Copy it "
                    "again, or save it again."
                ) from error
            file.seek(end)


class _Source:
    """Bytes of an element, unpacked in steps."""

    def __init__(self, file: BinaryIO, length: int, compressed: bool, order: str):
        self.order = order
        self.position = 0
        self._file, self._left = file, length
        self._unpacker = zlib.decompressobj() if compressed else None
        self._ready = b""

    def read(self, count: int) -> bytes:
        """The next bytes; :class:`_DamagedError` if there are fewer."""
        while len(self._ready) < count:
            self._ready += self._more()
        found, self._ready = self._ready[:count], self._ready[count:]
        self.position += count
        return found

    def skip(self, count: int) -> None:
        """Pass over bytes."""
        if count < 0:
            raise _DamagedError
        self.position += count
        while count > len(self._ready):
            count -= len(self._ready)
            self._ready = b""
            if self._unpacker is None:
                if count > self._left:
                    raise _DamagedError
                self._file.seek(count, 1)
                self._left -= count
                return
            self._ready = self._more()
        self._ready = self._ready[count:]

    def tag(self) -> tuple[int, int]:
        """Type and length of an element of the long form."""
        kind, length = struct.unpack(f"{self.order}II", self.read(_TAG))
        return kind, length

    def element(self) -> bytes:
        """Values of a small element, such as dimensions."""
        _, length, padding = self._head()
        if length > _STEP:
            raise _DamagedError
        content = self.read(length)
        self.skip(padding)
        return content

    def numbers(self, count: int | None, following: bool) -> None:
        """Check the type and the number of the values of an element; pass over it if one follows.

        ``count`` is None for a text, whose letters have several bytes, and for a sparse matrix.
        """
        kind, length, padding = self._head()
        size = _SIZES.get(kind)
        if size is None and (count is not None or kind not in _TEXTS):
            raise _DamagedError
        if size is not None and count is not None and length != size * count:
            raise _DamagedError
        if following:
            self.skip(length + padding)

    def _head(self) -> tuple[int, int, int]:
        """Type of an element, its length, and the bytes between its end and the next."""
        first = struct.unpack(f"{self.order}I", self.read(4))[0]
        if first >> 16:  # type and length share four bytes, four of values follow
            length = first >> 16
            if length > 4:
                raise _DamagedError
            return first & 0xFFFF, length, 4 - length
        length = struct.unpack(f"{self.order}I", self.read(4))[0]
        return first, length, -length % 8

    def _more(self) -> bytes:
        if self._unpacker is None:
            data = self._file.read(min(_STEP, self._left))
            self._left -= len(data)
        else:
            data = self._unpacker.decompress(self._unpacker.unconsumed_tail, _STEP)
            while not data and self._left and not self._unpacker.eof:
                packed = self._file.read(min(_STEP, self._left))
                self._left -= len(packed)
                data = self._unpacker.decompress(packed, _STEP)
        if not data:
            raise _DamagedError
        return data


def _check_matrix(
    path: Path, source: _Source, length: int, budget: MemoryBudget, depth: int
) -> None:
    """Check a matrix and those in it, take their memory from the budget, and end after it.

    The values of a plain matrix that is a variable are not passed over.
    """
    if depth > _DEEPEST:
        raise RecordingError(
            f"{path} contains cells or structs nested more than {_DEEPEST} deep: save the numbers "
            "as arrays."
        )
    if length == 0:
        return
    end = source.position + length
    flags = source.element()
    if len(flags) < 4:
        raise _DamagedError
    marks = struct.unpack(f"{source.order}I", flags[:4])[0]
    kind, is_complex = marks & 0xFF, bool(marks & _COMPLEX)
    if kind not in _KINDS:
        source.skip(end - source.position if depth else 0)
        return
    stated = source.element()
    sizes = struct.unpack(f"{source.order}{len(stated) // 4}i", stated)
    if len(sizes) < 2 or len(sizes) > 32 or min(sizes) < 0:
        raise _DamagedError
    count = math.prod(sizes)
    if kind != _SPARSE:
        budget.take(8 * count)
    source.element()  # its name
    if kind in (_CELL, _STRUCT, _OBJECT):
        if kind == _OBJECT:
            source.element()
        if kind != _CELL:
            width = struct.unpack(f"{source.order}I", source.element()[:4])[0]
            count *= len(source.element()) // max(width, 1)
            budget.take(8 * count)
        for _ in range(count):
            inner, size = source.tag()
            if inner != _MATRIX:
                raise _DamagedError
            _check_matrix(path, source, size, budget, depth + 1)
    else:
        parts = (3 if kind == _SPARSE else 1) + is_complex
        expected = None if kind in (_SPARSE, _CHAR) else count
        for part in range(parts):
            source.numbers(expected, following=bool(depth) or part < parts - 1)
    if depth and source.position != end:
        raise _DamagedError
