"""Loop of a study: ask, evaluate, tell, save; and resume after an interruption."""

import contextlib
import dataclasses
import hashlib
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from trueup._secrets import masked
from trueup.errors import EvaluationError, RunDirectoryError, listing
from trueup.fitting.searches.evaluation_limit import EvaluationLimit
from trueup.fitting.solution import Solution, Status
from trueup.runs.evaluators import Evaluator, LocalEvaluator
from trueup.runs.loop._interrupts import Interrupts
from trueup.runs.loop.budget import Budget
from trueup.runs.loop.generation import Generation
from trueup.runs.loop.progress import Progress
from trueup.runs.store.atomic import to_json
from trueup.runs.store.checkpoint import Checkpoints
from trueup.runs.store.database import Store
from trueup.runs.store.event_log import EventLog
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.trackers import Study, Tracker, Trackers
from trueup.time_limit import TimeLimit, TimeUpError

_AT_BOUND = 1e-6  # distance from a bound that counts as on it, as a share of the range
_LONG = 0.02  # duration of a generation from which a copy of the search's state is negligible [s]


class ResumableSearch(Protocol):
    """A search for a study, with an ask-and-tell interface, without a loop or file access.

    It may also have ``evaluate(problem, X, failures) -> answer`` (otherwise its answers are
    ``problem.costs(X, failures)``), ``costs_of(answer) -> (n,) or (n, k)`` (otherwise the answer
    itself), ``info() -> dict`` of numbers that go into the history, such as a step size, for
    several objectives ``front``, the current :class:`trueup.fitting.ParetoFront`, and for the
    progress ``words``, a text on its stage, and ``own_cost``, the cost to show for ``cost``.

    :meth:`state` and :meth:`from_state` include everything that later batches depend on, also the
    state of the random generator, so that a resumed history equals an uninterrupted one.
    """

    x: np.ndarray
    """Best candidate so far ``(p,)``."""
    cost: float
    """Cost of the best candidate; infinite before the first valid one."""
    message: str
    history: list[dict[str, Any]]

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``."""
        ...

    def tell(self, X: np.ndarray, answer: Any, failures: dict[int, str]) -> None:
        """Process the answer for the batch of :meth:`ask`."""
        ...

    def done(self) -> Status | None:
        """Final status of the search, or None while it runs."""
        ...

    def state(self) -> dict[str, Any]:
        """State for :meth:`from_state`: JSON values and arrays."""
        ...

    def from_state(self, state: dict[str, Any], space: Any) -> "ResumableSearch":
        """Restore a search from :meth:`state`; a class method."""
        ...


def run_search(
    problem: Any,
    search: Any,
    directory: RunDirectory,
    *,
    settings: dict[str, Any] | None = None,
    resume: bool = False,
    budget: Budget | None = None,
    evaluator: Evaluator | None = None,
    trackers: Sequence[Tracker] = (),
    on_generation: Callable[[Generation], None] | None = None,
    on_best: Callable[[Generation], None] | None = None,
    describe: Callable[[np.ndarray], Any] | None = None,
    on_start: Callable[[], None] | None = None,
    verbose: bool = True,
) -> Solution:
    """Run a search to its end, with checkpoints to resume it.

    After Ctrl-C the current generation is finished and saved, and the solution has the status
    ``INTERRUPTED``; a second Ctrl-C, and SIGTERM, stop immediately. The history of a resumed study
    is bitwise identical to that of an uninterrupted one, on the same machine with the same versions
    and number of threads.

    Args:
        problem: problem to minimise; has ``space`` and ``costs`` (or what ``search`` evaluates).
        search: the new optimiser, see ``ResumableSearch``. On resume its class is used, and
            its state is read from the run directory.
        directory: run directory; locked by this process.
        settings: plain settings that the history depends on; must be unchanged on resume.
        resume: resume the study in ``directory``; one without a checkpoint restarts.
        budget: limits of the search; may change on resume.
        evaluator: where candidates are evaluated; this process unless given.
        trackers: called for every generation, such as one for Weights & Biases. A tracker that
            fails is removed, and the run continues.
        on_generation: called after each generation.
        on_best: called when a generation changed the best candidate.
        describe: content of ``parameters.json`` for a candidate ``(p,)``; default: the values by
            name, and the cost.
        on_start: called once the study in ``directory`` was checked to be this one, before the
            first evaluation, to write further files.
        verbose: show the progress on the error stream.

    Returns:
        The best candidate, also after an interrupt.

    Raises:
        RunDirectoryError: the directory is in use, contains a study (without ``resume``), or one of
            another problem or version; or a checkpoint cannot be written: the last one is kept.
        EvaluationError: the evaluator lost its workers; the run can be resumed from its last
            checkpoint.
        TrueupError: a tracker has invalid settings, before the run starts.
    """
    names = tuple(problem.space.names)
    budget = budget or Budget()
    settings_hash = _hash(problem, search, settings or {})
    with directory.lock(), Interrupts(verbose) as interrupts, Progress(verbose) as progress:
        log = EventLog(directory.log)
        with _open_store(directory, names, settings_hash, resume) as store:
            loop = _Loop(problem, search, store, Checkpoints(directory, store, log), budget)
            loop.describe, loop.on_generation, loop.on_best = describe, on_generation, on_best
            loop.restore()
            if on_start is not None:
                on_start()
            loop.trackers = Trackers(trackers, log)
            loop.trackers.start(loop.study(directory, settings or {}))
            log.write(
                "resume" if loop.generation else "start",
                generation=loop.generation,
                evaluations=store.evaluations,
            )
            try:
                with (evaluator or LocalEvaluator()).over(problem) as loop.problem:
                    status, message = loop.go(interrupts, progress)
            except BaseException as error:
                if isinstance(error, EvaluationError):
                    error.add_note(f"the run in {directory.path} continues with --resume")
                # On a full disk the log fails too; show the error that ended the run.
                with contextlib.suppress(RunDirectoryError):
                    log.write("error", kind=type(error).__name__, message=str(error))
                raise
            if status is Status.INTERRUPTED:
                message += f"; the run in {directory.path} continues with --resume"
            log.write("end", status=status, message=message, cost=loop.search.cost)
            solution = loop.solution(names, status, message)
            loop.trackers.end(solution)
            return solution


class _Loop:
    trackers: Trackers
    describe: Callable[[np.ndarray], Any] | None = None
    on_generation: Callable[[Generation], None] | None = None
    on_best: Callable[[Generation], None] | None = None

    def __init__(
        self, problem: Any, search: Any, store: Store, checkpoints: Checkpoints, budget: Budget
    ):
        self.problem = problem
        self.search = search
        self.store = store
        self.checkpoints = checkpoints
        self.budget = budget
        self.limit = EvaluationLimit(budget.max_evaluations)
        self.generation = 0  # index of the next one
        self.failed = 0
        self._earlier = 0.0
        self._longest = 0.0  # longest evaluation of a generation [s]
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        return self._earlier + time.perf_counter() - self._started

    def restore(self) -> None:
        """Restore the last checkpoint, if there is one."""
        last = self.store.last_state()
        if last is not None:
            number, state = last
            self.search = self.search.from_state(state, self.problem.space)
            self.generation = number + 1
            self.failed = self.store.failed_evaluations()
            self._earlier = self.store.seconds()
        self._started = time.perf_counter()

    def study(self, directory: RunDirectory, settings: dict[str, Any]) -> Study:
        """Description of the study for trackers."""
        return Study(
            directory=directory,
            names=tuple(self.problem.space.names),
            objectives=tuple(getattr(self.problem, "objectives", ("cost",))),
            space=self.problem.space,
            search=type(self.search).__name__,
            settings=settings,
            generations=self.generation,
            history=self.store.history,
        )

    def go(self, interrupts: Interrupts, progress: Progress) -> tuple[Status, str]:
        end = self._end(interrupts)
        while end is None:
            time_left = TimeLimit(self._seconds_left)
            # a generation interrupted by the limit must not drop the previous ones
            may_be_cut = math.isfinite(time_left.seconds) and self._longest > _LONG
            before = self.search.state() if may_be_cut else None
            X = self.limit.ask(self.search, self.store.evaluations)
            if X is None:
                self._save(self.limit.state)
                return Status.EVALUATION_LIMIT, self.limit.message(
                    self.store.evaluations, self._shown_cost
                )
            failures: dict[int, str] = {}
            began = self.seconds
            try:
                with interrupts.abortable(), time_left:
                    answer = self._evaluate(X, failures)
            except TimeUpError as up:
                if up.limit is not time_left:
                    raise
                if before is not None:
                    self._save(before)
                return (
                    Status.TIME_LIMIT,
                    f"{self.seconds:.1f} s, within a generation: cost {self._shown_cost:.6g}",
                )
            except KeyboardInterrupt:
                # A batch is pending, so the state of the search cannot be saved: records since the
                # last checkpoint are dropped and repeated on resume.
                return Status.INTERRUPTED, f"stopped immediately at cost {self._shown_cost:.6g}"
            self._longest = max(self._longest, self.seconds - began)
            failures = masked(failures)
            former = np.array(self.search.x, float)
            had_none = not math.isfinite(self.search.cost)
            self.search.tell(X, answer, failures)
            improved = had_none or not np.array_equal(former, self.search.x)
            self._record(X, answer, failures, improved and math.isfinite(self.search.cost))
            if self.checkpoints.is_due:
                self._save()
            else:
                self.checkpoints.keep_parameters_fresh(float(self.search.cost), self._found)
            progress.update(
                f"{self._words}generation {self.generation}, {self.store.evaluations} evaluations, "
                f"cost {self._shown_cost:.6g}{self._bounds}",
                self._fraction(),
            )
            end = self._end(interrupts)
        self._save()
        return end

    @property
    def _words(self) -> str:
        words = getattr(self.search, "words", "")
        return f"{words}, " if words else ""

    @property
    def _bounds(self) -> str:
        """Parameters of the best candidate that are on a bound, for the progress; often none."""
        space = getattr(self.search, "space", None)
        if space is None or not math.isfinite(self.search.cost):
            return ""
        on = space.at_bound(np.array(self.search.x, float), _AT_BOUND)
        names = [name for name, is_on in zip(space.names, on, strict=True) if is_on]
        if not names:
            return ""
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f", {len(names)} of {len(space.names)} on a bound: {', '.join(names[:3])}{more}"

    @property
    def _shown_cost(self) -> float:
        return float(getattr(self.search, "own_cost", self.search.cost))

    def _fraction(self) -> float | None:
        """Finished share of the run; None if it ends long before its limits."""
        if getattr(self.search, "ends_by_itself", False):
            return None
        limits, share_of = self.budget, getattr(self.search, "share", None)
        if share_of is None or limits.max_generations is None:
            return limits.fraction(self.store.evaluations, self.generation, self.seconds)
        # generations of its stages differ in work
        share = share_of(limits.max_generations)
        others = dataclasses.replace(limits, max_generations=None)
        used = others.fraction(self.store.evaluations, self.generation, self.seconds)
        return max(share, used or 0.0)

    def solution(self, names: tuple[str, ...], status: Status, message: str) -> Solution:
        x = np.array(self.search.x, float)
        return Solution(
            parameters=dict(zip(names, map(float, x), strict=True)),
            x=x,
            cost=float(self.search.cost),
            status=status,
            message=message,
            history=list(self.search.history),
            front=getattr(self.search, "front", None),
            stats={
                "seconds": self.seconds,
                "evaluations": self.store.evaluations,
                "failed_evaluations": self.failed,
                "generations": self.generation,
            },
        )

    def _evaluate(self, X: np.ndarray, failures: dict[int, str]) -> Any:
        X = X.copy()  # a problem may modify its argument
        if hasattr(self.search, "evaluate"):
            return self.search.evaluate(self.problem, X, failures)
        return self.problem.costs(X, failures)

    def _record(self, X: np.ndarray, answer: Any, failures: dict[int, str], improved: bool) -> None:
        costs = self.search.costs_of(answer) if hasattr(self.search, "costs_of") else answer
        info = self.search.info() if hasattr(self.search, "info") else None
        seconds = self.seconds
        self.store.record(self.generation, X, costs, failures, info=info, seconds=seconds)
        self.failed += len(failures)
        if self.on_best is not None or self.on_generation is not None or self.trackers:
            event = Generation(
                number=self.generation,
                evaluations=self.store.evaluations,
                seconds=seconds,
                x=np.array(self.search.x, float),
                cost=float(self.search.cost),
                X=X,
                costs=np.asarray(costs, float).reshape(len(X), -1),
                failures=dict(failures),
                info=dict(info or {}),
                search=self.search,
                committed=self.store.committed,
            )
            self.trackers.generation(event)
            if improved and self.on_best is not None:
                self.on_best(event)
            if self.on_generation is not None:
                self.on_generation(event)
        self.generation += 1

    @property
    def _seconds_left(self) -> float:
        limit = self.budget.max_seconds
        return math.inf if limit is None else limit - self.seconds

    def _save(self, state: dict[str, Any] | None = None) -> None:
        content: dict[str, Any] = self.search.state() if state is None else state
        self.checkpoints.save(content, self.generation - 1, float(self.search.cost), self._found)

    @property
    def _found(self) -> Callable[[], Any] | None:
        """Content of ``parameters.json``; None before the first valid candidate."""
        return self._parameters if math.isfinite(self.search.cost) else None

    def _parameters(self) -> Any:
        x = np.array(self.search.x, float)
        if self.describe is not None:
            return self.describe(x)
        return {
            "parameters": dict(zip(self.store.names, x.tolist(), strict=True)),
            "cost": float(self.search.cost),
        }

    def _end(self, interrupts: Interrupts) -> tuple[Status, str] | None:
        status = self.search.done()
        if status is not None:
            message = self.search.message or f"{status.value} at cost {self._shown_cost:.6g}"
            return status, message
        spent = self.budget.spent(
            self.store.evaluations,
            self.generation,
            self.seconds,
            self.search.cost,
            shown=self._shown_cost,
        )
        if spent is not None:
            return spent
        if interrupts.requested is not None:
            return Status.INTERRUPTED, f"stopped at cost {self._shown_cost:.6g}"
        return None


def _open_store(
    directory: RunDirectory, names: tuple[str, ...], settings_hash: str, resume: bool
) -> Store:
    if Store.is_blank(directory.study):
        return Store.create(directory.study, names, settings_hash)
    store = Store.open(directory.study, writable=True)
    try:
        _check_same(store, directory, names, settings_hash, resume)
    except BaseException:
        store.close()
        raise
    return store


def _check_same(
    store: Store,
    directory: RunDirectory,
    names: tuple[str, ...],
    settings_hash: str,
    resume: bool,
) -> None:
    if not resume:
        raise RunDirectoryError(
            f"{directory.path} already contains a study: resume it with --resume, or choose "
            "another --output"
        )
    if store.names != names:
        raise RunDirectoryError(
            f"{directory.study} belongs to another problem: its parameters are "
            f"{listing(store.names)}, those of this one {listing(names)}. Choose another --output"
        )
    if store.settings_hash != settings_hash:
        raise RunDirectoryError(
            f"{directory.study} was created with other bounds, start values, settings or another "
            "search: resume it with its original experiment, or choose another --output"
        )


def _hash(problem: Any, search: Any, settings: dict[str, Any]) -> str:
    """Hash of problem, search and settings, which the history depends on."""
    space = problem.space
    identity = {
        "names": space.names,
        "space": {
            name: getattr(space, name)
            for name in ("lower", "upper", "start", "log", "logit", "deviation")
            if getattr(space, name, None) is not None
        },
        "search": type(search).__name__,
        "settings": settings,
    }
    return hashlib.sha256(to_json(identity, sort_keys=True).encode()).hexdigest()
