"""Covariance methods with a common input and output."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.fitting.uncertainty.evidence import Evidence
from trueup.fitting.uncertainty.newey_west import (
    default_bandwidth,
    fixed_b_quantile,
    newey_west,
)
from trueup.fitting.uncertainty.noise import SequenceNoise, fit_noise
from trueup.fitting.uncertainty.sandwich import absorbed_reflections, sandwich_part
from trueup.fitting.uncertainty.sequence_fit import SequenceFit

METHODS = ("auto", "classical", "per_channel", "autoregressive", "newey_west", "block_bootstrap")
"""Names of the methods of :func:`~trueup.fitting.estimate_covariance`."""

FEWEST_DEGREES_OF_FREEDOM = 3.0

_DRAW_VALUES = 4_000_000  # maximum number of bootstrap values in memory


@dataclass(frozen=True)
class Settings:
    """Options of the methods; see :func:`~trueup.fitting.uncertainty.estimate_covariance`."""

    alpha: float = 0.05
    max_order: int | None = None
    each_innovation: bool = False
    bandwidth: int | None = None
    block_length: int | None = None
    draws: int = 1999
    seed: int = 0


@dataclass(frozen=True)
class MethodResult:
    """A covariance ``(p, p)``, half-widths ``(p,)``, degrees of freedom ``(p,)`` and the noise."""

    covariance: np.ndarray
    half_widths: np.ndarray
    dof: np.ndarray
    noises: list[SequenceNoise]


def run_method(
    evidence: Evidence,
    method: str,
    columns: np.ndarray,
    inverse: np.ndarray,
    settings: Settings,
) -> MethodResult:
    """Return the result of ``method`` for the parameters ``columns``, given B = ``inverse``."""
    run = {
        "classical": _classical,
        "per_channel": _autoregressive,
        "autoregressive": _autoregressive,
        "newey_west": _newey_west,
        "block_bootstrap": _block_bootstrap,
    }[method]
    if method == "per_channel":
        settings = Settings(**{**vars(settings), "max_order": 0})
    return run(evidence, columns, inverse, settings)


def student_quantile(dof: np.ndarray, alpha: float) -> np.ndarray:
    """Return the two-sided Student-t quantile for each number of degrees of freedom."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(dof, 1.0 - alpha / 2.0))


def _classical(
    evidence: Evidence, columns: np.ndarray, inverse: np.ndarray, settings: Settings
) -> MethodResult:
    degrees = evidence.count - len(columns)
    energy = sum(float(np.vdot(residual, residual)) for residual in evidence.residuals)
    information = evidence.inverse(columns).inverse
    covariance = energy / degrees * information
    return _by_student(evidence, columns, inverse, covariance, float(degrees), settings)


def _autoregressive(
    evidence: Evidence, columns: np.ndarray, inverse: np.ndarray, settings: Settings
) -> MethodResult:
    lost = len(columns) / evidence.count
    noises = [fit_noise(r, settings.max_order, None, lost) for r in evidence.residuals]
    covariance, error = _summed(evidence, columns, inverse, noises, settings)
    if any(noise.memory > 0.0 for noise in noises):
        corrections = [
            absorbed_reflections(sequence, residual, columns, inverse, covariance, noise)
            for sequence, residual, noise in zip(evidence.sequences, evidence.residuals, noises)
        ]
        if any(correction is not None for correction in corrections):
            noises = [
                fit_noise(residual, settings.max_order, correction, lost)
                for residual, correction in zip(evidence.residuals, corrections)
            ]
            covariance, error = _summed(evidence, columns, inverse, noises, settings)
    variance = np.diag(covariance)
    # Satterthwaite 1946: a chi-squared variable with these degrees of freedom has the same mean
    # and variance as the estimate.
    degrees = np.divide(
        2.0 * variance**2, error, out=np.full(len(columns), np.inf), where=error > 0.0
    )
    most = max(evidence.count - len(columns), FEWEST_DEGREES_OF_FREEDOM)
    degrees = np.clip(degrees, FEWEST_DEGREES_OF_FREEDOM, most)
    return _by_student(evidence, columns, inverse, covariance, degrees, settings, noises)


def _newey_west(
    evidence: Evidence, columns: np.ndarray, inverse: np.ndarray, settings: Settings
) -> MethodResult:
    scores = sample_scores(evidence.sequences, evidence.residuals, columns, inverse)
    noises = [fit_noise(residual) for residual in evidence.residuals]
    samples = sum(len(score) for score in scores)
    bandwidth = settings.bandwidth or default_bandwidth(samples, max(n.memory for n in noises))
    bandwidth = min(bandwidth, samples)
    covariance = newey_west(scores, bandwidth) * evidence.count / (evidence.count - len(columns))
    covariance = covariance + _of_prior(evidence, columns, inverse)
    quantile = fixed_b_quantile(bandwidth / samples, settings.alpha)
    half_widths = quantile * np.sqrt(np.diag(covariance))
    return MethodResult(covariance, half_widths, np.full(len(columns), np.inf), noises)


