"""Plain parts of a report: text, notes, trusted HTML, code, groups and rows of parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trueup._secrets import mask
from trueup.reports.rendering import Content, Context, Part, Text, as_contents

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["Code", "Content", "Group", "Html", "Note", "Row", "Stacked", "Text", "Yaml"]


@dataclass(frozen=True)
class Note(Part):
    """Small print below a figure or a table."""

    text: str

    def markup(self, context: Context) -> "Markup":
        """Return the note, escaped."""
        return context.render("text.html", paragraphs=[self.text], css_class="text note")


@dataclass(frozen=True)
class Html(Part):
    """HTML that is inserted verbatim. The caller must ensure that it is safe: it is not escaped."""

    source: str

    def markup(self, context: Context) -> "Markup":
        """Return the source unchanged."""
        from markupsafe import Markup

        return Markup(self.source)

    def __html__(self) -> str:
        """Return the source: templates and table cells treat it as safe."""
        return self.source


@dataclass(frozen=True)
class Stacked:
    """Value of a cell with a second one in small print below it.

    Attributes:
        value: the text.
        under: the text below it, such as a reference value.
        muted: shown as of little weight.
    """

    value: str
    under: str
    muted: bool = False

    def __html__(self) -> "Markup":
        """Return the value, escaped."""
        from markupsafe import Markup

        return Markup('<span class="{}">{}<span class="under">{}</span></span>').format(
            "stacked muted" if self.muted else "stacked", mask(self.value), mask(self.under)
        )


@dataclass(frozen=True)
class Code(Part):
    """A block of code or of a file, with a button that copies it.

    Attributes:
        text: the text, shown verbatim.
        title: a line above it, such as the file's name.
        language: shown next to the title.
        collapsed: shown folded, for long files; needs a title.
    """

    text: str
    title: str = ""
    language: str = ""
    collapsed: bool = False

    def markup(self, context: Context) -> "Markup":
        """Return the block, escaped."""
        return context.render("code.html", code=self)


@dataclass(frozen=True)
class Yaml(Part):
    """Plain data (mappings, lists, numbers, strings) shown as YAML."""

    data: object
    title: str = ""
    collapsed: bool = False

    def markup(self, context: Context) -> "Markup":
        """Return the data as a code block."""
        import yaml

        text = yaml.safe_dump(self.data, sort_keys=False, allow_unicode=True)
        return Code(text.rstrip("\n"), self.title, "yaml", self.collapsed).markup(context)


@dataclass(frozen=True)
class Group(Part):
    """Parts below a separate heading inside a section.

    Attributes:
        title: the heading.
        content: one part or a sequence of parts.
        collapsed: ``None``: a plain heading; ``True`` or ``False``: a foldable group, initially
            folded or open. Figures in a folded group are drawn when it is opened.
    """

    title: str
    content: "Content | str | Sequence[Content | str]"
    collapsed: bool | None = None

    def markup(self, context: Context) -> "Markup":
        """Return the heading and its parts."""
        parts = context.parts(as_contents(self.content))
        return context.render("group.html", group=self, parts=parts)


@dataclass(frozen=True)
class Row(Part):
    """Parts in a row, stacked on a narrow screen."""

    content: "Sequence[Content | str]"
    minimum_width: int = 320
    """Width below which a part is put on the next line [pixels]."""

    def markup(self, context: Context) -> "Markup":
        """Return the parts in a grid."""
        parts = context.parts(as_contents(list(self.content)))
        return context.render("row.html", parts=parts, minimum_width=int(self.minimum_width))


_MOST_ROWS = 20  # maximum rows of a list of inputs


def provenance_rows(provenance: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    """Return nested plain data as rows (key, text), keys joined by dots.

    A list of mappings, such as inputs with their hashes, has one row each, up to a maximum. Values
    that were not given are omitted.
    """
    rows: list[tuple[str, str]] = []
    for key, value in provenance.items():
        name = f"{prefix}{key}"
        if value is None:
            continue
        if isinstance(value, Mapping):
            rows.extend(provenance_rows(value, f"{name}."))
        elif isinstance(value, list | tuple) and any(isinstance(each, Mapping) for each in value):
            for index, each in enumerate(value[:_MOST_ROWS], 1):
                pairs = provenance_rows(each) if isinstance(each, Mapping) else [("", str(each))]
                text = ", ".join(f"{key} {entry}".strip() for key, entry in pairs)
                rows.append((f"{name} {index}", text))
            if len(value) > _MOST_ROWS:
                rows.append((name, f"{len(value)} in total; the others are in provenance.json"))
        elif isinstance(value, list | tuple):
            rows.append((name, ", ".join(str(entry) for entry in value)))
        else:
            rows.append((name, str(value)))
    return rows
