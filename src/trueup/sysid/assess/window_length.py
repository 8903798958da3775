"""Dependence of the values of a fit on the length of its windows.

Each window starts from a measured state, whose noise the simulation carries on. The estimate that
explains this noise best differs from the true one by an amount that more data do not reduce: an
armature is 11 % too large for windows of 0.1 s, and right for 0.5 s. One step of a fit with longer
windows finds it. Of two estimates from the same data of which one is efficient, the variance of the
difference is that of the other, less its own (Hausman 1978): at most the larger one.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueup.fitting import Grade, Reason
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import Loss
from trueup.fitting.uncertainty import CovarianceEstimate, contradiction_ratio
from trueup.sysid.assess.fit_covariance import residual_covariance
from trueup.sysid.assess.stability import one_step
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit.problem import GrayBoxProblem

_LONGER = 8.0  # length of the other windows, in those of the fit
_CHANCE = 0.005  # probability of a difference by noise alone, for all parameters
_STEADY = 2.0  # ratio of costs up to which one step is a fit with longer windows
_SHOWN = 3


def window_reasons(
    prepared: Prepared,
    problem: GrayBoxProblem,
    x: np.ndarray,
    covariance: CovarianceEstimate,
    level: float,
) -> list[Reason]:
    """A reason against a fit with windows whose values change with their length; empty if none do.

    Args:
      prepared: the experiment.
      problem: its problem.
      x: the optimum ``(p,)``.
      covariance: its covariance.
      level: coverage of the intervals.
    """
    window = prepared.settings.window
    measured = prepared.experiment.window_states == "measured"
    if prepared.experiment.search.by_torques or not window or not measured:
        return []
    settings = replace(prepared.settings, window=_LONGER * window)
    other = GrayBoxProblem(problem.parameters, prepared.training, settings, prepared.rules)
    other.noise_scale = problem.noise_scale
    residual, jacobian, failures = final_jacobian(other, x, central=False)
    if failures or not np.isfinite(residual).all():
        return []
    end, predicted = one_step(other.space, x, residual, jacobian)
    after = other.residuals(end[None])[0]
    if not np.sum(after**2) < _STEADY * max(np.sum(predicted**2), 1e-300):
        return []  # long windows diverge: windows are short for a reason
    at_bound = other.space.at_bound(end, 1e-6)
    own = residual_covariance(other, predicted, jacobian, at_bound, "auto", 1 - level, Loss(), 0)
    apart = np.abs(other.space.to_search(end) - other.space.to_search(x))
    width = np.maximum(own.half_widths, covariance.half_widths)
    limits = contradiction_ratio(len(x), level, own.dof, _CHANCE)
    with np.errstate(invalid="ignore"):
        differs = np.flatnonzero(np.isfinite(width) & ~at_bound & (apart > limits * width))
    return _reason(window, other.space.names, differs, x, end)


def _reason(
    window: float, names: Sequence[str], differs: np.ndarray, x: np.ndarray, end: np.ndarray
) -> list[Reason]:
    if not differs.size:
        return []
    figures = [f"{names[i]} {x[i]:.4g} and {end[i]:.4g}" for i in differs[:_SHOWN]]
    more = f" and {len(differs) - _SHOWN} more" if len(differs) > _SHOWN else ""
    text = (
        f"Values depend on the length of the windows by more than their intervals: "
        f"{'; '.join(figures)}{more}, with windows of {window:g} s and {_LONGER * window:g} s. The "
        f"noise of measured starts biases short windows: use longer ones, or none (window: 0)."
    )
    return [Reason(Grade.LOOK, text, "parameters")]
