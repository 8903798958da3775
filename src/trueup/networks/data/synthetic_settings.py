"""Settings of synthetic recordings of an actuator."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from trueup._finite_numbers import check_finite
from trueup._seeds import check_count
from trueup.errors import ExperimentError, did_you_mean, listing

SyntheticSignal = Literal["sine", "chirp", "multisine", "steps"]
"""Types of target angle; the edges of steps last 0.1 s."""

_LARGEST = 1e12
_MOST_STEPS = 2e8
_MOST_FILES = 10_000


@dataclass(frozen=True)
class SyntheticSettings:
    """A joint with a load, driven by a PD law, and its sensors.

    The defaults give the usual test case of such data sets, a sine with a linear motor and without
    friction: except for noise, its torque is linear in the features.
    """

    inertias: tuple[float, ...] = (0.083,)
    """Inertia of each group [kg m2]; each further group has a smaller and faster motion."""
    signals: tuple[SyntheticSignal, ...] = ("sine",)
    """Types of target angle: sine, chirp, multisine, steps; each group has one file per type."""
    repeats: int = 1
    """Number of files per inertia and signal, with different phases or levels."""
    duration: float = 20.0
    """Length of each file [s]."""
    rate: float = 100.0
    """Sampling rate [Hz]."""
    substeps: int = 10
    """Number of simulation steps per sample."""

    amplitude: float = math.pi / 4
    """Maximum target angle of the first group [rad]."""
    frequency: float = 0.5
    """Frequency of the sine, minimum frequency of chirp and multisine, and mean rate of steps
    [Hz]."""
    highest_frequency: float = 5.0
    """Maximum frequency of chirp and multisine [Hz]."""

    kp: float = 10.0
    """Proportional gain [N m/rad]."""
    kd: float = 1.0
    """Derivative gain on the velocity error [N m s/rad]."""
    torque_limit: float = 10.0
    """Limit of the motor torque at standstill [N m]."""
    no_load_speed: float | None = None
    """No-load speed of the motor, at which the torque in the direction of motion is zero [rad/s];
    by default unlimited."""
    delay: float = 0.0
    """Delay from command to motor torque [s]."""
    coulomb: float = 0.0
    """Coulomb friction [N m]."""
    viscous: float = 0.0
    """Viscous friction [N m s/rad]."""
    stribeck: float = 0.0
    """Stribeck friction: excess of the friction at rest over Coulomb friction [N m]."""
    stribeck_velocity: float = 0.1
    """Velocity at which Stribeck friction has fallen to 1/e [rad/s]."""
    spring: float = 0.0
    """Stiffness of a spring to zero angle [N m/rad]."""

    torque_noise: float = 0.05
    """Standard deviation of the noise of the motor torque [N m]."""
    encoder_noise: float = 1e-3
    """Standard deviation of the noise of the measured angle [rad]."""
    gyro_noise: float = 0.01
    """Standard deviation of the noise of the measured velocity [rad/s]."""
    accel_noise: float = 0.1
    """Standard deviation of the noise of the measured tangential acceleration [m/s2]."""
    radius_accel: float = 0.2
    """Distance of the accelerometer from the axis [m]."""

    def __post_init__(self):
        check_finite(self, ExperimentError)
        object.__setattr__(self, "inertias", tuple(self.inertias))
        object.__setattr__(self, "signals", tuple(self.signals))
        kinds = get_args(SyntheticSignal)
        for signal in self.signals:
            if signal not in kinds:
                raise ExperimentError(
                    f"unknown signal {signal!r}; it must be one of {listing(kinds)}."
                    f"{did_you_mean(str(signal), kinds)}"
                )
        if not self.inertias or not self.signals:
            raise ExperimentError("inertias and signals must not be empty: give at least one each")
        if len(set(self.inertias)) != len(self.inertias):
            raise ExperimentError(
                f"inertias must differ, found {list(self.inertias)}; use repeats for more files "
                "per inertia"
            )
        positive = ("duration", "rate", "frequency", "highest_frequency", "torque_limit")
        for name in (*positive, "radius_accel", "stribeck_velocity", "amplitude"):
            _positive(name, getattr(self, name))
        for inertia in self.inertias:
            _positive("inertia", inertia)
        if self.no_load_speed is not None:
            _positive("no_load_speed", self.no_load_speed)
        for name in ("repeats", "substeps"):
            if getattr(self, name) < 1:
                raise ExperimentError(f"{name} is {getattr(self, name)}; it must be at least 1")
        noises = ("torque_noise", "encoder_noise", "gyro_noise", "accel_noise")
        for name in (*noises, "delay", "coulomb", "viscous", "stribeck", "spring", "kp", "kd"):
            if getattr(self, name) < 0:
                raise ExperimentError(f"{name} is {getattr(self, name)}; it must not be negative")
        if self.highest_frequency < self.frequency or self.highest_frequency > 0.5 * self.rate:
            raise ExperimentError(
                f"highest_frequency is {self.highest_frequency} Hz; it must be between frequency "
                f"({self.frequency} Hz) and half the rate ({0.5 * self.rate} Hz)"
            )
        if self.duration * self.rate < 10:
            raise ExperimentError(
                f"duration x rate is {self.duration * self.rate:g} samples; it must be 10 or more"
            )
        self._check_plausible()

    def _check_plausible(self) -> None:
        """Check that sizes fit into memory, and that values are plausible for a joint."""
        for name, value in vars(self).items():
            if isinstance(value, int | float) and abs(value) > _LARGEST:
                raise ExperimentError(f"{name} is {value:g}; it must be at most {_LARGEST:g}")
        for inertia in self.inertias:
            if inertia > _LARGEST:
                raise ExperimentError(f"inertia is {inertia:g}; it must be at most {_LARGEST:g}")
        files = len(self.inertias) * len(self.signals) * self.repeats
        check_count("the number of files", files, 1, _MOST_FILES, ExperimentError)
        steps = self.duration * self.rate * self.substeps
        if steps > _MOST_STEPS:
            raise ExperimentError(
                f"duration x rate x substeps is {steps:.3g} steps per recording; it must be at "
                f"most {_MOST_STEPS:.0e}: reduce the duration or the rate"
            )
        if self.delay > self.duration:
            raise ExperimentError(
                f"delay is {self.delay:g} s; it must be at most the duration, {self.duration:g} s"
            )

    def noise_floor(self, inertia: float) -> float:
        """Minimum RMSE of the torque that a network can reach from noiseless inputs [N m].

        The target is inertia x acceleration / radius, with the noise of the motor and of the
        accelerometer: ``sqrt(torque_noise^2 + (inertia accel_noise / radius)^2)``. While the motor
        is at its limit, its noise is clipped, and the floor is slightly lower.
        """
        return math.hypot(self.torque_noise, inertia * self.accel_noise / self.radius_accel)


def _positive(name: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise ExperimentError(f"{name} is {value}; it must be positive")
