"""Expected noise of the next recording: that of the last one, or of a typical sensor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.fitting.uncertainty.autoregressive import AutoregressiveModel, fit_autoregressive
from trueup.sysid.assess.assessment import SequenceSignals

TYPICAL = {
    "rad": 5e-4,
    "m": 1e-4,
    "rad/s": 1e-2,
    "m/s": 2e-3,
    "N m": 0.1,
    "N": 0.5,
    "m/s^2": 0.1,
}
"""Default standard deviation of a sensor, by unit."""

_OTHER = 1e-2


@dataclass(frozen=True)
class ChannelNoiseModel:
    """Noise of one channel."""

    deviation: float
    """Standard deviation, in the unit of the channel."""
    model: AutoregressiveModel
    """Autoregressive model of the noise divided by its standard deviation."""
    source: str
    """Origin, as a phrase."""

    def draw(self, samples: int, rng: np.random.Generator) -> np.ndarray:
        """Noise ``(samples,)`` in the unit of the channel."""
        from scipy.signal import lfilter

        settle = 200
        white = rng.normal(size=samples + settle) * np.sqrt(self.model.innovation_variance)
        noise: Any = lfilter([1.0], self.model.coefficients, white)
        return self.deviation * noise[settle:]


def typical(unit: str, given: float | None) -> ChannelNoiseModel:
    """White noise of a sensor: from the experiment, or that of a typical sensor."""
    white = AutoregressiveModel(np.ones(1), 1.0, 0)
    if given is not None:
        return ChannelNoiseModel(given, white, "experiment file")
    return ChannelNoiseModel(TYPICAL.get(unit, _OTHER), white, "a typical sensor")


def recorded(signals: Sequence[SequenceSignals], run: str) -> Mapping[str, ChannelNoiseModel]:
    """Noise by channel, from the residuals of the recordings that a run was fitted to."""
    longest: dict[str, np.ndarray] = {}
    for sequence in signals:
        if sequence.held_out:
            continue
        for index, channel in enumerate(sequence.channels):
            residual = (sequence.measured - sequence.fitted)[:, index]
            if len(residual) > len(longest.get(channel, ())):
                longest[channel] = residual
    out = {}
    for channel, residual in longest.items():
        deviation = float(residual.std())
        if len(residual) >= 100 and deviation > 0:
            model = fit_autoregressive(residual / deviation)
            out[channel] = ChannelNoiseModel(deviation, model, f"residuals of {run}")
    return out
