"""Control tables of servos: addresses, units and encodings of their registers.

Dynamixel: ROBOTIS e-Manual, https://emanual.robotis.com/docs/en/dxl/ (pages XL330-M288-T, XL-320,
MX-64 and MX-106 with Protocol 1.0). Feetech: memory table of the STS and SMS series.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from trueup.errors import HardwareError, did_you_mean, listing

Sign: TypeAlias = Literal["none", "complement"] | int
"""``none``, two's ``complement``, or the bit that holds the sign beside a magnitude."""

_TURN = 2 * math.pi
_RPM = _TURN / 60


@dataclass(frozen=True)
class Register:
    """Register of a control table: ``value = unit * (raw - zero)``."""

    address: int
    size: int
    """Size in bytes, lowest byte first."""
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
                f"the value {value} does not fit into the register at address {self.address}"
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
    error: Register | None = None
    """Register of hardware errors, one bit each."""
    set_up: tuple[tuple[Register, float], ...] = ()
    """Registers written once with the torque off (mode, profile, other gains) and their values."""
    faults: Mapping[int, str] | None = None
    """Meaning of each error bit."""

    @property
    def block(self) -> tuple[int, int]:
        """Address and size of the block that holds all measurements."""
        measured = [self.position, self.speed, self.load, self.volts, self.temperature]
        measured += [self.current] if self.current else []
        start = min(register.address for register in measured)
        return start, max(register.address + register.size for register in measured) - start


_DYNAMIXEL_2_FAULTS = {
    0: "input voltage",
    2: "overheating",
    3: "motor encoder",
    4: "electrical shock or too little power",
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
        (Register(108, 4), 0),  # no limit on the acceleration of the goal
        (Register(112, 4), 0),  # nor on its speed
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
        (Register(32, 2), 0),  # highest speed
        (Register(35, 2), 1023),  # full torque
    ),
    faults={0: "overload", 1: "overheating", 2: "input voltage"},
)


def _mx(motor: str, model_number: int) -> ControlTable:
    """MX-64 and MX-106 with the firmware of Protocol 1.0, whose gains published models use."""
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
            (Register(32, 2), 0),  # highest speed
            (Register(34, 2), 1023),  # full torque
            (Register(73, 1), 0),  # no limit on the acceleration of the goal
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
        (Register(41, 1), 0),  # no limit on the acceleration of the goal
        (Register(44, 2), 0),  # no time of the motion
        (Register(46, 2), 0),  # highest speed
    ),
    faults=_FEETECH_FAULTS,
)

DYNAMIXEL = {table.motor: table for table in (XL330, XL320, MX64, MX106)}
FEETECH = {STS3215.motor: STS3215}


def control_table(motor: str, tables: Mapping[str, ControlTable]) -> ControlTable:
    """The control table of a servo.

    Raises:
        HardwareError: there is none; the message lists those there are.
    """
    if motor not in tables:
        raise HardwareError(
            f"there is no control table for the servo {motor!r}.{did_you_mean(motor, tables)} "
            f"There are {listing(tables)}"
        )
    return tables[motor]
