"""``trueup gait device``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tyro.conf import arg

from trueup.cli.key_values import check_type, values_of
from trueup.cli.output import Output
from trueup.cli.settings import Keys, given, options_of
from trueup.cli.study.options import Json, OfRuns
from trueup.gait.device.settings import DeviceSettings
from trueup.gait.search.path_words import path_or_word

DeviceOptions = options_of(DeviceSettings, "DeviceOptions")
"""An option for each marked setting of a comparison."""


@dataclass(frozen=True, kw_only=True)
class CompareDevice(DeviceOptions, OfRuns):
    """Compare walking with a device, with the device carried but off, and without it.

    Examples:
      trueup gait device --model ankle --max-torque 50 --seeds 3
      trueup gait device --model hip --max-torque 20 start=runs/uphill slope=5
      trueup gait device --seeds 5 --dry-run
      trueup gait device --output runs/device --resume

    Each seed is three searches of the same length from the same walk. Effort and metabolic rate
    are compared at the target speed, per kg of body mass and of total mass, with standard errors
    over the seeds; a difference that may result from chance is reported as not significant. The
    folder contains report.html, results.csv, torque.csv (torque over stance, peak, rise and fall
    times), result.json, and the run of each search. Ctrl-C saves; --resume continues.
    Exit codes: 0 done, 2 wrong input, 130 interrupted, 143 terminated.
    """

    KEYS: ClassVar[type] = DeviceSettings

    keys: Keys = ()
    output: Annotated[Path, arg(aliases=["-o", "--save-path"], metavar="DIRECTORY")] = Path(
        "runs/device"
    )
    """Folder of the comparison."""
    threads: Annotated[int, arg(metavar="INT")] = 0
    """Simulation threads; 0 uses all cores. The result does not depend on it."""
    resume: bool = False
    """Continue the comparison in the folder, also with more seeds."""
    overwrite: bool = False
    """Replace the comparison in the folder."""
    dry_run: bool = False
    """Report what would be searched, and the time it takes; write nothing."""
    quiet: bool = False
    """No progress."""
    json: Json = False

    @property
    def settings(self) -> DeviceSettings:
        """The settings that are given as options and keys."""
        values = values_of(DeviceSettings, self.keys, given(self, DeviceSettings))
        values = check_type(DeviceSettings, values)
        if "start" in values:
            values["start"] = path_or_word(values["start"])
        return DeviceSettings(**values)

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.gait import compare_device, plan_device

        settings = self.settings
        if self.dry_run:
            plan = plan_device(self.output, settings, threads=self.threads, anyway=self.anyway)
            return _show_plan(plan, output)
        found = compare_device(
            self.output,
            settings,
            threads=self.threads,
            resume=self.resume,
            overwrite=self.overwrite,
            anyway=self.anyway,
            verbose=not (self.quiet or output.json),
        )
        report = self.output / "report.html"
        output.result({**found.to_dict(), "report": str(report)})
        output.text(found.headline, found.naturalness, "")
        rows = [
            [one.quantity, one.other, "body mass" if one.per_body else "total mass", one.words]
            for one in found.differences
        ]
        output.table(["device on", "compared with", "per kg of", "difference"], rows)
        for one in found.of("with"):
            if one.torque is not None:
                output.text(
                    f"Seed {one.seed}: peak {one.torque.peak:.3g} N m at "
                    f"{one.torque.peak_at:.0f} % of stance"
                )
        output.text(f"Report: {report}", f"Torque: {self.output / 'torque.csv'}")
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
