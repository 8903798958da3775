"""Settings of a recording: the pendulum, timing and limits."""

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from trueup._options import Option
from trueup.actuators.record.trajectory import MotionLimits
from trueup.errors import HardwareError

Finish: TypeAlias = Literal["limp", "hold"]


@dataclass(frozen=True)
class Bench:
    """Pendulum on the servo, as in the header of a log."""

    mass: Annotated[float, Option("KG")]
    """Mass at the tip of the pendulum [kg]; 0 on a rig without a pendulum."""
    length: Annotated[float, Option("M")]
    """Distance from the axis to the tip mass [m]; 0 on a rig without a pendulum."""
    arm_mass: float = 0.0
    """Mass of the arm [kg]."""
    vin: float | None = None
    """Nominal supply voltage [V]; by default the voltage measured at the start."""

    def __post_init__(self) -> None:
        for name, unit, most in (
            ("mass", "kg", 1e3),
            ("length", "m", 100),
            ("arm_mass", "kg", 1e3),
        ):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise HardwareError(f"{name} of the bench must be 0 or more, got {value}")
            if value > most:
                raise HardwareError(
                    f"{name} of the bench must be at most {most:g} {unit}, got {value:g} {unit}"
                )
        if self.mass > 0 and self.length == 0:
            raise HardwareError(
                f"the bench has a mass of {self.mass:g} kg at a length of 0 m: give the distance "
                "from the axis to the mass, or 0 for both if the rig has no pendulum"
            )
        if self.vin is not None and not 0 < self.vin <= 1000:
            raise HardwareError(
                f"vin of the bench must be a positive voltage up to 1000 V, got {self.vin:g}"
            )


@dataclass(frozen=True)
class RecordSettings:
    """Timing and limits of a recording."""

    rate: float = 200.0
    """Sampling rate [Hz]; a slow bus reaches less."""
    start_speed: float = 0.8
    """Speed of the moves to the start and back to rest [rad/s]."""
    settle: float = 0.5
    """Waiting time at the start before the recording [s]."""
    finish: Finish = "limp"
    """Torque at the end and after an interruption: off (limp), or on to hold the angle (hold)."""
    limits: MotionLimits = field(default_factory=MotionLimits)
    """Limits of trajectories, in addition to those set in the servo."""
    margin: float = 0.3
    """Overshoot beyond the limits above which the recording is stopped [rad]."""
    lowest_volts: float | None = None
    """Minimum supply voltage [V]; by default the limit set in the servo."""
    highest_volts: float | None = None
    """Maximum supply voltage [V]; by default the limit set in the servo."""
    highest_temperature: float = 60.0
    """Maximum temperature [degrees C], in addition to the limit set in the servo."""
    patience: int = 20
    """Number of consecutive samples with a voltage out of range after which the recording is
    stopped; braking raises the voltage for a short time."""
    most_retries: float = 0.05
    """Share of repeated packets above which the recording is stopped."""

    def __post_init__(self) -> None:
        for name, unit, most in (
            ("rate", " Hz", 1e5),
            ("start_speed", " rad/s", 1e3),
            ("highest_temperature", " degrees C", 200),
            ("lowest_volts", " V", 1e3),
            ("highest_volts", " V", 1e3),
            ("patience", "", 1e6),
        ):
            value = getattr(self, name)
            if value is not None and not 0 < value <= most:
                raise HardwareError(
                    f"{name} is {value:g}{unit}; it must be positive and at most {most:g}"
                )
        for name, unit, most in (
            ("settle", " s", 600),
            ("margin", " rad", 100),
            ("most_retries", "", 1),
        ):
            value = getattr(self, name)
            if not 0 <= value <= most:
                raise HardwareError(f"{name} is {value:g}{unit}; it must be from 0 to {most:g}")
        if self.finish not in ("limp", "hold"):
            raise HardwareError(f"finish must be 'limp' or 'hold', got {self.finish!r}")
