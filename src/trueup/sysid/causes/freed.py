"""Fit of one cause: its unknowns are free, the others fixed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.fitting.losses import Loss
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.device_first import least_squares
from trueup.fitting.searches.least_squares import LeastSquaresSettings
from trueup.parameters import Space
from trueup.sysid.fit._inner_fit import inner_fit

ITERATIONS = 12
"""Number of iterations of every fit."""
_ROUNDS = 2
_ENOUGH = 1e-4  # relative reduction of the cost that ends a descent
_PATIENCE = 2  # successive steps with a smaller reduction
_STIFFEST = 1e4  # damping above which a step is negligible
_REACH = (0.08, 0.3)  # fractions of the distance to each bound, as start values before a descent
_NOTHING = 1e-9  # relative change of residuals that counts as 0

_SATURATING_LOSS = Loss("cauchy", 10.0)
"""Strongly saturating loss, nearly insensitive to how far motions differ once they do: with it a
search for limits finds the one that is reached first, then the next."""
_LIMITS_ROUNDS = 5  # line searches of that search


class Freed(Problem):
    """A gray-box problem with some elements free and the others fixed.

    Args:
      whole: the problem.
      columns: free elements ``(k,)``, ascending.
      at: values of all elements ``(p,)``.
    """

    def __init__(self, whole: Any, columns: np.ndarray, at: np.ndarray):
        self.whole, self.columns, self.at = whole, columns, at.copy()
        self.space = space_of(whole.space, columns, at)
        self.groups, self.data_rows = whole.groups, whole.data_rows
        self.noise_scale = whole.noise_scale
        self.sequences = whole.sequences

    @property
    def residual_size(self) -> int:
        """Rows of the data and of the priors."""
        return self.whole.residual_size

    def quick(self, candidates: int) -> "Freed":
        """The same problem on the device of the whole one, if that pays."""
        quick = self.whole.quick(candidates)
        return self if quick is self.whole else Freed(quick, self.columns, self.at)

    def complete(self, X: np.ndarray) -> np.ndarray:
        """Values of all elements ``(n, p)`` for free ones ``(n, k)``."""
        X = np.atleast_2d(np.asarray(X, float))
        out = np.tile(self.at, (len(X), 1))
        out[:, self.columns] = X
        return out

    def acting_on(self, rows: slice) -> np.ndarray | None:
        """Free elements that act on a block of rows."""
        acting = self.whole.acting_on(rows)
        return None if acting is None else acting[self.columns]

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of residuals; see :meth:`trueup.fitting.Problem.residual_blocks`."""
        yield from self.whole.residual_blocks(self.complete(X), failures)


