"""Arguments of ``trueup actuator plot`` and ``drive-backdrive``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import UseAppendAction, arg

from trueup.cli.actuator.options import (
    CatalogueSettings,
    LogSimulationSettings,
    ParameterFiles,
    WithKeys,
    simulation_of,
)
from trueup.cli.output import Output
from trueup.cli.study.options import Json, OfRuns
from trueup.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class PlotKeys(LogSimulationSettings):
    """Settings of plots of logs."""

    png: bool = False
    """Write PNG files of the same name too, with four logs each."""


@dataclass(frozen=True, kw_only=True)
class LimitKeys(CatalogueSettings):
    """Settings of diagrams of driving and backdriving."""

    speeds: tuple[float, ...] = ()
    """Joint speeds [rad/s]; by default from 0 to 4."""


@dataclass(frozen=True, kw_only=True)
class PlotServoLogs(OfRuns, WithKeys):
    """Draw logs, and with --sim the motions of identified models over them.

    Examples:
      trueup actuator plot --logdir logs
      trueup actuator plot --sim --logdir logs --params m1.json --params m6.json
      trueup actuator plot --sim --logdir logs --params m6.json --worst 4 png=1

    Logs are in the order of the error of the best model, the largest first.
    Exit codes: 0 done, 2 wrong input.
    """

    KEYS: ClassVar[type] = PlotKeys

    logdir: Annotated[Path, arg(metavar="FOLDER")]
    """Folder of logs; evenly sampled ones with --sim."""
    sim: bool = False
    """Simulate the models of --params."""
    params: Annotated[ParameterFiles, arg(metavar="FILE [FILE ...]")] = ()
    """Parameter files of models; may be given several times."""
    actuator: Annotated[str | None, arg(metavar="SERVO")] = None
    """Expected servo of the parameter files; by default any."""
    only: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="PATTERN")] = ()
    """Pattern of the names of logs to draw, such as '*kp400*'; may be given several times."""
    worst: Annotated[int | None, arg(metavar="INT")] = None
    """Number of logs to draw, those with the largest error of the best model; by default all."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="FILE")] = Path("plot.html")
    """HTML file to write."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.show import run_plot

        if self.sim and not self.params:
            raise ParameterError("--sim requires the parameter file of a model: give --params FILE")
        if self.params and not self.sim:
            raise ParameterError(
                "--params is given, but models are simulated with --sim only: add --sim"
            )
        values = self.all_values()
        return run_plot(
            self.logdir,
            [file for files in self.params for file in files],
            self.output,
            output,
            servo=self.actuator,
            catalogue=values["catalogue"],
            skip_bad=values["skip_bad_logs"],
            simulation=simulation_of(values),
            only=self.only,
            worst=self.worst,
            png=values["png"],
            anyway=self.anyway,
        )


@dataclass(frozen=True, kw_only=True)
class DriveBackdriveLimits(OfRuns, WithKeys):
    """Draw the drive and backdrive limits of a servo: motor torque over load torque, by speed.

    Examples:
      trueup actuator drive-backdrive --params m6.json
      trueup actuator drive-backdrive --params m3.json --params m6.json --max-torque 2

    Exit codes: 0 done, 2 wrong input.
    """

    KEYS: ClassVar[type] = LimitKeys

    params: Annotated[ParameterFiles, arg(metavar="FILE [FILE ...]")]
    """Parameter files of models; may be given several times."""
    max_torque: Annotated[float | None, arg(metavar="NM")] = None
    """Maximum motor torque of the diagram [N m]; by default the stall torque of the servo."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="FILE")] = Path("drive_backdrive.html")
    """HTML file to write."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.show import run_drive_backdrive

        values = self.all_values()
        return run_drive_backdrive(
            [file for files in self.params for file in files],
            values["catalogue"],
            self.max_torque,
            values["speeds"],
            self.output,
            self.anyway,
            output,
        )


COMMANDS: dict[str, type] = {
    "plot": PlotServoLogs,
    "drive-backdrive": DriveBackdriveLimits,
}
"""Name in the group ``actuator`` -> command."""
