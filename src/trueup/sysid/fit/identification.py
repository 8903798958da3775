"""The result of an identification."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueup.fitting.solution import Solution
from trueup.sysid.assess.assessment import Assessment
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit.cross_validation import CrossValidation
from trueup.sysid.fit.problem import GrayBoxProblem


@dataclass
class Identification:
    """Result of :func:`trueup.sysid.identify`."""

    prepared: Prepared
    problem: GrayBoxProblem
    solution: Solution
    assessment: Assessment
    cross_validation: CrossValidation | None
    directory: Path
    summary: dict[str, Any]
    """Plain data of everything, as ``solution.json`` holds it."""

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.directory / "report.html"
