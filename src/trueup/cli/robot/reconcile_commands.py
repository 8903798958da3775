"""``trueup reconcile``: comparison of runs of one robot, or of a fleet."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli.output import Output
from trueup.cli.study.options import Json, OfRuns
from trueup.errors import RunDirectoryError


@dataclass(frozen=True)
class Reconcile(OfRuns):
    """Find the parameters that runs share, the spread of the others, and runs that are outliers.

    Examples:
      trueup reconcile runs/monday runs/tuesday runs/friday
      trueup reconcile fleet/* --output fleet_common
      trueup reconcile runs/* --output common --joint

    The runs are three or more identifications of one model with the same unknowns. An outlier is
    reported with its likely reason: another load, a warm motor, another unit. Copies of a run count
    once.
    Exit codes: 0 done, 2 wrong input.
    """

    directories: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN RUN RUN [RUN ...]")]
    """Run directories."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="DIRECTORY")] = None
    """Folder for report.html and reconcile.json; by default nothing is written."""
    level: Annotated[float, arg(metavar="FLOAT")] = 0.95
    """Coverage of the intervals."""
    overwrite: bool = False
    """Replace a comparison in the folder."""
    joint: bool = False
    """Fit the recordings of all consistent runs together too, into the folder joint."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.reconcile.reconciled import reconcile
        from trueup.reports.numbers import format_estimate, format_number
        from trueup.reports.symptoms import page_of_reason

        if self.joint and self.output is None:
            raise RunDirectoryError("--joint requires a folder: give it with --output")
        found = reconcile(
            self.directories,
            self.output,
            level=self.level,
            anyway=self.anyway,
            overwrite=self.overwrite,
        )
        content = found.to_dict()
        joint = None
        if self.joint and self.output is not None:
            from trueup.reconcile.joint_fit import fit_jointly

            joint = fit_jointly(
                found,
                self.output / "joint",
                overwrite=self.overwrite,
                verbose=not output.json,
            ).directory
            content["joint"] = str(joint)
        output.result(content)
        for copy in content["copies"]:
            output.text(f"{copy['run']} is a copy of {copy['of']}: they count as one run.")
        for outlier in content["outlying"]:
            output.text(f"{outlier['run']} is an outlier: {outlier['reason']}.")
        if not content["outlying"]:
            output.text("All runs are consistent.")
        elif page := page_of_reason("runs"):
            output.text(page.sentence)
        percent = f"{100 * self.level:.3g} %"
        rows = [
            [
                p["name"],
                format_estimate(p["common"], p["low"], p["high"]),
                "" if p["same"] else format_number(p["spread"]),
                p["unit"],
            ]
            for p in content["parameters"]
        ]
        output.text("")
        output.table(
            ["parameter", f"common, {percent} interval", "spread between runs", "unit"], rows
        )
        if self.output is not None:
            output.text(str(self.output / "report.html"))
        if joint is not None:
            output.text(str(joint / "report.html"))
        return 0
