"""Covariance B (J' R J) B for autoregressive noise, by filters: R is never formed."""

from dataclasses import dataclass

import numpy as np

from trueup.fitting.uncertainty.autoregressive import reflections_by_autocovariance
from trueup.fitting.uncertainty.noise import SequenceNoise
from trueup.fitting.uncertainty.sequence_fit import BLOCK_VALUES, SequenceFit

LONG_RECORD = 1000
"""Length of a record, in correlation times, from which a normal quantile is adequate."""


@dataclass(frozen=True)
class SandwichPart:
    """Contribution of one sequence to the covariance.

    Args:
        covariance: ``(p, p)`` part of B (J' R J) B.
        variance_error: ``(p,)`` variance of the diagonal's estimate, by the delta method.
    """

    covariance: np.ndarray
    variance_error: np.ndarray


def presample_length(noise: SequenceNoise, samples: int) -> int:
    """Return the number of presample steps in which the noise still affects the record."""
    if noise.memory == 0.0:
        return 0
    return int(min(np.ceil(10.0 * noise.memory), 4 * samples))


def sandwich_part(
    sequence: SequenceFit,
    columns: np.ndarray,
    inverse: np.ndarray,
    noise: SequenceNoise,
    each_innovation: bool = False,
) -> SandwichPart:
    """Return one sequence's part of B (J' R J) B.

    With ``n = L e`` for each channel, ``R = L Q L'`` across channels, and ``L'`` is the
    autoregressive filter run backwards in time. So ``U = L' J B`` is one filter pass, continued
    before the first sample until the filter has decayed, and the part is the sum of ``u' Q u``.

    Args:
        sequence: The fitted sequence.
        columns: Indices of the parameters, ``(p,)``.
        inverse: B, ``(p, p)``.
        noise: The sequence's noise model.
        each_innovation: Use each sample's own innovation in place of their mean Q, which is valid
            for noise of varying variance (White 1980).

    Returns:
        The part and the variance of its diagonal.
    """
    p = len(columns)
    filters = [_Filter(model.coefficients, p) for model in noise.models]
    short = sequence.length < LONG_RECORD * (noise.transient + noise.memory)
    total = np.zeros((p, p))
    by_sample = np.zeros(p)
    by_channel = np.zeros((len(filters), p))
    for rows, block in _backward(sequence, columns, presample_length(noise, sequence.length)):
        spread = _spread(block, inverse, filters)
        weighted = np.tensordot(noise.covariance, spread, axes=1)
        by_channel += np.sum(weighted * spread, axis=1)
        if short:
            for c, f in enumerate(filters):
                f.differentiate(weighted[c])
        if each_innovation and rows is not None:
            own = noise.innovations[rows][::-1]
            steady = np.arange(rows.stop - 1, rows.start - 1, -1) >= noise.transient
            score = np.einsum("ctp,tc->tp", spread[:, steady], own[steady])
            total += score.T @ score
            by_sample += np.sum(score**4, axis=0) * (2.0 / 3.0)
            spread, weighted = spread[:, ~steady], weighted[:, ~steady]
        total += spread.reshape(-1, p).T @ weighted.reshape(-1, p)
    error = by_sample
    if not each_innovation:
        error = 2.0 * np.sum(by_channel**2, axis=0) / sequence.length
    for f, model in zip(filters, noise.models):
        if model.order and short:
            error = error + np.einsum(
                "kp,kl,lp->p", f.gradient, model.coefficient_covariance(), f.gradient
            )
    return SandwichPart(0.5 * (total + total.T), error)


