"""Runs of one robot, or of a fleet: what is the same, what varies, which run does not fit."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup._version import __version__
from trueup.errors import FitError, RunDirectoryError, listing
from trueup.fitting.pooling import FEWEST, Pooled, pool
from trueup.fitting.uncertainty.gaussian import Gaussian
from trueup.fitting.verdict import Grade, Verdict
from trueup.posterior.identified import known_of, widening_of
from trueup.posterior.reconcile_report import reconcile_report
from trueup.posterior.run_reasons import Change, kind_of, reason
from trueup.runs import read_solution
from trueup.runs.experiment_file import read_experiment
from trueup.studies import RunDirectory, atomic
from trueup.studies.damage import read_as_written


@dataclass(frozen=True)
class ReconciledRuns:
    """Outcome of :func:`reconcile`."""

    runs: tuple[Path, ...]
    names: tuple[str, ...]
    units: tuple[str, ...]
    log: np.ndarray
    """Which elements were pooled on a log scale ``(p,)`` bool."""
    pooled: Pooled
    """In search coordinates."""
    reasons: dict[int, str]
    """Run that does not fit -> why, in words."""
    values: np.ndarray
    """Estimates ``(runs, p)``."""
    intervals: np.ndarray
    """Their intervals ``(runs, p, 2)``."""

    def from_search(self, z: np.ndarray) -> np.ndarray:
        """Values of search coordinates ``(..., p)``."""
        return np.where(self.log, np.exp(np.where(self.log, z, 0.0)), z)

    def content(self) -> dict[str, Any]:
        """Plain data: content of ``reconcile.json``."""
        pooled = self.pooled
        low, high = (self.from_search(end) for end in pooled.intervals.T)
        common = self.from_search(pooled.common)
        return {
            "format_version": 1,
            "trueup": __version__,
            "runs": [str(run) for run in self.runs],
            "level": pooled.level,
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
) -> ReconciledRuns:
    """Find which parameters are the same over runs, how much they vary, and which run does not fit.

    Args:
      runs: run directories of three or more identifications with the same unknowns.
      output: folder for ``reconcile.json`` and ``report.html``; nothing is written where None.
      level: coverage of the intervals.
      anyway: take runs whose verdict is "do not use" too.
      overwrite: replace the files of a former comparison.

    Raises:
      RunDirectoryError: too few runs, one that cannot be used, runs with other unknowns, or a
        folder that holds something else.
    """
    if not 0.5 <= level < 1.0:
        raise FitError(f"the level is {level:g}; give a share such as 0.95")
    target = None if output is None else Path(output)
    if target is not None:
        _check_free(target, overwrite)
    found = [_Read.of(RunDirectory.open(run), anyway) for run in runs]
    if len({run.directory.path.resolve() for run in found}) < len(found):
        raise RunDirectoryError("a run is named twice")
    if len(found) < FEWEST:
        raise RunDirectoryError(
            f"{len(found)} run{'s' * (len(found) != 1)} cannot be reconciled: it takes {FEWEST} or "
            "more. Two are set side by side by  trueup compare"
        )
    _check_same(found)
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
    )
    common = out.from_search(pooled.common)
    for outlier in pooled.outlying:
        changes = [
            Change(first.known.names[i], first.kinds[i], float(values[outlier.index, i]), common[i])
            for i in outlier.changed
        ]
        out.reasons[outlier.index] = reason(changes)
    if target is not None:
        page = reconcile_report(out.content()).html()
        target.mkdir(parents=True, exist_ok=True)
        atomic.write_text(target / "report.html", page)
        atomic.write_json(target / "reconcile.json", out.content())
    return out


def _check_free(target: Path, overwrite: bool) -> None:
    if target.exists() and not target.is_dir():
        raise RunDirectoryError(f"{target} is a file; --output names a folder")
    if target.is_dir() and any(target.iterdir()):
        if not (target / "reconcile.json").is_file():
            raise RunDirectoryError(f"{target} holds other files: name another folder")
        if not overwrite:
            raise RunDirectoryError(f"{target} holds a comparison: replace it with --overwrite")


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


@dataclass(frozen=True)
class _Read:
    """Content that is read of a run; no recording is."""

    directory: RunDirectory
    known: Gaussian
    """Its knowledge, widened for the error of its model."""
    rows: list[dict[str, Any]]
    kinds: tuple[str, ...]

    @classmethod
    def of(cls, directory: RunDirectory, anyway: bool) -> "_Read":
        kind, experiment = read_experiment(directory)
        if kind != "identification":
            raise RunDirectoryError(
                f"{directory.path} is a run of the kind {kind!r}; identifications of a model can "
                "be reconciled (trueup identify)"
            )
        solution = read_solution(directory)
        known = known_of(solution, directory)
        with read_as_written(directory.solution):
            verdict = Verdict.from_plain(solution["verdict"])
            rows = solution["parameters"]
            kept = [
                i
                for i, row in enumerate(rows)
                if not (row["target"] and all(t.startswith("state/") for t in row["target"]))
            ]
            factors = widening_of(rows)
        if verdict.grade is Grade.DO_NOT_USE and not anyway:
            raise RunDirectoryError(
                f'the verdict on {directory.path} is "do not use": leave it out, or take it all '
                "the same with --anyway"
            )
        with read_as_written(directory.experiment):
            measurement = experiment.get("measurement") or {}
            measured = dict.fromkeys((measurement.get("delays") or {}).values(), "delay")
            for word, part in (("gain", "gains"), ("bias", "biases")):
                for rule in (measurement.get(part) or {}).values():
                    measured[rule if isinstance(rule, str) else rule["parameter"]] = word
            entries = experiment.get("parameters") or {}
            kinds = tuple(
                kind_of(
                    rows[i]["target"],
                    {**(entries.get(rows[i]["parameter"]) or {}), "name": rows[i]["parameter"]},
                    measured,
                )
                for i in kept
            )
        shrink = 1.0 / factors
        wide = Gaussian(
            known.names, known.centre, known.precision * np.outer(shrink, shrink), known.inflation
        ).marginal(kept)
        return cls(directory, wide, [rows[i] for i in kept], kinds)


def _check_same(runs: Sequence[_Read]) -> None:
    first = runs[0]
    for run in runs[1:]:
        if run.known.names != first.known.names:
            only = set(run.known.names) ^ set(first.known.names)
            raise RunDirectoryError(
                f"{run.directory.path} has other unknowns than {first.directory.path}: "
                f"{listing(sorted(only))}. Runs of one model with the same unknowns can be "
                "reconciled"
            )
        for own, other in zip(run.rows, first.rows, strict=True):
            for key in ("unit", "log", "target"):
                if own[key] != other[key]:
                    raise RunDirectoryError(
                        f"{own['name']} has the {key} {own[key]!r} in {run.directory.path} and "
                        f"{other[key]!r} in {first.directory.path}"
                    )
