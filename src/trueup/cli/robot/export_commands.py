"""``trueup export``: its commands and their arguments; what they do is imported when they run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import Positional, arg

from trueup.cli.output import Output
from trueup.cli.study.options import Json, OfRuns
from trueup.deploy.forms import MODEL_DRAWS, described_forms


@dataclass(frozen=True)
class ExportDr(OfRuns):
    """Export what a run leaves open as domain randomisation: joint draws, checked by simulation.

    Examples:
      trueup export dr runs/arm --form mjlab
      trueup export dr runs/arm --form json --draws 512 --output arm_draws
      trueup export dr runs/arm --form playground --dry-run
      trueup export dr fleet/* --form mjlab --output fleet_draws
      trueup export dr xl330.json --form isaac-lab     draws of a servo fit
      trueup export dr runs/gru5 --form isaac-lab --joints 12

    Writes posterior.npz (rows), dr.json (ranges, correlation, provenance), report.html and, for a
    simulator, one Python module that gives environment i the whole row i. Draws whose band misses
    what is held out are refused, and so is a run whose inputs have changed; --anyway marks them.
    Exit codes: 0 done, 2 wrong input, 130 interrupted, 143 terminated.
    """

    directories: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN [RUN RUN ...]")]
    """Run directory of a finished identification or ensemble of networks, or a fitted servo's
    parameter file or run; of three identifications or more, draws are of their fleet."""
    form: Annotated[
        str, arg(aliases=["--simulator", "-s"], metavar="FORM", help=described_forms(MODEL_DRAWS))
    ] = "json"
    draws: Annotated[int, arg(metavar="INT")] = 4096
    """Number of draws."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="DIRECTORY")] = None
    """Folder for the files; randomisation_FORM in the run directory where absent."""
    folder: Annotated[Path | None, arg(metavar="DIRECTORY")] = None
    """Folder of the run's inputs, if they have moved away from it."""
    joints: Annotated[int | None, arg(metavar="INT")] = None
    """Joints of an environment that the networks of an ensemble drive."""
    seed: Annotated[int, arg(metavar="INT")] = 0
    """Seed of the draws."""
    overwrite: bool = False
    """Replace an export that the folder holds."""
    dry_run: bool = False
    """Say what would be drawn, simulated and written, and how long it takes; write nothing."""
    quiet: bool = False
    """No progress."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.robot.export_dr import run_export_dr

        return run_export_dr(
            self.directories,
            self.form,
            self.draws,
            self.output,
            self.folder,
            self.joints,
            self.seed,
            self.anyway,
            self.overwrite,
            self.dry_run,
            not (self.quiet or output.json),
            output,
        )


@dataclass(frozen=True)
class Export:
    """Carry what was identified into simulators that train policies.

    Examples:
      trueup export dr runs/arm --form mjlab     draws of what the run leaves open
    """

    COMMANDS: ClassVar[dict[str, type]] = {"dr": ExportDr}
