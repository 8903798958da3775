"""Recorded torques in the objective of a fit by simulation in windows.

A simulation that starts again from the recorded state every tenth of a second sees accelerations
only through their integral: where the model lacks something, a fit in windows gives it to inertia
and friction, far from the values that torques need. Torques of inverse dynamics are then rows of
the same residual, in units of their own noise.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

import numpy as np

from trueup.fitting.losses import Loss
from trueup.fitting.problem import Failures
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.solution import Solution
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit._inner_fit import inner_fit, joined, with_known_cost
from trueup.sysid.fit.prior_weight import at_noise, residual_scale
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.torque.own_error import fitted
from trueup.sysid.torque.problem import TorqueProblem
from trueup.sysid.torque.report import torque_fit
from trueup.sysid.torque.setup import setup_at, torque_problem

_WORSE = 1.05
"""Torque error relative to that of a fit to torques above which torques join the objective."""
_WEIGHTS = (1.0, 4.0, 16.0, 64.0)
"""Weights that are tried in turn, relative to that of as many samples as the motion has."""


@dataclass(frozen=True)
class TorqueRows:
    """Residuals of torques as further rows of a problem with the same parameters."""

    problem: TorqueProblem
    factor: float
    """Factor of residuals in units of the noise of torques."""

    def __len__(self) -> int:
        return self.problem.data_rows

    def blocks(
        self, X: np.ndarray, failures: Failures, first: int, scale: float
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of rows of a batch ``(n, p)``, from a first row on.

        Args:
          X: candidates.
          failures: filled with candidate -> reason.
          first: the first row.
          scale: standard deviation of the noise in the unit of the other rows.
        """
        for rows, values in self.problem.residual_blocks(X, failures):
            if rows.stop <= len(self):
                yield slice(first + rows.start, first + rows.stop), scale * self.factor * values


def fit_with_torques(
    prepared: Prepared,
    problem: GrayBoxProblem,
    solution: Solution,
    settings: LeastSquaresSettings,
    seconds_left: float,
) -> tuple[GrayBoxProblem, Solution, tuple[str, ...]]:
    """Continue a fit in windows whose torques are worse than those of inverse dynamics.

    Args:
      prepared: the experiment.
      problem: the problem.
      solution: its fit; returned unchanged if it did not succeed or agrees with torques.
      settings: settings of its least squares.
      seconds_left: time limit [s].

    Returns:
      The problem with torques, its fit, and a note; all unchanged but for torques in doubt.

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    unchanged = problem, solution, ()
    if not (prepared.settings.window > 0 and solution.success and seconds_left > 0):
        return unchanged
    if not _is_worse(prepared, solution.x):
        return unchanged
    # with the torque that inverse dynamics itself leaves of the fit by simulation
    setup_at(prepared, solution.x)
    torques = torque_problem(prepared)
    values, _ = fitted(torques, solution.x)
    own, least = _errors(torques, np.stack([solution.x, values]))
    if not own > _WORSE * least:
        return unchanged
    loss = Loss(settings.loss, settings.loss_scale)
    begin = values
    for weight in _WEIGHTS:
        tried = at_noise(problem, _noise(problem, begin, loss))
        factor = float(np.sqrt(weight * problem.data_rows / torques.data_rows))
        tried.torques = TorqueRows(torques, factor)
        fit = inner_fit(tried, LeastSquares(tried.space, settings, begin), seconds_left)
        if not fit.success:
            return unchanged
        found = _errors(torques, fit.x[None])[0]
        begin = fit.x
        if found <= _WORSE * least:
            break
    counted = solution.stats.get("evaluations", 0)
    clause = f", with torques, after {counted} simulations without"
    note = (
        f"By windows alone the torque error was {own / least:.2g} times that of a fit to torques: "
        f"torques joined the objective, and it is {found / least:.3g} times."
    )
    return tried, joined(solution, with_known_cost(tried, fit, loss), clause), (note,)


def _is_worse(prepared: Prepared, x: np.ndarray) -> bool:
    """Whether a fit ``(p,)`` has larger errors of the torques as recorded than one to them."""
    found = torque_fit(prepared, x)
    if found is None:
        return False
    problem, values, _ = found
    own, least = _errors(problem, np.stack([x, values]))
    return bool(own > _WORSE * least)


def _noise(problem: GrayBoxProblem, x: np.ndarray, loss: Loss) -> float:
    """Noise of the motion in the unit of its residual; at least that of the problem."""
    plain = copy(problem)
    plain.torques = None
    return max(residual_scale(plain, x, loss), problem.noise_scale * 1e-12)


def _errors(torques: TorqueProblem, X: np.ndarray) -> np.ndarray:
    """Root mean square error of recorded torques in units of their noise ``(n,)``."""
    failures: dict[int, str] = {}
    rows = torques.residuals(X, failures)[:, : torques.data_rows]
    return np.sqrt(np.mean(np.square(rows), axis=1))
