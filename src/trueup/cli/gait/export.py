"""``trueup gait export``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from trueup._marks import marked
from trueup.cli.gait.options import WalkOfTarget
from trueup.cli.output import Output
from trueup.cli.study.options import Json


@dataclass(frozen=True, kw_only=True)
class ExportWalk(WalkOfTarget):
    """Write a walk over time, for OpenSim or as a table.

    Examples:
      trueup gait export runs/walk --output walk.mot
      trueup gait export runs/walk --output walk.sto sim_time=20
      trueup gait export walk_Best.txt --config walk --output walk.csv

    .mot contains the coordinates in degrees and metres, .sto activations, ground reaction and
    moments, .csv all of them with units. The walk is selected as in  trueup gait evaluate.
    Exit codes: 0 done, 2 wrong input.
    """

    output: Annotated[Path, arg(aliases=["-o"], metavar="FILE")]
    """File to write, .mot, .sto or .csv."""
    overwrite: bool = False
    """Replace the file."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.errors import GaitError, ReportError
        from trueup.gait import observe_walks, write_walk

        if self.output.exists() and not self.overwrite:
            raise ReportError(
                f"{self.output} exists: replace it with --overwrite, or give another --output"
            )
        walk = self.walk
        scenario = walk.problem.scenarios[0]
        records, (series,) = observe_walks(scenario.simulation, walk.vector)
        if series is None:
            raise GaitError(f"{walk.target}: the walk cannot start: {records.invalid.get(0, '')}")
        with marked(walk.mark):
            path = write_walk(self.output, scenario.simulation.walker, series)
            lasted = float(series.time[-1])
            output.result({"file": str(path), "lasted_s": lasted, "fell": series.fell})
        output.text(f"Walk of {lasted:.2f} s: {path}")
        return 0
