"""Tables, readable without a script, with highlight rules."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from trueup.errors import ReportError, did_you_mean, listing
from trueup.reports.findings import checked_tone
from trueup.reports.numbers import format_number
from trueup.reports.rendering import Context, Part

if TYPE_CHECKING:
    from markupsafe import Markup


_LONG_TEXT, _LONG_NAME = 36, 17


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        title: its heading, and its key where rows are mappings and in highlight rules. In a group
            the key is ``group: title``.
        unit: shown small below the heading.
        digits: significant digits of numbers.
        format: function from a value to its text; default: numbers with ``digits``.
        align: ``"left"``, ``"right"`` or empty: right if the column contains numbers.
        note: explanation shown as a tooltip of the heading.
        group: heading above this column and its neighbours of the same group.
    """

    title: str
    unit: str = ""
    digits: int = 5
    format: Callable[[object], str] | None = None
    align: str = ""
    note: str = ""
    group: str = ""

    @property
    def key(self) -> str:
        """Name of the column within its table."""
        return f"{self.group}: {self.title}" if self.group else self.title


@dataclass(frozen=True)
class Cell:
    """One value with its own tone or explanation, overriding the rules of the table."""

    value: object
    tone: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        checked_tone(self.tone)


@dataclass(frozen=True)
class Highlight:
    """A rule that marks cells.

    Attributes:
        column: title of its column.
        when: function from the column's value to whether the cell is marked. With ``whole_row`` it
            marks every cell of the row. With ``by_row`` it receives the row, a mapping from column
            title to value.
        tone: ``"good"``, ``"info"``, ``"warning"`` or ``"serious"``.
        label: meaning of the mark, shown below the table.
    """

    column: str
    when: Callable[..., object]
    tone: str = "warning"
    label: str = ""
    whole_row: bool = False
    by_row: bool = False

    def __post_init__(self) -> None:
        checked_tone(self.tone)


@dataclass(frozen=True)
class _ShownCell:
    content: object
    tone: str
    note: str
    right: bool
    sort_key: str

    @property
    def css_class(self) -> str:
        length = len(self.content) if isinstance(self.content, str) else 0
        names = (
            "right" * self.right,
            f"tone-{self.tone}" if self.tone else "",
            "text-cell" * (length > _LONG_TEXT),
            "long" * (length > _LONG_NAME),
        )
        return " ".join(name for name in names if name)


@dataclass(frozen=True)
class Table(Part):
    """A table of texts and numbers.

    Attributes:
        columns: titles or :class:`Column` objects. The first column is fixed when the table is
            scrolled horizontally.
        rows: sequences of values in the columns' order, or mappings from title to value. A value is
            a text, a number, ``None``, an :class:`~trueup.reports.Html` or a :class:`Cell`.
        title: heading above it.
        notes: small print below it: a text or several.
        highlights: rules, of which the first that applies to a cell marks it.
        sortable: a tap on a heading sorts the rows.

    Raises:
        ReportError: a row has another length, or names a column that does not exist.
    """

    columns: Sequence[str | Column]
    rows: Sequence[Sequence[object] | Mapping[str, object]]
    title: str = ""
    notes: str | Sequence[str] = ()
    highlights: Sequence[Highlight] = ()
    sortable: bool = True
    _values: list[list[object]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        columns = [
            column if isinstance(column, Column) else Column(column) for column in self.columns
        ]
        titles = [column.key for column in columns]
        if not columns:
            raise ReportError("a table requires at least one column")
        if len(set(titles)) != len(titles):
            raise ReportError(f"the column titles of a table must be unique: {listing(titles)}")
        for rule in self.highlights:
            _check_title(rule.column, titles, "a highlight rule")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "_values", [_row_values(row, titles) for row in self.rows])

    def markup(self, context: Context) -> "Markup":
        """Return the table."""
        columns: list[Column] = list(self.columns)  # type: ignore[arg-type]
        right = [
            column.align == "right" or (column.align == "" and self._holds_numbers(index))
            for index, column in enumerate(columns)
        ]
        notes = [self.notes] if isinstance(self.notes, str) else list(self.notes)
        used: set[int] = set()
        rows = [self._shown_row(columns, right, row, used) for row in self._values]
        legend = [rule for n, rule in enumerate(self.highlights) if n in used and rule.label]
        return context.render(
            "table.html",
            table=self,
            columns=list(zip(columns, right)),
            groups=_groups(columns),
            rows=rows,
            notes=[note for note in notes if note],
            legend=legend,
            sortable=self.sortable and len(rows) > 2,
        )

    def _holds_numbers(self, index: int) -> bool:
        values = [_plain(row[index]) for row in self._values]
        values = [value for value in values if value is not None]
        return bool(values) and all(_is_number(value) for value in values)

    def _shown_row(
        self, columns: list[Column], right: list[bool], row: list[object], used: set[int]
    ) -> list[_ShownCell]:
        titles = [column.key for column in columns]
        plain = dict(zip(titles, map(_plain, row)))
        tones = dict.fromkeys(titles, "")
        for number, rule in enumerate(self.highlights):
            if not rule.when(plain if rule.by_row else plain[rule.column]):
                continue
            used.add(number)
            for title in titles if rule.whole_row else [rule.column]:
                tones[title] = tones[title] or rule.tone
        return [
            _shown_cell(column, value, tones[column.key], is_right)
            for column, value, is_right in zip(columns, row, right)
        ]


def _groups(columns: list[Column]) -> list[tuple[str, int]]:
    """Heading and width of each run of columns of one group; empty without groups."""
    runs = [(group, len(list(run))) for group, run in groupby(columns, lambda c: c.group)]
    return runs if any(group for group, _ in runs) else []


def _shown_cell(column: Column, value: object, tone: str, right: bool) -> _ShownCell:
    note = ""
    if isinstance(value, Cell):
        tone, note, value = value.tone or tone, value.note, value.value
    if column.format is not None and value is not None:
        content: object = column.format(value)
    elif hasattr(value, "__html__"):
        content = value
    else:
        content = format_number(value, column.digits)
    sort_key = repr(float(value)) if _is_number(value) else ""  # type: ignore[arg-type]
    return _ShownCell(content, tone, note, right, sort_key)


def _row_values(row: Sequence[object] | Mapping[str, object], titles: list[str]) -> list[object]:
    if isinstance(row, Mapping):
        for title in row:
            _check_title(str(title), titles, "a row")
        return [row.get(title) for title in titles]
    values = list(row)
    if len(values) != len(titles):
        raise ReportError(
            f"a row of a table has {len(values)} values, expected one for each of {len(titles)} "
            f"columns ({listing(titles)})"
        )
    return values


def _check_title(title: str, titles: list[str], where: str) -> None:
    if title not in titles:
        raise ReportError(
            f"{where} refers to an unknown column {title!r}; available: {listing(titles)}."
            f"{did_you_mean(title, titles)}"
        )


def _plain(value: object) -> object:
    return value.value if isinstance(value, Cell) else value


def _is_number(value: object) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating)
    return number and not isinstance(value, bool)
