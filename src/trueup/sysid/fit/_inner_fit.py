"""Fits that are a part of something larger, such as one fold of a cross-validation."""

import numpy as np

from trueup.fitting._minimise import Search, minimise
from trueup.fitting.problem import Problem
from trueup.fitting.solution import Solution, Status


def inner_fit(problem: Problem, search: Search, time_limit: float = np.inf) -> Solution:
    """Run a search to its end, in memory.

    Raises:
      KeyboardInterrupt: Ctrl-C. Half a fit must not pass for a whole one in what goes on from it.
    """
    solution = minimise(problem, search, time_limit=time_limit)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return solution
