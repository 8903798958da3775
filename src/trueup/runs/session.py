"""One call that starts or resumes a run, and the run while its folder is written."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup._marks import KEY, marked
from trueup.errors import RunDirectoryError, listing
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
"""File that a run reads; or ``name``, ``sha256`` and ``size`` of one that was hashed already."""


@dataclass(frozen=True)
class Session:
    """One call that starts or resumes a run."""

    target: Path
    """Run directory."""
    opened: RunDirectory | None = None
    """The run directory, where it is there already."""
    resume: bool = False
    """Whether the run was begun before."""
    overwrite: bool = False
    """Whether a run that the directory holds is replaced."""
    execution: Execution = field(default_factory=Execution)
    """Where candidates are evaluated."""
    trackers: Sequence[Tracker] = ()
    """Trackers beyond those of the execution."""
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
        """Open the run: everything is read and checked by now, and nothing is written.

        The inputs are hashed, and compared with those that a resumed run was started with. A new
        run gets its folder with ``experiment.yaml`` and ``provenance.json``; a resumed one gets
        them once its search was found to be that of the folder. An error within removes the folder
        of a new run, unless something worth keeping was computed. Ctrl-C raises
        ``spec.interruption``, whose message says how to continue.

        Args:
          spec: the spec as it is written, with the start that was chosen.
          inputs: files that were read.
          problem: what is searched; its parameters and objectives are written for the pages.
          distributed: candidates may be evaluated in other processes.
          shown: further content of ``experiment.yaml``, for the pages.
          settings: settings that ``provenance.json`` holds; the content of ``experiment.yaml``
            where None.
          further_origin: further content of ``provenance.json``.
          packages: distributions whose versions are recorded; those of every run where None.
          folder: folder that names of inputs in ``provenance.json`` are relative to.
          mark: what every file of the run says of it.
          resumable: whether an interrupted search continues where it stopped.
          has_progress: whether a run that fails has computed something worth keeping.
          saved: what a run that was stopped at once has saved, for the message.

        Raises:
          RunDirectoryError: the directory is in use, or an input has changed or lies in it.
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
            # some are known once the others are read, such as the meshes of a model
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
    """A run while its folder is written; made by :meth:`Session.begin`."""

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
    """Whether the search is over."""
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

        A run that searches without :meth:`search` calls it when it has found the folder to be its
        own; :meth:`search` and :meth:`finish` do so themselves.
        """
        if self._described:
            return
        content, execution = dict(self.content), self.session.execution
        # with their hashes in provenance.json, which shows no folders
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
        """Drive a search over a problem to its end; see :func:`trueup.runs.run_search`.

        Args:
          problem: what is searched.
          search: the search at its start.
          settings: plain settings that the history depends on; the same on resume.
          limits: where it stops; those of the spec where None.
          on_generation: called after each generation.
          on_best: called when a generation changed the best candidate.
          describe: content of ``parameters.json`` for a candidate ``(p,)``.
          on_start: called before the first evaluation, where the folder belongs to this search;
            writes further files that describe the run.

        Raises:
          RunInterrupted: Ctrl-C; its ``solution`` is the best so far.
        """
        execution, name = self.session.execution, self.spec.name

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
            trackers=[*execution.make_trackers(name), *self.session.trackers],
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
        """What Ctrl-C raises: how the run is continued, and the best so far."""
        path, kind = self.directory.path, self.spec.interruption
        if self.solved:
            return kind(
                "stopped after the search, which is saved, and before its results were written. "
                f"Write them with  trueup study resume {path}",
                path,
                solution,
            )
        if not self.resumable:
            return kind(
                "interrupted, and nothing of the fit is saved: its method cannot continue where it "
                f"stopped. {path} holds the experiment only; start anew with the same command and "
                "--overwrite",
                path,
            )
        # one way to continue, the one that needs no experiment
        if solution is None:
            message = self.saved(self.directory)
        else:
            message = solution.message.partition("; the run in ")[0]
        return kind(f"{message}. Continue with  trueup study resume {path}", path, solution)

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
        """Judge a solution and write every result, in an order that loses nothing.

        Args:
          solution: what the search or training gave.
          bare: content of ``solution.json`` for the solution alone, where judging it failed.
          judge: assesses and judges the solution; it writes nothing.
          keep: writes what the solution alone gives, before it is judged.
          write: writes further files, before ``solution.json``.
          page: makes the report.

        Raises:
          UnfinishedRunError: a step failed; what the others gave is written.
        """
        self.describe()
        self.solved = True
        if hasattr(solution, "provenance"):
            solution.provenance = self.origin
        steps = Finish(bare, judge, keep, write, page)
        try:
            return finish_run(self.directory, self.spec.kind, solution, steps, self.verbose)
        except KeyboardInterrupt:
            found = solution if isinstance(solution, Solution) else None
            raise self.stopped(found) from None


@contextlib.contextmanager
def _removed_on_early_error(
    run: Run, has_progress: Callable[[RunDirectory], bool]
) -> Iterator[None]:
    """Remove the folder where an error ends a new run before it has computed anything.

    A problem that turns out to be wrong as it is first evaluated then does not stand in the way of
    the next try. Ctrl-C is no error: the folder stays, and can be resumed.
    """
    try:
        yield
    except Exception:
        if not (run.resume or run.solved or has_progress(run.directory)):
            shutil.rmtree(run.directory.path, ignore_errors=True)
        raise


def check_inputs_stay(paths: Iterable[Path], target: Path) -> None:
    """Raise where a file that the run needs later would be replaced with its folder.

    Args:
      paths: files and folders that the run reads.
      target: run directory, which is written anew.

    Raises:
      RunDirectoryError: one lies in the run directory.
    """
    folder = target.resolve()
    for entry in paths:
        if folder in (resolved := entry.resolve()).parents or folder == resolved:
            raise RunDirectoryError(
                f"{entry}, which is an input, lies in the run directory {target}, which is written "
                "anew: move it, or choose another run directory"
            )


def _same_inputs(directory: RunDirectory, inputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Inputs of a run to resume, as it recorded them; raise where one has changed."""
    if not directory.provenance.is_file():
        return inputs  # stopped before the file was written: nothing to differ from
    entries, changed = same_inputs(provenance.read(directory.provenance), inputs)
    if changed:
        raise RunDirectoryError(
            f"{listing(sorted(changed), 4)} {'has' if len(changed) == 1 else 'have'} changed since "
            f"{directory.path} was started: take the former inputs to resume, or start anew with "
            "--overwrite or another run directory"
        )
    return entries
