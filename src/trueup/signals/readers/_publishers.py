"""Rows of a second publisher whose values never change, among those of the first.

A driver and a state publisher without a robot send to one topic in turn: every second message then
holds zeros. Such rows are no measurement.
"""

import numpy as np

from trueup.signals.recording import Stream

_FEWEST = 20  # rows of each publisher
_LEAST = 0.2  # share of the rows that the second one sends
_ALONE = 0.9  # share of its rows that lie between two of the first
_JUMP = 10.0  # distance of its values from the others', in their usual changes


def without_idle_publisher(stream: Stream) -> tuple[Stream, str]:
    """A stream without the rows of a publisher whose values never change, and a note.

    Such rows are equal in all columns, lie between changing rows, and jump away from them. A robot
    at rest repeats its values without interruption instead. The note is empty for none.
    """
    if not stream.columns or len(stream.times) < 2 * _FEWEST:
        return stream, ""
    table = np.column_stack(list(stream.columns.values()))
    table[~np.isfinite(table)] = np.nan
    changing = [
        c
        for c in range(table.shape[1])
        if (known := table[:, c][~np.isnan(table[:, c])]).size and np.ptp(known) > 0
    ]
    if not changing:
        return stream, ""
    # the most frequent row, found through its first column that changes
    first = table[:, changing[0]]
    levels, counts = np.unique(first[np.isfinite(first)], return_counts=True)
    row = table[int(np.argmax(first == levels[int(np.argmax(counts))]))]
    idle = np.all((table == row) | (np.isnan(table) & np.isnan(row)), axis=1)
    count = int(np.count_nonzero(idle))
    if count < max(_FEWEST, _LEAST * len(idle)) or len(idle) - count < _FEWEST:
        return stream, ""
    alone = idle.copy()
    alone[1:] &= ~idle[:-1]
    alone[:-1] &= ~idle[1:]
    if np.count_nonzero(alone) < _ALONE * count:
        return stream, ""
    others = table[~idle][:, changing]
    row = row[changing]
    usual = np.nanmedian(np.abs(np.diff(others, axis=0)), axis=0)
    away = np.nanmedian(np.abs(others - row), axis=0)
    if not np.any(away > _JUMP * np.maximum(usual, 1e-12)):
        return stream, ""
    what = stream.name or "the log"
    return stream.rows(~idle), (
        f"{what} holds two publishers in turn, as {count} of {len(idle)} rows between the others "
        "never change: they are left out"
    )
