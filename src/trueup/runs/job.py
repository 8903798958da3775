"""One piece of work, as a capability describes it to :mod:`trueup.runs`.

How a kind of run is written
----------------------------

A kind is a subclass of :class:`Job` in its capability, of :class:`SearchJob` where it searches with
ask and tell, and a line in ``runs/kinds.py`` that names it as ``module:Class``. The class says what
is done; :func:`trueup.runs.start` and :func:`trueup.runs.resume` do it, in this order:

1. ``inputs()``: the files that the work reads are hashed, once. On resume they, and
   ``identity()``, are compared with those that the run was started with.
2. ``prepare()``: everything is read and checked (in a search ``make_problem()``, which also
   evaluates nothing in a loop, and ``make_search()``). Whatever is wrong is raised here, before a
   folder is made.
3. The run directory is made and held. ``experiment.yaml`` gets ``plain()``, ``provenance.json``
   what :func:`trueup.runs.store.provenance.collect` gives.
4. ``solve(run)``: the work; in a search :meth:`JobRun.search`, the loop with checkpoints.
5. ``keep(run, solution)``: files that the solution alone gives, such as an identified model.
6. ``finish(run, solution)``: assesses and judges the solution and returns an :class:`Outcome`.
7. ``write(run, outcome)``: further files; then ``solution.json`` from ``outcome.summary``.
8. ``page(run, outcome)``: ``report.html``.

An error in step 4 of a new run removes the folder, unless ``has_progress()``. An error from step 5
on never loses the search: ``solution.json`` is written with what there is, and under ``failed``
with the stage and the reason in one sentence; then
:class:`~trueup.errors.UnfinishedRunError` is raised.

``from_plain()`` makes the same job again from ``experiment.yaml``: that is what
``trueup study resume`` and ``trueup report`` work from, so a run that was begun in Python can be
continued on the command line. It reads no recording: ``make_problem()`` does.

The function of the capability (``sysid.identify``, ``actuators.fit``, ...) makes the job from its
arguments, calls :func:`trueup.runs.start` and returns ``outcome.result``. It has no other path.

Not all work is a search with ask and tell. A job that trains or calls a solver of its own is a
:class:`Job`; its ``solve()`` calls ``run.describe()`` at the moment from which the folder may
be written (by then it has found the run in the folder to be its own).
"""

import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from trueup.errors import RunDirectoryError, listing
from trueup.fitting.solution import Solution, Status
from trueup.runs.execution import Execution
from trueup.runs.interruption import RunInterrupted
from trueup.runs.loop._run_search import run_search
from trueup.runs.loop.budget import Budget
from trueup.runs.loop.generation import Generation
from trueup.runs.outcome import Outcome
from trueup.runs.run_state import RunState, study_state
from trueup.runs.store.atomic import write_json
from trueup.runs.store.experiment_file import write_experiment
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution, solution_content
from trueup.runs.trackers.tracker import Tracker

if TYPE_CHECKING:
    from trueup.reports import Page

LIMITS = ("max_evaluations", "max_generations", "max_seconds", "target_cost")
"""Fields of a budget."""


