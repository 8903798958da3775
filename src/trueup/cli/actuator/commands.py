"""``trueup actuator``: its commands and their arguments; what they do is imported when they run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from tyro.conf import arg

from trueup.cli.actuator import record_commands as actuator_record_commands
from trueup.cli.actuator import show_commands as actuator_show_commands
from trueup.cli.actuator.compare_commands import CompareServoModels
from trueup.cli.actuator.export import ExportServo
from trueup.cli.actuator.fit_commands import EvaluateServo, FitServo, ListServos
from trueup.cli.output import Output
from trueup.cli.study.options import Json


@dataclass(frozen=True, kw_only=True)
class ProcessServoLogs:
    """Resample raw logs evenly: commands held, measurements interpolated, nothing extrapolated.

    Examples:
      trueup actuator process --raw data_raw --logdir data_processed
      trueup actuator process --raw data_raw --logdir data_processed --dt 0.002

    Exit codes: 0 done, 2 wrong input.
    """

    raw: Annotated[Path, arg(metavar="FOLDER")]
    """Folder of raw logs, or one file."""
    logdir: Annotated[Path, arg(metavar="FOLDER")]
    """Folder for the resampled logs."""
    dt: Annotated[float, arg(metavar="S")] = 0.005
    """Time step [s]."""
    compat: Literal["bam"] | None = None
    """Resample as Better Actuator Models does, goals interpolated and ends extrapolated."""
    skip_bad_logs: bool = False
    """Leave logs out that cannot be used, rather than refusing them all."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.data import run_process

        return run_process(self.raw, self.logdir, self.dt, self.compat, self.skip_bad_logs, output)


@dataclass(frozen=True, kw_only=True)
class ServoLogJitter:
    """Show how evenly raw logs were sampled.

    Examples:
      trueup actuator jitter --raw data_raw
      trueup actuator jitter --raw data_raw --report jitter.html

    Exit codes: 0 done, 2 wrong input.
    """

    logdir: Annotated[Path, arg(aliases=["--raw"], metavar="FOLDER")]
    """Folder of raw logs."""
    report: Annotated[Path | None, arg(metavar="FILE")] = None
    """HTML file with a histogram."""
    skip_bad_logs: bool = False
    """Leave logs out that cannot be used, rather than refusing them all."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.data import run_jitter

        return run_jitter(self.logdir, self.report, self.skip_bad_logs, output)


@dataclass(frozen=True)
class Actuator:
    """Identify servos: record on a bench, fit friction models, compare them, use them.

    Examples:
      trueup actuator process --raw data_raw --logdir data_processed
      trueup actuator fit --actuator xl330 --model m6 --logdir data_processed --output m6.json
      trueup actuator evaluate --actuator xl330 --model m6 --logdir data_processed --params m6.json
      trueup actuator list
    """

    COMMANDS: ClassVar[dict[str, type]] = {
        "process": ProcessServoLogs,
        "jitter": ServoLogJitter,
        "fit": FitServo,
        "evaluate": EvaluateServo,
        "compare": CompareServoModels,
        **actuator_show_commands.COMMANDS,
        "export": ExportServo,
        "list": ListServos,
        **actuator_record_commands.COMMANDS,
    }