def space_of(space: Space, columns: np.ndarray, at: np.ndarray) -> Space:
    """Search space of some elements, with the start from values ``(p,)`` of all."""

    def part(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else values[columns]

    together = part(space.together)
    if together is not None:
        together = np.unique(together, return_inverse=True)[1]
    return replace(
        space,
        names=tuple(space.names[i] for i in columns),
        lower=space.lower[columns],
        upper=space.upper[columns],
        start=np.clip(at[columns], space.lower[columns], space.upper[columns]),
        log=space.log[columns],
        units=tuple(space.units[i] for i in columns) if space.units else (),
        together=together,
        logit=part(space.logit),
        deviation=part(space.deviation),
    )


@dataclass(frozen=True)
class FreedFit:
    """A fit of the unknowns of one or several causes."""

    causes: tuple[str, ...]
    x: np.ndarray
    """Values of all elements ``(p,)``."""
    cost: float
    """Half the weighted squared error over the training recordings."""
    evaluations: int
    acts: bool = True
    """Whether the unknowns change the simulated motion at all."""
    columns: tuple[int, ...] = ()
    """Elements of the causes that are free, ascending."""
    complete: bool = True
    """Whether a descent found the values, and not one step of a linear model."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        lists = {"causes": list(self.causes), "columns": list(self.columns), "x": self.x.tolist()}
        return {**self.__dict__, **lists}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "FreedFit":
        """Inverse of :meth:`to_dict`."""
        return cls(
            tuple(content["causes"]),
            np.array(content["x"], float),
            float(content["cost"]),
            int(content["evaluations"]),
            bool(content["acts"]),
            tuple(content["columns"]),
            bool(content["complete"]),
        )


def fit_freed(
    whole: Problem,
    causes: Sequence[str],
    columns: np.ndarray,
    always: np.ndarray,
    begin: np.ndarray,
    guesses: Sequence[Sequence[float]],
    enough: float = np.inf,
    iterations: int = ITERATIONS,
) -> FreedFit:
    """Descend from given values, after line searches along what has no slope.

    Elements with start values in ``guesses`` are searched along them, then all elements descend,
    and both are repeated: the second line search escapes local minima, such as that of a limit.
    Where the cost is then larger than ``enough``, the same follows with :data:`_SATURATING_LOSS`.

    Args:
      whole: training recordings with the unknowns of all causes.
      causes: names of the freed causes.
      columns: elements of these causes, ascending.
      always: elements that every fit frees, such as initial states.
      begin: values of all elements at the start of the fit ``(p,)``.
      guesses: start values for each element of the whole; empty: none.
      enough: cost of a fit that leaves noise alone; infinite: no second search.
      iterations: greatest number of iterations of a descent.

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    free = np.unique(np.concatenate([columns, always]))
    looks = np.array([c for c in columns if len(guesses[c])], int)
    search = _Search(whole, free, looks, guesses, iterations)
    x, cost = search.run(begin, Loss(), _ROUNDS)
    if looks.size and cost > enough:
        other, _ = search.run(begin, _SATURATING_LOSS, _LIMITS_ROUNDS)
        other, other_cost = search.run(other, Loss(), _ROUNDS)
        if other_cost < cost:
            x, cost = other, other_cost
    freed = tuple(int(c) for c in columns)
    return FreedFit(tuple(causes), x, cost, search.evaluations, columns=freed)


class _Search:
    """Line searches and descents of one fit.

    Args:
      whole: training recordings with the unknowns of all causes.
      free: free elements, ascending.
      looks: elements of the line searches; none: a descent alone.
      guesses: start values for each element of the whole.
      iterations: greatest number of iterations of a descent.
    """

    def __init__(
        self,
        whole: Problem,
        free: np.ndarray,
        looks: np.ndarray,
        guesses: Sequence[Sequence[float]],
        iterations: int,
    ):
        self.whole, self.free, self.looks, self.guesses = whole, free, looks, guesses
        self.iterations = iterations
        self.evaluations = 0

    def run(self, at: np.ndarray, loss: Loss, rounds: int) -> tuple[np.ndarray, float]:
        """Line searches and descents from given values.

        Args:
          at: values of all elements ``(p,)``.
          loss: loss to minimise.
          rounds: greatest number of line searches, each with a descent.

        Returns:
          Values ``(p,)`` and their cost.
        """
        settings = LeastSquaresSettings(
            max_iters=self.iterations, cost_tolerance=_ENOUGH, patience=_PATIENCE, mu_max=_STIFFEST,
            loss=loss.name, loss_scale=loss.scale,
        )  # fmt: skip
        x, cost = at, np.inf
        for _ in range(rounds if self.looks.size else 1):
            if self.looks.size:
                found = line_search(self.whole, x, self.looks, self.guesses, loss)
                self.evaluations += found.evaluations
                if found.cost > (1.0 - _ENOUGH) * cost:
                    break
                x, cost = found.x, found.cost
            problem = Freed(self.whole, self.free, x)
            search = least_squares(problem, settings)
            fit = inner_fit(problem, search)
            self.evaluations += search.evaluations
            if np.isfinite(fit.cost) and fit.cost < cost:
                x, cost = problem.complete(fit.x)[0], float(fit.cost)
        return x, cost


@dataclass(frozen=True)
class LineSearch:
    """Best of the points around some values."""

    x: np.ndarray
    cost: float
    evaluations: int
    acts: bool
    """Whether any point has a different residual."""


def line_search(
    whole: Problem,
    at: np.ndarray,
    columns: np.ndarray,
    guesses: Sequence[Sequence[float]],
    loss: Loss,
) -> LineSearch:
    """Line search along each element, then the best of all together.

    Args:
      whole: the problem.
      at: values ``(p,)``.
      columns: elements to search along.
      guesses: values to try for each element of the problem; empty: spread over its bounds.
      loss: loss to minimise.
    """
    points = _points(whole.space, at, columns, guesses)
    X = np.array([at, *[point for _, point in points]])
    failures: Failures = {}
    costs, moved = costs_and_changes(whole, X, failures, loss)
    combined = at.copy()
    for element in {element for element, _ in points if element >= 0}:
        own = [k for k, (e, _) in enumerate(points, 1) if e == element]
        top = min(own, key=lambda k: costs[k])
        if costs[top] < costs[0]:
            combined[element] = X[top][element]
    failed: Failures = {}
    together = float(costs_and_changes(whole, combined[None], failed, loss)[0][0])
    best = int(np.argmin(costs))
    x, cost = (combined, together) if together < costs[best] else (X[best], float(costs[best]))
    return LineSearch(x.copy(), cost, len(X) + 1, bool(moved.any()))


def _points(
    space: Space, at: np.ndarray, columns: np.ndarray, guesses: Sequence[Sequence[float]]
) -> list[tuple[int, np.ndarray]]:
    """Points to evaluate, each with the element that it changes; -1 for all together."""
    lower, upper = space.search_bounds
    z = space.to_search(at)
    out: list[tuple[int, np.ndarray]] = []
    values: dict[int, list[float]] = {}
    for element in columns:
        if len(guesses[element]):
            values[element] = list(guesses[element])
        else:
            ends = (lower[element], upper[element])
            moves = [z[element] + share * (end - z[element]) for end in ends for share in _REACH]
            points = np.tile(z, (len(moves), 1))
            points[:, element] = moves
            values[element] = list(space.from_search(points)[:, element])
        for value in values[element]:
            point = at.copy()
            point[element] = value
            if value != at[element]:
                out.append((int(element), point))
    if len(columns) > 1:
        for place in range(max(map(len, values.values()))):
            point = at.copy()
            for element, own in values.items():
                if place < len(own):
                    point[element] = own[place]
            out.append((-1, point))
    return out


def costs_and_changes(
    whole: Problem, X: np.ndarray, failures: Failures, loss: Loss
) -> tuple[np.ndarray, np.ndarray]:
    """Costs ``(n,)``, infinite for failures, and which candidates differ from the first."""
    total, size = np.zeros(len(X)), 0.0
    change = np.zeros(len(X))
    for rows, values in whole.residual_blocks(X, failures):
        plain = rows.start >= whole.data_rows
        total += (Loss() if plain else loss).costs(values)
        if rows.start < whole.data_rows:
            change = np.maximum(change, np.abs(values - values[0]).max(axis=1, initial=0.0))
            size = max(size, float(np.abs(values[0]).max(initial=0.0)))
    total[list(failures)] = np.inf
    return total, (change > _NOTHING * max(size, 1e-300)) & np.isfinite(total)
