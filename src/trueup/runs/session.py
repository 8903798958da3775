"""Session of a run (one call that starts or resumes it), and the run in progress."""

import contextlib
import os
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup._marks import KEY, marked
from trueup.errors import RunDirectoryError, StorageError, TrueupWarning, listing
from trueup.fitting.solution import Solution, Status
from trueup.runs._finish import Finish, finish_run
from trueup.runs.execution import Execution
from trueup.runs.interruption import RunInterrupted
from trueup.runs.loop._run_search import run_search
from trueup.runs.loop.budget import Budget
from trueup.runs.loop.early_errors import has_evaluations
from trueup.runs.loop.generation import Generation
from trueup.runs.outcome import Outcome
from trueup.runs.spec import Spec
from trueup.runs.store import provenance
from trueup.runs.store.atomic import write_json
from trueup.runs.store.experiment_file import write_experiment
from trueup.runs.store.input_check import same_inputs
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import space_records
from trueup.runs.trackers.tracker import Tracker

if TYPE_CHECKING:
    from trueup.reports import Page

Input = Path | Mapping[str, Any]
"""File that a run reads; or ``name``, ``sha256`` and ``size`` of an already hashed one."""


@dataclass(frozen=True)
class Session:
    """One call that starts or resumes a run."""

    target: Path
    """Run directory."""
    opened: RunDirectory | None = None
    """The run directory, if it already exists."""
    resume: bool = False
    """Whether the run is resumed."""
    overwrite: bool = False
    """Whether an existing run in the directory is replaced."""
    execution: Execution = field(default_factory=Execution)
    """Settings of the evaluator and the trackers."""
    trackers: Sequence[Tracker] = ()
    """Trackers in addition to those of the execution."""
    verbose: bool = True
    """Whether progress is shown on the error stream."""

    @contextlib.contextmanager
    def begin(
        self,
        spec: Spec,
        inputs: Sequence[Input],
        *,
        problem: Any = None,
        distributed: bool = False,
        shown: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        further_origin: Mapping[str, Any] | None = None,
        packages: Sequence[str] | None = None,
        folder: Path | None = None,
        mark: str | None = None,
        resumable: bool = True,
        has_progress: Callable[[RunDirectory], bool] = has_evaluations,
        saved: Callable[[RunDirectory], str] = lambda directory: "stopped",
    ) -> Iterator["Run"]:
        """Open the run after all inputs are read and checked, before anything is written.

        The inputs are hashed, and compared with those that a resumed run was started with. A new
        run gets its folder with ``experiment.yaml`` and ``provenance.json``; for a resumed one they
        are written once its search was checked to be that of the folder. An error within removes
        the folder of a new run without results. Ctrl-C raises ``spec.interruption`` with a message
        on how to resume.

        Args:
          spec: the spec to write, with its resolved start.
          inputs: files that were read.
          problem: problem of the search; its parameters and objectives are written for the pages.
          distributed: candidates may be evaluated in other processes.
          shown: further content of ``experiment.yaml``, for the pages.
          settings: settings for ``provenance.json``; None: the content of ``experiment.yaml``.
          further_origin: further content of ``provenance.json``.
          packages: distributions with recorded versions; None: those of every run.
          folder: folder that names of inputs in ``provenance.json`` are relative to.
          mark: note in every file of the run.
          resumable: whether an interrupted search continues where it stopped.
          has_progress: whether a failed run has results to keep.
          saved: saved results of a run that was stopped immediately, for the message.

        Raises:
          RunDirectoryError: the directory is in use or contains an input, or an input has changed.
          RunInterrupted: Ctrl-C.
        """
        if problem is not None:
            if not self.resume:  # a resumed run has its study in the storage
                self.execution.check(spec.name, problem.space, problem.objectives)
            if distributed:
                self.execution.check_evaluator()
            shown = {
                "objectives": list(problem.objectives),
                "parameters": space_records(problem.space),
                **(shown or {}),
            }
        hashes = provenance.hashed(inputs, folder)
        if self.resume:
            assert self.opened is not None
            directory = self.opened
            hashes = _same_inputs(directory, hashes)
        else:
            # some are known only after others are read, such as the meshes of a model
            check_inputs_stay([Path(entry["path"]) for entry in hashes], self.target)
            directory = self.opened or RunDirectory.create(self.target, overwrite=self.overwrite)
        content = spec.to_dict(directory.path)
        origin = provenance.collect(
            spec.seed,
            hashes,
            dict(content if settings is None else settings),
            relative_to=folder,
            **({} if packages is None else {"packages": packages}),
        )
        run = Run(
            spec=spec,
            directory=directory,
            session=self,
            inputs=hashes,
            origin={**origin, **(further_origin or {})},
            content={**content, **(shown or {})},
            distributed=distributed,
            resumable=resumable,
            saved=saved,
        )
        former = provenance.read(directory.provenance).get(KEY) if self.resume else None
        removed = _removed_on_early_error(run, has_progress)
        with removed, directory.lock(), marked(former), marked(mark):
            if not self.resume:
                run.describe()
            try:
                yield run
            except RunInterrupted:
                raise
            except KeyboardInterrupt:
                raise run.stopped() from None


