"""Runs of one robot, or of a fleet: common values, spread, runs that do not fit."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trueup._marks import KEY, joined, marked
from trueup._version import __version__
from trueup.errors import FitError, RunDirectoryError
from trueup.fitting.uncertainty.pooling import FEWEST, Pooled, pool
from trueup.reconcile.report import reconcile_report
from trueup.reconcile.run_knowledge import RunKnowledge, check_same, without_copies
from trueup.reconcile.run_reasons import Change, reason
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory


@dataclass(frozen=True)
class ReconciledRuns:
    """Result of :func:`reconcile`."""

    runs: tuple[Path, ...]
    names: tuple[str, ...]
    units: tuple[str, ...]
    log: np.ndarray
    """Whether an element is pooled on a log scale ``(p,)`` bool."""
    pooled: Pooled
    """Pooled estimates in search coordinates."""
    reasons: dict[int, str]
    """Run that does not fit -> reason."""
    values: np.ndarray
    """Estimates of the runs ``(runs, p)``."""
    intervals: np.ndarray
    """Intervals of the runs ``(runs, p, 2)``."""
    copies: dict[Path, Path] = field(default_factory=dict)
    """Excluded run -> the run that it is a copy of."""
    mark: str | None = None
    """Mark of all outputs, if a run is used in spite of a problem."""

    def from_search(self, z: np.ndarray) -> np.ndarray:
        """Values of search coordinates ``(..., p)``."""
        return np.where(self.log, np.exp(np.where(self.log, z, 0.0)), z)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: content of ``reconcile.json``."""
        pooled = self.pooled
        low, high = (self.from_search(end) for end in pooled.intervals.T)
        common = self.from_search(pooled.common)
        return {
            "format_version": 1,
            "trueup": __version__,
            "runs": [str(run) for run in self.runs],
            "level": pooled.level,
            "copies": [{"run": str(copy), "of": str(whole)} for copy, whole in self.copies.items()],
            **({} if self.mark is None else {KEY: self.mark}),
            "outlying": [
                {
                    "run": str(self.runs[o.index]),
                    "probability": o.probability,
                    "changed": [self.names[i] for i in o.changed],
                    "reason": self.reasons[o.index],
                }
                for o in pooled.outlying
            ],
            "parameters": [
                {
                    "name": name,
                    "unit": self.units[i],
                    "common": common[i],
                    "low": low[i],
                    "high": high[i],
                    "spread": self._spread(pooled.spread[i], common[i], i),
                    "spread_low": self._spread(pooled.spread_intervals[i, 0], common[i], i),
                    "spread_high": self._spread(pooled.spread_intervals[i, 1], common[i], i),
                    "same": bool(pooled.spread_intervals[i, 0] == 0.0),
                    "values": self.values[:, i],
                    "intervals": self.intervals[:, i],
                }
                for i, name in enumerate(self.names)
            ],
        }

    def _spread(self, spread: float, common: float, i: int) -> float:
        """Standard deviation in units of the element; of a log scale its relative size."""
        return float(spread * common) if self.log[i] else float(spread)


def reconcile(
    runs: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str] | None = None,
    *,
    level: float = 0.95,
    anyway: bool = False,
    overwrite: bool = False,
    folder: str | os.PathLike[str] | None = None,
) -> ReconciledRuns:
    """Common values of parameters over runs, their spread, and runs that do not fit.

    Copies of a run, and runs of the same recordings with the same result, count once.

    Args:
      runs: run directories of three or more identifications with the same unknowns.
      output: folder for ``reconcile.json`` and ``report.html``; None: nothing is written.
      level: coverage of the intervals.
      anyway: accept runs with the verdict "do not use", or with changed inputs; every output
        records this.
      overwrite: replace the files of an earlier comparison.
      folder: folder of the inputs, if they have moved.

    Raises:
      RunDirectoryError: too few runs, an unusable run, changed inputs, runs with
        different unknowns, or a folder with other files.
    """
    if not 0.5 <= level < 1.0:
        raise FitError(f"the level must be between 0 and 1, such as 0.95, got {level:g}")
    target = None if output is None else Path(output)
    if target is not None:
        _check_free(target, overwrite)
    found = [RunKnowledge.of(RunDirectory.open(run), anyway, folder) for run in runs]
    if len({run.directory.path.resolve() for run in found}) < len(found):
        raise RunDirectoryError("a run is listed twice: remove one")
    found, copies = without_copies(found)
    if len(found) < FEWEST:
        same = "".join(f" {copy.name} is a copy of {of.name}." for copy, of in copies.items())
        raise RunDirectoryError(
            f"{len(found)} run{'s' * (len(found) != 1)} cannot be reconciled: at least {FEWEST} "
            f"are required.{same} Compare two with  trueup compare"
        )
    check_same(found)
    pooled = pool([run.known for run in found], level)
    first = found[0]
    log = np.array([row["log"] for row in first.rows], bool)
    values = np.array([[row["value"] for row in run.rows] for run in found], float)
    intervals = np.array(
        [[[_number(row["low"]), _number(row["high"])] for row in run.rows] for run in found]
    )
    out = ReconciledRuns(
        tuple(run.directory.path for run in found),
        first.known.names,
        tuple(row["unit"] for row in first.rows),
        log,
        pooled,
        {},
        values,
        intervals,
        copies,
        joined(*(run.mark for run in found)),
    )
    common = out.from_search(pooled.common)
    for outlier in pooled.outlying:
        changes = [
            Change(first.known.names[i], first.kinds[i], float(values[outlier.index, i]), common[i])
            for i in outlier.changed
        ]
        out.reasons[outlier.index] = reason(changes)
    if target is not None:
        with marked(out.mark):
            page = reconcile_report(out.to_dict())
            target.mkdir(parents=True, exist_ok=True)
            page.save(target / "report.html")
            atomic.write_json(target / "reconcile.json", out.to_dict())
    return out


def _check_free(target: Path, overwrite: bool) -> None:
    if target.exists() and not target.is_dir():
        raise RunDirectoryError(f"{target} is a file; --output must be a folder")
    if target.is_dir() and any(target.iterdir()):
        if not (target / "reconcile.json").is_file():
            raise RunDirectoryError(f"{target} contains other files: choose another folder")
        if not overwrite:
            raise RunDirectoryError(f"{target} contains a comparison: replace it with --overwrite")


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
