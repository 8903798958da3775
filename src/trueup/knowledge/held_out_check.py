"""Check of draws on held-out recordings: which draws they reject, and the band of the others.

The first two thirds of each held-out recording reject draws; the last third only scores the band of
the accepted ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np
from scipy.special import chdtri

from trueup._memory_budget import memory_size
from trueup.errors import SimulationError
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.problem import Failures
from trueup.fitting.uncertainty.start_noise import noise_from_changes

REJECTING_SHARE = 2.0 / 3.0
"""Share of each held-out recording, from its start, that rejects draws."""
BAND = (0.05, 0.95)
"""Quantiles of the draws that bound the band."""
FEWEST_INSIDE = 0.5
"""Minimum share of the scoring part of a signal within the band."""
_CERTAINTY = 0.999  # probability of the region outside which a recording excludes a draw
_MOST_SHOWN = 400  # maximum number of times of a band per recording
_VALUES = 4_000_000  # maximum number of values in a chunk of predictions
_SHARE, _BYTES = 0.125, 40  # share of the memory for predictions from a device; bytes of a value
_AGREEMENT = 0.01  # rounding of a device, relative to the room of a draw


class HeldOutProblem(Protocol):
    """Held-out recordings and their simulation; also a problem of ``fitting``."""

    @property
    def sequences(self) -> Sequence[Any]:
        """Recordings with ``name``, ``times (T,)``, ``channels``, ``channel_names``, ``weights`` of
        the residuals, and ``windows`` with their ``first`` sample."""
        ...

    def predictions(
        self, X: np.ndarray, failures: Failures | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Measured ``(n or 1, T, C)`` and predicted ``(n, T, C)`` signals of each recording."""
        ...

    def quick(self, candidates: int) -> Any:
        """The same problem in single precision, if that is faster for a batch of this size."""
        ...


@dataclass
class SequenceBand:
    """Band of the draws over one recording, at a subset of its times."""

    name: str
    channels: tuple[str, ...]
    units: tuple[str, ...]
    times: np.ndarray
    """Times [s] ``(T,)``."""
    scoring: np.ndarray
    """Times that only score ``(T,)`` bool."""
    measured: np.ndarray
    """Measured signals ``(T, C)``."""
    fitted: np.ndarray
    """Prediction of the fit ``(T, C)``."""
    draws: np.ndarray
    """Predictions of the accepted draws ``(n, T, C)``."""
    noise: np.ndarray
    """Standard deviation of the noise of each channel ``(C,)``."""

    @property
    def band(self) -> np.ndarray:
        """5 % and 95 % quantiles of the predictions of the draws ``(2, T, C)``."""
        return np.quantile(self.draws, BAND, axis=0)

    def inside(self) -> np.ndarray:
        """Share of the scoring part of the recording within the band, noise included ``(C,)``.

        The noise widens each side of the band as it widens a Gaussian of the same width.
        """
        low, high = self.band[:, self.scoring]
        middle = np.median(self.draws[:, self.scoring], axis=0)
        reach = 1.6448536 * self.noise
        low, high = middle - np.hypot(middle - low, reach), middle + np.hypot(high - middle, reach)
        recorded = self.measured[self.scoring]
        return ((recorded >= low) & (recorded <= high)).mean(axis=0)


@dataclass
class HeldOutCheck:
    """Outcome of the check."""

    accepted: np.ndarray
    """Values of the accepted draws ``(n, p)``, in the order of the search."""
    drawn: int = 0
    """Number of simulated draws."""
    failed: int = 0
    """Number of draws with a failed simulation."""
    excluded: int = 0
    """Number of draws that the recordings exclude."""
    bands: list[SequenceBand] = field(default_factory=list)
    """Band of the accepted draws over each recording."""
    notes: tuple[str, ...] = ()
    """Sentences on the device that simulated the draws."""

    @property
    def missed(self) -> list[str]:
        """Signals with less than half of the recording within the band, as texts."""
        return [
            f"{channel} of {band.name} ({100 * share:.0f} %)"
            for band in self.bands
            for channel, share in zip(band.channels, band.inside(), strict=True)
            if share < FEWEST_INSIDE
        ]


