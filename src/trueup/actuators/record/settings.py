"""What a recording is made of and how carefully it is made."""

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from trueup.actuators.record.trajectories import MotionLimits
from trueup.errors import HardwareError

Finish: TypeAlias = Literal["limp", "hold"]


@dataclass(frozen=True)
class Bench:
    """The pendulum on the servo, as it stands in the header of a log."""

    mass: float
    """Mass at the tip [kg]; 0 on a rig that is no pendulum."""
    length: float
    """Distance from the axis to the tip mass [m]; 0 on a rig that is no pendulum."""
    arm_mass: float = 0.0
    """Mass of the arm [kg]."""
    vin: float | None = None
    """Nominal supply voltage [V]; None: the voltage measured at the start."""

    def __post_init__(self) -> None:
        for name in ("mass", "length", "arm_mass"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise HardwareError(f"{name} of the bench must be 0 or more, got {value}")
        if self.vin is not None and not (math.isfinite(self.vin) and self.vin > 0):
            raise HardwareError(f"vin of the bench must be a positive voltage, got {self.vin}")


@dataclass(frozen=True)
class RecordSettings:
    """How a recording is timed, and what is safe."""

    rate: float = 200.0
    """Samples a second [Hz]; a slower bus gives fewer."""
    start_speed: float = 0.8
    """Speed on the way to the start and back to rest [rad/s]."""
    settle: float = 0.5
    """Time at the start before the recording begins [s]."""
    finish: Finish = "limp"
    """Torque at the end and after an interruption: off, or holding the angle it has."""
    limits: MotionLimits = field(default_factory=MotionLimits)
    """What a trajectory may ask for; the limits in the servo hold too."""
    margin: float = 0.3
    """How far beyond the limits the servo may swing before the recording is stopped [rad]."""
    lowest_volts: float | None = None
    """Lowest supply voltage [V]; None: the limit in the servo."""
    highest_volts: float | None = None
    """Highest supply voltage [V]; None: the limit in the servo."""
    highest_temperature: float = 60.0
    """Highest temperature [degrees C]; the limit in the servo holds too."""
    patience: int = 20
    """Samples in a row with a voltage out of range before the recording is stopped: a servo that
    brakes lifts the voltage for a moment."""
    most_retries: float = 0.05
    """Share of packets sent again above which the recording is stopped."""

    def __post_init__(self) -> None:
        for name in ("rate", "start_speed", "highest_temperature"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise HardwareError(f"{name} must be positive, got {value}")
        if self.finish not in ("limp", "hold"):
            raise HardwareError(f"finish is 'limp' or 'hold', got {self.finish!r}")
