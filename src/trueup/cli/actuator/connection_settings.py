"""Settings of the connection to a servo."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from trueup._options import Option


@dataclass(frozen=True, kw_only=True)
class ConnectionSettings:
    """How a servo is connected."""

    port: Annotated[str, Option("PORT")]
    """Serial port such as /dev/ttyUSB0, or simulated."""
    motor: Annotated[str, Option("SERVO", name="actuator", aliases=("--motor",))]
    """Servo of the catalogue; trueup actuator list shows them."""
    id: Annotated[int, Option("INT")] = 1
    """Number of the servo on the bus."""
    baud_rate: int = 1_000_000
    """Speed of the bus [bit/s]."""
    timeout: float = 0.02
    """Time to wait for an answer [s]."""
    zero: float = 0.0
    """Measured angle of the servo where the pendulum hangs down [rad]."""
    reverse: bool = False
    """The servo turns clockwise for increasing angles."""
    catalogue: Path | None = None
    """YAML file with further servos; its key bus names the control table."""
    bus: str | None = None
    """Control table: dynamixel (X series), dynamixel1 (MX, Protocol 1.0) or feetech (STS); by
    default that of the servo."""
    driver: Path | None = None
    """Python file with a function open_servo(port, servo_id): a driver for another bus."""