class Job(ABC):
    """One piece of work; see the text above for the order in which its methods are called."""

    kind: ClassVar[str]
    """Kind, as ``experiment.yaml`` names it."""
    noun: ClassVar[str]
    """What a run is called in messages, with its article: ``"a servo fit"``."""
    format_version: ClassVar[int] = 1
    """Version of what :meth:`plain` gives; higher ones are refused."""
    known_limits: ClassVar[tuple[str, ...]] = LIMITS
    """Limits that the search knows, among the fields of :class:`trueup.runs.Budget`."""
    limits_of_call: ClassVar[bool] = True
    """Whether limits come with a call, whose time counts from it; else they stand in an input."""
    distributed: ClassVar[bool] = False
    """Whether candidates may be evaluated in other processes."""
    searched: ClassVar[bool] = True
    """Whether ``study.sqlite`` holds its search."""
    interruption: ClassVar[type[RunInterrupted]] = RunInterrupted
    """What Ctrl-C raises once the run is saved."""

    name: str
    """Name of the run."""
    seed: int | None = None
    """Seed of everything random."""
    notes: Sequence[str] = ()
    """What was done about the start, and the like; sentences for the summary."""
    limits: Budget = Budget()
    """Limits of the search; others may be given on resume."""
    execution: Execution = Execution()
    """Where candidates are evaluated; set by :mod:`trueup.runs`."""
    folder: Path | None = None
    """Folder that names of inputs in ``provenance.json`` are relative to."""

    # --- what is done ------------------------------------------------------------------------

    @abstractmethod
    def inputs(self) -> Sequence[Path | Mapping[str, Any]]:
        """Files that the work reads.

        One that is hashed already is given as ``{"name", "sha256", "size"}``.
        """

    def input_files(self) -> Sequence[Path]:
        """Files and folders that the run directory must not hold when it is written anew."""
        return [entry for entry in self.inputs() if isinstance(entry, Path)]

    @abstractmethod
    def plain(self, directory: Path) -> dict[str, Any]:
        """Content of ``experiment.yaml``: all that :meth:`from_plain` needs.

        Paths are relative to ``directory``, the run directory: both may move together.
        ``kind``, ``format_version``, ``trueup`` and ``execution`` are added.
        """

    @classmethod
    @abstractmethod
    def from_plain(
        cls, content: dict[str, Any], directory: RunDirectory, folder: Path | None
    ) -> "Job":
        """The job of a run directory.

        Args:
          content: content of ``experiment.yaml``; kind and version are checked.
          directory: run directory.
          folder: where the inputs are, if they have moved away from the run.

        Raises:
          RunDirectoryError: something is missing, or the inputs are gone.
        """

    @abstractmethod
    def prepare(self) -> None:
        """Read and check everything that the work needs; nothing is written."""

    @abstractmethod
    def check_execution(self) -> None:
        """Raise TrueupError where trackers or evaluators of a new run cannot be had."""

    def settings(self, hashes: Sequence[str]) -> dict[str, Any]:
        """Plain settings that the history depends on; the same on resume.

        Args:
          hashes: SHA-256 of each input.
        """
        return {}

    @abstractmethod
    def solve(self, run: "JobRun") -> Any:
        """Do the work; returns the solution."""

    @abstractmethod
    def finish(self, run: "JobRun", solution: Any) -> Outcome:
        """Assess and judge a solution; nothing is written here."""

    def keep(self, run: "JobRun", solution: Any) -> None:  # noqa: B027 nothing, for most kinds
        """Write what the solution alone gives; called before :meth:`finish`."""

    def write(self, run: "JobRun", outcome: Outcome) -> None:  # noqa: B027
        """Write files beside ``solution.json``; called before that is written."""

    def page(self, run: "JobRun", outcome: Outcome) -> "Page | None":
        """The report of an outcome; None for no report."""
        return self.report(run.directory)

    @classmethod
    @abstractmethod
    def report(cls, directory: RunDirectory) -> "Page":
        """The report, from the files of a run directory; the run may be in progress."""

    @classmethod
    def state(cls, directory: RunDirectory) -> RunState:
        """State of a run; overridden by kinds without ``study.sqlite``."""
        return study_state(directory, cls.kind)

    @classmethod
    def compared(cls, directory: RunDirectory) -> dict[str, Any]:
        """What :func:`trueup.runs.compare` shows of a finished run, as plain data.

        ``parameters``, ``status`` and ``cost``; ``scores`` and ``verdict`` where there are some.

        Raises:
          RunDirectoryError: the run has no result to compare.
        """
        return read_solution(directory)

    # --- start and resume ----------------------------------------------------------------------

    def identity(self) -> dict[str, Any]:
        """Values that have to be the same on resume, by the names that a message gives them."""
        return {}

    def continuing(self, former: "Job") -> "Job":
        """The job to resume ``former`` with; by default that one, with the limits given here."""
        return former.limited(self.limits)

    def limited(self, limits: Budget) -> "Job":
        """This job with other limits, where they are given.

        Raises:
          RunDirectoryError: the search does not know one of them.
        """
        given = {name: getattr(limits, name) for name in LIMITS}
        given = {name: value for name, value in given.items() if value is not None}
        if unknown := [name for name in given if name not in self.known_limits]:
            known = ", ".join(_option(name) for name in self.known_limits)
            raise RunDirectoryError(
                f"the run is {self.noun}, which does not know "
                f"{listing(_option(name) for name in unknown)}"
                + (f"; it knows {known}" if known else "")
            )
        self.limits = replace(self.limits, **given)
        return self

    def has_progress(self, directory: RunDirectory) -> bool:
        """Whether a run that fails has computed something worth keeping."""
        from trueup.runs.loop.early_errors import has_evaluations

        return has_evaluations(directory)

    def origin(self, directory: Path) -> dict[str, Any]:
        """Settings that ``provenance.json`` holds."""
        return self.plain(directory)

    def further_origin(self) -> dict[str, Any]:
        """Further content of ``provenance.json``."""
        return {}

    @property
    def mark(self) -> str | None:
        """What every file of the run says of it, after :meth:`prepare`; None for nothing."""
        return None

    packages: ClassVar[Sequence[str] | None] = None
    """Distributions whose versions provenance records; None: those of every run."""

    @property
    def can_resume(self) -> bool:
        """Whether an interrupted search continues where it stopped."""
        return True

    # --- words ---------------------------------------------------------------------------------

    def stopped(self, directory: RunDirectory) -> str:
        """What a run that was stopped at once has saved, for the message."""
        return "stopped"

    def plan(self) -> dict[str, Any]:
        """What would be done and how long it takes, after :meth:`prepare`; nothing is written."""
        return {}

    @abstractmethod
    def bare_summary(self, solution: Any) -> dict[str, Any]:
        """Content of ``solution.json`` where the assessment failed: the work alone."""


