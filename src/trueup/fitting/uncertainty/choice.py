"""Selection of the covariance method by tests of the residuals, with its reason."""

from dataclasses import dataclass

import numpy as np

from trueup.fitting.judgement._whiteness import heteroscedasticity, ljung_box
from trueup.fitting.uncertainty.evidence import Evidence

WHITE_LEVEL = 0.05
SIZE_LEVEL = 0.01
_FEWEST_SAMPLES = 20


@dataclass(frozen=True)
class Choice:
    """A method with its reason.

    Args:
        method: Name of the method.
        each_innovation: Whether each sample's own innovation is used.
        reason: Sentences: which method, and why.
    """

    method: str
    each_innovation: bool
    reason: str


_NAMED = {
    "classical": "One variance for all samples of all channels, as white noise, as requested.",
    "per_channel": "White noise with a variance for each channel, as requested.",
    "autoregressive": "An autoregressive noise model for each channel, as requested.",
    "newey_west": "Newey-West with fixed-b critical values, as requested.",
    "block_bootstrap": "Moving-block bootstrap of the scores, as requested.",
}


def choose_method(
    evidence: Evidence,
    method: str,
    each_innovation: bool | None,
    columns: np.ndarray,
    inverse: np.ndarray,
) -> Choice:
    """Select the method of ``"auto"`` and give the reason; a named method is as requested.

    Residuals are correlated if the Ljung-Box test rejects whiteness in any channel, at a level of
    5 % divided by the number of channels. Their variance is not constant if it depends on the
    sensitivity of the channel to the parameters (only that dependence biases a covariance, White
    1980), at a level of 1 % divided likewise.
    """
    chosen, reason = method, _NAMED.get(method, "")
    if method == "auto":
        worst = _most_correlated(evidence)
        if worst is None:
            chosen = "per_channel"
            reason = (
                "Residuals look like white noise in every channel (Ljung-Box), so each channel "
                "of each sequence has its own variance and no autocorrelation."
            )
        else:
            chosen = "autoregressive"
            where, lag_one = worst
            reason = (
                f"Residuals are correlated in time (most in {where}: {lag_one:.2f} between "
                "neighbouring samples), so an autoregressive noise model is fitted to each "
                "channel of each sequence; a formula for white noise would give intervals that "
                "are too narrow."
            )
    if chosen not in ("per_channel", "autoregressive"):
        return Choice(chosen, False, reason)
    if each_innovation is None:
        uneven = _most_uneven(evidence, columns, inverse)
        each_innovation = uneven is not None
        if uneven is not None:
            where, ratio = uneven
            reason += (
                f" Their variance is not constant (in {where} they are {ratio:.2g} times as large "
                "where the sensitivity to the parameters is highest), so each sample is weighted "
                "by its own error."
            )
    return Choice(chosen, bool(each_innovation), reason)


def _most_correlated(evidence: Evidence) -> tuple[str, float] | None:
    channels = sum(residual.shape[1] for residual in evidence.residuals)
    worst, found = 0.0, None
    for sequence, residual in zip(evidence.sequences, evidence.residuals):
        if len(residual) < _FEWEST_SAMPLES:
            continue
        for c, channel in enumerate(sequence.channels):
            test = ljung_box(residual[:, c], level=WHITE_LEVEL / channels)
            if not test.white and test.statistic / len(residual) > worst:
                worst = test.statistic / len(residual)
                found = (_where(channel, sequence.name), test.lag_one_correlation)
    return found


def _most_uneven(
    evidence: Evidence, columns: np.ndarray, inverse: np.ndarray
) -> tuple[str, float] | None:
    channels = sum(residual.shape[1] for residual in evidence.residuals)
    smallest, found = np.inf, None
    for sequence, residual in zip(evidence.sequences, evidence.residuals):
        if len(residual) < _FEWEST_SAMPLES:
            continue
        leverage = np.empty_like(residual)
        for rows, block in sequence.blocks(columns):
            flat = block.reshape(-1, len(columns))
            leverage[rows] = np.sum((flat @ inverse) * flat, axis=1).reshape(block.shape[:2])
        tests = heteroscedasticity(
            residual, leverage, sequence.channels, "sensitivity", SIZE_LEVEL / channels
        )
        for test in tests:
            if not test.constant and test.p_value < smallest:
                smallest = test.p_value
                found = (_where(test.channel, sequence.name), test.ratio)
    return found


def _where(channel: str, sequence: str) -> str:
    return f"{channel} of {sequence}" if sequence else channel
