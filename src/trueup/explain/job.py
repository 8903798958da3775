"""The explanation of a gap as a piece of work; see :mod:`trueup.runs.job` for the order."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from trueup._marks import KEY
from trueup.errors import FitError, RunDirectoryError, listing
from trueup.explain.attribution import Attribution
from trueup.explain.explanation import Explanation, summarise
from trueup.explain.freed import ITERATIONS, FreedFit
from trueup.explain.log import ExplainedLog, explained_log, prepare_log
from trueup.explain.report import explanation_report
from trueup.reports import Page
from trueup.runs import Job, JobRun, Outcome, read_solution
from trueup.runs.loop.progress import Progress
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.experiment.run_inputs import inputs_of_run, mark_of_models
from trueup.sysid.experiment.settings import Experiment

FITS = "fits.json"
"""File of the fits that are made."""


class ExplainJob(Job):
    """The explanation of a gap as a piece of work.

    Args:
      experiment: the experiment; it needs no parameters.
      folder: folder that its file names refer to.
      causes: causes to free; all where empty.
      level: coverage of intervals.
      anyway: take an identified model whose run has other inputs by now too; every file says so.
    """

    kind = "explanation"
    noun = "the explanation of a gap"
    known_limits = ()
    searched = False

    def __init__(
        self,
        experiment: Experiment,
        folder: Path,
        causes: Sequence[str] = (),
        level: float = 0.95,
        anyway: bool = False,
    ):
        if not 0.5 < level < 1:
            raise FitError(f"the level has to lie between 0.5 and 1, got {level:g}")
        self.experiment = experiment
        self.folder = folder
        self.causes = list(causes)
        self.level = level
        self.anyway = anyway
        self._mark: str | None = None
        self.name = experiment.name
        self.seed = experiment.seed
        self._prepared: Prepared | None = None
        self._log: ExplainedLog | None = None

    @property
    def prepared(self) -> Prepared:
        """Model and recordings, read once."""
        if self._prepared is None:
            assert self.folder is not None
            self._prepared = prepare_log(self.experiment, self.folder)
            self.notes = self._prepared.notes
        return self._prepared

    @property
    def log(self) -> ExplainedLog:
        """The log with the unknowns of the causes, made once."""
        if self._log is None:
            self._log = explained_log(self.prepared, self.causes)
        return self._log

    def run_directory(self, output: str | Path | None = None) -> Path:
        """Run directory: ``output``, or one beside those of identifications."""
        assert self.folder is not None
        return Path(output) if output is not None else self.folder / f"runs/{self.name}-explained"

    def inputs(self) -> Sequence[Path]:
        return self.prepared.inputs

    def plain(self, directory: Path) -> dict[str, Any]:
        assert self.folder is not None
        folder = os.path.relpath(self.folder, directory)
        return {"folder": folder, **self.origin(directory)}

    def origin(self, directory: Path) -> dict[str, Any]:
        return {
            "name": self.name,
            "causes": self.causes,
            "level": self.level,
            "anyway": self.anyway,
            "experiment": self.experiment.model_dump(mode="json"),
        }

    @classmethod
    def from_plain(
        cls, content: dict[str, Any], directory: RunDirectory, folder: Path | None
    ) -> "ExplainJob":
        try:
            experiment = Experiment.model_validate(content["experiment"])
            causes, level = [str(c) for c in content["causes"]], float(content["level"])
        except (KeyError, TypeError, ValueError, ValidationError) as error:
            reason = str(error).splitlines()[0]
            raise RunDirectoryError(f"{directory.experiment} is damaged: {reason}") from error
        found = inputs_of_run(directory, content.get("folder"), folder, experiment)
        return cls(*found, causes, level, bool(content.get("anyway")))

    def identity(self) -> dict[str, Any]:
        experiment = self.experiment.model_dump(mode="json", exclude={"output"})
        return {**experiment, "causes": self.causes, "level": self.level}

    def prepare(self) -> None:
        assert self.folder is not None
        self._mark = mark_of_models(self.experiment, self.folder, anyway=self.anyway)
        _ = self.log

    @property
    def mark(self) -> str | None:
        return self._mark

    def check_execution(self) -> None:
        """Nothing to check: fits run in this process."""

    def has_progress(self, directory: RunDirectory) -> bool:
        return directory.inside(FITS).is_file()

    def solve(self, run: JobRun) -> Attribution:
        run.describe()
        file = run.directory.inside(FITS)
        fits = _read_fits(file) if run.resume and file.is_file() else {}

        def keep(made: dict[str, FreedFit]) -> None:
            atomic.write_json(file, {name: fit.plain() for name, fit in made.items()})

        with Progress(run.verbose) as shown:
            found = Attribution(self.log, self.level, fits, keep, shown.update)
            found.run()
        return found

    def stopped(self, directory: RunDirectory) -> str:
        file = directory.inside(FITS)
        if not file.is_file():
            return "stopped before the first fit ended"
        made = list(_read_fits(file))
        return f"stopped; {len(made)} fits are saved ({listing(made, 12)})"

    def finish(self, run: JobRun, solution: Attribution) -> Outcome:
        summary = summarise(self.name, solution, self.seed or 0)
        summary["provenance"] = run.origin
        return Outcome(Explanation(solution, summary, run.directory.path), summary)

    def bare_summary(self, solution: Attribution) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "status": "finished",
            "cost": None,
            "parameters": [],
            "chosen": solution.chosen,
            "stats": {"evaluations": sum(f.evaluations for f in solution.fits.values())},
            "notes": list(self.notes),
        }

    @classmethod
    def report(cls, directory: RunDirectory) -> Page:
        return explanation_report(read_solution(directory))

    def plan(self) -> dict[str, Any]:
        log = self.log
        problem, count = log.training, 8
        began = time.perf_counter()
        problem.costs(np.tile(log.start, (count, 1)))
        seconds = (time.perf_counter() - began) / count
        sizes = {cause: len(columns) for cause, columns in log.columns.items()}
        usual = 5.0 * (sum(sizes.values()) + len(log.always))
        for columns in log.columns.values():
            guesses = sum(len(log.guesses[c]) for c in columns)
            # unknowns with guesses are looked for twice, in about three looks and descents
            times, looks = (3, guesses) if guesses else (1, 4 * len(columns))
            usual += times * (looks + 4 * (len(columns) + 1 + len(log.always)))
        # every fit looks for the states that suit it where it is judged
        judged = log.held_out.residual_size / max(problem.residual_size, 1)
        usual += 2 * (len(sizes) + 4) * (100 + 4 * len(log.states)) * judged
        return {
            "causes": sizes,
            "absent": log.absent,
            "training": problem.sequence_names,
            "held_out": log.held_out.sequence_names,
            "residuals": problem.residual_size,
            "iterations": ITERATIONS,
            "seconds": seconds * usual,
            "notes": log.notes,
        }


def _read_fits(file: Path) -> dict[str, FreedFit]:
    try:
        found = atomic.read_json(file)
        return {name: FreedFit.from_plain(fit) for name, fit in found.items() if name != KEY}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RunDirectoryError(f"{file} is damaged: {error}") from error
