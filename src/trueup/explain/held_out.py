"""Comparison of held-out errors with autocorrelated residuals.

Two fits predict the same recording. With ``r`` the weighted residual of the first, ``d`` the change
of the prediction from the first to the second and ``C`` the covariance of the noise, their squared
errors differ by ``D = 2 r'd + d'd``; given both fits, noise gives ``D`` the standard deviation
``2 sqrt(d'Cd)``. ``C`` comes from autoregressive models of the residuals of the best fit, channel
by channel, so that slowly varying model errors count as few samples.

A recording starts from a measured state with noise that shifts all that follows. This is no
effect of a cause: every fit, and the model, starts from the state near the measured one with its
smallest error, including the start states of the other fits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.signal import lfilter
from scipy.stats import t as student

from trueup.fitting.problem import Failures
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.uncertainty.autoregressive import AutoregressiveModel, fit_autoregressive
from trueup.fitting.uncertainty.start_noise import noise_from_changes
from trueup.sysid.causes.freed import Freed
from trueup.sysid.fit._inner_fit import inner_fit

_BLOCKS = 8  # blocks of held-out time, for the spread over time
_STATE_STEPS = 4  # iterations of the search for a start state, which is near
_ENOUGH = 1e-3  # relative reduction of the cost that ends that search
_FIRST, _NEXT = (
    (0.3, 0.1, 0.03),
    (0.1, 0.03, 0.01),
)  # fractions of the range of states for random draws
_DRAWS = 32  # per fraction
_ROUNDS = 6  # greatest number of rounds of draws and descents
_LARGE = 1e9  # upper limit of weighted residuals


@dataclass(frozen=True)
class HeldOutFit:
    """Prediction of the held-out recordings by a fit."""

    residuals: tuple[np.ndarray, ...]
    """Weighted residuals ``(T, C)`` of each sequence."""
    predicted: tuple[np.ndarray, ...]
    """Predicted signals ``(T, C)`` of each sequence, in their units."""
    failed: bool
    """Whether the simulation fails."""
    states: np.ndarray
    """Start states."""

    @property
    def square(self) -> float:
        """Squared error; infinite if the simulation fails."""
        return np.inf if self.failed else float(sum(np.square(r).sum() for r in self.residuals))


def held_out_fit(
    problem: Any, x: np.ndarray, states: np.ndarray, touches: bool = True
) -> HeldOutFit:
    """Prediction of held-out recordings by a fit, from its best start states.

    Args:
      problem: held-out recordings.
      x: values of all elements ``(p,)``; start states are searched around those in ``x``.
      states: elements that are initial states.
      touches: whether anything may touch; without contacts a descent finds the best states.
    """
    if states.size:
        x = _best_start_states(problem, x, states) if touches else _descent(problem, x, states)[0]
    failed: Failures = {}
    residuals, simulated = [], []
    pairs = problem.predictions(x[None], failed)
    for sequence, (measured, predicted) in zip(problem.sequences, pairs, strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            error = (measured[0] - predicted[0]) * sequence.weights
        residuals.append(np.clip(np.nan_to_num(error, nan=_LARGE), -_LARGE, _LARGE))
        simulated.append(predicted[0])
    return HeldOutFit(tuple(residuals), tuple(simulated), bool(failed), x[states])


def _descent(problem: Any, x: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, float]:
    """Values ``(p,)`` with the start states of a descent, and their cost."""
    settings = LeastSquaresSettings(max_iters=_STATE_STEPS, cost_tolerance=_ENOUGH)
    freed = Freed(problem, states, x)
    fit = inner_fit(freed, LeastSquares(freed.space, settings))
    return freed.complete(fit.x)[0], float(fit.cost)


def _best_start_states(problem: Any, x: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Values ``(p,)`` with their best start states, near those in ``x``.

    With contacts the error over the states has many narrow local minima, and a descent stays in
    the first one: states are therefore drawn around the last ones as long as a draw is better.
    """
    cost = np.inf
    for number in range(_ROUNDS):
        drawn = _drawn(problem, x, states, _NEXT if number else _FIRST)
        costs = problem.costs(drawn)[:, 0]
        best = int(np.argmin(costs))
        if number and costs[best] > (1.0 - _ENOUGH) * cost:
            break
        x, cost = _descent(problem, drawn[best], states)
    return x


def _drawn(problem: Any, x: np.ndarray, states: np.ndarray, parts: Sequence[float]) -> np.ndarray:
    """Values, and copies with states drawn around theirs ``(n, p)``."""
    lower, upper = problem.space.lower[states], problem.space.upper[states]
    moves = np.random.default_rng(0).uniform(-0.5, 0.5, (len(parts), _DRAWS, len(states)))
    moves *= np.array(parts)[:, None, None] * (upper - lower)
    X = np.tile(x, (1 + len(parts) * _DRAWS, 1))
    X[1:, states] = np.clip(x[states] + moves.reshape(-1, len(states)), lower, upper)
    return X


