"""Record of a study from its run directory, as plain data for reports and tables."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueup.runs.store import provenance
from trueup.runs.store.damage import read_as_written
from trueup.runs.store.database import Store
from trueup.runs.store.history import History
from trueup.runs.store.removed import merged_reasons
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution
from trueup.runs.store.yaml_file import read_mapping

_OF_THE_RUN = ("kind", "format_version", "trueup", "name", "notes", "inputs", "lacking")
_OF_THE_RUN += ("parameters", "objectives", "start", "execution")


@dataclass(frozen=True)
class StudyRecord:
    """A study that is finished, stopped or in progress."""

    name: str
    history: History
    """The committed evaluations."""
    objectives: tuple[str, ...]
    """Names of the costs."""
    parameters: list[dict[str, Any]] = field(default_factory=list)
    """Best values: ``name``, ``value``, and if known ``start``, ``lower``, ``upper``,
    ``scale``, ``unit``, ``at_bound``. Empty before the first valid candidate."""
    status: str = ""
    """Message of the finished search; empty before."""
    message: str = ""
    advice: str = ""
    verdict: dict[str, Any] | None = None
    """Plain data of the verdict; None while the study is in progress."""
    front: np.ndarray | None = None
    """Costs ``(m, k)`` along the Pareto front, of a finished study with several objectives."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Description of the run in ``experiment.yaml``."""
    notes: list[str] = field(default_factory=list)
    provenance: dict[str, Any] = field(default_factory=dict)

    def valid(self) -> np.ndarray:
        """Mask of evaluations with finite costs, not marked as invalid ``(n,)`` bool."""
        valid = np.asarray(np.isfinite(self.history.costs).all(axis=1))
        valid[list(self.history.reasons)] = False
        return valid

    def failures(self) -> list[tuple[str, int]]:
        """Reasons for invalid candidates with their counts, most frequent first.

        Reasons that differ only in numbers are merged.
        """
        own = ((reason, 1) for reason in self.history.reasons.values())
        return merged_reasons([*self.history.removed.reasons.items(), *own])


def read_study(directory: RunDirectory) -> StudyRecord:
    """Read the study of a run directory.

    Raises:
        RunDirectoryError: a file is missing or damaged.
    """
    with Store.open(directory.study) as store:
        history, best = store.history(), store.best()
    settings = read_mapping(directory.experiment) if directory.experiment.is_file() else {}
    with read_as_written(directory.path):
        return _record(directory, history, best, settings)


def _record(
    directory: RunDirectory, history: History, best: Any, settings: dict[str, Any]
) -> StudyRecord:
    """The record of a study that has this history and best candidate."""
    solution = _solution(directory, history.evaluations)
    known = settings.get("parameters") if settings.get("kind") else None
    rows = solution.get("parameters")
    if rows is None:
        rows = [] if best is None else _rows(history.names, best[1], known or {})
    front = (solution.get("front") or {}).get("costs")
    return StudyRecord(
        name=str(solution.get("name") or settings.get("name") or directory.path.name),
        history=history,
        objectives=_objectives(settings, history.costs.shape[1]),
        parameters=rows,
        status=str(solution.get("status", "")),
        message=str(solution.get("message", "")),
        advice=str(solution.get("advice", "")),
        verdict=solution.get("verdict"),
        front=None if front is None else np.array(front, float),
        settings={k: v for k, v in settings.items() if k not in _OF_THE_RUN},
        notes=list(solution.get("notes") or settings.get("notes") or ()),
        provenance=provenance.read(directory.provenance),
    )


def _solution(directory: RunDirectory, evaluations: int) -> dict[str, Any]:
    """Content of ``solution.json``, unless the study was resumed since."""
    if not directory.solution.is_file():
        return {}
    content = read_solution(directory)
    stats = content.get("stats") or {}
    return content if stats.get("evaluations", evaluations) >= evaluations else {}


def _rows(names: tuple[str, ...], x: np.ndarray, known: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": name, "value": float(value), **(known.get(name) or {})}
        for name, value in zip(names, x, strict=True)
    ]


def _objectives(settings: dict[str, Any], count: int) -> tuple[str, ...]:
    names = settings.get("objectives")
    if isinstance(names, list) and len(names) == count:
        return tuple(map(str, names))
    return ("cost",) if count == 1 else tuple(f"cost {i + 1}" for i in range(count))