def check_on_held_out(
    problem: HeldOutProblem,
    fit: np.ndarray,
    draw: Callable[[int], np.ndarray],
    count: int,
    steps: np.ndarray,
    *,
    training_error: float,
    inflation: float,
    widening: float = 1.0,
    units: Sequence[Sequence[str]] | None = None,
    most: int = 20,
    progress: Callable[[float], None] | None = None,
) -> HeldOutCheck:
    """Draw until ``count`` draws reproduce the held-out recordings as well as the fit.

    A draw is excluded if its weighted squared error exceeds that of the fit by more than the larger
    of two limits: the 99.9 % quantile of draws along the well determined directions alone, and the
    growth explained by noise of the same size and autocorrelation. So directions that the training
    data do not determine are limited by the held-out recordings, and those that they determine keep
    their spread.

    Args:
      problem: the held-out recordings.
      fit: identified values ``(p,)``.
      draw: function that returns ``n`` draws ``(n, p)``, in the units of the parameters.
      count: number of accepted draws to reach.
      steps: steps from the fit within the determined directions, in search coordinates ``(m, p)``.
      training_error: mean square of the training residuals.
      inflation: variance of estimates over that for white residuals of variance one.
      widening: mean square of the factors by which the draws were widened.
      units: unit of each channel of each recording; by default none.
      most: maximum number of simulated draws, in multiples of ``count``.
      progress: called with the completed share.
    """
    reference = _Predicted.of(problem, fit[None], {})
    rows = sum(int((~is_scoring(s.times)).sum()) * len(s.channels) for s in problem.sequences)
    error = float(reference.squares[0])
    # held-out residuals in excess of those of training are model error, which counts as noise here
    growth = max(1.0, error / max(rows * training_error, 1e-300)) if training_error else 1.0
    noise = inflation * growth * widening * float(chdtri(len(fit), 1.0 - _CERTAINTY))
    limit = error + max(noise, _explained(problem, fit, steps))
    simulator = _simulator(problem, fit, error, limit, count)
    size = max(sum(s.measured.size for s in problem.sequences), 1)
    chunk = int(np.clip(_VALUES // size, 1, 256))
    if simulator is not problem:
        chunk = max(int(_SHARE * memory_size()) // (_BYTES * size), chunk)
    out = HeldOutCheck(np.empty((0, len(fit))))
    accepted: list[np.ndarray] = []
    shown: list[list[np.ndarray]] = []
    total = 0
    while total < count and out.drawn < most * count:
        candidates = draw(min(chunk, max(count - total, 16)))
        failures: Failures = {}
        found = _Predicted.of(simulator, candidates, failures)
        bad = np.zeros(len(candidates), bool)
        bad[list(failures)] = True
        bad |= ~np.isfinite(found.squares)
        beyond = ~bad & (found.squares > limit)
        good = np.flatnonzero(~bad & ~beyond)[: count - total]
        out.drawn += len(candidates)
        out.failed += int(bad.sum())
        out.excluded += int(beyond.sum())
        accepted.append(candidates[good])
        shown.append([values[good] for values in found.shown])
        total += len(good)
        if progress is not None:
            progress(max(total / count, out.drawn / (most * count)))
        if out.drawn >= 512 and total < 0.01 * out.drawn:
            break
    out.accepted = np.concatenate(accepted)
    draws = [np.concatenate(parts) for parts in zip(*shown, strict=True)]
    out.bands = _bands(problem, reference, draws, units)
    out.notes = tuple(getattr(problem, "device_notes", ()))
    return out


def _simulator(
    problem: HeldOutProblem, fit: np.ndarray, error: float, limit: float, count: int
) -> HeldOutProblem:
    """The problem on its device, if its rounding does not decide about a draw.

    Raises:
      SimulationError: it does, and the device was requested.
    """
    simulator = problem.quick(count)
    if simulator is problem:
        return problem
    failures: Failures = {}
    own = float(_Predicted.of(simulator, fit[None], failures).squares[0])
    if failures or not abs(own - error) <= _AGREEMENT * (limit - error):
        cast(Any, problem).device.refuse(
            SimulationError(
                "in single precision the squared error of the fit over the held-out recordings is "
                f"{own:.6g}, and {error:.6g} in double precision, and draws may exceed it by "
                f"{limit - error:.2g}: the recordings are too long for single precision; device: "
                "cpu simulates the draws in double precision"
            )
        )
        return problem
    return simulator


def _explained(problem: HeldOutProblem, fit: np.ndarray, steps: np.ndarray) -> float:
    """99.9 % quantile of the growth of the squared error over steps ``(m, p)``, linearised."""
    residual, jacobian, _ = final_jacobian(cast(Any, problem), fit, central=False)
    rejecting = np.concatenate(
        [np.repeat(~is_scoring(s.times), len(s.channels)) for s in problem.sequences]
    )
    rows = np.flatnonzero(rejecting)  # without the priors, which are the last rows
    own = np.asarray(jacobian[rows])
    growth = np.einsum("ij,jk,ik->i", steps, own.T @ own, steps)
    return float(np.quantile(growth + 2.0 * steps @ (own.T @ residual[rows]), _CERTAINTY))


@dataclass
class _Predicted:
    """Predictions of candidates over held-out recordings."""

    squares: np.ndarray
    """Weighted squared error over the rejecting rows ``(n,)``."""
    shown: list[np.ndarray]
    """Predictions at the shown times of each recording, ``(n, T, C)`` float32."""
    measured: list[np.ndarray]
    """Measured signals of each recording ``(T, C)``, for the first candidate."""
    noise: list[np.ndarray]
    """Standard deviation of the noise of each recording ``(C,)``, from differences of the residual
    of the first candidate."""

    @classmethod
    def of(cls, problem: HeldOutProblem, X: np.ndarray, failures: Failures) -> "_Predicted":
        out = cls(np.zeros(len(X)), [], [], [])
        pairs = problem.predictions(X, failures)
        for sequence, (measured, predicted) in zip(problem.sequences, pairs, strict=True):
            rejecting, rows = ~is_scoring(sequence.times), _shown_rows(sequence.times)
            with np.errstate(over="ignore", invalid="ignore"):
                error = (measured - predicted) * sequence.weights
                out.squares += np.square(error[:, rejecting]).sum(axis=(1, 2))
            firsts = [window.first for window in sequence.windows]
            out.noise.append(noise_from_changes(measured[0] - predicted[0], firsts))
            out.shown.append(predicted[:, rows].astype(np.float32))
            out.measured.append(measured[0, rows])
        return out


def is_scoring(times: np.ndarray) -> np.ndarray:
    """Times of a recording that only score ``(T,)`` bool."""
    return times > times[0] + REJECTING_SHARE * (times[-1] - times[0])


def _shown_rows(times: np.ndarray) -> np.ndarray:
    return np.unique(
        np.linspace(0, len(times) - 1, min(_MOST_SHOWN, len(times))).round().astype(int)
    )


def _bands(
    problem: HeldOutProblem,
    fitted: _Predicted,
    draws: list[np.ndarray],
    units: Sequence[Sequence[str]] | None,
) -> list[SequenceBand]:
    out = []
    for index, sequence in enumerate(problem.sequences):
        times = sequence.times[_shown_rows(sequence.times)]
        out.append(
            SequenceBand(
                sequence.name,
                tuple(sequence.channel_names),
                tuple(units[index]) if units else ("",) * len(sequence.channels),
                times,
                is_scoring(sequence.times)[_shown_rows(sequence.times)],
                fitted.measured[index],
                fitted.shown[index][0],
                draws[index],
                fitted.noise[index],
            )
        )
    return out
