"""The result of an identification, and of its search alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup.fitting.losses import Loss
from trueup.fitting.solution import Solution
from trueup.sysid.assess.assessment import Assessment
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit.cross_validation import CrossValidation
from trueup.sysid.fit.problem import GrayBoxProblem


@dataclass(frozen=True)
class Fit:
    """The end of a search, before it is judged."""

    problem: GrayBoxProblem
    """What was fitted, with the noise by which priors were weighed."""
    solution: Solution
    """Its solution."""
    loss: Loss
    """Loss that was minimised."""
    notes: tuple[str, ...] = ()
    """What was done about the recordings and the start, in sentences."""
    information: np.ndarray | None = None
    """``J' J`` ``(p, p)`` in search coordinates, where the search has linearised at its end."""


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