def absorbed_reflections(
    sequence: SequenceFit,
    residuals: np.ndarray,
    columns: np.ndarray,
    inverse: np.ndarray,
    covariance: np.ndarray,
    noise: SequenceNoise,
) -> list[np.ndarray] | None:
    """Return, for each channel, the bias of the reflection coefficients of the residuals.

    Residuals are ``(I - H) n``: the fitted parameters have absorbed the part of the noise in the
    column space of J, at the frequencies that determine the intervals. The
    expected autocovariances of residuals and of noise differ by known traces (Worsley et al. 2002,
    NeuroImage 15, appendix A.3); their difference, by Levinson's recursion, corrects the
    reflection coefficients. Long records, where the effect vanishes, give None.

    Args:
        sequence: The fitted sequence.
        residuals: ``(T, C)`` residuals (robust ones: weight times residual).
        columns: Indices of the parameters, ``(p,)``.
        inverse: B, ``(p, p)``.
        covariance: ``(p, p)`` covariance of the estimate over all sequences.
        noise: Initial noise model of the sequence.
    """
    samples, channels = residuals.shape
    before = presample_length(noise, samples)
    if (samples + before) * channels * len(columns) > BLOCK_VALUES:
        return None
    jacobian = np.concatenate([block for _, block in sequence.blocks(columns)])
    extended = np.concatenate([np.zeros((before, channels, len(columns))), jacobian])
    backward = [_Filter(model.coefficients, len(columns)) for model in noise.models]
    spread = _spread(extended, inverse, backward)
    weighted = np.tensordot(noise.covariance, spread, axes=1)[:, ::-1]
    corrections = []
    for c, model in enumerate(noise.models):
        shared = _Filter(model.coefficients, len(columns)).run(weighted[c])[before:]
        own = jacobian[:, c]
        explained = own @ covariance
        measured = np.empty(model.order + 1)
        absorbed = np.empty(model.order + 1)
        for lag in range(model.order + 1):
            early, late = slice(0, samples - lag), slice(lag, samples)
            measured[lag] = residuals[early, c] @ residuals[late, c]
            absorbed[lag] = (
                np.sum(own[early] * shared[late])
                + np.sum(own[late] * shared[early])
                - np.sum(explained[early] * own[late])
            )
        corrections.append(
            reflections_by_autocovariance(measured + absorbed)
            - reflections_by_autocovariance(measured)
        )
    return corrections


def _spread(block: np.ndarray, inverse: np.ndarray, filters: "list[_Filter]") -> np.ndarray:
    """Return ``L' J B`` of a block ``(n, C, p)``, channel first, time reversed: ``(C, n, p)``."""
    return np.stack([f.run((block[:, c] @ inverse)[::-1]) for c, f in enumerate(filters)])


class _Filter:
    """An all-pole filter run over successive blocks, with the derivative of its energy."""

    def __init__(self, coefficients: np.ndarray, width: int):
        self.coefficients = coefficients
        self.order = len(coefficients) - 1
        self.state = np.zeros((self.order, width))
        self.state_again = np.zeros((self.order, width))
        self.recent = np.zeros((self.order, width))
        self.last = np.zeros((0, width))
        self.gradient = np.zeros((self.order, width))

    def run(self, block: np.ndarray) -> np.ndarray:
        """Filter the next block ``(n, p)``."""
        if self.order:
            from scipy.signal import lfilter

            block, self.state = lfilter([1.0], self.coefficients, block, axis=0, zi=self.state)
        self.last = np.asarray(block)
        return self.last

    def differentiate(self, weighted: np.ndarray) -> None:
        """Add the last block's derivative of sum(u Q u) with respect to each coefficient."""
        if not self.order:
            return
        from scipy.signal import lfilter

        again, self.state_again = lfilter(
            [1.0], self.coefficients, self.last, axis=0, zi=self.state_again
        )
        history = np.concatenate([self.recent, np.asarray(again)])
        length = len(weighted)
        for k in range(1, self.order + 1):
            shifted = history[self.order - k : self.order - k + length]
            self.gradient[k - 1] -= 2.0 * np.sum(weighted * shifted, axis=0)
        self.recent = history[len(history) - self.order :]


def _backward(sequence: SequenceFit, columns: np.ndarray, before: int):
    """Yield blocks from the last sample to the first, then zeros for ``before`` samples."""
    yield from sequence.blocks(columns, backward=True)
    channels = sequence.residuals.shape[1]
    step = max(1, BLOCK_VALUES // (channels * len(columns)))
    while before > 0:
        length = min(step, before)
        yield None, np.zeros((length, channels, len(columns)))
        before -= length
