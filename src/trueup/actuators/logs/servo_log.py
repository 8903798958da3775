"""Recording of a servo on a bench, in SI units."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ServoLog:
    """Commands and measurements of a servo on a bench.

    Angles are 0 when the pendulum hangs down, counterclockwise positive. All arrays have one value
    per sample, shape ``(n,)``, and are read-only.
    """

    name: str
    """Name of the file without its suffix."""
    source: str
    """File that the log was read from, or the function that made it."""
    sha256: str
    """SHA-256 of that file in hexadecimal digits; empty without a file."""
    motor: str
    """Servo name in the log: ``xl330``, ``sts3215``."""
    trajectory: str
    """Name of the commanded trajectory."""
    mass: float
    """Mass at the tip of the pendulum [kg]; 0 on a rig without a pendulum."""
    arm_mass: float
    """Mass of the arm [kg]; 0 if unknown."""
    length: float
    """Distance from the axis to the tip mass [m]; 0 on a rig without a pendulum."""
    kp: float
    """Proportional gain in firmware units."""
    vin: float | None
    """Nominal supply voltage [V]; None if unknown."""
    damping: float | None
    """Derivative gain, for servos with one; None if unknown."""
    dt: float | None
    """Time step [s] of an evenly sampled log; None for a raw log."""
    times: Array
    """Time of each sample [s], (n,), strictly increasing."""
    position: Array
    """Measured angle [rad], (n,)."""
    speed: Array
    """Measured angular speed [rad/s], (n,)."""
    goal_position: Array
    """Commanded angle [rad], (n,), held until the next sample."""
    torque_enable: NDArray[np.bool_]
    """Whether the servo is driven, (n,)."""
    load: Array | None
    """Measured duty cycle of the bridge, -1 to 1, (n,); None if not recorded."""
    input_volts: Array | None
    """Measured supply voltage [V], (n,); None if not recorded."""
    temperature: Array | None
    """Measured temperature [degrees C], (n,); None if not recorded."""
    columns: Mapping[str, Array] = field(default_factory=dict)
    """Other fields of the entries by name, each (n,), in the file's units."""
    header: Mapping[str, Any] = field(default_factory=dict)
    """Other header values by name."""

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
