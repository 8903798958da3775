"""Page of a report: sections with anchors, a table of contents, saved as one file."""

import base64
import os
import re
import unicodedata
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from trueup._marks import current_mark
from trueup._rich_display import RichDisplay
from trueup._secrets import environment_read_once
from trueup._version import __version__
from trueup._writing import write_bytes
from trueup.errors import ReportError, RunDirectoryError, listing
from trueup.reports.content import Group, provenance_rows
from trueup.reports.findings import Findings, checked_tone
from trueup.reports.palette import DARK, LIGHT, css_variables
from trueup.reports.rendering import Content, Context, Part, as_content, as_contents, asset

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class Section(Part):
    """A part of the page with a heading, an entry in the table of contents and an anchor.

    Attributes:
        title: the heading.
        anchor: the address within the page, without ``#``; empty: made from the title.
        summary: one or two sentences below the heading, a text or a part such as
            :class:`~trueup.reports.Html`.
        content: one part or a sequence of parts.
        collapsed: initially folded; its figures are drawn when it is opened.
        tone: a severity that marks the entry in the table of contents, or empty.

    Raises:
        ReportError: the anchor contains characters other than letters, digits, ``-`` and ``_``.
    """

    title: str
    anchor: str = ""
    summary: "str | Content" = ""
    content: "Content | str | Sequence[Content | str]" = ()
    collapsed: bool = False
    tone: str = ""

    def markup(self, context: Context) -> "Markup":
        """Return the section without its page: heading, summary and parts."""
        summary = [self.summary] if self.summary else []
        return Group(self.title, [*summary, *as_contents(self.content)]).markup(context)

    def __post_init__(self) -> None:
        checked_tone(self.tone)
        if self.anchor and not re.fullmatch(r"[A-Za-z][\w-]*", self.anchor, re.ASCII):
            raise ReportError(
                f"section {self.title!r} has the anchor {self.anchor!r}: it must begin with a "
                "letter "
                "and contain only letters, digits, '-' and '_'"
            )


class Page(RichDisplay):
    """One self-contained HTML page.

    Args:
        title: heading and title of the window.
        subtitle: one line below it.
        provenance: plain data, may be nested (versions, seed, hashes of inputs): a folded table at
            the end of the page.
        lead: parts above the first section, or after it if that is the verdict, such as
            :class:`~trueup.reports.KeyFigures` and :class:`~trueup.reports.Findings`.
    """

    displayed_by = "trueup.reports.displays:of_page"

    def __init__(
        self,
        title: str,
        subtitle: str = "",
        provenance: Mapping[str, object] | None = None,
        lead: "Content | str | Sequence[Content | str]" = (),
    ):
        self.title = str(title)
        self.subtitle = str(subtitle)
        self.provenance = dict(provenance or {})
        self.lead: list[Content] = as_contents(lead)
        self.mark = current_mark()
        self.sections: list[Section] = []

    def add(self, *parts: "Section | Content | str") -> "Page":
        """Add sections in order; any other part becomes part of the lead. Returns the page.

        Raises:
            ReportError: a part cannot be shown, or an anchor is in use already.
        """
        for part in parts:
            if not isinstance(part, Section):
                self.lead.append(as_content(part))
                continue
            used = [section.anchor for section in self.sections if section.anchor]
            if part.anchor and part.anchor in used:
                raise ReportError(
                    f"two sections have the anchor {part.anchor!r} (in use: {listing(used)}): "
                    "anchors must be unique"
                )
            self.sections.append(part)
        return self

    def shown_parts(self) -> list[Content]:
        """Return what a reader sees first, without what is folded: for a notebook."""
        first = [section for section in self.sections if not section.collapsed]
        at = 1 if first and first[0].anchor == "verdict" else 0
        return [*self._marks(), *first[:at], *self.lead, *first[at:]]

    def html(self, static: bool = False) -> str:
        """Return the whole page as text.

        Args:
            static: without a script: figures are pictures, and the page takes a tenth of the space.
        """
        with environment_read_once():
            return self._html(Context(static=static))

    def _html(self, context: Context) -> str:
        context.anchors.update(section.anchor for section in self.sections if section.anchor)
        lead = context.parts(self.lead)
        sections = [self._shown_section(section, context) for section in self.sections]
        return str(
            context.render(
                "page.html",
                page=self,
                marks=context.parts(self._marks()),
                lead=lead,
                answer_first=bool(self.sections) and self.sections[0].anchor == "verdict",
                sections=sections,
                provenance=provenance_rows(self.provenance),
                version=__version__,
                light=css_variables(LIGHT),
                dark=css_variables(DARK),
                style=asset("report.css"),
                script=asset("report.js"),
                plotting_code=plotting_code() if context.figures and not context.static else "",
            )
        )

    def save(self, path: str | os.PathLike[str], static: bool = False) -> Path:
        """Write the page atomically and return its path.

        Missing parent folders are created.

        Args:
            path: file to write.
            static: without a script; see :meth:`html`.

        Raises:
            ReportError: the file cannot be written.
        """
        path = Path(path)
        content = self.html(static)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, content.encode("utf-8", "replace"))
        except OSError as error:
            raise ReportError(
                f"cannot write the report '{path}': {error.strerror or error}. "
                "Choose another path or free the folder"
            ) from error
        except RunDirectoryError as error:
            why = str(error).removeprefix(f"cannot write {path}: ")
            raise ReportError(f"cannot write the report '{path}': {why}") from error
        return path

    def _marks(self) -> list[Content]:
        """The note that inputs of the result have changed."""
        mark = self.mark or current_mark()
        return [] if mark is None else [Findings([("serious", f"This page was {mark}.")])]

    @staticmethod
    def _shown_section(section: Section, context: Context) -> dict[str, object]:
        return {
            "title": section.title,
            "anchor": section.anchor or context.claim_anchor(anchor_from(section.title)),
            "summary": context.parts([section.summary]) if section.summary else [],
            "parts": context.parts(as_contents(section.content)),
            "collapsed": section.collapsed,
            "tone": section.tone,
        }


def anchor_from(title: str) -> str:
    """Return an anchor made from a title: lower-case ASCII words joined by ``-``."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode("ascii")
    words = re.findall(r"[a-z0-9]+", plain.lower())
    anchor = "-".join(words) or "section"
    return anchor if anchor[0].isalpha() else f"section-{anchor}"


@lru_cache(maxsize=1)
def plotting_code() -> str:
    """Return plotly.js of the installed plotly, compressed (zlib) and in base64.

    The browser decompresses it (``DecompressionStream``), which saves 2.8 MB per page, and parses
    it only when the first figure comes into view.
    """
    from plotly.offline import get_plotlyjs

    packed = zlib.compress(get_plotlyjs().encode("utf-8"), 9)
    return base64.b64encode(packed).decode("ascii")


__all__ = ["Page", "Section", "anchor_from", "plotting_code"]
