"""Result of an identification, and of its search alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup._rich_display import RichDisplay
from trueup.fitting.judgement.verdict import Verdict
from trueup.fitting.losses import Loss
from trueup.fitting.solution import Solution
from trueup.sysid.assess.assessment import Assessment
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit.cross_validation import CrossValidation
from trueup.sysid.fit.problem import GrayBoxProblem


@dataclass(frozen=True)
class Fit:
    """Result of a search, before the assessment."""

    problem: GrayBoxProblem
    """The fitted problem, with the noise level used to weight priors."""
    solution: Solution
    """Its solution."""
    loss: Loss
    """Loss of the fit."""
    notes: tuple[str, ...] = ()
    """Notes on the recordings and the start, in sentences."""
    information: np.ndarray | None = None
    """``J' J`` ``(p, p)`` in search coordinates at the end of the search, if available."""

    elsewhere: Solution | None = None
    """Fit of the held-out data from the solution, possibly with their initial states as further
    parameters; None if it was not made."""
    was_compared: bool = False
    """Whether the cost was compared at the optima of other data."""


@dataclass
class Identification(RichDisplay):
    """Result of :func:`trueup.sysid.identify`."""

    displayed_by = "trueup.runs.display:of_run"

    prepared: Prepared
    problem: GrayBoxProblem
    solution: Solution
    assessment: Assessment
    cross_validation: CrossValidation | None
    directory: Path
    summary: dict[str, Any]
    """Content of ``solution.json``."""

    @property
    def verdict(self) -> Verdict | None:
        """The verdict; None for residuals that were not assessed."""
        plain = self.summary.get("verdict")
        return None if plain is None else Verdict.from_dict(plain)

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.directory / "report.html"
