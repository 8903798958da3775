"""Settings of a training through the simulator; plain data, no heavy imports."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from trueup._finite_numbers import check_finite
from trueup._seeds import check_seed
from trueup.errors import FitError, listing
from trueup.networks.model.network import RECURRENT
from trueup.networks.plain_settings import build_settings

BURN_IN = 0.2
"""Time that a window is preceded by, in which the network follows the recording [s]."""

CONDITIONS = ("kp", "kd", "load", "voltage", "temperature")
"""Conditions of a log that a correction may be told."""

MOTION = ("angle", "error", "velocity")
"""Inputs of a correction from the motion; the error is command less angle."""

TORQUE = "torque"
TARGETS = ("motion", TORQUE)
"""Targets of the training of a correction."""


@dataclass(frozen=True)
class MotionSettings:
    """Settings of the training of a correction."""

    family: str = "gru"
    """``gru``, ``lstm`` or ``mlp``."""
    hidden: int = 16
    """Width of its hidden layers."""
    history: int = 10
    """Samples that an ``mlp`` sees."""
    seconds: float = 600.0
    """Time of the training [s]."""
    max_steps: int = 1500
    """Gradient steps at most."""
    horizons: tuple[float, ...] = (0.1, 0.3, 1.0)
    """Horizons of the error, one after the other [s]."""
    batch: int = 64
    """Windows side by side."""
    learning_rate: float = 1.5e-2
    """Highest learning rate."""
    regularization: float = 1e-3
    """Weight of the squared correction beside the squared error, each in its own scale."""
    inputs: tuple[str, ...] = ()
    """Inputs of the correction: angle, error, velocity, and conditions of a log, kp, kd, load,
    voltage, temperature. None: angle and velocity; see :func:`correction_inputs`."""
    target: str = "motion"
    """``motion``: angle and speed over the horizons; ``torque``: the measured torque, from the
    recorded state of each sample."""
    learn_base: bool = True
    """Move the numbers of the base along: alone they were fitted to make up for what the
    correction now does."""
    identify_gains: bool = False
    """Find along what the firmware makes of each gain that training logs state: a factor a gain."""
    seed: int = 0
    """Seed of weights and windows."""

    def __post_init__(self):
        check_finite(self, FitError)
        if self.family not in (*RECURRENT, "mlp"):
            raise FitError(f"family is {self.family!r}; there are gru, lstm and mlp")
        if not (self.seconds > 0 and self.max_steps >= 1 and self.horizons and self.batch >= 1):
            raise FitError("seconds, max_steps, horizons and batch must be positive")
        if not all(horizon > 0 for horizon in self.horizons):
            raise FitError(f"horizons are {listing(map(str, self.horizons))} s; must be positive")
        if unknown := [name for name in self.inputs if name not in (*MOTION, *CONDITIONS)]:
            raise FitError(
                f"there is no input {unknown[0]!r} of a correction; there are "
                f"{listing((*MOTION, *CONDITIONS))}"
            )
        check_seed(self.seed)
        if self.target not in TARGETS:
            raise FitError(f"target is {self.target!r}; there are {listing(TARGETS)}")

    def to_dict(self) -> dict[str, Any]:
        """Plain values of all settings."""
        return {n: list(v) if isinstance(v, tuple) else v for n, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "MotionSettings":
        """The settings of :meth:`to_dict`.

        Raises:
            ExperimentError: a key is unknown, or a value is of another type.
            FitError: a value cannot be used.
        """
        return build_settings(cls, content, "settings")
