"""Control tables of servos: addresses, units and encodings of their registers.

Dynamixel: ROBOTIS e-Manual, https://emanual.robotis.com/docs/en/dxl/ (pages XL330-M288-T,
XM430-W350, XL-320, MX-64 and MX-106 with Protocol 1.0). Feetech: memory table of the STS and SMS
series.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.record.servo_clock import TICK
from trueup.errors import HardwareError, did_you_mean, listing

Sign: TypeAlias = Literal["none", "complement"] | int
"""``none``, two's ``complement``, or the number of the sign bit of a sign-magnitude encoding."""

_TURN = 2 * math.pi
_RPM = _TURN / 60


@dataclass(frozen=True)
class Register:
    """Register of a control table: ``value = unit * (raw - zero)``."""

    address: int
    size: int
    """Size in bytes, little-endian."""
    unit: float = 1.0
    """Value of one count, in SI units."""
    sign: Sign = "none"
    """Encoding of negative numbers."""
    zero: int = 0
    """Raw number at the value 0."""

    def decode(self, raw: bytes) -> float:
        """Decode the bytes of the register."""
        number = int.from_bytes(raw, "little", signed=self.sign == "complement")
        if isinstance(self.sign, int):
            magnitude = number & ((1 << self.sign) - 1)
            number = -magnitude if number >> self.sign & 1 else magnitude
        return self.unit * (number - self.zero)

    def encode(self, value: float) -> bytes:
        """Encode a value, rounded to a count.

        Raises:
            HardwareError: the value does not fit into the register.
        """
        number = round(value / self.unit) + self.zero
        if isinstance(self.sign, int) and number < 0:
            number = -number | 1 << self.sign
        try:
            return number.to_bytes(self.size, "little", signed=self.sign == "complement")
        except OverflowError as error:
            raise HardwareError(
                f"the value {value} is out of the range of the register at address {self.address}"
            ) from error


@dataclass(frozen=True)
class ControlTable:
    """Registers and constants of a servo type."""

    motor: str
    """Name of the servo in logs."""
    protocol: Literal[1, 2]
    """Dynamixel protocol version."""
    model_numbers: tuple[int, ...]
    """Valid model numbers; empty: not checked."""
    torque: Register
    gain: Register
    goal: Register
    position: Register
    speed: Register
    load: Register
    volts: Register
    temperature: Register
    lowest_volts: Register
    highest_volts: Register
    highest_temperature: Register
    lowest_angle: Register
    highest_angle: Register
    current: Register | None = None
    tick: Register | None = None
    """Clock of the servo [s], see :mod:`trueup.actuators.record.servo_clock`."""
    error: Register | None = None
    """Register of hardware errors, one bit each."""
    set_up: tuple[tuple[Register, "float | Register"], ...] = ()
    """Registers written once with the torque off (mode, profile, other gains), and their values or
    the registers to copy them from."""
    faults: Mapping[int, str] | None = None
    """Meaning of each error bit."""

    @property
    def block(self) -> tuple[int, int]:
        """Address and size of the block that holds all measurements."""
        measured = [self.position, self.speed, self.load, self.volts, self.temperature]
        measured += [register for register in (self.current, self.tick) if register]
        start = min(register.address for register in measured)
        return start, max(register.address + register.size for register in measured) - start


_DYNAMIXEL_2_FAULTS = {
    0: "input voltage",
    2: "overheating",
    3: "motor encoder",
    4: "electrical shock or insufficient power",
    5: "overload",
}
_PROTOCOL_1_FAULTS = {
    0: "input voltage",
    1: "angle limit",
    2: "overheating",
    3: "value out of range",
    4: "checksum",
    5: "overload",
    6: "unknown instruction",
}
_FEETECH_FAULTS = {0: "input voltage", 1: "encoder", 2: "overheating", 3: "current", 5: "overload"}

_X_ANGLE = {"unit": _TURN / 4096, "zero": 2048}

XL330 = ControlTable(
    motor="xl330",
    protocol=2,
    model_numbers=(1190, 1200),
    torque=Register(64, 1),
    gain=Register(84, 2),
    goal=Register(116, 4, sign="complement", **_X_ANGLE),
    position=Register(132, 4, sign="complement", **_X_ANGLE),
    speed=Register(128, 4, 0.229 * _RPM, "complement"),
    load=Register(124, 2, 1 / 885, "complement"),
    current=Register(126, 2, 1e-3, "complement"),
    volts=Register(144, 2, 0.1),
    temperature=Register(146, 1),
    tick=Register(120, 2, TICK),
    highest_temperature=Register(31, 1),
    highest_volts=Register(32, 2, 0.1),
    lowest_volts=Register(34, 2, 0.1),
    highest_angle=Register(48, 4, **_X_ANGLE),
    lowest_angle=Register(52, 4, **_X_ANGLE),
    error=Register(70, 1),
    set_up=(
        (Register(11, 1), 3),  # position control
        (Register(80, 2), 0),  # derivative gain
        (Register(82, 2), 0),  # integral gain
        (Register(88, 2), 0),  # feedforward of the acceleration
        (Register(90, 2), 0),  # feedforward of the velocity
        (Register(108, 4), 0),  # no acceleration limit of the goal
        (Register(112, 4), 0),  # no speed limit of the goal
    ),
    faults=_DYNAMIXEL_2_FAULTS,
)

