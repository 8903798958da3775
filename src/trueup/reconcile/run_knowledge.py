"""Knowledge of a finished identification about its unknowns, for comparison with other runs."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import RunDirectoryError, listing
from trueup.fitting.judgement.verdict import Grade, Verdict
from trueup.fitting.uncertainty.gaussian import Gaussian
from trueup.knowledge.finished_run import known_of, mark_of, widening_of
from trueup.reconcile.run_reasons import kind_of
from trueup.runs import check_inputs, read_solution
from trueup.runs.store import provenance
from trueup.runs.store.damage import read_as_written
from trueup.runs.store.experiment_file import read_experiment
from trueup.runs.store.run_directory import RunDirectory

# distance below which two results of the same recordings are equal [standard deviations]
_ALIKE = 0.05


@dataclass(frozen=True)
class RunKnowledge:
    """Knowledge of a run about its unknowns; reads no recordings."""

    directory: RunDirectory
    known: Gaussian
    """Distribution of its unknowns, widened for model error."""
    rows: list[dict[str, Any]]
    kinds: tuple[str, ...]
    own: Gaussian
    """Distribution of its unknowns as stored in the run."""
    recordings: frozenset[str]
    """Hashes of its inputs."""
    mark: str | None

    @classmethod
    def of(
        cls,
        directory: RunDirectory,
        anyway: bool,
        folder: str | os.PathLike[str] | None = None,
    ) -> "RunKnowledge":
        """Knowledge of a finished identification.

        Args:
          directory: run directory.
          anyway: accept a run with the verdict "do not use", or with changed inputs.
          folder: folder of the inputs, if they have moved.

        Raises:
          RunDirectoryError: not a finished identification, damaged, or not to be used.
        """
        check = check_inputs(directory, folder=folder, anyway=anyway)
        kind, experiment = read_experiment(directory)
        if kind != "identification":
            raise RunDirectoryError(
                f"{directory.path} is a run of the kind {kind!r}; only identifications of a model "
                "can be reconciled (trueup identify)"
            )
        solution = read_solution(directory)
        known = known_of(solution, directory)
        with read_as_written(directory.solution):
            verdict = Verdict.from_dict(solution["verdict"])
            rows = solution["parameters"]
            kept = [
                i
                for i, row in enumerate(rows)
                if not (row["target"] and all(t.startswith("state/") for t in row["target"]))
            ]
            factors = widening_of(rows)
        if verdict.grade is Grade.DO_NOT_USE and not anyway:
            raise RunDirectoryError(
                f'the verdict on {directory.path} is "do not use": remove it from the list, or '
                "use it with --anyway"
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
        inputs = provenance.read(directory.provenance).get("inputs", ())
        hashes = frozenset(entry.get("content") or entry["sha256"] for entry in inputs)
        shown = [rows[i] for i in kept]
        return cls(directory, wide, shown, kinds, known, hashes, mark_of(check, verdict))

    def copies(self, other: "RunKnowledge") -> bool:
        """Whether it has the result of another run, and no data of its own."""
        one, two = self.own, other.own
        if one.names != two.names:
            return False
        if np.array_equal(one.centre, two.centre) and np.array_equal(one.precision, two.precision):
            return True
        # the same recordings fitted again: the results differ by a fraction of the noise
        step = one.centre - two.centre
        apart = float(step @ one.precision @ step) / max(len(step), 1)
        return bool(self.recordings) and self.recordings == other.recordings and apart < _ALIKE**2


def without_copies(runs: list[RunKnowledge]) -> tuple[list[RunKnowledge], dict[Path, Path]]:
    """Distinct runs, and excluded ones with the run that each is a copy of."""
    kept: list[RunKnowledge] = []
    copies: dict[Path, Path] = {}
    for run in runs:
        whole = next((each for each in kept if run.copies(each)), None)
        if whole is None:
            kept.append(run)
        else:
            copies[run.directory.path] = whole.directory.path
    return kept, copies


def check_same(runs: Sequence[RunKnowledge]) -> None:
    """Raise RunDirectoryError if the unknowns of runs differ from those of the first."""
    first = runs[0]
    for run in runs[1:]:
        if run.known.names != first.known.names:
            only = set(run.known.names) ^ set(first.known.names)
            raise RunDirectoryError(
                f"the unknowns of {run.directory.path} differ from those of "
                f"{first.directory.path}: {listing(sorted(only))}. Runs of one model with the same "
                "unknowns can be reconciled"
            )
        for own, other in zip(run.rows, first.rows, strict=True):
            for key in ("unit", "log", "target"):
                if own[key] != other[key]:
                    raise RunDirectoryError(
                        f"{own['name']} has the {key} {own[key]!r} in {run.directory.path} and "
                        f"{other[key]!r} in {first.directory.path}"
                    )
