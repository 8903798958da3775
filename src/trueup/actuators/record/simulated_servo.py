"""Simulated servo with a pendulum on a pseudo-terminal, for tests and trials without hardware.

It follows the law of any servo of the catalogue. It implements Dynamixel Protocol 2.0 and 1.0, so
that drivers and the SDK work unchanged, and it can lose packets, corrupt them, report faults and
be unplugged.
"""

import contextlib
import math
import os
import select
import threading
import time
from dataclasses import dataclass
from types import TracebackType

from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.equations.friction_models import FRICTION_MODELS
from trueup.actuators.equations.model_parameter import ModelParameter
from trueup.actuators.equations.scalar_form import scalar_law
from trueup.actuators.record import packets
from trueup.actuators.record.control_tables import XL330, ControlTable, Register
from trueup.actuators.record.servo_clock import PERIOD, TICK
from trueup.actuators.record.thread_priority import prioritised_thread
from trueup.errors import HardwareError

_STEP = 5e-4  # time step of the simulation [s]
_LONGEST = 0.5  # longest time simulated per call [s]
_TABLE_SIZE = 256
_POLL = 0.05  # wait for instructions [s]
_GRAVITY = 9.80665
_VOLTS = 7.4  # supply of a servo without a stated voltage [V]
_VOLT_LIMITS = (3.5 / 7.4, 9.0 / 7.4)  # relative to the supply
_HOT = 70.0  # temperature limit [degrees C]


@dataclass(frozen=True)
class Pendulum:
    """Motor, friction and pendulum of the simulated servo, about the size of an XL330."""

    mass: float = 0.12
    """Mass at the tip [kg]."""
    length: float = 0.1
    """Length of the arm [m]."""
    armature: float = 0.0018
    """Rotor inertia, referred to the output shaft [kg m^2]."""
    torque_constant: float = 0.39
    """Torque constant, referred to the output shaft [N m/A]."""
    resistance: float = 4.0
    """Winding resistance [ohm]."""
    friction: float = 0.013
    """Coulomb friction [N m]."""
    damping: float = 0.004
    """Viscous friction [N m s/rad]."""
    gain: float = 2.8774e-3
    """Duty cycle per unit of gain and radian of error [1/rad]; ignored for a servo of the
    catalogue, which has its own law."""

    @classmethod
    def of(cls, servo: Servo, mass: float, length: float) -> "Pendulum":
        """Pendulum on a servo of the catalogue, with the start values of its parameters."""
        values = {p.name: p.initial for p in servo.model_parameters(FRICTION_MODELS["m1"])}
        return cls(
            mass=mass,
            length=length,
            armature=values["armature"],
            torque_constant=values.get("kt", 1.0),
            resistance=values.get("R", 1.0),
            friction=values["friction_base"],
            damping=values["friction_viscous"],
        )

    def motor(self) -> Servo:
        """Servo with a bridge and these constants."""
        numbers = {"kt": self.torque_constant, "R": self.resistance, "armature": self.armature}
        parameters = tuple(ModelParameter(n, v, v, v, "", "") for n, v in numbers.items())
        return Servo("pendulum", "voltage", parameters, vin=_VOLTS, error_gain=self.gain)


