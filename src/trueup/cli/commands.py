"""The commands and their arguments; implementations are imported when a command runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli.lazy_commands import LazyCommands
from trueup.cli.output import Output
from trueup.cli.study.options import Json, OfRuns
from trueup.simulation.warp.devices import DeviceName


@dataclass(frozen=True)
class Identify:
    """Identify the unknowns of an experiment: fit, intervals, held-out check, report.

    Examples:
      trueup identify experiment.yaml
      trueup identify experiment.yaml --output runs/second --seed 1
      trueup identify experiment.yaml --resume
      trueup identify experiment.yaml --dry-run --json

    Ctrl-C saves the state and prints the command to resume.
    Exit codes: 0 done, 2 wrong input, 3 "do not use" or not converged, 130
    interrupted, 143 terminated.
    """

    experiment: Annotated[Positional[Path], arg(metavar="EXPERIMENT")]
    """Experiment file; write one with trueup import."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="DIRECTORY")] = None
    """Run directory; by default that of the experiment."""
    resume: bool = False
    """Continue an interrupted run."""
    overwrite: bool = False
    """Replace the run in the directory."""
    seed: Annotated[int | None, arg(metavar="INT")] = None
    """Seed of all random numbers; by default that of the experiment."""
    device: DeviceName | None = None
    """Device of large batches of simulations; by default that of the experiment."""
    dry_run: bool = False
    """Read and check everything, report the planned fit and its time; write nothing."""
    quiet: bool = False
    """Hide the progress."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.robot.identify import run_identify

        return run_identify(
            self.experiment,
            self.seed,
            self.device,
            self.output,
            self.resume,
            self.overwrite,
            self.dry_run,
            not (self.quiet or output.json),
            output,
        )


@dataclass(frozen=True)
class Check:
    """Check data, settings and identifiability before the fit; conclude whether to go on.

    Examples:
      trueup check experiment.yaml
      trueup check experiment.yaml --json

    Exit codes: 0 go on, 2 wrong input or unusable data, 3 stop.
    """

    experiment: Annotated[Positional[Path], arg(metavar="EXPERIMENT")]
    """Experiment file."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.robot.check import run_check

        return run_check(self.experiment, output)


@dataclass(frozen=True)
class Report(OfRuns):
    """Write the report of a finished run again.

    Examples:
      trueup report runs/arm
      trueup report runs/arm --output arm.html

    Exit codes: 0 done, 2 wrong input.
    """

    directory: Annotated[Positional[Path], arg(metavar="RUN")]
    """Run directory."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """HTML file; by default report.html in the run directory."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.runs import run_report

        return run_report(self.directory, self.output, output, self.anyway)


@dataclass(frozen=True)
class Compare(OfRuns):
    """Compare finished runs: values, intervals and scores side by side.

    Examples:
      trueup compare runs/arm runs/arm_payload

    Exit codes: 0 done, 2 wrong input.
    """

    directories: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN RUN [RUN ...]")]
    """Two or more run directories."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.runs import run_compare

        return run_compare(list(self.directories), output, self.anyway)


@dataclass(frozen=True)
class Import:
    """Write an experiment file from the logs of a robot and its model, and check it.

    Logs: CSV, TSV, Parquet, NPZ, MAT, JSON, HDF5, MCAP, rosbag2, LeRobot, PACE. Joints
    are matched by name, else by order; units, signs, zeros, gains and the clock are
    inferred from the log. A table shows the certainty of each; what the log does not
    determine is listed. Joints without actuators get motors where torques were recorded,
    and position servos where commands were.

    Examples:
      trueup import run.csv --model arm.xml
      trueup import arm.urdf run_1.csv run_2.csv
      trueup import bag_folder --model go2.xml --output go2.yaml
      trueup import run.csv --model legs.xml --reversed FL_hip FL_knee

    Exit codes: 0 written, and its check says go on; 2 wrong input or unusable data,
    nothing written; 3 written, and its check says stop.
    """

    files: Annotated[Positional[tuple[Path, ...]], arg(metavar="LOG [LOG ...]")]
    """Logs with the same columns; the model may be among them."""
    model: Annotated[Path | None, arg(aliases=["-m"], metavar="MODEL")] = None
    """MJCF or URDF file; by default the one .xml or .urdf file among the others."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="FILE")] = Path("experiment.yaml")
    """Experiment file to write."""
    overwrite: bool = False
    """Replace an existing file."""
    episode: Annotated[tuple[int, ...], arg(metavar="N [N ...]")] = ()
    """Episodes of a LeRobot data set; all of it by default."""
    rate: Annotated[float | None, arg(metavar="HZ")] = None
    """Samples per second of logs without a time column."""
    reversed: Annotated[tuple[str, ...], arg(metavar="JOINT [JOINT ...]")] = ()
    """Joints that the log counts the other way, or none; by default the log has to tell."""
    no_check: bool = False
    """Write the file without checking the experiment, to complete it by hand."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.robot.import_log import run_import

        return run_import(
            self.files,
            self.model,
            self.output,
            self.overwrite,
            not self.no_check,
            self.episode,
            self.rate,
            self.reversed,
            output,
        )


@dataclass(frozen=True)
class Init(Import):
    """Write an experiment file from a model and its logs, and check it: trueup import.

    Examples:
      trueup init arm.xml run.csv
      trueup init arm.xml run.csv --output arm_experiment.yaml

    Exit codes: 0 written, and its check says go on; 2 wrong input or unusable data,
    nothing written; 3 written, and its check says stop.
    """


@dataclass(frozen=True)
class Demo:
    """Record a simulated robot arm, identify it, and compare the result with the true values.

    Examples:
      trueup demo
      trueup demo --output /tmp/demo

    Exit codes: 0 done, 2 wrong input, 3 "do not use" or not converged, 130
    interrupted, 143 terminated.
    """

    output: Annotated[Path, arg(aliases=["-o"], metavar="DIRECTORY")] = Path("trueup-demo")
    """Folder for the model, the recordings, the experiment file and the run."""
    overwrite: bool = False
    """Replace a demonstration in the folder."""
    seed: Annotated[int, arg(metavar="INT")] = 0
    """Seed of the sensor noise."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.robot.demo import run_demo

        return run_demo(self.output, self.overwrite, self.seed, output)


COMMANDS = LazyCommands(
    {
        "identify": __name__,
        "check": __name__,
        "explain": "trueup.cli.robot.explain_commands",
        "report": __name__,
        "view": "trueup.cli.robot.view",
        "compare": __name__,
        "reconcile": "trueup.cli.robot.reconcile_commands",
        "design": "trueup.cli.robot.design_commands",
        "export": "trueup.cli.robot.export_commands",
        "publish": "trueup.cli.robot.publish",
        "study": "trueup.cli.study.commands",
        "actuator": "trueup.cli.actuator.commands",
        "network": "trueup.cli.network.commands",
        "gait": "trueup.cli.gait.commands",
        "import": __name__,
        "init": __name__,
        "demo": __name__,
    }
)
"""All commands by name, in the order of the help."""
