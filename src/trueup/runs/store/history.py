"""Evaluations of a study, as arrays."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueup.runs.store.removed import Removed


@dataclass(frozen=True)
class History:
    """Evaluations of a study, one row each, in the order of the requests.

    A study that has reached the limit of its file keeps a part of its generations, whole, and the
    numbers of the others; see :mod:`trueup.runs.store.thinning`.
    """

    names: tuple[str, ...]
    """Names of the parameters, ``p`` of them."""
    generation: np.ndarray
    """Generation of each evaluation ``(n,)``, from 0."""
    candidate: np.ndarray
    """Index of each evaluation within its generation ``(n,)``, from 0."""
    X: np.ndarray
    """Candidates ``(n, p)``."""
    costs: np.ndarray
    """Costs ``(n, k)``, NaN for an invalid cost."""
    reasons: dict[int, str]
    """Reason for an invalid candidate, by row."""
    generations: list[dict[str, Any]]
    """``generation``, ``evaluations``, ``seconds`` [s] and ``info()`` of the search of each one."""
    removed: Removed = field(default_factory=Removed)
    """Numbers of what the file no longer contains."""

    @property
    def evaluations(self) -> int:
        """Number of evaluations, with those that the file no longer contains."""
        return len(self.X) + self.removed.evaluations

    @property
    def counted(self) -> np.ndarray:
        """Evaluations of the study up to and with each one ``(n,)``."""
        own = np.arange(1, len(self.X) + 1)
        if not self.removed.evaluations:
            return own
        _, ends = np.unique(self.generation[::-1], return_index=True)
        ends = len(self.X) - ends  # rows up to and with each generation
        after = np.array([entry["evaluations"] for entry in self.generations])
        return own + np.repeat(after - ends, np.diff(ends, prepend=0))


def history_from_rows(
    names: tuple[str, ...],
    evaluations: Sequence[tuple[Any, ...]],
    generations: Sequence[tuple[Any, ...]],
    removed: Removed,
) -> History:
    """Return the history of rows of the tables ``evaluations`` and ``generations`` of a store."""
    objectives = [_objectives(cost, several) for _, _, _, cost, several, _ in evaluations]
    X = np.frombuffer(b"".join(row[2] for row in evaluations), "<f8").astype(float)
    return History(
        names=names,
        generation=np.array([row[0] for row in evaluations], dtype=int),
        candidate=np.array([row[1] for row in evaluations], dtype=int),
        X=X.reshape(len(evaluations), len(names)),
        costs=np.array(objectives, dtype=float) if objectives else np.empty((0, 1)),
        reasons={i: row[5] for i, row in enumerate(evaluations) if row[5] is not None},
        generations=[
            {"generation": number, "evaluations": count, "seconds": seconds, **json.loads(info)}
            for number, count, seconds, info in generations
        ],
        removed=removed,
    )


def _objectives(cost: float | None, several: bytes | None) -> list[float]:
    if several is not None:
        return np.frombuffer(several, "<f8").tolist()
    return [np.nan if cost is None else cost]
