"""Commands of ``trueup actuator``; implementations are imported when they run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from tyro.conf import arg

from trueup.cli.actuator import record_commands as actuator_record_commands
from trueup.cli.actuator import show_commands as actuator_show_commands
from trueup.cli.actuator.compare_commands import CompareServoModels
from trueup.cli.actuator.export import ExportServo
from trueup.cli.actuator.fit_commands import EvaluateServo, FitServo, ListServos
from trueup.cli.actuator.options import BadLogSettings, LogSettings, WithKeys, check_former
from trueup.cli.output import Output
from trueup.cli.study.options import Json


@dataclass(frozen=True, kw_only=True)
class ProcessKeys(LogSettings):
    """Settings of the resampling of raw logs."""

    compat: Literal["bam"] | None = None
    """Resampling as in Better Actuator Models: goals interpolated and ends extrapolated."""


@dataclass(frozen=True, kw_only=True)
class ProcessServoLogs(WithKeys):
    """Resample raw logs at an even rate: commands held, measurements interpolated.

    Examples:
      trueup actuator process --raw data_raw --logdir data_processed
      trueup actuator process --raw data_raw --logdir data_processed --dt 0.002

    Exit codes: 0 done, 2 wrong input.
    """

    KEYS: ClassVar[type] = ProcessKeys

    raw: Annotated[Path, arg(metavar="FOLDER")]
    """Folder of raw logs, or one file."""
    logdir: Annotated[Path, arg(metavar="FOLDER")]
    """Folder for the resampled logs."""
    dt: Annotated[float, arg(metavar="S")] = 0.005
    """Time step [s]."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.data import run_process

        values = self.all_values()
        return run_process(self.raw, self.logdir, self.dt, output, **values)


@dataclass(frozen=True, kw_only=True)
class ServoLogJitter(WithKeys):
    """Show the jitter of the sampling of raw logs.

    Examples:
      trueup actuator jitter --raw data_raw
      trueup actuator jitter --raw data_raw --output jitter.html

    Exit codes: 0 done, 2 wrong input.
    """

    KEYS: ClassVar[type] = BadLogSettings

    raw: Annotated[Path, arg(metavar="FOLDER")]
    """Folder of raw logs."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """HTML file with a histogram to write; by default none."""
    json: Json = False

    @staticmethod
    def prepare_words(words: Sequence[str]) -> list[str]:
        """The words, checked for options of earlier versions."""
        check_former(words, {"--report": "--output", "--logdir": "--raw"})
        return list(words)

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.data import run_jitter

        skip = self.all_values()["skip_bad_logs"]
        return run_jitter(self.raw, self.output, skip, output)


@dataclass(frozen=True)
class Actuator:
    """Identify servos: record on a bench, fit friction models, compare and export them.

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
