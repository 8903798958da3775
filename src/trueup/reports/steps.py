"""Next steps: sentences, each with the command to type."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trueup.reports.rendering import Context, Part

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class Step:
    """One thing to do.

    Attributes:
        sentence: the aim.
        command: command line, shown verbatim with a button that copies it; empty for none.
    """

    sentence: str
    command: str = ""


@dataclass(frozen=True)
class Steps(Part):
    """A numbered list of things to do.

    Attributes:
        steps: the things, the first one first.
        title: heading above it.
    """

    steps: Sequence[Step]
    title: str = "What next"

    def markup(self, context: Context) -> "Markup":
        """Return the list."""
        return context.render("steps.html", steps=self.steps, title=self.title)

    def lines(self) -> list[str]:
        """The list as lines of text for a terminal."""
        lines = [f"{self.title}:"]
        for step in self.steps:
            lines += [f"  {step.sentence}", *([f"    {step.command}"] if step.command else [])]
        return lines
