"""Commands that are a copy of the measurement."""

from collections.abc import Iterator

import numpy as np

from trueup.signals._samples import Array
from trueup.signals.checks.finding import Found, refuse
from trueup.signals.checks.recorded import Recorded

# Rows by which a copy may be shifted.
_MOST_ROWS = 3
_EQUAL = 0.98
_ROUNDING = 1e-6
# Changes of the command that a copy shares: a robot at rest may be where it was told to be.
_FEWEST = 20


def copies(recorded: Recorded) -> Iterator[Found]:
    """Find commanded positions that repeat the measured ones."""
    for control, position in recorded.targets.items():
        command, measured = recorded.channel(control), recorded.channel(position)
        if command is None or measured is None:
            continue
        sentence = copy_sentence(control, command.values, position, measured.values)
        if sentence:
            yield refuse(f"{sentence}.", f"{control} / {position}")


def copy_sentence(control: str, command: Array, position: str, measured: Array) -> str:
    """Sentence on a command that is a copy of its measurement; empty if it is none.

    Args:
        control: Name of the command.
        command: Commanded positions (n,).
        position: Name of the measurement.
        measured: Measured positions (n,).
    """
    size = max(float(np.ptp(measured)), 1e-300)
    for rows in sorted(range(-_MOST_ROWS, _MOST_ROWS + 1), key=abs):
        given = command[max(0, -rows) : len(command) - max(0, rows)]
        found = measured[max(0, rows) : len(measured) - max(0, -rows)]
        changes = np.flatnonzero(np.abs(np.diff(found)) > _ROUNDING * size) + 1
        if changes.size < _FEWEST:
            continue
        equal = np.abs(given - found) <= _ROUNDING * size
        if np.mean(equal) > _EQUAL and np.mean(equal[changes]) > _EQUAL:
            shifted = ""
            if rows:
                when = "later" if rows > 0 else "earlier"
                shifted = f" {abs(rows)} {'row' if abs(rows) == 1 else 'rows'} {when}"
            return (
                f"{control} is a copy of {position}{shifted}: it equals the measurement in "
                f"{100.0 * float(np.mean(equal)):.4g} % of the rows, and is no command. Map the "
                "column with the command that was sent, or record it"
            )
    return ""
