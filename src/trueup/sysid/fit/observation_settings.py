"""How recordings are compared with a simulation: channels, weights, clocks, windows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trueup.errors import SignalError, did_you_mean, listing
from trueup.signals import InterpolationMethod


@dataclass(frozen=True)
class ObservationSettings:
    """How recordings are compared with the simulation."""

    channels: tuple[str, ...] = ()
    """Names of the signals compared; empty for all that were recorded."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Factor on the residual of a signal, by name."""
    noise: Mapping[str, float] = field(default_factory=dict)
    """Standard deviation of the noise of a signal [its unit], by name; replaces normalisation."""
    normalise: str = "toolbox"
    """``toolbox``: by the Euclidean norm of the measured column over sqrt 2. ``spread``: by its
    standard deviation. ``none``: physical units."""
    control: InterpolationMethod = "linear"
    """Interpolation of the controls: ``linear``, or ``zoh`` to hold each until the next."""
    exact_sensor_times: bool = False
    """Whether a simulated sensor stands at the time for which it was computed. The toolbox labels
    it one step later."""
    resample: bool = True
    """Whether clocks are matched; otherwise sample k is step k, and the first one is left out."""
    window: float = 0.0
    """Length of the windows [s] that start anew from the measured state; 0 for one simulation from
    beginning to end."""
    state_smoothing: float = 0.02
    """Half width [s] of the local fit that gives a window its initial state."""

    def __post_init__(self):
        for kind, given in (("weights", self.weights), ("noise", self.noise)):
            for signal, value in given.items():
                if not np.isfinite(value) or value < 0 or (kind == "noise" and value == 0):
                    raise SignalError(f"{kind} of {signal!r} has to be positive, got {value}")


def check_signal_settings(settings: ObservationSettings, compared: Sequence[str]) -> None:
    """Check the signals that weights and noise levels name.

    Args:
      settings: the settings.
      compared: signals that are compared in any sequence.

    Raises:
      SignalError: an unknown signal.
    """
    known = {*compared, *(s for s, w in settings.weights.items() if w == 0)}
    for kind, given in (("weights", settings.weights), ("noise", settings.noise)):
        for signal in given:
            if signal not in known:
                raise SignalError(
                    f"{kind} names {signal!r}, which is not compared; compared are "
                    f"{listing(dict.fromkeys(compared))}.{did_you_mean(signal, compared)}"
                )
