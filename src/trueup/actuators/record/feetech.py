"""Driver of Feetech servos of the STS series."""

from typing import Any

from trueup.actuators.record.bus_driver import BusDriver
from trueup.actuators.record.control_tables import FEETECH, control_table


class FeetechDriver(BusDriver):
    """A Feetech servo: ``sts3215``.

    The packets of Feetech's protocol are those of Dynamixel Protocol 1.0, lowest byte first in the
    STS series, so that the package dynamixel-sdk carries them; only the memory table differs. Its
    lock is set, so that gains are not written to the flash memory.

    Args:
        port: serial port, such as ``/dev/ttyACM0``.
        motor: kind of the servo.
        servo_id: number of the servo on the bus.
        settings: ``zero``, ``reverse``, ``baud_rate``, ``timeout``, ``attempts`` of
            :class:`~trueup.actuators.record.BusDriver`.

    Raises:
        HardwareError: the kind is unknown.
        MissingExtraError: the package dynamixel-sdk is not installed.
    """

    def __init__(self, port: str, motor: str = "sts3215", servo_id: int = 1, **settings: Any):
        super().__init__(control_table(motor, FEETECH), port, servo_id, **settings)
