"""Driver of Dynamixel servos, over the SDK of their maker (package dynamixel-sdk)."""

from typing import Any

from trueup.actuators.record.bus_driver import BusDriver
from trueup.actuators.record.control_tables import DYNAMIXEL, control_table


class DynamixelDriver(BusDriver):
    """A Dynamixel servo: ``xl330`` and ``xl320`` (Protocol 2.0), ``mx64`` and ``mx106`` (1.0).

    Everything measured is read in one packet, and every write is acknowledged, so that a bus of
    1 Mbit/s reaches several hundred samples a second. Set the latency timer of a USB adapter to
    1 ms: ``echo 1 | sudo tee /sys/bus/usb-serial/devices/ttyUSB0/latency_timer``.

    Args:
        port: serial port, such as ``/dev/ttyUSB0``.
        motor: kind of the servo.
        servo_id: number of the servo on the bus.
        settings: ``zero``, ``reverse``, ``baud_rate``, ``timeout``, ``attempts`` of
            :class:`~trueup.actuators.record.BusDriver`.

    Raises:
        HardwareError: the kind is unknown.
        MissingExtraError: the package dynamixel-sdk is not installed.
    """

    def __init__(self, port: str, motor: str = "xl330", servo_id: int = 1, **settings: Any):
        super().__init__(control_table(motor, DYNAMIXEL), port, servo_id, **settings)