def _block_bootstrap(
    evidence: Evidence, columns: np.ndarray, inverse: np.ndarray, settings: Settings
) -> MethodResult:
    scores = sample_scores(evidence.sequences, evidence.residuals, columns, inverse)
    noises = [fit_noise(residual) for residual in evidence.residuals]
    lengths = [
        min(len(score), settings.block_length or default_block_length(len(score), noise.memory))
        for score, noise in zip(scores, noises)
    ]
    errors = moving_block_bootstrap(scores, lengths, settings.draws, settings.seed)
    errors *= np.sqrt(evidence.count / (evidence.count - len(columns)))
    prior = _of_prior(evidence, columns, inverse)
    if prior.any():
        rng = np.random.default_rng([settings.seed, 1])
        errors = errors + rng.multivariate_normal(np.zeros(len(columns)), prior, settings.draws)
    covariance = errors.T @ errors / settings.draws
    half_widths = np.quantile(np.abs(errors), 1.0 - settings.alpha, axis=0)
    return MethodResult(covariance, half_widths, np.full(len(columns), np.inf), noises)


def _summed(
    evidence: Evidence,
    columns: np.ndarray,
    inverse: np.ndarray,
    noises: list[SequenceNoise],
    settings: Settings,
) -> tuple[np.ndarray, np.ndarray]:
    covariance = np.zeros((len(columns), len(columns)))
    error = np.zeros(len(columns))
    for sequence, noise in zip(evidence.sequences, noises):
        part = sandwich_part(sequence, columns, inverse, noise, settings.each_innovation)
        covariance += part.covariance
        error += part.variance_error
    return covariance + _of_prior(evidence, columns, inverse), error


def _of_prior(evidence: Evidence, columns: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Return B P B: residuals of the prior have unit variance by definition."""
    return inverse @ evidence.prior[np.ix_(columns, columns)] @ inverse


def _by_student(
    evidence: Evidence,
    columns: np.ndarray,
    inverse: np.ndarray,
    covariance: np.ndarray,
    degrees: float | np.ndarray,
    settings: Settings,
    noises: list[SequenceNoise] | None = None,
) -> MethodResult:
    dof = np.broadcast_to(np.asarray(degrees, dtype=float), (len(columns),)).copy()
    half_widths = student_quantile(dof, settings.alpha) * np.sqrt(np.diag(covariance))
    if noises is None:
        noises = [fit_noise(residual) for residual in evidence.residuals]
    return MethodResult(covariance, half_widths, dof, noises)


def sample_scores(
    sequences: Sequence[SequenceFit],
    residuals: Sequence[np.ndarray],
    columns: np.ndarray,
    inverse: np.ndarray,
) -> list[np.ndarray]:
    """Score of each sample, ``B J[t]' r[t]``: ``(T, p)`` for each sequence, in parameter units."""
    scores = []
    for sequence, residual in zip(sequences, residuals):
        score = np.empty((sequence.length, len(columns)))
        for rows, block in sequence.blocks(columns):
            score[rows] = np.einsum("tcp,tc->tp", block, residual[rows]) @ inverse
        scores.append(score)
    return scores


def default_block_length(samples: int, memory: float) -> int:
    """Return a block length: ``2 T^(1/3)``, or 6 correlation times, at most a fifth of a record."""
    wanted = max(2.0 * samples ** (1.0 / 3.0), 6.0 * memory)
    return int(np.clip(np.ceil(wanted), 1, max(1, samples // 5)))


def moving_block_bootstrap(
    scores: Sequence[np.ndarray],
    block_lengths: Sequence[int],
    draws: int,
    seed: int,
) -> np.ndarray:
    """Return bootstrap replicates ``(draws, p)`` of the estimation error (Kuensch 1989).

    A replicate of a sequence consists of blocks of its scores, drawn with replacement. Its
    expectation is subtracted, because the blocks do not cover every sample equally often.

    Args:
        scores: ``(T, p)`` for each sequence, in parameter units (B J' r).
        block_lengths: Length of a block for each sequence [samples].
        draws: Number of replicates.
        seed: Seed of the draws.
    """
    rng = np.random.default_rng(seed)
    total = np.zeros((draws, scores[0].shape[1]))
    for score, length in zip(scores, block_lengths):
        samples, p = score.shape
        sums = np.cumsum(np.concatenate([np.zeros((1, p)), score]), axis=0)
        blocks = sums[length:] - sums[:-length]
        blocks = blocks - blocks.mean(axis=0)
        count = int(np.ceil(samples / length))
        # Blocks cover slightly more than the record; and centring k blocks of l samples reduces
        # their variance by a share l/T.
        correction = np.sqrt(samples / (count * length))
        if samples > length:
            correction /= np.sqrt(1.0 - length / samples)
        step = max(1, _DRAW_VALUES // (count * p))
        for start in range(0, draws, step):
            stop = min(start + step, draws)
            chosen = rng.integers(len(blocks), size=(stop - start, count))
            total[start:stop] += correction * blocks[chosen].sum(axis=1)
    return total
