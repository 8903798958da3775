"""Noise model of one sequence: autoregressive channels with correlated innovations."""

from dataclasses import dataclass

import numpy as np

from trueup.fitting.uncertainty.autoregressive import (
    AutoregressiveModel,
    fit_autoregressive,
    whitened,
)


@dataclass(frozen=True)
class ChannelNoise:
    """Statistics of the residuals of one channel of one sequence.

    Args:
        sequence: Name of the sequence.
        channel: Name of the channel.
        order: Order of the autoregressive model that describes them (0: white).
        standard_deviation: Root mean square of the residuals [units of the residual].
        lag_one_correlation: Correlation of neighbouring samples.
        correlation_time: Samples after which the slowest part has decayed to 1/e [samples].
    """

    sequence: str
    channel: str
    order: int
    standard_deviation: float
    lag_one_correlation: float
    correlation_time: float


@dataclass(frozen=True)
class SequenceNoise:
    """Noise model of one sequence.

    Args:
        models: One autoregressive model per channel.
        innovations: ``(T, C)`` one-step prediction errors; the first rows are transient.
        covariance: ``(C, C)`` covariance of the innovations across channels.
        transient: Number of first rows of ``innovations`` that are transient.
    """

    models: tuple[AutoregressiveModel, ...]
    innovations: np.ndarray
    covariance: np.ndarray
    transient: int

    @property
    def memory(self) -> float:
        """Samples in which the slowest mode of any channel decays to 1/e."""
        return max((model.memory for model in self.models), default=0.0)


def fit_noise(
    residuals: np.ndarray,
    max_order: int | None = None,
    corrections: list[np.ndarray] | None = None,
    lost_share: float = 0.0,
) -> SequenceNoise:
    """Fit the noise model of residuals ``(T, C)``.

    Args:
        residuals: Residuals of one sequence.
        max_order: Largest autoregressive order; 0 makes every channel white with its own variance.
        corrections: For each channel the correction of its reflection coefficients.
        lost_share: Share of the residuals' energy absorbed by the fitted parameters, ``p / N``.
    """
    channels = residuals.shape[1]
    models = tuple(
        fit_autoregressive(
            residuals[:, c], max_order, None if corrections is None else corrections[c]
        )
        for c in range(channels)
    )
    transient = max((model.order for model in models), default=0)
    innovations = np.column_stack(
        [whitened(residuals[:, c], models[c].coefficients) for c in range(channels)]
    )
    steady = innovations[transient:]
    covariance = steady.T @ steady / (max(1, len(steady)) * (1.0 - lost_share))
    return SequenceNoise(models, innovations / np.sqrt(1.0 - lost_share), covariance, transient)


def described(
    noise: SequenceNoise, residuals: np.ndarray, sequence: str, channels: tuple[str, ...]
) -> list[ChannelNoise]:
    """Return the description of each channel's residuals ``(T, C)``."""
    energy = np.sum(residuals**2, axis=0)
    products = np.sum(residuals[1:] * residuals[:-1], axis=0)
    lag_one = np.divide(products, energy, out=np.zeros_like(energy), where=energy > 0)
    return [
        ChannelNoise(
            sequence=sequence,
            channel=name,
            order=noise.models[c].order,
            standard_deviation=float(np.sqrt(energy[c] / len(residuals))),
            lag_one_correlation=float(lag_one[c]),
            correlation_time=float(noise.models[c].memory),
        )
        for c, name in enumerate(channels)
    ]
