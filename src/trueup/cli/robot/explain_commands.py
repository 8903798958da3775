"""``trueup explain``: arguments."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli.output import Output
from trueup.cli.registered_names import CauseName
from trueup.cli.study.options import Json, OfRuns
from trueup.simulation.warp.devices import DeviceName


@dataclass(frozen=True)
class Explain(OfRuns):
    """Find the causes of the gap between a robot and its simulation, ranked by their effect.

    Examples:
      trueup explain experiment.yaml
      trueup explain runs/arm
      trueup explain experiment.yaml --causes delay friction
      trueup explain experiment.yaml --resume
      trueup explain experiment.yaml --dry-run --json

    A linearisation says what each cause promises. The most promising ones are fitted, alone and in
    addition to those already found, and scored by the reduction of the error on the held-out part
    of the recording. The experiment requires no parameters and is not changed. Ctrl-C keeps the
    finished fits and prints the command to resume.
    Exit codes: 0 done, also where no cause explains the gap; 2 wrong input; 130 interrupted;
    143 terminated.
    """

    experiment: Annotated[Positional[Path], arg(metavar="EXPERIMENT|RUN")]
    """Experiment file, written with trueup init or trueup import, or run directory of an
    identification."""
    causes: tuple[CauseName, ...] = ()
    """Causes to free; by default all."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="DIRECTORY")] = None
    """Run directory; by default runs/NAME-explained next to the experiment."""
    level: Annotated[float, arg(metavar="FLOAT")] = 0.95
    """Coverage of the intervals."""
    resume: bool = False
    """Continue an interrupted run."""
    overwrite: bool = False
    """Replace the run in the directory."""
    seed: Annotated[int | None, arg(metavar="INT")] = None
    """Seed of intervals by bootstrap; by default that of the experiment."""
    device: DeviceName | None = None
    """Device of large batches of simulations; by default that of the experiment."""
    dry_run: bool = False
    """Read and check everything, report the planned fits and their time; write nothing."""
    quiet: bool = False
    """Hide the progress."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.robot.explain import run_explain

        return run_explain(
            self.experiment,
            self.causes,
            self.level,
            self.seed,
            self.device,
            self.output,
            self.resume,
            self.overwrite,
            self.dry_run,
            self.anyway,
            not (self.quiet or output.json),
            output,
        )
