"""Toy problems with a known answer, to try and to compare searches on.

Each function makes a :class:`TestProblem`::

    from trueup import fitting
    from trueup.fitting import test_problems

    toy = test_problems.exponential_decay()
    solution = fitting.minimise(toy.problem, fitting.LeastSquares(toy.space))
    assert toy.excess(solution.x) < 1e-12
"""

from trueup.fitting.test_problems.fronts import zdt1, zdt2, zdt3
from trueup.fitting.test_problems.least_squares import (
    bard,
    exponential_decay,
    failing_decay,
    linear,
    powell_singular,
    rosenbrock_residual,
    sine,
)
from trueup.fitting.test_problems.many_minima import rastrigin, rotated_rastrigin
from trueup.fitting.test_problems.nist import mgh09, misra1a, thurber
from trueup.fitting.test_problems.test_problem import TestProblem
from trueup.fitting.test_problems.valleys import (
    ellipsoid,
    failing_sphere,
    noisy_sphere,
    rosenbrock,
    rotated_ellipsoid,
    rough_sphere,
    sphere,
)

__all__ = [
    "TestProblem",
    "bard",
    "ellipsoid",
    "exponential_decay",
    "failing_decay",
    "failing_sphere",
    "linear",
    "mgh09",
    "misra1a",
    "noisy_sphere",
    "powell_singular",
    "rastrigin",
    "rosenbrock",
    "rosenbrock_residual",
    "rotated_ellipsoid",
    "rotated_rastrigin",
    "rough_sphere",
    "sine",
    "sphere",
    "thurber",
    "zdt1",
    "zdt2",
    "zdt3",
]
