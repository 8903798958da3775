"""Commands of ``trueup export`` and their arguments; implementations are imported when they run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import Positional, arg

from trueup.cli.command_settings import made_of, settings_in
from trueup.cli.output import Output
from trueup.cli.settings import Keys, options_of
from trueup.cli.study.options import Json, OfRuns
from trueup.deploy.forms import MODEL_DRAWS, described_forms
from trueup.randomise.settings import DrawSettings

DrawOptions = options_of(DrawSettings, "DrawOptions")
"""An option for each marked setting of draws."""


@dataclass(frozen=True, kw_only=True)
class ExportDr(DrawOptions, OfRuns):
    """Export the uncertainty of a run as domain randomisation: joint draws, checked by simulation.

    Examples:
      trueup export dr runs/arm --form mjlab
      trueup export dr runs/arm --form json draws=512 --output arm_draws
      trueup export dr runs/arm --form playground --dry-run
      trueup export dr fleet/* --form mjlab --output fleet_draws
      trueup export dr xl330.json --form isaac-lab     draws of a servo fit
      trueup export dr runs/gru5 --form isaac-lab joints=12

    Writes posterior.npz (rows), dr.json (ranges, correlation, provenance), report.html and, for a
    simulator, a Python module that sets environment i to the whole row i. It is an error if the
    band of the draws misses the held-out data or inputs of the run have changed; with --anyway the
    draws are written and marked.
    Exit codes: 0 done, 2 wrong input, 130 interrupted, 143 terminated.
    """

    KEYS: ClassVar[type] = DrawSettings

    directories: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN [RUN RUN ...]")]
    """Run directory of a finished identification, servo fit or ensemble of networks, or parameter
    file of a servo fit; three or more identifications give draws of their fleet."""
    keys: Keys = ()
    form: Annotated[str, arg(metavar="FORM", help=described_forms(MODEL_DRAWS))] = "json"
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="DIRECTORY")] = None
    """Folder for the files; by default randomisation_FORM in the run directory."""
    folder: Annotated[Path | None, arg(metavar="DIRECTORY")] = None
    """Folder of the run's inputs, if they have moved relative to the run."""
    overwrite: bool = False
    """Replace an export in the folder."""
    dry_run: bool = False
    """Report the planned draws, simulations, files and time; write nothing."""
    quiet: bool = False
    """Hide the progress."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.robot.export_dr import run_export_dr

        return run_export_dr(
            self.directories,
            self.form,
            made_of(DrawSettings, settings_in(self)),
            self.output,
            self.folder,
            self.anyway,
            self.overwrite,
            self.dry_run,
            not (self.quiet or output.json),
            output,
        )


@dataclass(frozen=True)
class Export:
    """Export an identification to simulators that train policies.

    Examples:
      trueup export dr runs/arm --form mjlab     domain randomisation from the run
    """

    COMMANDS: ClassVar[dict[str, type]] = {"dr": ExportDr}
