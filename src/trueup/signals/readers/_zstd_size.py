"""Size that Zstandard data unpack to, from their headers (RFC 8878, section 3.1)."""

from typing import BinaryIO

_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_LARGEST_BLOCK = 128 * 1024
_RLE, _COMPRESSED = 1, 2


def unpacked_size(file: BinaryIO, length: int) -> int:
    """Upper bound of the unpacked size [bytes] of the next ``length`` bytes of a file.

    A frame states its size, or that of each block follows from the header of the block. Nothing is
    unpacked. Data that are not of the format give what was found until then.
    """
    end = file.tell() + length
    total = 0
    while file.tell() + 4 <= end:
        magic = file.read(4)
        if int.from_bytes(magic, "little") in _SKIPPABLE:
            file.seek(int.from_bytes(file.read(4), "little"), 1)
        elif magic == _MAGIC:
            total += _frame_size(file, end)
        else:
            break
    return total


def _frame_size(file: BinaryIO, end: int) -> int:
    """Size of a frame after its magic number, with the file at its end afterwards."""
    descriptor = file.read(1)
    if not descriptor:
        return 0
    flags = descriptor[0]
    single, checksum = flags >> 5 & 1, flags >> 2 & 1
    file.seek((0 if single else 1) + (0, 1, 2, 4)[flags & 3], 1)
    width = (1 if single else 0, 2, 4, 8)[flags >> 6]
    stated = int.from_bytes(file.read(width), "little") + (256 if width == 2 else 0)
    blocks, is_last = 0, False
    while not is_last and file.tell() + 3 <= end:
        header = int.from_bytes(file.read(3), "little")
        is_last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        blocks += _LARGEST_BLOCK if kind == _COMPRESSED else size
        file.seek(1 if kind == _RLE else size, 1)
    file.seek(4 * checksum, 1)
    return stated if width else blocks
