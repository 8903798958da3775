"""Settings of a training through the simulator; plain data, no heavy imports."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from trueup._finite_numbers import check_finite
from trueup._options import Option
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
    """Family of the network: gru, lstm or mlp."""
    hidden: int = 16
    """Width of the hidden layers."""
    history: int = 10
    """Number of past samples in the input of an mlp."""
    seconds: Annotated[float, Option("S")] = 600.0
    """Time of the training [s]."""
    max_steps: int = 1500
    """Maximum number of gradient steps."""
    horizons: tuple[float, ...] = (0.1, 0.3, 1.0)
    """Horizons of the error, one after the other [s]."""
    batch: int = 64
    """Number of windows per gradient step."""
    learning_rate: float = 1.5e-2
    """Highest learning rate."""
    regularization: float = 1e-3
    """Weight of the squared correction relative to the squared error, each in its own scale."""
    inputs: tuple[str, ...] = ()
    """Inputs of the correction: angle, error (command less angle), velocity, and the conditions kp,
    kd, load, voltage and temperature of a log. By default angle and velocity, which hold at gains
    that no log has; conditions alone are added to angle, error and velocity."""
    target: str = "motion"
    """Target of the training: motion, which is angle and speed over the horizons; or torque, the
    field torque of the logs [N m], from the recorded state of each sample."""
    learn_base: bool = True
    """Fit the parameters of the base too: alone they were fitted to make up for what the correction
    now does."""
    identify_gains: bool = False
    """Fit a factor of the firmware on each gain that training logs state."""
    seed: Annotated[int, Option("INT")] = 0
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
