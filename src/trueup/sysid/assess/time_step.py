"""Error of the estimates by the time step of the simulation.

A machine has no time step. The integrators of MuJoCo have errors of first order in it, ``c dt``,
which a fit gives to inertia and friction: velocity feedback ``D`` that acts a step late is worth an
inertia ``-D dt / 2``, and one that is evaluated implicitly adds it. Half the time step removes half
of the error (Richardson 1911), so that the estimates of a machine without steps are as far beyond
those of half the step as these are from the fit. A few Gauss-Newton steps with the Jacobian of the
fit find them, a simulation each.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.errors import TrueupError
from trueup.fitting import Grade, Reason
from trueup.fitting.judgement.paired_errors import CHANCE, block_sums, is_clearly_worse
from trueup.fitting.losses import Loss
from trueup.fitting.uncertainty import CovarianceEstimate
from trueup.fitting.uncertainty.start_noise import inverse_of, with_added_spread
from trueup.sysid.assess.changed_models import changed_models, changed_residual
from trueup.sysid.assess.fit_covariance import gram_matrix
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit.problem import GrayBoxProblem

_DECIDES = 1.0
"""Change of an estimate by half the time step, in half-widths by the noise, that is stated."""
_SHOWN = 3
_STEPS = 3  # of a fit with half the time step


@dataclass(frozen=True)
class StepEffect:
    """Estimates with half the time step of a fit."""

    step: float
    """Time step of the fit [s]."""
    names: tuple[str, ...]
    values: np.ndarray
    """Estimates ``(p,)``."""
    halved: np.ndarray
    """Estimates with half the time step ``(p,)``."""
    ratios: np.ndarray
    """Their difference over the half-width by the noise ``(p,)``; zero if that is unknown."""
    gain: float
    """Reduction of the error with half the time step, if that is significant; else zero."""

    def reasons(self, skipped: Collection[str] = ()) -> list[Reason]:
        """A reason about a fit that half the time step changes noticeably; empty for none.

        Args:
          skipped: parameters that are not of the robot, such as initial states.
        """
        ratios = np.array(
            [0.0 if n in skipped or "#" in n else r for n, r in zip(self.names, self.ratios)]
        )
        order = [i for i in np.argsort(-ratios) if ratios[i] >= _DECIDES]
        if not order:
            return []
        figures = "; ".join(
            f"{self.names[i]} would be {self.halved[i]:.3g} in place of {self.values[i]:.3g}"
            for i in order[:_SHOWN]
        )
        more = f"; and {len(order) - _SHOWN} more" if len(order) > _SHOWN else ""
        begin = (
            f"The time step decides: with half of it ({self.step / 2:g} s) {figures}{more}, up to "
            f"{ratios[order[0]]:.2g} half-widths by the noise"
        )
        if self.gain > 0:
            text = (
                f"{begin}, and the data are explained better (error {100 * self.gain:.2g} % "
                f"smaller): reduce model.timestep, now {self.step:g}."
            )
            return [Reason(Grade.LOOK, text, "parameters")]
        text = (
            f"{begin}, and the data cannot tell which is right: the intervals include it, and a "
            f"smaller model.timestep than {self.step:g} narrows them."
        )
        return [Reason(Grade.USE, text, "parameters")]


def half_step(prepared: Prepared, problem: Any) -> GrayBoxProblem | None:
    """The problem of a fit by simulation with half its time step; None if there is none."""
    if not isinstance(problem, GrayBoxProblem):
        return None
    targets = [t for p in problem.parameters.values() for t in p.targets]
    if "option/timestep" in targets:
        return None
    try:
        return changed_models(prepared, problem, halved=True)
    except TrueupError:
        return None  # such a simulation does not exist for this model


def with_time_step(
    estimates: list[CovarianceEstimate],
    problem: Any,
    other: GrayBoxProblem | None,
    x: np.ndarray,
    residual: np.ndarray,
    jacobian: np.ndarray,
    loss: Loss,
) -> tuple[list[CovarianceEstimate], StepEffect | None]:
    """Covariances including the error by the time step, and its effect on the estimates.

    Both are unchanged, and None, where the data contradict half the time step: what they were
    recorded with, such as another simulation, has the steps of the model.

    Args:
      estimates: covariances of the fit.
      problem: its problem.
      other: the same problem with half the time step; None: not known.
      x: the optimum ``(p,)``.
      residual: at the optimum ``(m,)``.
      jacobian: of the residual ``(m, p)`` in search coordinates.
      loss: robust loss of the fit.
    """
    if other is None:
        return estimates, None
    rows = slice(0, problem.data_rows)
    weights = np.ones(len(residual))
    weights[rows] = loss.weights(residual[rows])[0]
    curvature = gram_matrix(jacobian, weights)
    pulled = -inverse_of(curvature) @ (jacobian * weights[:, None]).T
    found = _fit_to_half_step(problem, other, x, residual, jacobian, weights, pulled)
    if found is None:
        return estimates, None
    change, halved = found
    own = pulled @ residual
    before, after = (
        block_sums((weights * np.square(r + jacobian @ (pulled @ r)))[rows])
        for r in (residual, halved)
    )
    if is_clearly_worse(after, before, CHANCE) or _is_unlikely(after, before, estimates[0]):
        return estimates, None
    is_better = is_clearly_worse(before, after, CHANCE)
    change = change - own
    pull = curvature @ change
    space, z = problem.space, problem.space.to_search(x)
    widths = estimates[-1].half_widths
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.nan_to_num(np.abs(change) / widths, nan=0.0, posinf=0.0)
    effect = StepEffect(
        float(problem.variants[0].model.opt.timestep),
        tuple(space.names),
        x,
        np.asarray(space.from_search((z + change)[None])[0]),
        ratios,
        1.0 - float(np.sqrt(after.sum() / max(before.sum(), 1e-300))) if is_better else 0.0,
    )
    # the whole error is twice this change, the half-width of a standard deviation as large
    return [with_added_spread(e, curvature, np.outer(pull, pull)) for e in estimates], effect


def _is_unlikely(after: np.ndarray, before: np.ndarray, estimate: CovarianceEstimate) -> bool:
    """Whether the likelihood of half the time step is negligible, compared with that of the fit.

    Args:
      after: squared errors with half the step, in blocks.
      before: those of the fit.
      estimate: its covariance, whose inflation is the variance of a residual with its memory.
    """
    variance = float(np.median(estimate.variance_inflation))
    excess = float(after.sum() - before.sum())
    return variance > 0.0 and excess > 2.0 * variance * np.log(1.0 / CHANCE)


def _fit_to_half_step(
    problem: GrayBoxProblem,
    other: GrayBoxProblem,
    x: np.ndarray,
    residual: np.ndarray,
    jacobian: np.ndarray,
    weights: np.ndarray,
    pulled: np.ndarray,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Change of the optimum with half the time step ``(p,)``, and the residuals there ``(m,)``.

    Gauss-Newton steps ``pulled @ residual`` with the Jacobian of the fit, each simulated, as long
    as they reduce the error: the first one alone is far off in directions that the data hardly
    determine, such as the friction of a light joint. None if the simulation with half the step
    fails.
    """
    space, z = problem.space, problem.space.to_search(x)
    further = slice(problem.data_rows, None)
    there, place = changed_residual(problem, other, x, residual), z
    if there is None:
        return None
    change = pulled @ there  # where no simulation confirms it
    for _ in range(_STEPS):
        moved = np.clip(place + pulled @ there, *space.search_bounds)
        priors = residual.copy()
        priors[further] += jacobian[further] @ (moved - z)
        tried = changed_residual(problem, other, space.from_search(moved[None])[0], priors)
        if tried is None or weights @ np.square(tried) >= weights @ np.square(there):
            break
        there, place, change = tried, moved, moved - z
    return change, there
