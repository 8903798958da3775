"""Settings of a training through the simulator, without heavy imports."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from trueup._finite_numbers import check_finite
from trueup._options import Option
from trueup._seeds import check_count, check_seed
from trueup.errors import FitError, listing
from trueup.networks.model.network import RECURRENT
from trueup.networks.plain_settings import build_settings

BURN_IN = 0.2
"""Time before a window in which the network follows the recording [s]."""

CONDITIONS = ("kp", "kd", "load", "voltage", "temperature")
"""Conditions of a log that can be inputs of a correction."""

MOTION = ("angle", "error", "velocity")
"""Inputs of a correction from the motion; the error is command minus angle."""

LARGEST = {"max_steps": 10**9, "batch": 10**6, "hidden": 10**4, "history": 10**5}
"""Largest counts of a training; the weights of a layer are the square of its width."""
LARGEST_WEIGHT = 1e9
"""Largest weight of a term of the loss, whose gradients are numbers in single precision."""

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
    """Maximum time of the training [s]."""
    max_steps: int = 1500
    """Maximum number of gradient steps."""
    horizons: tuple[float, ...] = (0.1, 0.3, 1.0)
    """Horizons of the error, trained one after the other [s]."""
    batch: int = 64
    """Number of windows per gradient step."""
    learning_rate: float = 1.5e-2
    """Maximum learning rate."""
    regularization: float = 1e-3
    """Weight of the squared correction relative to the squared error, both normalised."""
    inputs: tuple[str, ...] = ()
    """Inputs of the correction: angle, error (command minus angle), velocity, and the conditions
    kp, kd, load, voltage and temperature of a log. By default angle and velocity, which generalise
    to gains that no log has. If only conditions are given, angle, error and velocity are added."""
    target: str = "motion"
    """Target of the training: motion, the angle and speed over the horizons; or torque, the field
    torque of the logs [N m], from the recorded state of each sample."""
    learn_base: bool = True
    """Fit the parameters of the base too. Fitted without the correction, they compensate for errors
    that the correction now removes."""
    identify_gains: bool = False
    """Fit a factor of the firmware on each gain given in the training logs."""
    seed: Annotated[int, Option("INT")] = 0
    """Seed of weights and windows."""

    def __post_init__(self):
        check_finite(self, FitError)
        if self.family not in (*RECURRENT, "mlp"):
            raise FitError(f"family is {self.family!r}; it must be one of gru, lstm and mlp")
        if not (self.seconds > 0 and self.horizons):
            raise FitError("seconds and horizons must be positive")
        for name, most in LARGEST.items():
            check_count(name, getattr(self, name), 1, most)
        if not 0 < self.learning_rate <= 1:
            raise FitError(
                f"learning_rate must be above 0 and at most 1, found {self.learning_rate:g}"
            )
        if not 0 <= self.regularization <= LARGEST_WEIGHT:
            raise FitError(
                f"regularization must be between 0 and {LARGEST_WEIGHT:g}, found "
                f"{self.regularization:g}"
            )
        if not all(horizon > 0 for horizon in self.horizons):
            raise FitError(
                f"horizons are {listing(map(str, self.horizons))} s; they must be positive"
            )
        if unknown := [name for name in self.inputs if name not in (*MOTION, *CONDITIONS)]:
            raise FitError(
                f"unknown input of a correction: {unknown[0]!r}; the inputs are "
                f"{listing((*MOTION, *CONDITIONS))}"
            )
        check_seed(self.seed)
        if self.target not in TARGETS:
            raise FitError(f"target is {self.target!r}; it must be one of {listing(TARGETS)}")

    def to_dict(self) -> dict[str, Any]:
        """JSON values of all settings."""
        return {n: list(v) if isinstance(v, tuple) else v for n, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "MotionSettings":
        """Inverse of :meth:`to_dict`.

        Raises:
            ExperimentError: a key is unknown, or a value has another type.
            FitError: a value is out of range.
        """
        return build_settings(cls, content, "settings")
