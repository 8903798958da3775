"""A servo with a control table on a serial bus, as a driver of the recorder."""

import math
from types import TracebackType

from trueup.actuators.record.control_tables import ControlTable, Register
from trueup.actuators.record.driver import Reading, ServoLimits
from trueup.actuators.record.servo_bus import ServoBus
from trueup.errors import HardwareError, listing

BAUD_RATE = 1_000_000
TIMEOUT = 0.02
ATTEMPTS = 4


class BusDriver:
    """Base of the drivers of servos on a serial bus; follows
    :class:`~trueup.actuators.record.ServoDriver`.

    Args:
        table: control table of the servo.
        port: serial port.
        servo_id: number of the servo on the bus.
        zero: angle that the servo measures where the pendulum hangs down [rad]; its own zero is in
            the middle of its range.
        reverse: the servo turns clockwise for growing angles.
        baud_rate: speed of the bus [bit/s].
        timeout: time to wait for an answer [s].
        attempts: how often a packet is sent before the servo counts as gone.
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
        """Packets that were lost or corrupt and sent again, since the servo was opened."""
        return self._bus.retries

    @property
    def limits(self) -> ServoLimits:
        """Limits set in the servo, read when it was opened.

        Raises:
            HardwareError: the servo is not open.
        """
        if self._limits is None:
            raise HardwareError(f"the {self.motor} is not open: use it in a with statement")
        return self._limits

    def open(self) -> None:
        """Connect, check that the servo is the one expected, and read its limits.

        Raises:
            HardwareError: the port cannot be opened, the servo does not answer, is another one, or
                reports a fault.
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
        """Disconnect. The servo stays as it is: switch the torque off before."""
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
        )

    def write_goal(self, angle: float) -> None:
        """Command an angle [rad]."""
        self._write(self._table.goal, self._direction * angle + self._zero)

    def write_torque(self, enable: bool) -> None:
        """Drive the servo, or let it go limp."""
        self._write(self._table.torque, float(enable))

    def write_gain(self, kp: float) -> None:
        """Set the proportional gain; modes, profiles and other gains are set too.

        The torque must be off: servos lock their mode while they are driven.

        Raises:
            HardwareError: the gain is no whole number, or does not fit into the register.
        """
        if not float(kp).is_integer():
            raise HardwareError(f"the gain of a {self.motor} is a whole number, got {kp}")
        for register, value in self._table.set_up:
            if self._value(register) != value:  # some lie in flash memory, which wears out
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
        if ends[0] == ends[1]:  # the maker's way of saying: no limit
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
