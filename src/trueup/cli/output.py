"""Output of commands: text, or one JSON object."""

import json
import re
import sys
from typing import Any

import numpy as np

from trueup._marks import KEY, current_mark
from trueup._secrets import mask, masked


class Output:
    """Standard output of one command.

    Args:
      json: print one JSON object only on standard output, for errors too.
    """

    def __init__(self, json: bool = False):
        self.json = json

    def text(self, *lines: str) -> None:
        """Print lines of text; nothing with ``--json``."""
        if not self.json:
            print(*map(mask, lines), sep="\n", flush=True)

    def table(self, columns: list[str], rows: list[list[str]], title: str = "") -> None:
        """Print a table; nothing with ``--json``.

        Columns of numbers are aligned right, columns of words left.
        """
        if self.json:
            return
        widths = [max(len(str(r[i])) for r in [columns, *rows]) for i in range(len(columns))]
        numeric = [i > 0 and _of_numbers([row[i] for row in rows]) for i in range(len(columns))]
        if title:
            print(title)
        for row in [columns, ["-" * w for w in widths], *rows]:
            cells = [
                str(cell).rjust(width) if right else str(cell).ljust(width)
                for cell, width, right in zip(row, widths, numeric, strict=True)
            ]
            print(mask("  " + "  ".join(cells).rstrip()))
        print(flush=True)

    def result(self, value: dict[str, Any]) -> None:
        """Print the JSON object with ``--json``; without it, the mark of the result only."""
        mark = value.get(KEY) or current_mark()
        if mark is not None:
            value = {**value, KEY: mark}
            self.text(f"{mark[0].upper()}{mark[1:]}.")
        if self.json:
            print(json.dumps(masked(_plain(value)), indent=2, allow_nan=False), flush=True)

    def error(self, kind: str, message: str) -> None:
        """Report an error on standard error, or as a JSON object with ``--json``.

        An empty message is a defect of trueup.
        """
        message = mask(message).strip()
        assert message, f"{kind} has no message"
        if self.json:
            print(json.dumps({"error": kind, "message": message}, indent=2), flush=True)
        else:
            print(f"trueup: {message}", file=sys.stderr, flush=True)


def _of_numbers(cells: list[str]) -> bool:
    """Whether cells are numbers, possibly with a unit or a deviation, or dashes for none."""
    return all(re.match(r"[-+±]?(\d|\.\d|inf|nan|$)", str(cell)) for cell in cells)


def _plain(value: Any) -> Any:
    """JSON values; numbers that are not finite become null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value
