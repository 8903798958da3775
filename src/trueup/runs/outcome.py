"""Outcome of a finished run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueup._rich_display import RichDisplay
from trueup.fitting.judgement.verdict import Verdict


@dataclass
class Outcome(RichDisplay):
    """Outcome of a finished run."""

    displayed_by = "trueup.runs.display:of_run"

    result: Any
    """Return value of the function of the capability."""
    summary: dict[str, Any]
    """Content of ``solution.json``; its ``verdict`` is plain data."""
    complete: bool = True
    """Whether the search is complete; otherwise the exit code of the command line is 3, as for the
    verdict "do not use"."""
    kind: str = ""
    """Kind of the run; set by :mod:`trueup.runs`."""
    directory: Path = Path()
    """Run directory; set by :mod:`trueup.runs`."""

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the summary; None for a result without one."""
        plain = self.summary.get("verdict")
        return None if plain is None else Verdict.from_dict(plain)

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.directory / "report.html"
