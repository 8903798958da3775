"""``trueup gait device``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from trueup.cli.output import Output
from trueup.cli.study.options import Json, OfRuns


@dataclass(frozen=True, kw_only=True)
class CompareDevice(OfRuns):
    """Compare walking with a device, with the device carried but off, and without it.

    Examples:
      trueup gait device --model ankle --max-torque 50 --seeds 3
      trueup gait device --model hip --max-torque 20 --tgt-slope 5 --from runs/uphill
      trueup gait device --seeds 5 --dry-run
      trueup gait device --save-path runs/device --resume

    Each seed is three searches of the same length from the same walk. Effort and metabolic rate
    are compared at the target speed, per kg of the body and of all that is carried, with
    standard errors over the seeds; what chance may give too is called not significant. The folder
    holds report.html, results.csv, torque.csv (torque over stance, peak, rise and fall times),
    result.json, and the run of each search. Ctrl-C saves; --resume goes on.
    Exit codes: 0 done, 2 wrong input, 130 interrupted, 143 terminated.
    """

    model: Annotated[str, arg(metavar="DEVICE")] = "ankle"
    """Device: ankle, hip or hip_extension."""
    max_torque: Annotated[float, arg(metavar="NM")] = 50.0
    """Its largest torque [N m]."""
    seeds: Annotated[int, arg(metavar="INT")] = 3
    """Searches of each arm; 3 or more for a standard error that means something."""
    param_path: Annotated[Path, arg(aliases=["--from"], metavar="PATH")] = Path("shipped")
    """Walk that all searches start from: a run, a vector, or shipped."""
    tgt_vel: Annotated[float, arg(metavar="M/S")] = 1.25
    """Speed of the comparison [m/s]."""
    tgt_slope: Annotated[float, arg(metavar="DEG")] = 0.0
    """Slope of the ground [deg]; the walk that it starts from has to manage it."""
    popsize: Annotated[int, arg(metavar="INT")] = 64
    """Candidates of a generation."""
    maxiter: Annotated[int, arg(metavar="INT")] = 40
    """Generations of each search."""
    save_path: Annotated[Path, arg(aliases=["-o", "--output"], metavar="DIRECTORY")] = Path(
        "runs/device"
    )
    """Folder of the comparison."""
    threads: Annotated[int, arg(metavar="INT")] = 0
    """Threads that simulate; all cores where absent."""
    resume: bool = False
    """Go on with the comparison in the folder."""
    overwrite: bool = False
    """Replace the comparison in the folder."""
    dry_run: bool = False
    """Say what would be searched, and how long it takes; write nothing."""
    quiet: bool = False
    """No progress."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.gait import DeviceSettings, compare_device, plan_device

        named = str(self.param_path) in ("shipped", "nominal")
        settings = DeviceSettings(
            model=self.model,
            max_torque=self.max_torque,
            seeds=self.seeds,
            start=str(self.param_path if named else self.param_path.resolve()),
            speed=self.tgt_vel,
            slope=self.tgt_slope,
            popsize=self.popsize,
            maxiter=self.maxiter,
        )
        if self.dry_run:
            plan = plan_device(self.save_path, settings, threads=self.threads, anyway=self.anyway)
            return _show_plan(plan, output)
        found = compare_device(
            self.save_path,
            settings,
            threads=self.threads,
            resume=self.resume,
            overwrite=self.overwrite,
            anyway=self.anyway,
            verbose=not (self.quiet or output.json),
        )
        report = self.save_path / "report.html"
        output.result({**found.to_dict(), "report": str(report)})
        output.text(found.headline, "")
        rows = [
            [one.quantity, one.other, "body" if one.per_body else "all carried", one.words]
            for one in found.differences
        ]
        output.table(["device on", "beside", "per kg of", "difference"], rows)
        for one in found.of("with"):
            if one.torque is not None:
                output.text(
                    f"Seed {one.seed}: peak {one.torque.peak:.3g} N m at "
                    f"{one.torque.peak_at:.0f} % of stance"
                )
        output.text(f"Report: {report}", f"Torque: {self.save_path / 'torque.csv'}")
        return 0


def _show_plan(plan: dict[str, Any], output: Output) -> int:
    """Print what a comparison would do."""
    from trueup.runs.loop.progress import duration

    output.result(plan)
    (stage,) = plan["with"]["stages"]
    output.text(
        f"{plan['searches']} searches of {stage['generations']} generations of "
        f"{stage['candidates']} candidates, each over {stage['walks_of_each']} walks of "
        f"{stage['duration_s']:g} s.",
        f"They take {duration(plan['seconds_at_most'])} here at most.",
        f"The comparison would be written to {plan['directory']}.",
    )
    return 0
