"""Settings of the connection to a servo."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from trueup._options import Option


@dataclass(frozen=True, kw_only=True)
class ConnectionSettings:
    """Connection of a servo."""

    port: Annotated[str, Option("PORT")]
    """Serial port such as /dev/ttyUSB0, or simulated."""
    motor: Annotated[str, Option("SERVO", name="actuator", aliases=("--motor",))]
    """Servo of the catalogue, as listed by trueup actuator list."""
    id: Annotated[int, Option("INT")] = 1
    """ID of the servo on the bus."""
    baud_rate: int = 1_000_000
    """Baud rate of the bus [bit/s]."""
    timeout: float = 0.02
    """Maximum time to a reply [s]."""
    zero: float = 0.0
    """Measured angle of the servo with the pendulum hanging down [rad]."""
    reverse: bool = False
    """Invert the sign of the angle, for a servo that turns clockwise with increasing angle."""
    catalogue: Path | None = None
    """YAML file with further servos, with the control table in the key bus."""
    bus: str | None = None
    """Control table: dynamixel (X series), dynamixel1 (MX, Protocol 1.0) or feetech (STS); by
    default that of the servo."""
    driver: Path | None = None
    """Python file with a driver for another bus, returned by open_servo(port, servo_id)."""