class SearchJob(Job):
    """A job that searches the minimum of a problem with ask and tell."""

    @abstractmethod
    def make_problem(self) -> Any:
        """What is searched; read once, as :attr:`problem`."""

    @abstractmethod
    def make_search(self) -> Any:
        """The search at its start; made once, as :attr:`search`."""

    @functools.cached_property
    def problem(self) -> Any:
        """The problem."""
        return self.make_problem()

    @functools.cached_property
    def search(self) -> Any:
        """The search at its start."""
        return self.make_search()

    def prepare(self) -> None:
        """Make the problem and the search."""
        _ = self.problem, self.search

    def check_execution(self) -> None:
        """Raise TrueupError where trackers or evaluators of a new run cannot be had."""
        self.execution.check(self.name, self.problem.space, self.problem.objectives)
        if self.distributed:
            self.execution.check_evaluator()

    def solve(self, run: "JobRun") -> Any:
        """Search; returns the solution."""
        return run.search(self.problem, self.search)

    def bare_summary(self, solution: Any) -> dict[str, Any]:
        """Content of ``solution.json`` where the assessment failed: the search alone."""
        space = self.problem.space
        return solution_content(self.name, self.kind, space, solution, list(self.notes))


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@dataclass
class JobRun:
    """A job at work: what :func:`trueup.runs.start` gives to the methods of a job."""

    job: Job
    directory: RunDirectory
    resume: bool
    """Whether the run was begun before."""
    inputs: list[dict[str, Any]]
    """Entries of :func:`trueup.runs.store.provenance.hashed`."""
    origin: dict[str, Any]
    """Content of ``provenance.json``."""
    trackers: Sequence[Tracker] = ()
    """Trackers beside those of the execution."""
    verbose: bool = True
    """Whether progress is shown on the error stream."""
    solved: bool = field(default=False, init=False)
    """Whether the search is over."""
    _described: bool = field(default=False, init=False)

    @property
    def hashes(self) -> list[str]:
        """SHA-256 of each input."""
        return [entry["sha256"] for entry in self.inputs]

    def describe(self) -> None:
        """Write ``experiment.yaml`` and ``provenance.json``, once."""
        if not self._described:
            job = self.job
            content = job.plain(self.directory.path)
            # beside their hashes in provenance.json, which shows no folders
            content["inputs"] = [
                os.path.relpath(entry["path"], self.directory.path) for entry in self.inputs
            ]
            if job.execution != Execution():
                content = {**content, "execution": job.execution.record()}
            write_experiment(self.directory, job.kind, job.format_version, content)
            write_json(self.directory.provenance, self.origin)
            self._described = True

    def search(
        self,
        problem: Any,
        search: Any,
        *,
        settings: dict[str, Any] | None = None,
        on_generation: Callable[[Generation], None] | None = None,
        on_best: Callable[[Generation], None] | None = None,
        describe: Callable[[np.ndarray], Any] | None = None,
    ) -> Solution:
        """Drive a search over a problem; see :func:`trueup.runs.run_search`."""
        job, execution = self.job, self.job.execution
        return run_search(
            problem,
            search,
            self.directory,
            settings=job.settings(self.hashes) if settings is None else settings,
            resume=self.resume,
            budget=job.limits,
            evaluator=execution.evaluator() if job.distributed else None,
            trackers=[*execution.make_trackers(job.name), *self.trackers],
            on_generation=on_generation,
            on_best=on_best,
            describe=describe,
            on_start=self.describe,
            verbose=self.verbose,
        )

    def is_interrupted(self, solution: Any) -> bool:
        """Whether a solution is that of an interrupted search."""
        return getattr(solution, "status", None) is Status.INTERRUPTED