class SimulatedServo:
    """Servo on a pseudo-terminal, served by its own thread; a context manager.

    ::

        with SimulatedServo() as servo, DynamixelDriver(servo.port) as driver:
            driver.read()

    Args:
        table: control table of the servo.
        servo_id: ID on the bus.
        servo: servo of the catalogue to simulate, with the start values of its parameters;
            None: a bridge with the constants of the pendulum.
        pendulum: motor, friction and pendulum.
        volts: supply voltage [V]; None: that of the servo.
        temperature: temperature [degrees C].

    Raises:
        HardwareError: the system has no pseudo-terminals.
    """

    def __init__(
        self,
        table: ControlTable = XL330,
        servo_id: int = 1,
        *,
        servo: Servo | None = None,
        pendulum: Pendulum | None = None,
        volts: float | None = None,
        temperature: float = 30.0,
    ):
        self._table = table
        self._servo_id = servo_id
        if pendulum is None:
            pendulum = Pendulum() if servo is None else Pendulum.of(servo, 0.12, 0.1)
        self._pendulum = pendulum
        self._motor = servo or pendulum.motor()
        initial = {p.name: p.initial for p in self._motor.parameters}
        initial |= {"kt": pendulum.torque_constant, "R": pendulum.resistance}
        self._law = scalar_law(self._motor, initial)
        supply = self._motor.vin if servo is not None and servo.vin > 0 else _VOLTS
        self._memory = bytearray(_TABLE_SIZE)
        self._lock = threading.RLock()
        self.angle = 0.0
        """Angle [rad]; 0 when hanging down."""
        self.speed = 0.0
        """Angular speed [rad/s]."""
        self.volts = supply if volts is None else volts
        """Supply voltage [V]."""
        self.temperature = temperature
        """Temperature [degrees C]."""
        self.fault = 0
        """Hardware error bits that every answer reports."""
        self.instructions = 0
        """Number of intact instructions received."""
        self._switched_on = time.monotonic() - 30.0  # the tick begins at 0 again soon
        self._lost = 0
        self._corrupt = 0
        self._silent = False
        if table.model_numbers:
            self._memory[0:2] = table.model_numbers[-1].to_bytes(2, "little")
        lowest, highest = (supply * share for share in _VOLT_LIMITS)
        self._store(table.lowest_volts, lowest)
        self._store(table.highest_volts, highest)
        self._store(table.highest_temperature, _HOT)
        counts = 1024 if table.position.unit > 0.004 else 4096
        self._store_raw(table.lowest_angle, 0)
        self._store_raw(table.highest_angle, counts - 1)

    @property
    def port(self) -> str:
        """Name of the serial port."""
        return self._port

    @property
    def torque(self) -> bool:
        """Whether the servo is driven."""
        with self._lock:
            return bool(self._memory[self._table.torque.address])

    @property
    def goal(self) -> float:
        """Commanded angle [rad]."""
        with self._lock:
            return self._load(self._table.goal)

    @property
    def gain(self) -> float:
        """Proportional gain in firmware units."""
        with self._lock:
            return self._load(self._table.gain)

    def lose(self, packets: int) -> None:
        """Execute the next instructions without answering."""
        with self._lock:
            self._lost = packets

    def corrupt(self, packets: int) -> None:
        """Answer the next instructions with a wrong checksum."""
        with self._lock:
            self._corrupt = packets

    def fall_silent(self) -> None:
        """Stop answering, like a servo without power."""
        with self._lock:
            self._silent = True

    def unplug(self) -> None:
        """Close the port, like an adapter that is pulled out."""
        self._stop.set()
        self._thread.join()
        self._close(self._master)
        self._close(self._slave)

    def __enter__(self) -> "SimulatedServo":
        try:
            self._master, self._slave = os.openpty()
        except OSError as error:
            raise HardwareError(f"no pseudo-terminal for a simulated servo: {error}") from error
        import tty

        # Raw mode passes bytes unchanged; the slave stays open so that a reader may reconnect.
        tty.setraw(self._slave)
        self._port = os.ttyname(self._slave)
        self._now = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="simulated servo", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.unplug()

    @staticmethod
    def _close(descriptor: int) -> None:
        with contextlib.suppress(OSError):
            os.close(descriptor)

    def _serve(self) -> None:
        with prioritised_thread():  # a real servo does not wait for this computer either
            self._answer_instructions()

    def _answer_instructions(self) -> None:
        buffer = bytearray()
        while not self._stop.is_set():
            ready, _, _ = select.select([self._master], [], [], _POLL)
            if not ready:
                continue
            try:
                buffer += os.read(self._master, 4096)
            except OSError:  # the client has closed the port; another may open it
                time.sleep(_POLL)
                continue
            while instruction := packets.take_instruction(buffer, self._table.protocol):
                answer = self._answer(instruction)
                if answer:
                    os.write(self._master, answer)

    def _answer(self, instruction: packets.Instruction) -> bytes:
        table = self._table
        with self._lock:
            if not instruction.intact or self._silent:
                return b""
            if instruction.servo_id not in (self._servo_id, packets.BROADCAST):
                return b""
            self.instructions += 1
            self._advance()
            error, content = self._carry_out(instruction)
            if instruction.servo_id == packets.BROADCAST and instruction.code not in (
                packets.PING,
                packets.SYNC_READ,
            ):
                return b""
            if self._lost:
                self._lost -= 1
                return b""
            if self.fault:
                error |= 0x80 if table.protocol == 2 else self.fault
            packet = packets.status_packet(self._servo_id, error, content, table.protocol)
            if self._corrupt:
                self._corrupt -= 1
                packet = packet[:-1] + bytes([packet[-1] ^ 0x5A])
            return packet

    def _carry_out(self, instruction: packets.Instruction) -> tuple[int, bytes]:
        code, given = instruction.code, instruction.parameters
        if code == packets.PING:
            answer = bytes([*self._memory[0:2], 52]) if self._table.protocol == 2 else b""
            return 0, answer
        if code == packets.READ:
            address, size = self._span(given)
            return 0, bytes(self._memory[address : address + size])
        if code == packets.WRITE:
            start = 2 if self._table.protocol == 2 else 1
            self._write(int.from_bytes(given[:start], "little"), given[start:])
            return 0, b""
        if code == packets.SYNC_READ:
            address, size = self._span(given)
            asked = self._servo_id in given[4:]
            return 0, bytes(self._memory[address : address + size]) if asked else b""
        if code == packets.SYNC_WRITE:
            address, size = self._span(given)
            start = 4 if self._table.protocol == 2 else 2
            for at in range(start, len(given), size + 1):
                if given[at] == self._servo_id:
                    self._write(address, given[at + 1 : at + 1 + size])
            return 0, b""
        return 2 if self._table.protocol == 2 else 0x40, b""

    def _span(self, given: bytes) -> tuple[int, int]:
        if self._table.protocol == 1:
            return given[0], given[1]
        return int.from_bytes(given[0:2], "little"), int.from_bytes(given[2:4], "little")

    def _write(self, address: int, content: bytes) -> None:
        self._memory[address : address + len(content)] = content
        del self._memory[_TABLE_SIZE:]

    def _advance(self) -> None:
        """Simulate up to now, and update the measurements in the control table."""
        now = time.monotonic()
        for _ in range(int(min(now - self._now, _LONGEST) / _STEP)):
            self._step(_STEP)
        self._now = now
        table = self._table
        torque, duty, _ = self._driven()
        self._store(table.position, self.angle)
        self._store(table.speed, self.speed)
        self._store(table.load, duty)
        self._store(table.volts, self.volts)
        self._store(table.temperature, self.temperature)
        if table.current:
            self._store(table.current, torque / self._pendulum.torque_constant)
        if table.error:
            self._store(table.error, self.fault)
        if table.tick:
            self._store_raw(table.tick, int((now - self._switched_on) % PERIOD / TICK))

    def _driven(self) -> tuple[float, float, float]:
        """Torque of the motor [N m], duty cycle and implicit damping [N m s/rad]."""
        if not self._memory[self._table.torque.address]:
            return 0.0, 0.0, 0.0
        error = self._load(self._table.goal) - self.angle
        gains = self._motor.gains(self._load(self._table.gain))
        return self._law(error, self.speed, *gains, self.volts)

    def _step(self, step: float) -> None:
        body = self._pendulum
        driven, _, damping = self._driven()
        # implicit damping, so that a stiff servo is stable
        momentum = (body.mass * body.length**2 + body.armature) / step + damping
        torque = driven - body.mass * _GRAVITY * body.length * math.sin(self.angle)
        stopping = -(momentum * self.speed + torque)
        most = body.friction + body.damping * abs(self.speed)
        friction = max(-most, min(most, stopping))
        self.speed += (torque + friction) / momentum
        self.angle += step * self.speed

    def _load(self, register: Register) -> float:
        return register.decode(bytes(self._memory[register.address :][: register.size]))

    def _store(self, register: Register, value: float) -> None:
        self._memory[register.address : register.address + register.size] = register.encode(value)

    def _store_raw(self, register: Register, number: int) -> None:
        content = number.to_bytes(register.size, "little")
        self._memory[register.address : register.address + register.size] = content
