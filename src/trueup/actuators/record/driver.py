"""What a recorder needs from a servo: a small protocol that every driver follows."""

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Reading:
    """What a servo measures at one moment."""

    position: float
    """Angle, 0 where the pendulum hangs down [rad]."""
    speed: float
    """Angular speed [rad/s]."""
    load: float
    """Duty cycle of the bridge, -1 to 1."""
    input_volts: float
    """Supply voltage [V]."""
    temperature: float
    """Temperature [degrees C]."""
    current: float | None = None
    """Motor current [A]; None where the servo does not measure it."""


@dataclass(frozen=True)
class ServoLimits:
    """Limits that are set in the servo itself."""

    lowest: float
    """Lowest angle, 0 where the pendulum hangs down [rad]."""
    highest: float
    """Highest angle [rad]."""
    lowest_volts: float
    """Lowest supply voltage [V]."""
    highest_volts: float
    """Highest supply voltage [V]."""
    highest_temperature: float
    """Temperature at which the servo switches itself off [degrees C]."""


@runtime_checkable
class ServoDriver(Protocol):
    """One servo on a bench; a context manager that opens and closes it.

    Every method raises :class:`~trueup.errors.HardwareError` where the servo does not answer after
    the driver's own retries, or reports a fault.
    """

    motor: str
    """Name of the servo, as logs say it."""

    @property
    def retries(self) -> int:
        """Packets that were lost or corrupt and sent again, since the servo was opened."""
        ...

    @property
    def limits(self) -> ServoLimits:
        """Limits set in the servo, read when it was opened."""
        ...

    def open(self) -> None:
        """Connect, check that the servo is the one expected, and read its limits."""
        ...

    def close(self) -> None:
        """Disconnect. The servo stays as it is: switch the torque off before."""
        ...

    def read(self) -> Reading:
        """Measure now."""
        ...

    def write_goal(self, angle: float) -> None:
        """Command an angle [rad]."""
        ...

    def write_torque(self, enable: bool) -> None:
        """Drive the servo, or let it go limp."""
        ...

    def write_gain(self, kp: float) -> None:
        """Set the proportional gain in the unit of the firmware; the other gains become 0."""
        ...

    def __enter__(self) -> "ServoDriver": ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
