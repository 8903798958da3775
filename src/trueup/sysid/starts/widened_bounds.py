"""Continuation of a search whose result lies on bounds that nobody chose.

``import`` has to state bounds before anything is known of a drive. Where the fit ends on one of
them, it is moved and the search continues from there; limits that the experiment states, and the
physical limit zero, stay.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from trueup.errors import listing
from trueup.fitting.searches.device_first import least_squares
from trueup.fitting.searches.least_squares import LeastSquaresSettings
from trueup.fitting.solution import Solution
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit._inner_fit import inner_fit, joined

_FACTOR = 10.0  # by which a bound is moved
_ROUNDS = 4
_NEAR = 1e-6  # distance from a bound, as a share of the range, that counts as on it


def fit_within_wider_bounds(
    prepared: Prepared,
    problem: Any,
    solution: Solution,
    settings: LeastSquaresSettings,
    seconds_left: Callable[[], float],
) -> tuple[Any, Solution, tuple[str, ...]]:
    """Continue a fit that ended on bounds with ``widen``, with those bounds moved.

    Args:
      prepared: the experiment; bounds of its parameters are moved in place.
      problem: problem of the fit.
      solution: its result.
      settings: settings of its least squares.
      seconds_left: remaining time [s].

    Returns:
      The problem, its result, and a note if a bound was moved.

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    solution = _from_inside(prepared, problem, solution, settings, seconds_left)
    moved: list[str] = []
    for _ in range(_ROUNDS):
        reached = _move(prepared, problem, solution)
        if not reached or seconds_left() <= 0:
            break
        moved += [name for name in reached if name not in moved]
        problem = prepared.problem()
        search = least_squares(problem, settings, solution.x)
        further = inner_fit(problem, search, seconds_left())
        clause = f", with wider bounds of {listing(reached, 4)}"
        solution = joined(solution, further, clause)
    if not moved:
        return problem, solution, ()
    note = (
        f"The search reached proposed bounds of {listing(moved, 6)}, which were widened, and "
        "continued."
    )
    return problem, solution, (note,)


def _from_inside(
    prepared: Prepared,
    problem: Any,
    solution: Solution,
    settings: LeastSquaresSettings,
    seconds_left: Callable[[], float],
) -> Solution:
    """A better result from start values of the joints that ended on proposed bounds, if any.

    A step of the search may throw a light joint into a basin at the edge of its bounds, from
    which it does not return; the others have learnt meanwhile what they share with it.
    """
    reached = set(_reached(prepared, problem, solution))
    if not reached or seconds_left() <= 0:
        return solution
    elements = {_element(t) for name in reached for t in prepared.parameters[name].targets}
    again = solution.x.copy()
    place = 0
    for param in problem.parameters.free:
        own = slice(place, place + param.size)
        place += param.size
        if param.name in reached or elements & {_element(t) for t in param.targets}:
            again[own] = problem.space.start[own]
    search = least_squares(problem, settings, again)
    further = inner_fit(problem, search, seconds_left())
    if not further.cost < solution.cost:
        return solution
    return joined(solution, further, f", from the start values of {listing(sorted(reached), 4)}")


def _element(target: str) -> str:
    """Element of a model that a target sets: ``joint/elbow``."""
    return target.rpartition("/")[0]


def _reached(
    prepared: Prepared, problem: Any, solution: Solution
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Parameters whose upper and lower bounds a result lies on, which may move."""
    if not np.isfinite(solution.cost):
        return {}
    found = problem.parameters.copy()
    found.update_from_vector(solution.x)
    reached = {}
    for param in found.free:
        if not param.widens:
            continue
        own = prepared.parameters[param.name]
        lower, upper = own.min_value, own.max_value
        near = _NEAR * (upper - lower)
        is_log = param.scale == "log"
        above = param.value >= (upper * (1 - _NEAR) if is_log else upper - near)
        below = param.value <= (lower * (1 + _NEAR) if is_log else lower + near)
        below &= lower != 0.0
        if above.any() or below.any():
            reached[param.name] = (above, below)
    return reached


def _move(prepared: Prepared, problem: Any, solution: Solution) -> list[str]:
    """Move the bounds that a result lies on, if they may move; names of their parameters."""
    reached = _reached(prepared, problem, solution)
    for name, (above, below) in reached.items():
        own = prepared.parameters[name]
        lower, upper, is_log = own.min_value, own.max_value, own.scale == "log"
        own.max_value = np.where(above, _outwards(upper, lower, is_log), upper)
        own.min_value = np.where(below, _outwards(lower, upper, is_log), lower)
    return list(reached)


def _outwards(bound: np.ndarray, other: np.ndarray, is_log: bool) -> np.ndarray:
    """A bound that is further from the other one."""
    if is_log:
        return np.where(bound > other, bound * _FACTOR, bound / _FACTOR)
    return other + _FACTOR * (bound - other)
