"""Selection of the start of a fit by simulation: the start values, or the end of a faster fit.

A faster fit is used only if the cost by simulation is lower at its end.
"""

from dataclasses import dataclass, replace

import numpy as np

from trueup.errors import listing
from trueup.simulation.engine.spare_memory import release_spare_memory
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.soft_friction import soft_friction_optimum
from trueup.sysid.torque.report import torque_fit

_SHARE = 0.3  # share of a time limit for each of the faster fits
_SECONDS_OF_TORQUES = 20.0  # time limit of a fit to torques, which takes 1 to 2 s [s]


@dataclass(frozen=True)
class Start:
    """Start values of a fit."""

    x: np.ndarray
    """Values ``(p,)``."""
    notes: tuple[str, ...] = ()
    """Their source; empty for the start values of the experiment."""
    torques: np.ndarray | None = None
    """Values of inverse dynamics ``(p,)``, NaN for those without effect on torques; None without
    recorded torques."""

    def with_size(self, size: int) -> "Start":
        """The start of a fit with further parameters, which torques say nothing of."""
        if self.torques is None:
            return self
        further = np.full(size - len(self.torques), np.nan)
        return replace(self, torques=np.concatenate([self.torques, further]))


def better_start(
    prepared: Prepared, problem: GrayBoxProblem, time_limit: float | None = None
) -> Start:
    """The best of the start values, the fit to torques and the fit with soft friction.

    Args:
      prepared: the experiment.
      problem: its problem.
      time_limit: time limit of the whole fit [s].

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    limit = _SHARE * (np.inf if time_limit is None else time_limit)
    start = Start(problem.space.start)
    start = start_by_torques(prepared, problem, start, limit)
    start = start_by_soft_friction(prepared, problem, start, limit)
    release_spare_memory()
    return start


def start_by_torques(
    prepared: Prepared, problem: GrayBoxProblem, start: Start, time_limit: float = np.inf
) -> Start:
    """Result of the fit by inverse dynamics, if closer to the recorded motion; else ``start``."""
    found = torque_fit(prepared, start.x, min(time_limit, _SECONDS_OF_TORQUES))
    if found is None:
        return start
    _, x, acts = found
    if not acts.any():
        return start
    failures: dict[int, str] = {}
    start = replace(start, torques=np.where(acts, x, np.nan))
    before, after = problem.costs(np.stack([start.x, x]), failures)[:, 0]
    if failures or after >= before:
        return start
    names = [n for n, a in zip(problem.space.names, acts, strict=True) if a]
    note = (
        f"The search starts from the values of inverse dynamics for {listing(names, 6)}: "
        f"their cost is {after:.4g}, that of the start values {before:.4g}."
    )
    return replace(start, x=x, notes=(*start.notes, note))


def start_by_soft_friction(
    prepared: Prepared, problem: GrayBoxProblem, start: Start, time_limit: float = np.inf
) -> Start:
    """The optimum with soft joint friction, if its cost with hard friction is lower."""
    found = soft_friction_optimum(prepared, problem, start.x, time_limit)
    if found is None:
        return start
    x, evaluations = found
    failures: dict[int, str] = {}
    before, after = problem.costs(np.stack([start.x, x]), failures)[:, 0]
    if 1 in failures or after >= before:
        return start
    note = (
        "The search starts at the optimum with MuJoCo's default, soft joint friction, found with "
        f"{evaluations} simulations: its cost with the friction of the model is {after:.4g}, that "
        f"of the start {before:.4g}."
    )
    return replace(start, x=x, notes=(*start.notes, note))
