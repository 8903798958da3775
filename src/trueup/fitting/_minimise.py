"""In-memory loop of a search; ``runs.run_search`` adds files, checkpoints and resume."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.evaluation_limit import EvaluationLimit
from trueup.fitting.solution import Solution, Status
from trueup.time_limit import TimeLimit, TimeUpError


class Search(Protocol):
    """An optimiser with an ask-and-tell interface, without a loop or file access.

    A search with answers other than ``problem.costs(X, failures)`` also has
    ``evaluate(problem, X, failures) -> answer``; one for several objectives has ``front``.
    """

    x: np.ndarray
    cost: float
    message: str
    history: list[dict[str, Any]]
    evaluations: int

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``."""
        ...

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Process the answer for the batch of :meth:`ask`."""
        ...

    def done(self) -> Status | None:
        """Final status of the search, or None while it runs."""
        ...


def minimise(
    problem: Problem,
    search: Search,
    callback: Callable[[Search], None] | None = None,
    time_limit: float = np.inf,
    clock: Callable[[], float] = time.perf_counter,
    max_evaluations: int | None = None,
) -> Solution:
    """Run a search to its end, in memory.

    Args:
      problem: problem to minimise.
      search: the optimiser, new or continued.
      callback: called after each batch.
      time_limit: time after which it stops [s]; a batch of simulations is interrupted.
      clock: clock for the limit; the wall clock by default.
      max_evaluations: maximum number of candidates; a batch that would exceed it is not evaluated.

    Returns:
      The best candidate, also after an interrupt (Ctrl-C).

    Raises:
      FitError: ``max_evaluations`` is below the first batch.
    """
    start = time.perf_counter()
    own = getattr(search, "evaluate", None)
    evaluate = problem.costs if own is None else partial(own, problem)
    status = search.done()
    failed = 0
    limit, time_left = EvaluationLimit(max_evaluations), TimeLimit(time_limit, clock)
    try:
        while status is None:
            X = limit.ask(search, search.evaluations)
            if X is None:
                status = Status.EVALUATION_LIMIT
                break
            failures: Failures = {}
            with time_left:
                # a copy, because a problem may modify its argument
                answer = evaluate(X.copy(), failures)
            search.tell(X, answer, failures)
            failed += len(failures)
            if callback is not None:
                callback(search)
            status = search.done()
            if status is None and time_left.has_passed:
                status = Status.TIME_LIMIT
    except TimeUpError as up:
        if up.limit is not time_left:
            raise
        status = Status.TIME_LIMIT
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    message = search.message or f"{status.value} at cost {search.cost:.6g}"
    return Solution(
        parameters=dict(zip(problem.space.names, map(float, search.x), strict=True)),
        x=search.x.copy(),
        cost=float(search.cost),
        status=status,
        message=message,
        history=list(search.history),
        front=getattr(search, "front", None),
        stats={
            "seconds": time.perf_counter() - start,
            "evaluations": search.evaluations,
            "failed_evaluations": failed,
        },
    )
