"""Protocol that a servo driver implements for the recorder."""

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Reading:
    """Measurements of a servo at one time."""

    position: float
    """Angle, 0 when the pendulum hangs down [rad]."""
    speed: float
    """Angular speed [rad/s]."""
    load: float
    """Duty cycle of the bridge, -1 to 1."""
    input_volts: float
    """Supply voltage [V]."""
    temperature: float
    """Temperature [degrees C]."""
    current: float | None = None
    """Motor current [A]; None if the servo does not measure it."""
    tick: float | None = None
    """Clock of the servo at the measurement [s], see
    :class:`trueup.actuators.record.servo_clock.ServoClock`; None if it has none."""


@dataclass(frozen=True)
class ServoLimits:
    """Limits set in the servo."""

    lowest: float
    """Lowest angle, 0 when the pendulum hangs down [rad]."""
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
    """Servo on a bench; a context manager that opens and closes it.

    Every method raises :class:`~trueup.errors.HardwareError` if the servo does not answer after the
    driver's retries, or reports a fault.
    """

    motor: str
    """Name of the servo in logs."""

    @property
    def retries(self) -> int:
        """Number of packets repeated because they were lost or corrupt."""
        ...

    @property
    def limits(self) -> ServoLimits:
        """Limits set in the servo, read when it was opened."""
        ...

    def open(self) -> None:
        """Connect, check the model of the servo, and read its limits."""
        ...

    def close(self) -> None:
        """Disconnect; does not switch the torque off."""
        ...

    def read(self) -> Reading:
        """Current measurements."""
        ...

    def write_goal(self, angle: float) -> None:
        """Command an angle [rad]."""
        ...

    def write_torque(self, enable: bool) -> None:
        """Drive the servo, or let it go limp."""
        ...

    def write_gain(self, kp: float) -> None:
        """Set the proportional gain in firmware units and the other gains to 0."""
        ...

    def __enter__(self) -> "ServoDriver": ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
