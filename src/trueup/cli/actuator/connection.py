"""Connection of the recording commands to a servo: on a bus, simulated, or with a custom driver."""

import contextlib
import runpy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from trueup.actuators import Servo
from trueup.actuators import record as recording
from trueup.actuators.catalogue.entries import find_servo, use_catalogue
from trueup.cli.actuator.connection_settings import ConnectionSettings
from trueup.errors import HardwareError

SIMULATED = "simulated"
"""Port of a simulated servo."""

_OPEN = "open_servo"


@dataclass(frozen=True, kw_only=True)
class Connection(ConnectionSettings):
    """Connection to a servo."""

    def servo(self) -> Servo:
        """The entry of the servo in the catalogue.

        Raises:
            FitError: the catalogue does not contain the servo.
            ParameterError: the catalogue of the user has an error.
        """
        use_catalogue(self.catalogue)
        return find_servo(self.motor)

    def check(self, servo: Servo) -> None:
        """Check the connection to the servo without opening it.

        Raises:
            HardwareError: the servo has no control table, or the driver file cannot be used.
        """
        if self.driver is not None:
            _opening_function(self.driver)
        elif self.port != SIMULATED or servo.bus or self.bus:
            recording.table_of(servo, self.bus)

    @contextlib.contextmanager
    def opened(self, bench: recording.Bench | None = None) -> Iterator[recording.ServoDriver]:
        """The open servo; a simulated one with the pendulum of the bench."""
        servo = self.servo()
        self.check(servo)
        with contextlib.ExitStack() as stack:
            if self.driver is not None:
                driver = self._of_the_user()
            elif self.port == SIMULATED:
                driver = self._simulated(servo, bench, stack)
            else:
                driver = self._on_bus(recording.table_of(servo, self.bus), self.port)
            yield stack.enter_context(driver)

    def _on_bus(self, table, port: str, timeout: float | None = None) -> recording.ServoDriver:
        return recording.BusDriver(
            table,
            port,
            self.id,
            zero=self.zero,
            reverse=self.reverse,
            baud_rate=self.baud_rate,
            timeout=self.timeout if timeout is None else timeout,
        )

    def _simulated(
        self, servo: Servo, bench: recording.Bench | None, stack: contextlib.ExitStack
    ) -> recording.ServoDriver:
        # a servo without a control table is simulated with that of dynamixel
        has_table = servo.bus or self.bus or servo.name in recording.STANDARD_GAINS
        table = recording.table_of(servo, self.bus if has_table else "dynamixel")
        pendulum = None
        if bench is not None and bench.mass * bench.length > 0:
            pendulum = recording.Pendulum.of(servo, bench.mass, bench.length)
        simulated = recording.SimulatedServo(table, self.id, servo=servo, pendulum=pendulum)
        # it shares the processor with other processes
        timeout = max(self.timeout, 0.2) if self.timeout > 0 else self.timeout
        return self._on_bus(table, stack.enter_context(simulated).port, timeout)

    def _of_the_user(self) -> recording.ServoDriver:
        assert self.driver is not None
        driver = _opening_function(self.driver)(self.port, self.id)
        if not isinstance(driver, recording.ServoDriver):
            raise HardwareError(
                f"{self.driver}: {_OPEN} returned {type(driver).__name__}, not a driver with "
                "motor, retries, limits, open, close, read, write_goal, write_torque and write_gain"
            )
        if driver.motor != self.motor:
            raise HardwareError(
                f"{self.driver}: the driver is for the servo {driver.motor!r}, expected "
                f"{self.motor!r}"
            )
        return cast("recording.ServoDriver", driver)


def _opening_function(path: Path):
    """Function ``open_servo`` of a driver file."""
    if not path.is_file():
        raise HardwareError(f"{path}: no such file")
    try:
        names = runpy.run_path(str(path), run_name=path.stem)
    except Exception as error:
        raise HardwareError(f"{path}: cannot be run: {type(error).__name__}: {error}") from error
    function = names.get(_OPEN)
    if not callable(function):
        raise HardwareError(
            f"{path}: the function {_OPEN}(port, servo_id) is missing; it must return a driver"
        )
    return function
