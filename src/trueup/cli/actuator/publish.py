"""``trueup actuator publish``: a servo fit as an entry of a catalogue."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli.output import Output
from trueup.cli.study.options import Json


@dataclass(frozen=True, kw_only=True)
class PublishServo:
    """Write an entry of a catalogue from a servo fit: parameters, provenance, logs and page.

    Examples:
      trueup actuator publish m6.run --output catalogue/xl330 --licence CC-BY-4.0 --by "A. Name"
      trueup actuator publish m6.run --output catalogue/xl330 --licence CC0-1.0 --no-logs
      trueup actuator evaluate --params catalogue/xl330 --logdir catalogue/xl330/logs

    The parameter file is that of Better Actuator Models where the model has a form there. A fit
    whose verdict is "do not use" is not published.
    Exit codes: 0 done, 2 wrong input.
    """

    directory: Annotated[Positional[Path], arg(metavar="RUN")]
    """Run directory of a finished servo fit."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="FOLDER")]
    """Folder of the entry, which is created."""
    licence: Annotated[str, arg(metavar="NAME")]
    """Licence of parameters and logs, such as CC-BY-4.0."""
    by: Annotated[str, arg(metavar="NAMES")] = ""
    """Authors."""
    logs: bool = True
    """Copy the logs; the negated option writes their hashes only."""
    overwrite: bool = False
    """Replace the entry in --output."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.actuators import publish

        entry = publish(
            self.directory,
            self.output,
            licence=self.licence,
            by=self.by,
            with_logs=self.logs,
            overwrite=self.overwrite,
        )
        output.text(
            f"{entry.folder}: {entry.servo} with {entry.model}, {entry.grade}, "
            f"{len(entry.logs)} logs{'' if self.logs else ' by their hashes'}",
            f"Read it: trueup actuator evaluate --actuator {entry.servo} --model {entry.model} "
            f"--params {entry.folder} --logdir FOLDER",
        )
        output.result(
            {
                "entry": str(entry.folder),
                "servo": entry.servo,
                "model": entry.model,
                "grade": entry.grade,
                "logs": dict(entry.logs),
            }
        )
        return 0