_XL320_ANGLE = {"unit": math.radians(300) / 1023, "zero": 512}

XL320 = ControlTable(
    motor="xl320",
    protocol=2,
    model_numbers=(350,),
    torque=Register(24, 1),
    gain=Register(29, 1),
    goal=Register(30, 2, **_XL320_ANGLE),
    position=Register(37, 2, **_XL320_ANGLE),
    speed=Register(39, 2, 0.111 * _RPM, 10),
    load=Register(41, 2, 1e-3, 10),
    volts=Register(45, 1, 0.1),
    temperature=Register(46, 1),
    lowest_angle=Register(6, 2, **_XL320_ANGLE),
    highest_angle=Register(8, 2, **_XL320_ANGLE),
    highest_temperature=Register(12, 1),
    lowest_volts=Register(13, 1, 0.1),
    highest_volts=Register(14, 1, 0.1),
    error=Register(50, 1),
    set_up=(
        (Register(11, 1), 2),  # joint mode
        (Register(27, 1), 0),  # derivative gain
        (Register(28, 1), 0),  # integral gain
        (Register(32, 2), 0),  # no speed limit
        (Register(35, 2), 1023),  # full torque
    ),
    faults={0: "overload", 1: "overheating", 2: "input voltage"},
)


def _mx(motor: str, model_number: int) -> ControlTable:
    """MX-64 and MX-106 with the firmware of Protocol 1.0, with the gains of published models."""
    return ControlTable(
        motor=motor,
        protocol=1,
        model_numbers=(model_number,),
        torque=Register(24, 1),
        gain=Register(28, 1),
        goal=Register(30, 2, **_X_ANGLE),
        position=Register(36, 2, **_X_ANGLE),
        speed=Register(38, 2, 0.114 * _RPM, 10),
        load=Register(40, 2, 1e-3, 10),
        volts=Register(42, 1, 0.1),
        temperature=Register(43, 1),
        lowest_angle=Register(6, 2, **_X_ANGLE),
        highest_angle=Register(8, 2, **_X_ANGLE),
        highest_temperature=Register(11, 1),
        lowest_volts=Register(12, 1, 0.1),
        highest_volts=Register(13, 1, 0.1),
        set_up=(
            (Register(26, 1), 0),  # derivative gain
            (Register(27, 1), 0),  # integral gain
            (Register(32, 2), 0),  # no speed limit
            (Register(34, 2), 1023),  # full torque
            (Register(73, 1), 0),  # no acceleration limit of the goal
        ),
        faults=_PROTOCOL_1_FAULTS,
    )


MX64 = _mx("mx64", 310)
MX106 = _mx("mx106", 320)

_STS_ANGLE = {"unit": _TURN / 4096, "zero": 2048}

STS3215 = ControlTable(
    motor="sts3215",
    protocol=1,
    model_numbers=(),
    torque=Register(40, 1),
    gain=Register(21, 1),
    goal=Register(42, 2, **_STS_ANGLE),
    position=Register(56, 2, **_STS_ANGLE),
    speed=Register(58, 2, _TURN / 4096, 15),
    load=Register(60, 2, 1e-3, 10),
    volts=Register(62, 1, 0.1),
    temperature=Register(63, 1),
    current=Register(69, 2, 6.5e-3, 15),
    lowest_angle=Register(9, 2, **_STS_ANGLE),
    highest_angle=Register(11, 2, **_STS_ANGLE),
    highest_temperature=Register(13, 1),
    highest_volts=Register(14, 1, 0.1),
    lowest_volts=Register(15, 1, 0.1),
    error=Register(65, 1),
    set_up=(
        (Register(55, 1), 1),  # gains and mode are not written to the flash memory
        (Register(33, 1), 0),  # position control
        (Register(22, 1), 0),  # derivative gain
        (Register(23, 1), 0),  # integral gain
        (Register(41, 1), 0),  # no acceleration limit of the goal
        (Register(44, 2), 0),  # no motion duration
        (Register(46, 2), 0),  # no speed limit
    ),
    faults=_FEETECH_FAULTS,
)

