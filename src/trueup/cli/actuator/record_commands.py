"""Arguments of ``trueup actuator record``, ``sweep``, ``read``, ``recover``, ``trajectories``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from trueup.cli.output import Output
from trueup.cli.study.options import Json


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions:
    """Connection to a servo."""

    port: Annotated[str, arg(metavar="PORT")]
    """Serial port such as /dev/ttyUSB0, or simulated."""
    motor: Annotated[str, arg(aliases=["--actuator"], metavar="SERVO")]
    """Servo of the catalogue, as trueup actuator list shows them."""
    catalogue: Annotated[Path | None, arg(metavar="FILE")] = None
    """YAML file that describes the servo; its key bus says how it is recorded."""
    bus: Annotated[str | None, arg(metavar="FAMILY")] = None
    """Control table to use: dynamixel (X series), dynamixel1 (MX, Protocol 1.0), feetech (STS)."""
    driver: Annotated[Path | None, arg(metavar="FILE")] = None
    """Python file with a function open_servo(port, servo_id): a driver for another bus."""
    id: Annotated[int, arg(metavar="INT")] = 1
    """Number of the servo on the bus."""
    zero: Annotated[float, arg(metavar="RAD")] = 0.0
    """Angle that the servo measures where the pendulum hangs down [rad]."""
    reverse: bool = False
    """The servo turns clockwise for growing angles."""
    baud_rate: Annotated[int, arg(metavar="INT")] = 1_000_000
    """Speed of the bus [bit/s]."""
    timeout: Annotated[float, arg(metavar="S")] = 0.02
    """Time to wait for an answer [s]."""

    @property
    def connection(self):
        """The same, as the driver takes it."""
        from trueup.cli.actuator.record import Connection

        return Connection(
            port=self.port,
            motor=self.motor,
            servo_id=self.id,
            zero=self.zero,
            reverse=self.reverse,
            baud_rate=self.baud_rate,
            timeout=self.timeout,
            catalogue=self.catalogue,
            family=self.bus,
            driver_file=self.driver,
        )


@dataclass(frozen=True, kw_only=True)
class RecordOptions(ConnectionOptions):
    """What stands on the servo, and how it is recorded."""

    mass: Annotated[float, arg(metavar="KG")]
    """Mass at the tip of the pendulum [kg]."""
    length: Annotated[float, arg(metavar="M")]
    """Distance from the axis to the tip mass [m]."""
    arm_mass: Annotated[float, arg(metavar="KG")] = 0.0
    """Mass of the arm [kg]."""
    vin: Annotated[float | None, arg(metavar="V")] = None
    """Nominal supply voltage [V]; what is measured at the start where absent."""
    rate: Annotated[float, arg(metavar="HZ")] = 200.0
    """Samples a second; a slower bus gives fewer."""
    finish: Literal["limp", "hold"] = "limp"
    """Torque at the end: off, or holding the angle it has."""
    quiet: bool = False
    """No progress."""
    json: Json = False

    @property
    def bench(self):
        """The pendulum."""
        from trueup.actuators.record import Bench

        return Bench(self.mass, self.length, self.arm_mass, self.vin)

    @property
    def settings(self):
        """How it is recorded."""
        from trueup.actuators.record import RecordSettings

        return RecordSettings(rate=self.rate, finish=self.finish)


@dataclass(frozen=True, kw_only=True)
class RecordServo(RecordOptions):
    """Record one trajectory on hardware; the servo moves.

    Examples:
      trueup actuator record --port /dev/ttyUSB0 --motor xl330 --mass 0.49 --length 0.1 --kp 200
          --trajectory sin_sin --output data_raw/kp200_sin_sin.json

    Exit codes: 0 done, 2 wrong input or a fault of the servo, 130 interrupted, 143 terminated.
    """

    kp: Annotated[float, arg(metavar="GAIN")]
    """Proportional gain in the unit of the firmware."""
    trajectory: Annotated[str, arg(metavar="NAME|FILE")]
    """Trajectory: a name, which trueup actuator trajectories lists, or a CSV file with the columns
    t, goal_position and torque_enable, such as trueup design writes."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="FILE")]
    """Raw log to write."""

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.record import run_record

        return run_record(
            self.connection,
            self.kp,
            self.trajectory,
            self.output,
            self.bench,
            self.settings,
            self.quiet or self.json,
            output,
        )


@dataclass(frozen=True, kw_only=True)
class SweepServo(RecordOptions):
    """Record every trajectory at every gain; what is done already is skipped.

    Examples:
      trueup actuator sweep --port /dev/ttyUSB0 --motor xl330 --mass 0.49 --length 0.1
          --logdir data_raw --dry-run

    Exit codes: 0 done, 2 wrong input or a fault of the servo, 130 interrupted, 143 terminated.
    """

    logdir: Annotated[Path, arg(metavar="FOLDER")]
    """Folder for the raw logs."""
    kp: Annotated[tuple[float, ...], arg(metavar="GAIN [GAIN ...]")] = ()
    """Gains; the standard ones of the servo where absent."""
    trajectory: Annotated[tuple[str, ...], arg(metavar="NAME|FILE [NAME|FILE ...]")] = ()
    """Trajectories, by name or from CSV files; the standard ones where absent."""
    dry_run: bool = False
    """Say what would be recorded and how long it takes; nothing moves."""

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.record import run_sweep

        return run_sweep(
            self.connection,
            self.kp,
            self.trajectory,
            self.logdir,
            self.bench,
            self.settings,
            self.dry_run,
            self.quiet or self.json,
            output,
        )


@dataclass(frozen=True, kw_only=True)
class ReadServo(ConnectionOptions):
    """Show what a servo measures now, such as its angle where the pendulum hangs down.

    Examples:
      trueup actuator read --port /dev/ttyUSB0 --motor xl330

    Exit codes: 0 done, 2 wrong input or a fault of the servo.
    """

    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.record import run_read

        return run_read(self.connection, output)


@dataclass(frozen=True, kw_only=True)
class RecoverServoLog:
    """Turn what an interrupted recording left into a raw log.

    Examples:
      trueup actuator recover data_raw/kp200_sin_sin.partial.jsonl

    Exit codes: 0 done, 2 wrong input.
    """

    partial: Annotated[Positional[Path], arg(metavar="FILE")]
    """File that the interruption left."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """Raw log to write; named after the partial one where absent."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.record import run_recover

        return run_recover(self.partial, self.output, output)


@dataclass(frozen=True, kw_only=True)
class ListTrajectories:
    """List the trajectories that can be recorded, and what each of them identifies.

    Exit codes: 0 done.
    """

    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.record import run_trajectories

        return run_trajectories(output)


COMMANDS: dict[str, type] = {
    "record": RecordServo,
    "sweep": SweepServo,
    "read": ReadServo,
    "recover": RecoverServoLog,
    "trajectories": ListTrajectories,
}
"""Name in the group ``actuator`` -> command."""
