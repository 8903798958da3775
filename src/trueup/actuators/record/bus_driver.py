"""Drivers of Dynamixel and Feetech servos on a serial bus (package dynamixel-sdk)."""

import math
from types import TracebackType
from typing import Any

from trueup.actuators.record.control_tables import (
    DYNAMIXEL,
    FEETECH,
    GENERIC,
    ControlTable,
    Register,
    control_table,
)
from trueup.actuators.record.driver import Reading, ServoLimits
from trueup.actuators.record.servo_bus import ServoBus
from trueup.errors import HardwareError, listing

BAUD_RATE = 1_000_000
TIMEOUT = 0.02
ATTEMPTS = 4

_STS = {"feetech": GENERIC["feetech"]}
_OTHERS = {name: table for name, table in GENERIC.items() if name not in _STS}


class BusDriver:
    """Base of drivers on a serial bus: a :class:`~trueup.actuators.record.ServoDriver`.

    Args:
        table: control table of the servo.
        port: serial port.
        servo_id: ID of the servo on the bus.
        zero: angle that the servo measures where the pendulum hangs down [rad]; the servo's own
            zero is the middle of its range.
        reverse: the servo's angle grows clockwise.
        baud_rate: baud rate [bit/s].
        timeout: waiting time for an answer [s].
        attempts: number of attempts to send a packet.

    Raises:
        HardwareError: a value that no servo can have.
        MissingExtraError: the package dynamixel-sdk is not installed.
    """

    def __init__(
        self,
        table: ControlTable,
        port: str,
        servo_id: int = 1,
        *,
        zero: float = 0.0,
        reverse: bool = False,
        baud_rate: int = BAUD_RATE,
        timeout: float = TIMEOUT,
        attempts: int = ATTEMPTS,
    ):
        if not 0 <= servo_id <= 252:
            raise HardwareError(f"the number of a servo on the bus is 0 to 252, got {servo_id}")
        if not abs(zero) <= 100:
            raise HardwareError(f"zero is the angle where the pendulum hangs [rad], got {zero:g}")
        if not 0 < timeout <= 60:
            raise HardwareError(f"timeout has to be above 0 and at most 60 s, got {timeout:g}")
        self.motor = table.motor
        self._table = table
        self._zero = zero
        self._direction = -1.0 if reverse else 1.0
        self._bus = ServoBus(
            port,
            servo_id,
            protocol=table.protocol,
            baud_rate=baud_rate,
            timeout=timeout,
            attempts=attempts,
        )
        self._start, self._size = table.block
        self._limits: ServoLimits | None = None

    @property
    def retries(self) -> int:
        """Number of packets repeated because they were lost or corrupt."""
        return self._bus.retries

    @property
    def limits(self) -> ServoLimits:
        """Limits set in the servo, read by :meth:`open`.

        Raises:
            HardwareError: the servo is not open.
        """
        if self._limits is None:
            raise HardwareError(f"the {self.motor} is not open: use it in a with statement")
        return self._limits

    def open(self) -> None:
        """Connect, check the model of the servo, and read its limits.

        Raises:
            HardwareError: the port cannot be opened, or the servo does not answer, is another
                model, or reports a fault.
        """
        self._bus.open()
        try:
            model = self._bus.ping()
            known = self._table.model_numbers
            if known and model not in known:
                raise HardwareError(
                    f"{self._bus.port}: servo {self._bus.servo_id} has the model number {model}; "
                    f"a {self.motor} has {listing(str(number) for number in known)}"
                )
            self._check_fault()
            self._limits = self._read_limits()
        except BaseException:
            self._bus.close()
            raise

    def close(self) -> None:
        """Disconnect; does not switch the torque off."""
        self._bus.close()

    def read(self) -> Reading:
        """Measure now, in one packet."""
        block = self._bus.read(self._start, self._size)
        self._check_fault()
        table = self._table
        current = table.current
        return Reading(
            position=self._to_bench(self._decoded(block, table.position)),
            speed=self._direction * self._decoded(block, table.speed),
            load=self._direction * self._decoded(block, table.load),
            input_volts=self._decoded(block, table.volts),
            temperature=self._decoded(block, table.temperature),
            current=self._direction * self._decoded(block, current) if current else None,
            tick=self._decoded(block, table.tick) if table.tick else None,
        )

    def write_goal(self, angle: float) -> None:
        """Command an angle [rad]."""
        self._write(self._table.goal, self._direction * angle + self._zero)

    def write_torque(self, enable: bool) -> None:
        """Drive the servo, or let it go limp."""
        self._write(self._table.torque, float(enable))

    def write_gain(self, kp: float) -> None:
        """Set the proportional gain, and modes, profiles and other gains.

        The torque must be off: servos lock their mode while they are driven.

        Raises:
            HardwareError: the gain is not an integer, or does not fit into the register.
        """
        if not float(kp).is_integer():
            raise HardwareError(f"the gain of a {self.motor} is an integer, got {kp}")
        if not 0 <= kp < 256**self._table.gain.size:
            raise HardwareError(
                f"the gain {kp:g} does not fit into a {self.motor}, which takes 0 to "
                f"{256**self._table.gain.size - 1}"
            )
        for register, wanted in self._table.set_up:
            value = self._value(wanted) if isinstance(wanted, Register) else wanted
            if self._value(register) != value:  # writes wear out flash memory
                self._write(register, value)
        self._write(self._table.gain, kp)

    def __enter__(self) -> "BusDriver":
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _read_limits(self) -> ServoLimits:
        table = self._table
        ends = [self._to_bench(self._value(r)) for r in (table.lowest_angle, table.highest_angle)]
        if ends[0] == ends[1]:  # equal limits mean: no limit
            ends = [-math.inf, math.inf]
        return ServoLimits(
            lowest=min(ends),
            highest=max(ends),
            lowest_volts=self._value(table.lowest_volts),
            highest_volts=self._value(table.highest_volts),
            highest_temperature=self._value(table.highest_temperature),
        )

    def _to_bench(self, angle: float) -> float:
        return self._direction * (angle - self._zero)

    def _decoded(self, block: bytes, register: Register) -> float:
        start = register.address - self._start
        return register.decode(block[start : start + register.size])

    def _value(self, register: Register) -> float:
        return register.decode(self._bus.read(register.address, register.size))

    def _write(self, register: Register, value: float) -> None:
        self._bus.write(register.address, register.encode(value))

    def _check_fault(self) -> None:
        bits = self._bus.alert
        if not bits:
            return
        if self._table.error is not None:
            raw = self._bus.read(self._table.error.address, self._table.error.size)
            bits = int.from_bytes(raw, "little") or bits
        meanings = self._table.faults or {}
        found = [meanings.get(bit, f"bit {bit}") for bit in range(8) if bits >> bit & 1]
        raise HardwareError(
            f"{self._bus.port}: servo {self._bus.servo_id} reports a fault: {', '.join(found)}. "
            "Remove the cause and switch its power off and on"
        )


