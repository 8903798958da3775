"""Names for the places of a row of numbers."""

from enum import IntEnum


class Index(IntEnum):
    """Enumeration of places counted from 0: each member is a name and, to compiled code, an
    index."""

    @staticmethod
    def _generate_next_value_(name, start, count, last_values):
        return count
