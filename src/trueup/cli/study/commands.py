"""``trueup study``: its commands and their arguments; what they do is imported when they run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import Positional, arg

from trueup.cli.output import Output
from trueup.cli.study.options import (
    BudgetOptions,
    ExecutionOptions,
    Json,
    OfRuns,
    StudyOptions,
)
from trueup.errors import RunDirectoryError


@dataclass(frozen=True, kw_only=True)
class StudyRun(StudyOptions):
    """Run a search over a test problem or over a problem of your own.

    Examples:
      trueup study run sphere --dimension 10
      trueup study run rastrigin --restarts bipop --target-cost 1e-8
      trueup study run zdt1 --method nsgaii --max-evaluations 5000
      trueup study run mine.py:problem --workers 4 --output runs/mine
      trueup study run mine.py:problem --param-path runs/mine --output runs/finer --sigma 0.05

    mine.py:problem is a function without arguments in a Python file of yours that returns a
    trueup.fitting.Problem. Ctrl-C saves and says how to resume.
    Exit codes: 0 done, 2 wrong input, 3 did not converge, 130 interrupted, 143 terminated.
    """

    problem: Annotated[Positional[str], arg(metavar="PROBLEM")]
    """Name of a test problem, or FILE.py:FUNCTION."""
    dimension: Annotated[int | None, arg(metavar="INT")] = None
    """Number of parameters of a test problem; its own where absent."""

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.study.run import RunOptions, run_study, with_former_names
        from trueup.runs import StudySettings

        settings = StudySettings(
            method=self.method,
            seed=self.seed,
            population=self.population,
            sigma=self.sigma,
            cma_options=self.cma_options,
            restarts=self.restarts,
            polish=self.polish,
        )
        options = RunOptions(
            output=self.output,
            resume=self.resume,
            overwrite=self.overwrite,
            dry_run=self.dry_run,
            verbose=not (self.quiet or output.json),
        )
        return run_study(
            self.problem,
            self.dimension,
            self.param_path,
            settings,
            self.limits,
            self.execution,
            with_former_names(options, self.pickle_path),
            output,
        )


@dataclass(frozen=True, kw_only=True)
class StudyResume(ExecutionOptions, BudgetOptions):
    """Continue a run, of whatever kind it is, from its last checkpoint.

    Examples:
      trueup study resume runs/sphere
      trueup study resume runs/sphere --max-evaluations 100000
      trueup study resume runs/arm

    The history is that of a run without the stop. A budget that is not given stays as it was.
    Exit codes: 0 done, 2 wrong input, 3 did not converge, 130 interrupted, 143 terminated.
    """

    directory: Annotated[Positional[Path], arg(metavar="RUN")]
    """Run directory."""
    folder: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Folder of the run's inputs, where they were moved away from the run."""

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.study.resume import run_resume

        return run_resume(
            self.directory,
            self.limits,
            self.folder,
            self.execution,
            not (self.quiet or output.json),
            output,
        )


@dataclass(frozen=True, kw_only=True)
class StudyList:
    """List the runs below a folder: kind, state, cost, evaluations, age.

    Examples:
      trueup study list
      trueup study list results --json

    Exit codes: 0 done, 2 wrong input.
    """

    folder: Annotated[Positional[Path], arg(metavar="FOLDER")] = Path()
    """Folder that is searched, with all folders below it."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.study.list import run_study_list

        return run_study_list(self.folder, output)


@dataclass(frozen=True, kw_only=True)
class StudyShow(OfRuns):
    """Show a run: its best parameters, how it went, how it ended and what to do next.

    Examples:
      trueup study show runs/sphere

    Exit codes: 0 done, 2 wrong input.
    """

    directory: Annotated[Positional[Path], arg(metavar="RUN")]
    """Run directory; the run may be in progress."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.study.show import run_study_show

        return run_study_show(self.directory, self.anyway, output)


@dataclass(frozen=True, kw_only=True)
class StudyExport(OfRuns):
    """Write every evaluation of a run: as a table, or as a study of Optuna for its dashboard.

    Examples:
      trueup study export runs/sphere --output evaluations.parquet
      trueup study export runs/sphere --output evaluations.csv
      trueup study export runs/sphere --optuna study.db

    A second export to Optuna adds the evaluations that are missing there.
    Exit codes: 0 done, 2 wrong input.
    """

    directory: Annotated[Positional[Path], arg(metavar="RUN")]
    """Run directory; the run may be in progress."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """Table to write: .parquet, .csv or .json."""
    optuna: Annotated[str | None, arg(metavar="URL_OR_FILE")] = None
    """Optuna storage to write into: sqlite:///study.db or the URL of another database, or a file
    .db or .log; a .log, Optuna's journal, is the faster one."""
    overwrite: bool = False
    """Replace a table that exists."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.study.export import run_optuna_export, run_study_export

        if (self.output is None) == (self.optuna is None):
            raise RunDirectoryError(
                "study export writes one of two: a table with --output FILE, or a study of Optuna "
                "with --optuna URL_OR_FILE; give one of them"
            )
        if self.output is not None:
            return run_study_export(
                self.directory, self.output, self.overwrite, self.anyway, output
            )
        if self.overwrite:
            raise RunDirectoryError(
                "--overwrite replaces a table; a study of Optuna is only added to: remove the "
                "option, or choose another storage"
            )
        return run_optuna_export(self.directory, str(self.optuna), self.anyway, output)


@dataclass(frozen=True)
class Study:
    """Run searches, look at runs, continue and export them.

    Examples:
      trueup study run sphere --dimension 10          a search over a test problem
      trueup study run mine.py:problem                over a problem of your own
      trueup study list runs                          the runs below a folder
      trueup study show runs/sphere                   parameters, course, how it ended
      trueup study resume runs/sphere                 continue from the last checkpoint
      trueup study export runs/sphere -o table.csv    every evaluation as a table
    """

    COMMANDS: ClassVar[dict[str, type]] = {
        "run": StudyRun,
        "list": StudyList,
        "show": StudyShow,
        "resume": StudyResume,
        "export": StudyExport,
    }
