"""HTML of the parts of a page: template environment and shared context."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from trueup._rich_display import RichDisplay
from trueup._secrets import mask, masked
from trueup.errors import ReportError

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@runtime_checkable
class Content(Protocol):
    """Part of a section: anything with a method ``markup(context)``."""

    def markup(self, context: "Context") -> "Markup":
        """Return the part as HTML that is safe to insert."""
        ...


class Part(RichDisplay):
    """Base of the parts of trueup, which notebooks display."""

    displayed_by = "trueup.reports.displays:of_part"


@dataclass
class Context:
    """Shared state of the parts of one page while it is written.

    Attributes:
        figures: number of plots so far; zero means that the page needs no plotting code.
        anchors: anchors in use.
        static: whether the parts are drawn without a script, in a notebook or on such a page.
    """

    figures: int = 0
    anchors: set[str] = field(default_factory=set)
    static: bool = False

    def next_figure(self) -> int:
        """Count one more plot and return its number."""
        self.figures += 1
        return self.figures

    def claim_anchor(self, wanted: str) -> str:
        """Return ``wanted``, with a number appended if another part has it already."""
        anchor, number = wanted, 2
        while anchor in self.anchors:
            anchor, number = f"{wanted}-{number}", number + 1
        self.anchors.add(anchor)
        return anchor

    def render(self, template: str, **values: object) -> "Markup":
        """Return a template filled in; every value that is not markup is escaped."""
        from markupsafe import Markup

        return Markup(environment().get_template(template).render(**values, static=self.static))

    def parts(self, contents: Iterable["Content | str"]) -> list["Markup"]:
        """Return each part as HTML; a plain string becomes paragraphs of text."""
        return [as_content(content).markup(self) for content in contents]


@dataclass(frozen=True)
class Text(Part):
    """Paragraphs of plain text; an empty line starts a new paragraph."""

    text: str

    def markup(self, context: Context) -> "Markup":
        """Return the paragraphs, escaped."""
        paragraphs = [part.strip() for part in self.text.split("\n\n") if part.strip()]
        return context.render("text.html", paragraphs=paragraphs, css_class="text")


def as_content(content: object) -> Content:
    """Return ``content`` if it is a part, a string as :class:`~trueup.reports.Text`.

    Raises:
        ReportError: it is neither.
    """
    if isinstance(content, str):
        return Text(content)
    if isinstance(content, type) or not isinstance(content, Content):
        raise ReportError(
            f"a report does not support the type {type(content).__name__!r}: give a "
            "string or one of the parts of trueup.reports (Table, Figure, Findings, Html, ...)"
        )
    return content


def as_contents(content: object) -> list[Content]:
    """Return one part or a sequence of parts as a list."""
    if isinstance(content, list | tuple):
        return [as_content(part) for part in content]
    return [as_content(content)]


@lru_cache(maxsize=1)
def environment() -> "Environment":
    """Return the template environment: everything is escaped, unknown names are errors."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("trueup.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_without_secrets,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["breakable"] = breakable
    return made


def _without_secrets(value: object) -> object:
    """A value for a template, with secrets masked in texts that are not yet HTML."""
    return mask(value) if type(value) is str else value


@lru_cache(maxsize=8)
def asset(name: str) -> "Markup":
    """Return a style sheet or script of the package, to be inserted into the page verbatim."""
    from markupsafe import Markup

    folder = resources.files("trueup.reports") / "assets"
    return Markup((folder / name).read_text(encoding="utf-8"))


def breakable(text: object) -> "Markup":
    """Return escaped text with optional line breaks after ``_``, ``/`` and ``.``.

    Numbers are not broken. Copying it gives the text unchanged.
    """
    from markupsafe import Markup, escape

    escaped = str(escape(mask(str(text))))
    return Markup(re.sub(r"(?<=\w)([_/]|(?<!\d)\.|\.(?!\d))(?=\w)", r"\1<wbr>", escaped))


def json_for_script(value: object) -> "Markup":
    """Return JSON that is safe inside a ``<script>`` element for any strings."""
    from markupsafe import Markup

    text = json.dumps(masked(value), allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
