"""A problem whose answer is known."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from trueup.fitting.problem import Problem
from trueup.parameters import Space


@dataclass(frozen=True)
class TestProblem:
    """A problem with its known answer."""

    __test__: ClassVar[bool] = False  # pytest takes a class of this name for tests otherwise

    name: str
    """What it is called in the literature, and its dimension."""
    problem: Problem
    """What a search is given."""
    cost: float
    """Cost at the optimum, without noise; for several objectives the least of the first one."""
    x: np.ndarray | None = None
    """The optimum ``(p,)``; None where there is more than one, as with several objectives."""
    front: np.ndarray | None = None
    """Costs ``(m, k)`` along the Pareto front, of a problem with several objectives."""
    exact: Problem | None = field(default=None, repr=False)
    """The problem without its noise; None where there is none."""

    @property
    def space(self) -> Space:
        """The unknowns."""
        return self.problem.space

    def excess(self, X: np.ndarray) -> np.ndarray:
        """How far the noise-free first cost of ``X (n, p)`` is above the optimum ``(n,)``."""
        return (self.exact or self.problem).costs(np.atleast_2d(X))[:, 0] - self.cost


def box(
    start: np.ndarray | list[float],
    lower: np.ndarray | list[float] | float = -np.inf,
    upper: np.ndarray | list[float] | float = np.inf,
    log: np.ndarray | list[bool] | bool = False,
) -> Space:
    """A space of elements ``x1``, ``x2``, ... without units.

    Args:
      start: start values ``(p,)``.
      lower: lower bounds, one for all or one an element.
      upper: upper bounds, likewise.
      log: whether elements are searched on a log scale, likewise.
    """
    first = np.array(start, float)
    return Space(
        tuple(f"x{i + 1}" for i in range(first.size)),
        np.broadcast_to(np.asarray(lower, float), first.shape).copy(),
        np.broadcast_to(np.asarray(upper, float), first.shape).copy(),
        first,
        np.broadcast_to(np.asarray(log, bool), first.shape).copy(),
    )


def off_centre(dimension: int, reach: float) -> np.ndarray:
    """A point ``(p,)`` within ``reach`` of the origin that lies on no axis, diagonal or grid."""
    return reach * np.sin(1.0 + 2.0 * np.arange(dimension))


def rotation(dimension: int, seed: int) -> np.ndarray:
    """A random orthogonal matrix ``(p, p)``, the same for the same seed."""
    random = np.random.default_rng(seed)
    q, r = np.linalg.qr(random.standard_normal((dimension, dimension)))
    return q * np.sign(np.diag(r))
