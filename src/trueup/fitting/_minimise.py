"""The loop of a search in memory; with files, checkpoints and resume it is ``runs.run_search``."""

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
    """An optimiser that neither loops nor touches a file.

    One whose answers are not ``problem.costs(X, failures)`` also offers
    ``evaluate(problem, X, failures) -> answer``; one for several objectives offers ``front``.
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
        """Take the answer for the batch that :meth:`ask` gave."""
        ...

    def done(self) -> Status | None:
        """Why the search ended, or None."""
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
      problem: what is minimised.
      search: the optimiser, at its start or continued.
      callback: called after each batch.
      time_limit: seconds after which it stops; a batch of simulations is cut off.
      clock: what counts as time for the limit; that on the wall where absent.
      max_evaluations: candidates at most; a batch that would pass it is not evaluated.

    Returns:
      The best candidate; an interrupt (Ctrl-C) ends the search with what it has.

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
                # a problem that changes its argument must not change the candidates
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