@dataclass
class Run:
    """A run in progress; made by :meth:`Session.begin`."""

    spec: Spec
    directory: RunDirectory
    session: Session
    inputs: list[dict[str, Any]]
    """Entries of :func:`trueup.runs.store.provenance.hashed`."""
    origin: dict[str, Any]
    """Content of ``provenance.json``."""
    content: dict[str, Any]
    """Content of ``experiment.yaml``."""
    distributed: bool
    resumable: bool
    saved: Callable[[RunDirectory], str]
    solved: bool = field(default=False, init=False)
    """Whether the search is finished."""
    _described: bool = field(default=False, init=False)

    @property
    def resume(self) -> bool:
        """Whether the run was begun before."""
        return self.session.resume

    @property
    def verbose(self) -> bool:
        """Whether progress is shown on the error stream."""
        return self.session.verbose

    @property
    def hashes(self) -> list[str]:
        """SHA-256 of each input."""
        return [entry["sha256"] for entry in self.inputs]

    def describe(self) -> None:
        """Write ``experiment.yaml`` and ``provenance.json``, once.

        A run that does not use :meth:`search` calls it after checking that the folder is its own;
        :meth:`search` and :meth:`finish` call it automatically.
        """
        if self._described:
            return
        content, execution = dict(self.content), self.session.execution
        # their hashes are in provenance.json, which contains no folders
        content["inputs"] = [
            os.path.relpath(entry["path"], self.directory.path) for entry in self.inputs
        ]
        if execution != Execution():
            content["execution"] = execution.to_dict()
        write_experiment(self.directory, self.spec.kind, self.spec.format_version, content)
        write_json(self.directory.provenance, self.origin)
        self._described = True

    def search(
        self,
        problem: Any,
        search: Any,
        settings: Mapping[str, Any],
        *,
        limits: Budget | None = None,
        on_generation: Callable[[Generation], None] | None = None,
        on_best: Callable[[Generation], None] | None = None,
        describe: Callable[[np.ndarray], Any] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> Solution:
        """Run a search over a problem to its end; see :func:`trueup.runs.run_search`.

        Args:
          problem: problem to minimise.
          search: the new search.
          settings: plain settings that the history depends on; unchanged on resume.
          limits: limits of the search; None: those of the spec.
          on_generation: called after each generation.
          on_best: called when a generation changed the best candidate.
          describe: content of ``parameters.json`` for a candidate ``(p,)``.
          on_start: called before the first evaluation, where the folder belongs to this search;
            writes further files that describe the run.

        Raises:
          RunInterrupted: Ctrl-C; its ``solution`` is the best so far.
        """
        execution = self.session.execution

        def describe_run() -> None:
            self.describe()
            if on_start is not None:
                on_start()

        solution = run_search(
            problem,
            search,
            self.directory,
            settings=dict(settings),
            resume=self.resume,
            budget=self.spec.limits if limits is None else limits,
            evaluator=execution.evaluator() if self.distributed else None,
            trackers=[*execution.make_trackers(), *self.session.trackers],
            on_generation=on_generation,
            on_best=on_best,
            describe=describe,
            on_start=describe_run,
            verbose=self.verbose,
        )
        if solution.status is Status.INTERRUPTED:
            raise self.stopped(solution)
        return solution

    def stopped(self, solution: Solution | None = None) -> RunInterrupted:
        """Exception for Ctrl-C: how to resume the run, and the best candidate so far."""
        path, kind = self.directory.path, self.spec.interruption
        if self.solved:
            return kind(
                "stopped after the search, which is saved, but before its results were written. "
                f"Write them with  trueup study resume {path}",
                path,
                solution,
            )
        if not self.resumable:
            return kind(
                "interrupted, and the fit is not saved: its method cannot be resumed. "
                f"{path} contains the experiment only; restart with the same command and "
                "--overwrite",
                path,
            )
        # one way to continue, the one that needs no experiment
        if solution is None:
            message = self.saved(self.directory)
        else:
            message = solution.message.partition("; the run in ")[0]
        return kind(f"{message}. Resume with  trueup study resume {path}", path, solution)

    def finish(
        self,
        solution: Any,
        *,
        bare: Callable[[Any], dict[str, Any]],
        judge: Callable[[Any], Outcome],
        keep: Callable[[Any], None] | None = None,
        write: Callable[[Outcome], None] | None = None,
        page: Callable[[Outcome], "Page | None"] | None = None,
    ) -> Outcome:
        """Assess a solution and write all results, ordered so that no result is lost.

        Args:
          solution: result of the search or training.
          bare: content of ``solution.json`` for the solution alone, if the assessment fails.
          judge: assesses the solution; it writes nothing.
          keep: writes files from the solution alone, before the assessment.
          write: writes further files, before ``solution.json``.
          page: builds the report.

        Raises:
          UnfinishedRunError: a step failed; the results of the others are written.
        """
        self.describe()
        self.solved = True
        if hasattr(solution, "provenance"):
            solution.provenance = self.origin
        steps = Finish(bare, judge, keep, write, page)
        try:
            outcome = finish_run(self.directory, self.spec.kind, solution, steps, self.verbose)
            self._export_study()
            return outcome
        except KeyboardInterrupt:
            found = solution if isinstance(solution, Solution) else None
            raise self.stopped(found) from None

    def _export_study(self) -> None:
        """Write the search into the storage of the execution, which never fails a finished run."""
        execution = self.session.execution
        if not execution.storage or not self.directory.study.is_file():
            return
        from trueup.runs.optuna_storage import export_study

        try:
            export_study(
                self.directory, execution.storage, load=execution.load_study, verbose=self.verbose
            )
        except StorageError as error:
            warnings.warn(
                f"{error}. All results are in {self.directory.path}; write its study with  "
                f"trueup study export {self.directory.path} --optuna URL",
                TrueupWarning,
                stacklevel=2,
            )


@contextlib.contextmanager
def _removed_on_early_error(
    run: Run, has_progress: Callable[[RunDirectory], bool]
) -> Iterator[None]:
    """Remove the folder of a new run if an error ends it before it has any result.

    So an error in the first evaluation does not leave a folder that blocks the next attempt. Ctrl-C
    is not an error: the folder is kept, and can be resumed.
    """
    try:
        yield
    except Exception:
        if not (run.resume or run.solved or has_progress(run.directory)):
            shutil.rmtree(run.directory.path, ignore_errors=True)
        raise


def check_inputs_stay(paths: Iterable[Path], target: Path) -> None:
    """Raise an error if an input of the run would be removed with its folder.

    Args:
      paths: files and folders that the run reads.
      target: run directory, which is replaced.

    Raises:
      RunDirectoryError: an input is in the run directory.
    """
    folder = target.resolve()
    for entry in paths:
        if folder in (resolved := entry.resolve()).parents or folder == resolved:
            raise RunDirectoryError(
                f"{entry}, which is an input, is in the run directory {target}, which is replaced: "
                "move it, or choose another run directory"
            )


def _same_inputs(directory: RunDirectory, inputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Recorded inputs of a run to resume; raise an error if one has changed."""
    if not directory.provenance.is_file():
        return inputs  # stopped before the file was written: nothing to compare
    entries, changed = same_inputs(provenance.read(directory.provenance), inputs)
    if changed:
        raise RunDirectoryError(
            f"{listing(sorted(changed), 4)} {'has' if len(changed) == 1 else 'have'} changed since "
            f"{directory.path} was started: restore the original inputs to resume, or restart with "
            "--overwrite or another run directory"
        )
    return entries
