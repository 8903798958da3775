"""Least-squares problems with a known optimum, as spaces and batched residuals."""

import numpy as np

from trueup.fitting import test_problems
from trueup.fitting.problem import Vectorised
from trueup.fitting.test_problems.nist import (
    MGH09,
    MISRA1A,
    THURBER,
    mgh09_residual,
    misra1a_residual,
    thurber_residual,
)
from trueup.fitting.test_problems.test_problem import box
from trueup.parameters import Space

__all__ = ["MGH09", "MISRA1A", "THURBER"]


def space(start, lower=-np.inf, upper=np.inf, log=False) -> Space:
    """A space of unnamed elements."""
    return box(start, lower, upper, log)


def _residual_of(toy):
    return toy.problem.function


# residuals (n, p) -> (n, m), to start and to bound as a test wants
rosenbrock = _residual_of(test_problems.rosenbrock_residual())
powell_singular = _residual_of(test_problems.powell_singular())
bard = _residual_of(test_problems.bard())
misra1a, mgh09, thurber = misra1a_residual, mgh09_residual, thurber_residual


def problem(function, start, **bounds) -> Vectorised:
    """A problem in memory."""
    return Vectorised(function, space(start, **bounds))
