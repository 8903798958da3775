"""Saved states of searches: their version, and their history as arrays."""

from typing import Any

import numpy as np

from trueup.errors import FitError


def require_version(state: dict[str, Any], version: int, search: str) -> None:
    """Check the version of a saved state.

    Raises:
      FitError: another version; the message gives both.
    """
    if state.get("version") != version:
        raise FitError(
            f"the saved {search} has state version {state.get('version')}, this version of trueup "
            f"supports {version}: resume it with the version of trueup that saved it, or restart "
            "the study"
        )


LONGEST = 10_000
"""Most records of the history of a search."""
_LAST = 1000  # records that stay in full


class HistoryColumns:
    """Incremental packing of a growing list of records into one array per key.

    A record contains numbers, or None for missing ones.
    """

    def __init__(self) -> None:
        self._packed = 0
        self._columns: dict[str, np.ndarray] = {}

    def add(self, history: list[dict[str, Any]], record: dict[str, Any]) -> None:
        """Append a record; of a history that has become too long, every second one is removed.

        The last records stay. What is removed depends on the number of records alone, so that a
        resumed search has the same history.
        """
        history.append(record)
        if len(history) > LONGEST:
            del history[1:-_LAST:2]
            self._packed, self._columns = 0, {}

    def pack(self, history: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the packed history; integers are preserved."""
        for key in history[0] if history else ():
            new = [record[key] for record in history[self._packed :]]
            kind = np.int64 if all(type(value) is int for value in new) else np.float64
            column = np.array([np.nan if value is None else value for value in new], kind)
            if key in self._columns:
                column = np.concatenate([self._columns[key], column])
            self._columns[key] = column
        self._packed = len(history)
        return dict(self._columns)

    @staticmethod
    def unpack(columns: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the records of a packed history."""
        lists = {key: np.asarray(column).tolist() for key, column in columns.items()}
        length = len(next(iter(lists.values()), []))
        return [
            {key: None if values[i] != values[i] else values[i] for key, values in lists.items()}
            for i in range(length)
        ]
