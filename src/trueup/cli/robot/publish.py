"""``trueup publish``: a finished run as an entry of a catalogue."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli.output import Output
from trueup.cli.study.options import Json


@dataclass(frozen=True, kw_only=True)
class Publish:
    """Write an entry of a catalogue from a run: parameters, verdict, logs and page.

    Of a servo fit, the parameter file is that of Better Actuator Models where the model has
    a form there. Of an identification, the entry holds model and experiment too, whose
    files must have relative names. A run with the verdict "do not use" is refused.

    Examples:
      trueup publish m6.run --output catalogue/xl330 --licence CC-BY-4.0 --by "A. Name"
      trueup publish runs/arm --output catalogue/arm --licence CC0-1.0 --no-logs
      trueup actuator evaluate --params catalogue/xl330 --logdir catalogue/xl330/logs
      trueup identify catalogue/arm/inputs/experiment.yaml --output runs/refit

    Exit codes: 0 done, 2 wrong input.
    """

    directory: Annotated[Positional[Path], arg(metavar="RUN")]
    """Run directory of a finished identification or servo fit."""
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
        from trueup.runs import publish

        entry = publish(
            self.directory,
            self.output,
            licence=self.licence,
            by=self.by,
            with_logs=self.logs,
            overwrite=self.overwrite,
        )
        count = f"{len(entry.logs)} log{'' if len(entry.logs) == 1 else 's'}"
        output.text(
            f"{entry.folder}: {entry.kind}, {entry.grade}, {count}"
            f"{'' if self.logs else ' by hash'}",
        )
        output.result(
            {
                "entry": str(entry.folder),
                "kind": entry.kind,
                "grade": entry.grade,
                "logs": dict(entry.logs),
            }
        )
        return 0