class DynamixelDriver(BusDriver):
    """Dynamixel servo: ``xl330``, ``xl330i``, ``xl320`` (Protocol 2.0), ``mx64``, ``mx106`` (1.0).

    Other servos of the X series are the type ``dynamixel``, of the MX series with Protocol 1.0
    ``dynamixel1``.

    All measurements are read in one packet: a bus of 1 Mbit/s reaches several hundred samples a
    second. Set the latency timer of a USB adapter to 1 ms:
    ``echo 1 | sudo tee /sys/bus/usb-serial/devices/ttyUSB0/latency_timer``.

    Args:
        port: serial port, such as ``/dev/ttyUSB0``.
        motor: servo type.
        servo_id: ID of the servo on the bus.
        settings: ``zero``, ``reverse``, ``baud_rate``, ``timeout``, ``attempts`` of
            :class:`~trueup.actuators.record.BusDriver`.

    Raises:
        HardwareError: unknown servo type.
        MissingExtraError: the package dynamixel-sdk is not installed.
    """

    def __init__(self, port: str, motor: str = "xl330", servo_id: int = 1, **settings: Any):
        super().__init__(control_table(motor, {**DYNAMIXEL, **_OTHERS}), port, servo_id, **settings)


class FeetechDriver(BusDriver):
    """Feetech servo: ``sts3215``; the type ``feetech`` for others of the STS and SMS series.

    Feetech's packets are those of Dynamixel Protocol 1.0, lowest byte first in the STS series, so
    the package dynamixel-sdk serves them too; only the control table differs. The lock is set, so
    that gains are not written to flash memory.

    Args:
        port: serial port, such as ``/dev/ttyACM0``.
        motor: servo type.
        servo_id: ID of the servo on the bus.
        settings: ``zero``, ``reverse``, ``baud_rate``, ``timeout``, ``attempts`` of
            :class:`~trueup.actuators.record.BusDriver`.

    Raises:
        HardwareError: unknown servo type.
        MissingExtraError: the package dynamixel-sdk is not installed.
    """

    def __init__(self, port: str, motor: str = "sts3215", servo_id: int = 1, **settings: Any):
        super().__init__(control_table(motor, {**FEETECH, **_STS}), port, servo_id, **settings)
