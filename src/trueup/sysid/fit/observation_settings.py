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
    """Names of the compared signals; by default all that were recorded."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Factor on the residual of a signal, by name."""
    noise: Mapping[str, float] = field(default_factory=dict)
    """Standard deviation of the noise of a signal [unit of the signal], by name; used instead of
    the normalisation."""
    normalise: str = "toolbox"
    """Normalisation of residuals. ``toolbox``: by the Euclidean norm of the measured column over
    sqrt 2, as in MuJoCo's toolbox. ``spread``: by its standard deviation. ``none``: physical
    units."""
    control: InterpolationMethod = "linear"
    """Interpolation of the controls: ``linear``, or ``zoh`` to hold each value until the next."""
    exact_sensor_times: bool = False
    """Whether a simulated sensor value has the time for which it was computed. MuJoCo's toolbox
    labels it one step later."""
    resample: bool = True
    """Whether the clocks of recording and simulation are matched by interpolation; otherwise sample
    k is step k, and the first one is omitted."""
    window: float = 0.0
    """Length of the windows, each simulated from the measured state [s]; 0 for one simulation of
    the whole recording."""
    state_smoothing: float = 0.02
    """Half width of the local fit from which a window gets its initial state [s]."""

    def __post_init__(self):
        for kind, given in (("weights", self.weights), ("noise", self.noise)):
            for signal, value in given.items():
                if not np.isfinite(value) or value < 0 or (kind == "noise" and value == 0):
                    raise SignalError(f"{kind} of {signal!r} must be positive, got {value}")


def check_signal_settings(settings: ObservationSettings, compared: Sequence[str]) -> None:
    """Check that weights and noise levels are of signals that are compared.

    Args:
      settings: the settings.
      compared: names of the signals that are compared in any sequence.

    Raises:
      SignalError: a signal is not compared.
    """
    known = {*compared, *(s for s, w in settings.weights.items() if w == 0)}
    for kind, given in (("weights", settings.weights), ("noise", settings.noise)):
        for signal in given:
            if signal not in known:
                raise SignalError(
                    f"{kind} is given for {signal!r}, which is not compared. Compared signals: "
                    f"{listing(dict.fromkeys(compared))}.{did_you_mean(signal, compared)}"
                )
