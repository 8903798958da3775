"""Pages of the documentation that explain a finding, by the reason of a verdict or by a cause.

The one table of such links: verdicts, explanations and reconciled runs take them from here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

FOLDER = "docs"


@dataclass(frozen=True)
class SymptomPage:
    """A page.

    Attributes:
        title: its heading.
        file: path of the page in the folder of the documentation.
        reasons: sections of reasons of a verdict that it explains.
        causes: causes of :data:`trueup.explain.CAUSES` that it explains.
    """

    title: str
    file: str
    reasons: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Sentence that names the page to read on."""
        return f'What it means: "{self.title}", {FOLDER}/{self.file}.'


PAGES = (
    SymptomPage(
        "My policy shakes", "symptoms/shakes.md", causes=("delay", "armature", "friction", "gains")
    ),
    SymptomPage(
        "It falls on the robot and not in simulation",
        "symptoms/falls.md",
        causes=("contact-friction", "gravity", "encoder-zero", "inertia", "joint-range"),
    ),
    SymptomPage(
        "My arm lags",
        "symptoms/lags.md",
        causes=(
            "delay",
            "gains",
            "torque-constant",
            "gear",
            "friction",
            "payload",
            "gravity-compensation",
            "limits",
            "command-range",
        ),
    ),
    SymptomPage("My parameters hit their bounds", "symptoms/bounds.md", reasons=("parameters",)),
    SymptomPage("Two logs disagree", "symptoms/two-logs.md", reasons=("runs",)),
    SymptomPage(
        "The fit is perfect and the robot is not",
        "symptoms/perfect-fit.md",
        reasons=("scores", "horizons", "residuals"),
    ),
    SymptomPage(
        "Unidentifiable parameters", "how-to/unidentifiable.md", reasons=("identifiability",)
    ),
    SymptomPage(
        "Logs with defects, and the keys that mend them",
        "how-to/mend-logs.md",
        reasons=("data-quality",),
    ),
    SymptomPage(
        "Torques without a simulation", "how-to/inverse-dynamics.md", reasons=("inverse-dynamics",)
    ),
)
"""Every page that a finding leads to."""


def page_of_reason(section: str) -> SymptomPage | None:
    """Page on the reasons of a section; None if there is none."""
    return next((page for page in PAGES if section in page.reasons), None)


def pages_of_causes(causes: Iterable[str]) -> list[SymptomPage]:
    """Pages on any of some causes, in the order of the table."""
    wanted = set(causes)
    return [page for page in PAGES if wanted & set(page.causes)]
