"""Arguments of ``trueup actuator record``, ``sweep``, ``read``, ``recover``, ``trajectories``."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tyro.conf import Positional, arg

from trueup.actuators.record.settings import Bench, RecordSettings
from trueup.cli.actuator.connection_settings import ConnectionSettings
from trueup.cli.actuator.options import WithKeys, part_of
from trueup.cli.output import Output
from trueup.cli.settings import options_of
from trueup.cli.study.options import Json

if TYPE_CHECKING:
    from trueup.cli.actuator.connection import Connection


@dataclass(frozen=True, kw_only=True)
class RecordKeys(ConnectionSettings, RecordSettings, Bench):
    """Settings of a recording: the connection, the bench, timing and limits."""


ConnectionOptions = options_of(ConnectionSettings, "ConnectionOptions")
"""An option for each marked setting of a connection."""

RecordOptions = options_of(RecordKeys, "RecordOptions")
"""An option for each marked setting of a recording."""


def connection_of(values: dict[str, Any]) -> "Connection":
    """The connection from the values of settings."""
    from trueup.cli.actuator.connection import Connection

    return Connection(**part_of(values, ConnectionSettings))


@dataclass(frozen=True, kw_only=True)
class Recording(RecordOptions, WithKeys):
    """A command that records."""

    KEYS: ClassVar[type] = RecordKeys
    WITHOUT: ClassVar[tuple[str, ...]] = ("limits",)

    quiet: bool = False
    """Hide the progress."""
    json: Json = False

    def parts(self) -> tuple["Connection", Bench, RecordSettings]:
        """Connection, bench and settings of the recording."""
        values = self.values()
        bench = Bench(**part_of(values, Bench))
        return connection_of(values), bench, RecordSettings(**part_of(values, RecordSettings))


@dataclass(frozen=True, kw_only=True)
class RecordServo(Recording):
    """Record one trajectory on hardware; the servo moves.

    Examples:
      trueup actuator record --port /dev/ttyUSB0 --actuator xl330 --mass 0.49 --length 0.1 --kp 200
          --trajectory sin_sin --output data_raw/kp200_sin_sin.json

    Exit codes: 0 done, 2 wrong input or a fault of the servo, 130 interrupted, 143 terminated.
    """

    kp: Annotated[float, arg(metavar="GAIN")]
    """Proportional gain in the unit of the firmware."""
    trajectory: Annotated[str, arg(metavar="NAME|FILE")]
    """Trajectory: a name listed by trueup actuator trajectories, or a CSV file with the columns t,
    goal_position and torque_enable, as written by trueup design."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="FILE")]
    """Raw log to write."""

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.record import run_record

        connection, bench, settings = self.parts()
        return run_record(
            connection,
            self.kp,
            self.trajectory,
            self.output,
            bench,
            settings,
            self.quiet or self.json,
            output,
        )


@dataclass(frozen=True, kw_only=True)
class SweepServo(Recording):
    """Record every trajectory at every gain; finished recordings are skipped.

    Examples:
      trueup actuator sweep --port /dev/ttyUSB0 --actuator xl330 --mass 0.49 --length 0.1
          --logdir data_raw --dry-run

    Exit codes: 0 done, 2 wrong input or a fault of the servo, 130 interrupted, 143 terminated.
    """

    logdir: Annotated[Path, arg(metavar="FOLDER")]
    """Folder for the raw logs."""
    kp: Annotated[tuple[float, ...], arg(metavar="GAIN [GAIN ...]")] = ()
    """Gains; by default the standard ones of the servo."""
    trajectory: Annotated[tuple[str, ...], arg(metavar="NAME|FILE [NAME|FILE ...]")] = ()
    """Trajectories, by name or from CSV files; by default the standard ones."""
    dry_run: bool = False
    """Report the planned recordings and their time; nothing moves."""

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.record import run_sweep

        connection, bench, settings = self.parts()
        return run_sweep(
            connection,
            self.kp,
            self.trajectory,
            self.logdir,
            bench,
            settings,
            self.dry_run,
            self.quiet or self.json,
            output,
        )


@dataclass(frozen=True, kw_only=True)
class ReadServo(ConnectionOptions, WithKeys):
    """Show one reading of a servo, such as its angle with the pendulum hanging down.

    Examples:
      trueup actuator read --port /dev/ttyUSB0 --actuator xl330

    Exit codes: 0 done, 2 wrong input or a fault of the servo.
    """

    KEYS: ClassVar[type] = ConnectionSettings

    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.record import run_read

        return run_read(connection_of(self.values()), output)


@dataclass(frozen=True, kw_only=True)
class RecoverServoLog:
    """Convert the partial file of an interrupted recording to a raw log.

    Examples:
      trueup actuator recover data_raw/kp200_sin_sin.partial.jsonl

    Exit codes: 0 done, 2 wrong input.
    """

    partial: Annotated[Positional[Path], arg(metavar="FILE")]
    """Partial file of the recording."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """Raw log to write; by default named after the partial file."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.record import run_recover

        return run_recover(self.partial, self.output, output)


@dataclass(frozen=True, kw_only=True)
class ListTrajectories:
    """List the trajectories to record, with the parameters that each identifies.

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
