"""Second optimum of a fit: the search restarts where other data or torques lead elsewhere.

A cost with several minima, such as that of a stiffness by many periods of an oscillation, holds a
search at the first one it meets. Data outside of the fit have other minima. Their optimum is a
start of a further search of the training data, whose cost alone decides between the two results.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.fitting.losses import Loss
from trueup.fitting.searches.device_first import least_squares
from trueup.fitting.searches.least_squares import LeastSquaresSettings
from trueup.fitting.solution import Solution
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit._inner_fit import busy_seconds, inner_fit, joined, refit
from trueup.sysid.fit.identification_search import TORQUE_SETTINGS
from trueup.sysid.fit.prior_weight import at_noise
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.unseen_ends import beginnings_and_ends, obstacle_to_ends
from trueup.sysid.starts.better_start import Start
from trueup.sysid.torque.report import torque_fit

SHARE = 0.3
"""Time for a second optimum, as a share of that of the search."""

_LEAST_SECONDS = 1.0  # minimum of that time [s]
_LOWER = 1e-3  # relative reduction of the training cost by another optimum
_FALLS = 0.1  # relative reduction of the cost of other data, 100 times that of noise alone
_ITERATIONS = 50


@dataclass(frozen=True)
class SecondOptimum:
    """Result of the search for a second optimum."""

    solution: Solution
    """The better one of both results."""
    notes: tuple[str, ...] = ()
    """Source of the result; empty if it is that of the first search."""
    elsewhere: Solution | None = None
    """Fit of held-out data from the result; None if it was not made, or the search moved on."""
    was_tried: bool = False
    """Whether the other optima were compared."""


def second_optimum(
    prepared: Prepared,
    problem: GrayBoxProblem,
    solution: Solution,
    loss: Loss,
    start: Start | None = None,
    time_limit: float = np.inf,
) -> SecondOptimum:
    """Restart the search of the training data where other data or torques have their optimum.

    Held-out data are fitted from the optimum of the training data; without any, the last quarters
    of the recordings. The training cost is evaluated at the result, and at the values of inverse
    dynamics. The search restarts from a point with a lower cost, and from one at which other data
    fit clearly better than at the optimum of the training data.

    Args:
      prepared: the experiment.
      problem: the problem of the training data.
      solution: result of the search.
      loss: its robust loss.
      start: start of the search, with the values of inverse dynamics; None: they are fitted.
      time_limit: remaining time [s].

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    if not solution.success:
        return SecondOptimum(solution)
    seconds = max(_LEAST_SECONDS, SHARE * solution.stats.get("seconds", 0.0))
    end = busy_seconds() + min(seconds, time_limit)
    alone, source = _other_data(prepared, problem)
    fit, candidates = None, []
    if alone is not None and _seconds_of_step(problem, alone, solution) < end - busy_seconds():
        extra = alone.space.start[problem.space.size :]
        begin = np.concatenate([solution.x, extra])
        fit = refit(alone, begin, loss, end - busy_seconds())
    if fit is not None and alone is not None:
        before = float(loss.costs(alone.residuals(begin[None]))[0])
        falls = fit.cost < (1 - _FALLS) * before
        candidates.append((fit.x[: problem.space.size], source, falls))
    torques = _by_torques(prepared, problem, solution.x, start, end - busy_seconds())
    if torques is not None:
        candidates.append((torques, "The values of inverse dynamics", False))
    was_tried = fit is not None or alone is None
    moved = _restarted(problem, solution, loss, candidates, end, prepared)
    if moved is not None:
        return SecondOptimum(*moved, was_tried=was_tried)
    is_held_out = bool(prepared.held_out)
    return SecondOptimum(solution, (), fit if is_held_out else None, was_tried)


def _other_data(prepared: Prepared, problem: GrayBoxProblem) -> tuple[Any, str]:
    """Problem of data outside of the fit, or of the last quarters, and its name in a sentence."""
    if prepared.held_out:
        alone = prepared.held_out_alone()
        if alone is not None:
            return at_noise(alone, problem.noise_scale), "The optimum of the held-out data"
        return None, ""
    if obstacle_to_ends(prepared):
        return None, ""
    _, ends = beginnings_and_ends(prepared)
    part = at_noise(prepared.problem(sequences=ends), problem.noise_scale)
    return part, "The optimum of the last quarter of each recording"


def _seconds_of_step(problem: Any, alone: Any, solution: Solution) -> float:
    """Estimated duration of one iteration with other data [s]."""
    seconds, count = (solution.stats.get(key, 0) for key in ("seconds", "evaluations"))
    share = alone.residual_size / max(problem.residual_size, 1)
    return seconds / max(count, 1) * share * (alone.space.size + 1)


def _by_torques(
    prepared: Prepared,
    problem: GrayBoxProblem,
    x: np.ndarray,
    start: Start | None,
    time_limit: float,
) -> np.ndarray | None:
    """Values of inverse dynamics, and those of the fit for parameters without effect on torques."""
    if prepared.experiment.search.by_torques:
        return None
    if start is not None:
        return (
            None if start.torques is None else np.where(np.isnan(start.torques), x, start.torques)
        )
    found = torque_fit(prepared, x, time_limit)
    return None if found is None else found[1]


def _restarted(
    problem: GrayBoxProblem,
    solution: Solution,
    loss: Loss,
    candidates: list[tuple[np.ndarray, str, bool]],
    end: float,
    prepared: Prepared,
) -> tuple[Solution, tuple[str, ...]] | None:
    """The result of a search from one of the candidates, and a note, if its cost is lower."""
    if not candidates:
        return None
    X = np.stack([solution.x, *(x for x, _, _ in candidates)])
    failures: dict[int, str] = {}
    costs = np.asarray(loss.costs(problem.residuals(X, failures)))
    costs[list(failures)] = np.inf
    enough = (1 - _LOWER) * costs[0]
    settings = LeastSquaresSettings(
        max_iters=_ITERATIONS,
        loss=loss.name,
        loss_scale=loss.scale,
        **(TORQUE_SETTINGS if prepared.experiment.search.by_torques else {}),
    )
    for k in np.argsort(costs[1:]):
        x, source, falls = candidates[k]
        left = end - busy_seconds()
        if not (costs[1 + k] < enough or (falls and np.isfinite(costs[1 + k]))) or left <= 0:
            continue
        search = least_squares(problem, settings, x)
        fit = inner_fit(problem, search, left, busy_seconds)
        if fit.success and fit.cost < enough:
            note = (
                f"{source} gave a start of a second search, which reduced the cost of the training "
                f"data from {costs[0]:.4g} to {fit.cost:.4g}: the first search had ended at a "
                "local optimum. The training data alone decided between the two."
            )
            return joined(solution, fit, f", from the end of a search of cost {costs[0]:.4g}"), (
                note,
            )
    return None
