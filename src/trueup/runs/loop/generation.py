"""One generation of a study, as callbacks and trackers are told of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Generation:
    """Progress report of :func:`trueup.runs.run_search` after a generation."""

    number: int
    """Number of the generation, from 0."""
    evaluations: int
    """Evaluated candidates, up to and with this generation."""
    seconds: float
    """Time of the study, earlier sittings included [s]."""
    x: np.ndarray
    """Best candidate so far ``(p,)``."""
    cost: float
    """Cost of the best candidate."""
    X: np.ndarray
    """Candidates of this generation ``(n, p)``."""
    costs: np.ndarray
    """Their costs ``(n, k)``."""
    failures: dict[int, str]
    """Why a candidate is invalid, by row."""
    info: dict[str, Any]
    """Numbers of the search itself, such as its step size."""
    search: Any = None
    """The search after this generation; read-only."""