XL330I = replace(
    XL330,
    motor="xl330i",
    set_up=(
        (Register(11, 1), 5),  # current-based position control
        *XL330.set_up[1:],
        (
            Register(102, 2, 1e-3, "complement"),
            Register(38, 2, 1e-3),
        ),  # goal current: the current limit
    ),
)
DYNAMIXEL_X = replace(XL330, motor="dynamixel", model_numbers=(), current=None)
"""X series, and MX with the firmware of Protocol 2.0. Meaning and unit of the current register
differ between them."""
DYNAMIXEL_1 = replace(MX64, motor="dynamixel1", model_numbers=())
"""MX series with the firmware of Protocol 1.0."""
FEETECH_STS = replace(STS3215, motor="feetech")
"""STS and SMS series."""

DYNAMIXEL = {table.motor: table for table in (XL330, XL330I, XL320, MX64, MX106)}
FEETECH = {STS3215.motor: STS3215}
GENERIC = {table.motor: table for table in (DYNAMIXEL_X, DYNAMIXEL_1, FEETECH_STS)}
"""Control tables by the family of the servo."""

_REGISTERS = (
    "torque", "gain", "goal", "position", "speed", "load", "current", "volts", "temperature",
    "lowest_volts", "highest_volts", "highest_temperature", "lowest_angle", "highest_angle",
    "error", "tick",
)  # fmt: skip
_BUS_KEYS = ("table", "model_numbers", "registers", "set_up")


def control_table(motor: str, tables: Mapping[str, ControlTable]) -> ControlTable:
    """Control table of a servo.

    Raises:
        HardwareError: there is none; the message lists the existing ones.
    """
    if motor not in tables:
        raise HardwareError(
            f"no control table for servo {motor!r}.{did_you_mean(motor, tables)} "
            f"Available: {listing(tables)}"
        )
    return tables[motor]


def table_of(servo: Servo, family: str | None = None) -> ControlTable:
    """Control table of a servo of the catalogue.

    Args:
        servo: the servo; its ``bus`` names a table and overrides.
        family: table to use instead, such as ``dynamixel``.

    Raises:
        HardwareError: unknown table, or the ``bus`` of the servo is wrong.
    """
    tables = {**DYNAMIXEL, **FEETECH, **GENERIC}
    bus = servo.bus if family is None else {"table": family}
    where = f"servo {servo.name!r}: bus"
    if unknown := [key for key in bus if key not in _BUS_KEYS]:
        raise HardwareError(
            f"{where}: unknown key {unknown[0]!r}.{did_you_mean(str(unknown[0]), _BUS_KEYS)} Keys "
            f"are {listing(_BUS_KEYS)}"
        )
    if not bus and servo.name not in tables:
        raise HardwareError(
            f"servo {servo.name!r} has no control table. Select that of its family with bus= "
            f"({listing(GENERIC)}) or with the key 'bus' of its catalogue entry; a servo on "
            "another bus requires a custom driver (driver=FILE)"
        )
    table = control_table(bus.get("table", servo.name), tables)
    changed: dict[str, Any] = {"motor": servo.name}
    for key, value in bus.items():
        if key == "model_numbers":
            if not (isinstance(value, list) and all(isinstance(v, int) for v in value)):
                raise HardwareError(f"{where}: model_numbers: expected integers, found {value!r}")
            changed[key] = tuple(value)
        elif key == "set_up":
            if not isinstance(value, list) or not all(_is_setting(row) for row in value):
                raise HardwareError(
                    f"{where}: set_up: expected rows [address, size, value], found {value!r}"
                )
            changed[key] = tuple((Register(row[0], row[1]), row[2]) for row in value)
        elif key == "registers":
            changed |= _registers(value, f"{where}: registers")
    return replace(table, **changed)


def _is_setting(row: object) -> bool:
    return (
        isinstance(row, list)
        and len(row) == 3
        and all(isinstance(value, int) and value >= 0 for value in row)
        and 1 <= row[1] <= 4
    )


def _registers(given: object, where: str) -> dict[str, Register]:
    """Registers of a catalogue entry: keys and values of :class:`Register`."""
    if not isinstance(given, Mapping):
        raise HardwareError(f"{where}: expected names with address, size and unit, found {given!r}")
    found = {}
    for name, content in given.items():
        if name not in _REGISTERS:
            raise HardwareError(
                f"{where}: unknown register {name!r}.{did_you_mean(str(name), _REGISTERS)} "
                f"Registers: {listing(_REGISTERS, 20)}"
            )
        try:
            register = Register(**content)
            is_valid = (
                all(isinstance(n, int) for n in (register.address, register.size, register.zero))
                and register.address >= 0
                and 1 <= register.size <= 4
                and isinstance(register.unit, int | float)
                and 0 < abs(register.unit) < math.inf
                and (isinstance(register.sign, int) or register.sign in ("none", "complement"))
            )
        except TypeError:
            is_valid = False
        if not is_valid:
            raise HardwareError(
                f"{where}: {name}: expected address, size (1 to 4 bytes) and optionally unit, "
                f"sign (none, complement or bit number) and zero, found {content!r}"
            )
        found[name] = register
    return found
