"""Named indices of a row of numbers."""

from enum import IntEnum


class Index(IntEnum):
    """Enumeration of indices counted from 0: each member is a name and, in compiled code, an
    index."""

    @staticmethod
    def _generate_next_value_(name, start, count, last_values):
        return count
