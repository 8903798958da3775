"""Key figures and findings for the start of a page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from trueup.errors import ReportError, did_you_mean, listing
from trueup.reports.numbers import format_number
from trueup.reports.rendering import Context, Part

if TYPE_CHECKING:
    from markupsafe import Markup

Severity = Literal["good", "info", "warning", "serious"]
SEVERITIES: tuple[str, ...] = get_args(Severity)


def checked_tone(tone: str) -> str:
    """Return ``tone`` if it is a severity or empty; otherwise raise :class:`ReportError`."""
    if tone and tone not in SEVERITIES:
        raise ReportError(
            f"unknown severity {tone!r}: use one of {listing(SEVERITIES)}."
            f"{did_you_mean(tone, SEVERITIES)}"
        )
    return tone


@dataclass(frozen=True)
class Finding:
    """One sentence with its severity, and optionally a link to a section of the page.

    Attributes:
        severity: ``"good"``, ``"info"``, ``"warning"`` or ``"serious"``.
        sentence: the finding and the advice.
        anchor: anchor of the related section.
    """

    severity: str
    sentence: str
    anchor: str = ""

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            checked_tone(self.severity or "(empty)")


@dataclass(frozen=True)
class Findings(Part):
    """A list of findings, shown with the most serious first.

    Attributes:
        findings: :class:`Finding` objects or pairs (severity, sentence).
        empty: the sentence shown without findings.
    """

    findings: Sequence[Finding | tuple[str, str]]
    empty: str = "Nothing to report."

    def ordered(self) -> list[Finding]:
        """Return the findings, most serious first, otherwise in the given order."""
        items = [
            finding if isinstance(finding, Finding) else Finding(*finding)
            for finding in self.findings
        ]
        return sorted(items, key=lambda finding: -SEVERITIES.index(finding.severity))

    def markup(self, context: Context) -> "Markup":
        """Return the list."""
        # omit links to sections that are not on the page
        findings = [
            f if f.anchor in context.anchors else replace(f, anchor="") for f in self.ordered()
        ]
        return context.render("findings.html", findings=findings, empty=self.empty)


@dataclass(frozen=True)
class KeyFigure:
    """One big number.

    Attributes:
        value: a number (five significant digits) or a text shown as it is.
        label: name of the quantity.
        unit: shown in small print after the number.
        note: a line below, such as a reference value.
        tone: a severity that colours the number, or empty.
    """

    value: object
    label: str
    unit: str = ""
    note: str = ""
    tone: str = ""

    def __post_init__(self) -> None:
        checked_tone(self.tone)

    @property
    def text(self) -> str:
        """The value as it is shown."""
        return format_number(self.value, 4)


@dataclass(frozen=True)
class KeyFigures(Part):
    """A strip of big numbers, meant for the top of a page or a section."""

    figures: Sequence[KeyFigure | tuple]
    """:class:`KeyFigure` objects or tuples of its fields, in their order."""

    def markup(self, context: Context) -> "Markup":
        """Return the strip."""
        items = [
            figure if isinstance(figure, KeyFigure) else KeyFigure(*figure)
            for figure in self.figures
        ]
        return context.render("key_figures.html", figures=items)
