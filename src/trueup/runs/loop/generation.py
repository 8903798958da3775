"""Report on one generation of a study, for callbacks and trackers."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Generation:
    """Progress report of :func:`trueup.runs.run_search` after a generation."""

    number: int
    """Index of the generation, from 0."""
    evaluations: int
    """Evaluated candidates, up to and with this generation."""
    seconds: float
    """Time of the study, including earlier sessions [s]."""
    x: np.ndarray
    """Best candidate so far ``(p,)``."""
    cost: float
    """Cost of the best candidate."""
    X: np.ndarray
    """Candidates of this generation ``(n, p)``."""
    costs: np.ndarray
    """Their costs ``(n, k)``."""
    failures: dict[int, str]
    """Reason for an invalid candidate, by row."""
    info: dict[str, Any]
    """State variables of the search, such as its step size."""
    search: Any = None
    """The search after this generation; read-only."""
    committed: int = -1
    """Index of the last generation in the store; -1 before the first."""
