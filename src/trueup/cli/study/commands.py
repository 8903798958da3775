"""Commands of ``trueup study`` and their arguments; implementations are imported when they run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import Positional, arg

from trueup.cli.command_settings import made_of, settings_in
from trueup.cli.output import Output
from trueup.cli.settings import Keys
from trueup.cli.study.options import (
    NOT_KEYS,
    BudgetOptions,
    Json,
    OfRuns,
    SettingsOfResume,
    SettingsOfStudy,
    StudyOptions,
    TrackerOptions,
    execution_of,
)
from trueup.errors import RunDirectoryError
from trueup.runs.loop.budget import Budget
from trueup.runs.studies.settings import StudySettings


@dataclass(frozen=True, kw_only=True)
class StudyRun(TrackerOptions, StudyOptions):
    """Run a search over a test problem or over your own problem.

    Examples:
      trueup study run sphere --dimension 10
      trueup study run rastrigin restarts=bipop target_cost=1e-8
      trueup study run zdt1 --method nsgaii --evaluations 5000
      trueup study run mine.py:problem workers=4 --output runs/mine
      trueup study run mine.py:problem --param-path runs/mine --output runs/finer sigma=0.05

    mine.py:problem is a function without arguments in a Python file that returns a
    trueup.fitting.Problem. Ctrl-C saves the state and prints the command to resume.
    Exit codes: 0 done, 2 wrong input, 3 "do not use" or not converged, 130
    interrupted, 143 terminated.
    """

    KEYS: ClassVar[type] = SettingsOfStudy
    WITHOUT: ClassVar[tuple[str, ...]] = NOT_KEYS

    problem: Annotated[Positional[str], arg(metavar="PROBLEM")]
    """Name of a test problem, or FILE.py:FUNCTION."""
    keys: Keys = ()
    dimension: Annotated[int | None, arg(metavar="INT")] = None
    """Number of parameters of a test problem; by default that of the problem."""
    param_path: Annotated[Path | None, arg(metavar="PATH")] = None
    """Start values: a parameter file, a run directory or a plain vector."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="DIRECTORY")] = None
    """Run directory; by default runs/PROBLEM."""
    resume: bool = False
    """Continue the run in the run directory."""
    overwrite: bool = False
    """Replace the run in the directory."""
    dry_run: bool = False
    """Check everything, time one generation and report the planned search; write nothing."""
    quiet: bool = False
    """Hide the progress."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.study.run import RunOptions, run_study

        values = settings_in(self)
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
            made_of(StudySettings, values),
            made_of(Budget, values),
            execution_of(self, values),
            options,
            output,
        )


@dataclass(frozen=True, kw_only=True)
class StudyResume(TrackerOptions, BudgetOptions):
    """Continue a run of any kind from its last checkpoint.

    Examples:
      trueup study resume runs/sphere
      trueup study resume runs/sphere --evaluations 100000
      trueup study resume runs/mine workers=8
      trueup study resume runs/arm

    The history is that of a run without interruption. Limits that are not given are unchanged.
    Exit codes: 0 done, 2 wrong input, 3 "do not use" or not converged, 130
    interrupted, 143 terminated.
    """

    KEYS: ClassVar[type] = SettingsOfResume
    WITHOUT: ClassVar[tuple[str, ...]] = NOT_KEYS

    directory: Annotated[Positional[Path], arg(metavar="RUN")]
    """Run directory."""
    keys: Keys = ()
    folder: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Folder of the run's inputs, if they have moved relative to the run."""
    quiet: bool = False
    """Hide the progress."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.study.resume import run_resume

        values = settings_in(self)
        return run_resume(
            self.directory,
            made_of(Budget, values),
            self.folder,
            execution_of(self, values),
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
    """Folder to search, with all folders below it."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.study.list import run_study_list

        return run_study_list(self.folder, output)


@dataclass(frozen=True, kw_only=True)
class StudyShow(OfRuns):
    """Show a run: best parameters, progress, end of the search, and what to do next.

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
    """Write every evaluation of a run as a table, or as a study of Optuna for its dashboard.

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
    """Optuna storage to write to: sqlite:///study.db, the URL of another database, or a file .db or
    .log; a .log (Optuna's journal) is faster."""
    overwrite: bool = False
    """Replace an existing file."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.study.export import run_optuna_export, run_study_export

        if (self.output is None) == (self.optuna is None):
            raise RunDirectoryError(
                "study export requires either --output FILE, for a table, or --optuna URL_OR_FILE, "
                "for a study of Optuna: give one of them"
            )
        if self.output is not None:
            return run_study_export(
                self.directory, self.output, self.overwrite, self.anyway, output
            )
        if self.overwrite:
            raise RunDirectoryError(
                "--overwrite replaces a table, but a study of Optuna is only added to: remove the "
                "option, or choose another storage"
            )
        return run_optuna_export(self.directory, str(self.optuna), self.anyway, output)


@dataclass(frozen=True)
class Study:
    """Run searches, look at runs, continue and export them.

    Examples:
      trueup study run sphere --dimension 10          search over a test problem
      trueup study run mine.py:problem                search over your own problem
      trueup study list runs                          runs below a folder
      trueup study show runs/sphere                   parameters, progress and end
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
