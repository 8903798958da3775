"""Parsing of numbers in text: decimal points and commas, thousands separators, empty words.

``0,5`` and ``1.234,5`` are unambiguous, but ``1,234`` may be 1.234 or 1234: it is resolved by
another cell of its column, or of the file, that determines the meaning of a comma.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

_NUMBER = re.compile(r"([+-]?)([\d.,'\u2019\u00a0\u202f]*\d[.,]?)((?:[eE][+-]?\d+)?)")
_OPEN_COMMA = re.compile(r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$", re.M)
_OTHER_GROUPS = re.compile(r"['\u2019\u00a0\u202f]")
_MISSING = {
    *("", "na", "n/a", "null", "none", "-", "#n/a", "#na"),
    *("1.#qnan", "-1.#qnan", "1.#ind", "-1.#ind", "nan(ind)", "-nan(ind)"),
}
_WORDS = {"true": 1.0, "false": 0.0, "1.#inf": np.inf, "-1.#inf": -np.inf}


@dataclass
class WrittenColumn:
    """Cells of a column, and the decimal characters that they determine."""

    cells: Sequence[str]
    values: np.ndarray = field(init=False)
    """Numbers ``(n,)``, NaN where empty or not yet resolved."""
    texts: list[int] = field(init=False, default_factory=list)
    """Indices of cells that are not numbers."""
    decimals: set[str] = field(init=False, default_factory=set)
    """Characters that can only be decimal points or commas."""
    open: dict[str, list[int]] = field(init=False, default_factory=dict)
    """Indices of ambiguous cells: the only comma or point may separate thousands."""
    _marked: list[int] = field(init=False, default_factory=list)
    _pointed: list[int] = field(init=False, default_factory=list)

    def __post_init__(self):
        if self._has_decimal_commas():
            return
        self.values = np.full(len(self.cells), np.nan)
        for place, cell in enumerate(self.cells):
            text = cell.strip()
            if "," not in text and "_" not in text:
                try:
                    self.values[place] = float(text)
                except ValueError:
                    self._unusual(place, text)
                else:
                    if "." in text:
                        self._pointed.append(place)
            else:
                self._unusual(place, text)

    def _has_decimal_commas(self) -> bool:
        """Parse a column of decimal commas without points at once, if one cell is unambiguous."""
        whole = "\n".join(self.cells)
        commas = whole.count(",")
        if not commas or "." in whole or "_" in whole or len(_OPEN_COMMA.findall(whole)) == commas:
            return False
        try:
            self.values = np.array(
                [c.strip().replace(",", ".") or "nan" for c in self.cells], float
            )
        except ValueError:
            return False
        self.decimals = {","}
        return True

    @property
    def is_plain(self) -> bool:
        """Whether all numbers are in plain notation."""
        return not self._marked and not self.decimals

    def weigh_points(self) -> None:
        """Add the evidence of points, needed where commas or separators occur as well."""
        for place in self._pointed:
            self._mark(place, self.cells[place].strip())
        self._pointed.clear()

    def _unusual(self, place: int, text: str) -> None:
        """Classify a cell not in plain notation: a word, a grouped number, or text."""
        word = text.lower()
        if word in _WORDS:
            self.values[place] = _WORDS[word]
        elif word not in _MISSING and not self._mark(place, text):
            self.texts.append(place)

    def _mark(self, place: int, text: str) -> bool:
        """Record the evidence of a number on points and commas; False if it is not a number."""
        match = _NUMBER.fullmatch(text)
        if match is None:
            return False
        body, exponent = match[2], match[3]
        whole, mark, part = _parts(body)
        if mark and not exponent and body.count(mark) == 1 and _may_be_group(body, mark):
            self.open.setdefault(mark, []).append(place)
        elif mark and part is None:  # a repeated character separates thousands
            if not _grouped(whole, mark):
                return False
            self.decimals.add("," if mark == "." else ".")
        elif mark:
            if not _grouped(whole, "," if mark == "." else "."):
                return False
            self.decimals.add(mark)
        elif not _grouped(whole, ""):
            return False
        self._marked.append(place)
        return True

    def read(self, decimal: str) -> None:
        """Parse the cells with points or commas; ``decimal`` is the decimal character."""
        group = "." if decimal == "," else ","
        for place in self._marked:
            text = _OTHER_GROUPS.sub("", self.cells[place].strip())
            self.values[place] = float(text.replace(group, "").replace(decimal, "."))


def _parts(body: str) -> tuple[str, str, str | None]:
    """Whole part, last mark (point, comma or empty) and what follows it; None of a group."""
    last = max(body.rfind("."), body.rfind(","))
    if last < 0:
        return body, "", None
    mark = body[last]
    return (body, mark, None) if body.count(mark) > 1 else (body[:last], mark, body[last + 1 :])


def _may_be_group(body: str, mark: str) -> bool:
    """Whether the only mark of a number may separate thousands: 1 to 3 digits, then 3."""
    whole, _, part = body.partition(mark)
    return len(part) == 3 and re.fullmatch(r"[1-9]\d{0,2}", whole) is not None


def _grouped(whole: str, mark: str) -> bool:
    """Whether an integer part has no separators, or one before each group of three digits."""
    separators = set(re.sub(r"\d", "", whole))
    if not separators:
        return True
    (separator,) = separators if len(separators) == 1 else (None,)
    if separator is None or (separator in ".," and separator != mark):
        return False
    return re.fullmatch(rf"\d{{1,3}}(?:{re.escape(separator)}\d{{3}})+", whole) is not None


def is_number(text: str) -> bool:
    """Whether a text is a number, written in any of the usual ways."""
    column = WrittenColumn([text])
    return not column.texts


@dataclass(frozen=True)
class Doubt:
    """A cell with an ambiguous or invalid number."""

    column: str
    place: int
    why: str


def read_columns(columns: Mapping[str, WrittenColumn]) -> tuple[list[Doubt], bool]:
    """Read the numbers of all columns.

    Returns:
      Unresolved cells, one per column, and whether any comma is a decimal comma.
    """
    doubts: list[Doubt] = []
    if all(column.is_plain for column in columns.values()):
        return doubts, False
    for column in columns.values():
        column.weigh_points()
    of_file = {mark for column in columns.values() for mark in column.decimals}
    commas = False
    for name, column in columns.items():
        marks = column.decimals
        unclear = [place for places in column.open.values() for place in places]
        if len(marks) > 1:
            doubts.append(_mixed(name, column))
            continue
        if not marks and not unclear:
            column.read(".")
            continue
        if marks:
            decimal = next(iter(marks))
        elif set(column.open) == of_file:  # commas in a file of decimal commas, or points
            decimal = next(iter(of_file))
        elif set(column.open) == {"."} and "," not in of_file:
            decimal = "."
        else:
            cell = column.cells[min(unclear)].strip()
            plain = cell.replace(",", "").replace(".", "")
            doubts.append(
                Doubt(
                    name,
                    min(unclear),
                    f"{cell!r} is ambiguous: {cell.replace(',', '.')} or {plain}. Write numbers "
                    "with a decimal point and without thousands separators",
                )
            )
            continue
        column.read(decimal)
        commas |= decimal == ","
    return doubts, commas


def _mixed(name: str, column: WrittenColumn) -> Doubt:
    marks = [_decimals(cell) for cell in column.cells]
    first = next(place for place, mark in enumerate(marks) if mark)
    other = next(place for place, mark in enumerate(marks) if mark and mark != marks[first])
    return Doubt(
        name,
        other,
        f"{column.cells[other].strip()!r} and {column.cells[first].strip()!r} have different "
        "decimal characters: write all numbers with a decimal point",
    )


def _decimals(cell: str) -> set[str]:
    column = WrittenColumn([cell])
    column.weigh_points()
    return column.decimals