@dataclass(frozen=True)
class HeldOutErrors:
    """Weighted residuals of several fits over the held-out recordings."""

    residuals: tuple[np.ndarray, ...]
    """One array ``(fits, T, C)`` per sequence."""
    noise: tuple[tuple[AutoregressiveModel, ...], ...]
    """Model of the noise of each channel of each sequence."""
    floor: float
    """Expected squared error of noise alone."""
    failed: tuple[bool, ...]
    """Whether the simulation of a fit fails."""

    @classmethod
    def of(cls, problem: Any, fits: Sequence["HeldOutFit"]) -> "HeldOutErrors":
        """Errors of several fits.

        Args:
          problem: held-out recordings.
          fits: fits over them.
        """
        count = len(problem.sequences)
        residuals = [np.stack([fit.residuals[s] for fit in fits]) for s in range(count)]
        squares = np.sum([np.square(r).sum(axis=(1, 2)) for r in residuals], axis=0)
        best = int(np.argmin(squares))
        noise, floor = [], 0.0
        for sequence, residual in zip(problem.sequences, residuals, strict=True):
            own = residual[best]
            noise.append(tuple(fit_autoregressive(own[:, c]) for c in range(own.shape[1])))
            starts = [window.first for window in sequence.windows]
            level = noise_from_changes(own, starts)
            floor += len(own) * float(np.sum(np.nan_to_num(level) ** 2))
        failed = tuple(fit.failed for fit in fits)
        return cls(tuple(residuals), tuple(noise), min(floor, float(squares.min())), failed)

    @property
    def squares(self) -> np.ndarray:
        """Squared error of each fit ``(fits,)``; infinite if the simulation fails."""
        total = np.sum([np.square(r).sum(axis=(1, 2)) for r in self.residuals], axis=0)
        return np.where(self.failed, np.inf, total)

    @property
    def size(self) -> int:
        """Number of residuals."""
        return sum(r[0].size for r in self.residuals)

    @property
    def freedom(self) -> float:
        """Effective number of independent samples, as degrees of freedom."""
        counts = [
            len(r[0]) / (1.0 + 2.0 * model.memory)
            for r, models in zip(self.residuals, self.noise, strict=True)
            for model in models
        ]
        return max(sum(counts) - 1.0, 2.0)

    def deviation(self, first: int, second: int) -> float:
        """Standard deviation of the difference of two squared errors due to noise."""
        total = 0.0
        for residual, models in zip(self.residuals, self.noise, strict=True):
            change = residual[second] - residual[first]
            for c, model in enumerate(models):
                coloured = change[::-1, c]
                if model.order:
                    coloured = np.asarray(lfilter([1.0], model.coefficients, coloured))
                total += model.innovation_variance * float(coloured @ coloured)
        return 2.0 * float(np.sqrt(total))

    def chance(self, worse: int, better: int) -> float:
        """One-sided p-value of the advantage of ``better``."""
        squares = self.squares
        gain = squares[worse] - squares[better]
        if not np.isfinite(squares[better]) or gain <= 0:
            return 1.0
        if not np.isfinite(squares[worse]):
            return 0.0
        deviation = self.deviation(worse, better)
        return 0.0 if deviation == 0 else float(student.sf(gain / deviation, self.freedom))

    def share(self, model: int, fit: int, level: float) -> tuple[float, float, float]:
        """Fraction of the error above noise that a fit removes from a model, with its interval.

        The interval covers the spread over blocks of held-out time (jackknife) and noise.
        """
        squares = self.squares
        if not (np.isfinite(squares[model]) and np.isfinite(squares[fit])):
            return (1.0, 1.0, 1.0) if np.isfinite(squares[fit]) else (-np.inf, -np.inf, np.inf)
        gap = max(squares[model] - self.floor, 1e-300)
        share = (squares[model] - squares[fit]) / gap
        gains, gaps = self._blocks(model, fit)
        left = [
            (gains.sum() - g) / (gaps.sum() - b)
            for g, b in zip(gains, gaps, strict=True)
            if gaps.sum() - b > 0
        ]
        spread = 0.0
        if len(left) > 1:
            spread = float(np.sqrt((len(left) - 1) * np.var(left)))
        noise = self.deviation(model, fit) / gap
        reach = float(student.ppf(0.5 + 0.5 * level, _BLOCKS - 1)) * float(np.hypot(spread, noise))
        return float(share), float(share - reach), float(min(share + reach, max(1.0, share)))

    def _blocks(self, model: int, fit: int) -> tuple[np.ndarray, np.ndarray]:
        """Removed error and error above noise, in blocks of time over all sequences."""
        total = sum(len(r[0]) for r in self.residuals)
        before = np.concatenate([np.square(r[model]).sum(axis=1) for r in self.residuals])
        after = np.concatenate([np.square(r[fit]).sum(axis=1) for r in self.residuals])
        parts = np.array_split(np.arange(total), min(_BLOCKS, total))
        gains = np.array([(before[p] - after[p]).sum() for p in parts])
        gaps = np.array([before[p].sum() - self.floor * len(p) / total for p in parts])
        return gains, gaps
