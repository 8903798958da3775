"""Arguments of ``trueup actuator compare``, ``plot`` and ``drive-backdrive``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import UseAppendAction, arg

from trueup.actuators.search.fit_settings import METHODS
from trueup.cli.output import Output
from trueup.cli.study_options import Json

ParameterFiles = UseAppendAction[tuple[tuple[Path, ...], ...]]
"""``--params A --params B`` and ``--params A B``."""

Catalogue = Annotated[Path | None, arg(metavar="FILE")]


@dataclass(frozen=True, kw_only=True)
class SimulationOptions:
    """How logs are read and simulated."""

    scheme: Literal["semi-implicit", "bam"] = "semi-implicit"
    """How the bench steps; bam reproduces Better Actuator Models, one explicit step a sample."""
    reset_period: Annotated[float | None, arg(metavar="S")] = None
    """Take position and speed from the log again after this time [s]."""
    vin: Annotated[float | None, arg(metavar="V")] = None
    """Nominal bus voltage [V] in place of the logs' own."""
    catalogue: Catalogue = None
    """YAML file with further servos."""
    skip_bad_logs: bool = False
    """Leave logs out that cannot be used, rather than refusing them all."""


@dataclass(frozen=True, kw_only=True)
class CompareServoModels(SimulationOptions):
    """Compare friction models M1 to M6 on logs, and say which of them to take.

    Models that no parameter file is given for are fitted to the logs that are not held out.

    Examples:
      trueup actuator compare --logdir logs --validation-kp 400
      trueup actuator compare --logdir logs --models m1,m3,m6 --validation-mass 0.5
      trueup actuator compare --logdir logs --validation-kp 400 --extended
      trueup actuator compare --logdir logs --extended --terms command_delay,torque_saturation
      trueup actuator compare --logdir logs --params m1.json m6.json --given-only

    Writes comparison.html, comparison.json and the parameter files of what it fitted.
    Exit codes: 0 done, 2 wrong input, 130 interrupted.
    """

    logdir: Annotated[Path, arg(metavar="FOLDER")]
    """Folder of evenly sampled logs; trueup actuator process makes them."""
    actuator: Annotated[str | None, arg(metavar="SERVO")] = None
    """Servo; that of the parameter files, or else of the logs, where absent."""
    params: Annotated[ParameterFiles, arg(metavar="FILE [FILE ...]")] = ()
    """Parameter files of models; may be given several times."""
    models: Annotated[str, arg(metavar="M1,M2,...")] = "m1,m2,m3,m4,m5,m6"
    """Models to compare, fitted where no file of them is given."""
    extended: bool = False
    """Compare one model more: the friction model and extended terms that do best in an inner split
    of the training logs, each gain in turn predicted from the others. Tells no held-out log."""
    terms: Annotated[str | None, arg(metavar="TERM,TERM,...")] = None
    """Terms that --extended may take; all that suit servo and measurements where absent."""
    split_by: Literal["kp", "mass", "trajectory"] = "kp"
    """What --extended splits the training logs by."""
    given_only: bool = False
    """Compare the parameter files alone and fit nothing."""
    validation_kp: Annotated[tuple[float, ...], arg(metavar="GAIN [GAIN ...]")] = ()
    """Hold out the logs of these gains; 0 holds out none."""
    validation_mass: Annotated[tuple[float, ...], arg(metavar="KG [KG ...]")] = ()
    """Hold out the logs of these masses [kg]."""
    validation_trajectory: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")] = ()
    """Hold out the logs of these trajectories."""
    error: Literal["mae", "rmse"] = "mae"
    """Error that fits minimise and models are compared by."""
    method: Literal[*METHODS] = "auto"  # pyright: ignore[reportInvalidTypeForm]
    """Search of the fits, as in trueup actuator fit."""
    trials: Annotated[int | None, arg(metavar="INT")] = None
    """Evaluated candidates of each fit at most; 100000 where absent."""
    seed: int = 0
    """Seed of everything random."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="DIRECTORY")] = Path("comparison")
    """Folder to write into."""
    png: bool = False
    """Write comparison.png too."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator_compare import run_compare

        return run_compare(self, output)


@dataclass(frozen=True, kw_only=True)
class PlotServoLogs(SimulationOptions):
    """Draw logs, and with --sim the motions of identified models over them.

    Examples:
      trueup actuator plot --logdir logs
      trueup actuator plot --sim --logdir logs --params m1.json --params m6.json
      trueup actuator plot --sim --logdir logs --params m6.json --worst 4 --png

    Logs that the best model explains worst come first.
    Exit codes: 0 done, 2 wrong input.
    """

    logdir: Annotated[Path, arg(metavar="FOLDER")]
    """Folder of logs; evenly sampled ones with --sim."""
    sim: bool = False
    """Simulate the models of --params."""
    params: Annotated[ParameterFiles, arg(metavar="FILE [FILE ...]")] = ()
    """Parameter files of models; may be given several times."""
    actuator: Annotated[str | None, arg(metavar="SERVO")] = None
    """Servo that the parameter files have to be of."""
    only: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="PATTERN")] = ()
    """Draw logs whose name matches, such as '*kp400*'; may be given several times."""
    worst: Annotated[int | None, arg(metavar="INT")] = None
    """Draw this many logs, those that the best model explains worst."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="FILE")] = Path("plot.html")
    """HTML file to write."""
    png: bool = False
    """Write PNG files of the same name too, four logs each."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator_show import run_plot

        return run_plot(self, output)


@dataclass(frozen=True, kw_only=True)
class DriveBackdriveLimits:
    """Draw what a servo can drive and what drives it back: motor torque against load, by speed.

    Examples:
      trueup actuator drive-backdrive --params m6.json
      trueup actuator drive-backdrive --params m3.json --params m6.json --max-torque 2 --png

    Exit codes: 0 done, 2 wrong input.
    """

    params: Annotated[ParameterFiles, arg(metavar="FILE [FILE ...]")]
    """Parameter files of models; may be given several times."""
    max_torque: Annotated[float | None, arg(metavar="NM")] = None
    """Greatest motor torque of the diagram [N m]; the servo's torque at standstill where absent."""
    catalogue: Catalogue = None
    """YAML file with further servos."""
    speeds: Annotated[tuple[float, ...], arg(metavar="RAD/S [RAD/S ...]")] = ()
    """Speeds of the joint [rad/s]; from 0 to 4 where absent."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="FILE")] = Path("drive_backdrive.html")
    """HTML file to write."""
    png: bool = False
    """Write a PNG file of the same name too."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator_show import run_drive_backdrive

        return run_drive_backdrive(self, output)


COMMANDS: dict[str, type] = {
    "compare": CompareServoModels,
    "plot": PlotServoLogs,
    "drive-backdrive": DriveBackdriveLimits,
}
"""Name in the group ``actuator`` -> command."""
