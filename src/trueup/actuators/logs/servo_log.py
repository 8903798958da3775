"""One recording of a servo on a bench, in SI units."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ServoLog:
    """What was commanded to a servo on a bench, and what it measured.

    Angles are 0 where the pendulum hangs down, counterclockwise positive. All arrays have one value
    a sample, shape (n,), and are read-only.
    """

    name: str
    """Name of the file without its suffix."""
    source: str
    """File that the log was read from, or what made it."""
    sha256: str
    """SHA-256 of the bytes of that file, as hexadecimal digits; empty where there is no file."""
    motor: str
    """Servo, as the log names it: ``xl330``, ``sts3215``."""
    trajectory: str
    """Name of the trajectory that was commanded."""
    mass: float
    """Mass at the tip of the pendulum [kg]; 0 on a rig that is no pendulum."""
    arm_mass: float
    """Mass of the arm [kg]; 0 where the log does not say."""
    length: float
    """Distance from the axis to the tip mass [m]; 0 on a rig that is no pendulum."""
    kp: float
    """Proportional gain in the unit of the servo's firmware."""
    vin: float | None
    """Nominal supply voltage [V]; None where the log does not say."""
    damping: float | None
    """Derivative gain of servos that have one; None where the log does not say."""
    dt: float | None
    """Time step [s] of an evenly sampled log; None for a raw log."""
    times: Array
    """Time of each sample [s], (n,), strictly increasing."""
    position: Array
    """Measured angle [rad], (n,)."""
    speed: Array
    """Measured angular speed [rad/s], (n,)."""
    goal_position: Array
    """Commanded angle [rad], (n,); each value holds until the next sample."""
    torque_enable: NDArray[np.bool_]
    """Whether the servo is driven, (n,); False lets it go limp."""
    load: Array | None
    """Measured duty cycle of the bridge, -1 to 1, (n,); None where the log does not say."""
    input_volts: Array | None
    """Measured supply voltage [V], (n,); None where the log does not say."""
    temperature: Array | None
    """Measured temperature [degrees C], (n,); None where the log does not say."""
    columns: Mapping[str, Array] = field(default_factory=dict)
    """Further entries of the log by their names in the file, each (n,), in the file's units."""
    header: Mapping[str, Any] = field(default_factory=dict)
    """Further values of the header by their names in the file."""

    def __post_init__(self) -> None:
        arrays = [self.times, self.position, self.speed, self.goal_position, self.torque_enable]
        arrays += [a for a in (self.load, self.input_volts, self.temperature) if a is not None]
        for array in (*arrays, *self.columns.values()):
            if array.shape != self.times.shape:
                raise ValueError(f"{self.name}: arrays of {array.shape} and {self.times.shape}")
            array.setflags(write=False)

    def __len__(self) -> int:
        """Number of samples."""
        return self.times.size

    @property
    def duration(self) -> float:
        """Time from the first sample to the last [s]."""
        return float(self.times[-1] - self.times[0])
