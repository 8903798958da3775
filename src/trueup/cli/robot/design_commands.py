"""``trueup design``: a recording from which the unknowns can be distinguished."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tyro.conf import Positional, arg

from trueup._options import settings_of
from trueup.cli.command_settings import settings_in
from trueup.cli.output import Output
from trueup.cli.robot.design_values import search_of, share_of
from trueup.cli.settings import Keys, options_of
from trueup.cli.study.options import Json, OfRuns
from trueup.design.bench.choices import BenchChoices
from trueup.design.bench.limits import BenchLimits
from trueup.design.search_settings import DesignSearchSettings
from trueup.simulation.warp.devices import DeviceName


@dataclass(frozen=True)
class SettingsOfDesign(BenchLimits, BenchChoices, DesignSearchSettings):
    """Settings of a design, of a robot or of a servo on its bench."""

    duration: float | None = None
    """Length of the recording, or of all logs together [s]; by default that of the experiment, 24
    on a servo bench."""
    target_interval: str | None = None
    """Target width of the intervals, as a share of the bounds of the parameter: 5% or 0.05."""


DesignOptions = options_of(SettingsOfDesign, "DesignOptions")
"""An option for each marked setting of a design."""


@dataclass(frozen=True, kw_only=True)
class Design(DesignOptions, OfRuns):
    """Design the next recording: a motion with which the unknowns can be distinguished.

    Examples:
      trueup design experiment.yaml --dry-run
      trueup design experiment.yaml duration=20 target_interval=5%
      trueup design experiment.yaml --after runs/arm --output runs/next
      trueup design runs/arm --predicted runs/first_design
      trueup design xl330.json masses=0.2,0.5 lengths=0.1,0.15 logs=3 duration=24
      trueup design next.json --predicted xl330_design --output second_design

    The controller is part of the model (model: {actuators: position, kp: ..., kd: ...}), the limits
    of the motion are in the part "design" of the experiment. Recordings need not exist: the first
    one lists signals and actuators. Intervals are predicted as identify computes them; a parameter
    that remains unknown is reported with the reason. Ctrl-C saves the best design so far. For a
    servo fit, the next logs are designed, with mass, length, gain and trajectory of each. With
    --predicted, the last prediction is compared with the result before the next design.
    Exit codes: 0 done, 2 wrong input, 130 interrupted, 143 terminated.
    """

    KEYS: ClassVar[type] = SettingsOfDesign
    WITHOUT: ClassVar[tuple[str, ...]] = ("seconds", "rate")

    experiment: Annotated[Positional[Path], arg(metavar="EXPERIMENT|RUN")]
    """Experiment file, run directory of the last recording (which implies --after), or parameter
    file of a servo fit."""
    keys: Keys = ()
    after: Annotated[Path | None, arg(metavar="RUN")] = None
    """Run directory of the last recording, from which values, uncertainty and noise are used."""
    predicted: Annotated[Path | None, arg(metavar="DESIGN")] = None
    """Run directory of the design of that recording, with the prediction to compare."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="DIRECTORY")] = None
    """Run directory; by default runs/NAME_design next to the experiment file, NAME_design next to
    the parameter file of a servo fit."""
    device: DeviceName | None = None
    """Device of large batches of simulations of a robot; by default that of the experiment."""
    resume: bool = False
    """Continue an interrupted design."""
    overwrite: bool = False
    """Replace the run in the directory."""
    dry_run: bool = False
    """Read and check everything, report the planned design and its time; write nothing."""
    quiet: bool = False
    """Hide the progress."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.knowledge.drawn_run import run_directory_of
        from trueup.runs.kinds import kind_of
        from trueup.runs.store.run_directory import RunDirectory

        values = settings_in(self)
        is_run = self.experiment.is_dir() or self.experiment.suffix == ".json"
        if is_run and kind_of(RunDirectory.open(run_directory_of(self.experiment))) == "servo":
            from trueup.cli.robot.design_bench import run_bench
            from trueup.errors import ExperimentError

            if self.device not in (None, "auto", "cpu"):
                raise ExperimentError(
                    f"{self.experiment} is a servo fit, whose next logs are simulated on the "
                    "cores of the CPU: remove --device, which is for the recording of a robot"
                )
            return run_bench(self, values, output)
        return self._robot(values, output)

    def _robot(self, values: Mapping[str, Any], output: Output) -> int:
        """Design the recording of a robot; returns the exit code."""
        from trueup.cli.robot.design_results import run_or_plan, show_design, show_plan
        from trueup.design.run import plan_design, run_design
        from trueup.design.spec import DesignSpec
        from trueup.errors import ExperimentError
        from trueup.sysid.experiment.settings import on_device

        bench = {*settings_of(BenchLimits), *settings_of(BenchChoices)}
        if of_bench := [name for name in values if name in bench]:
            raise ExperimentError(
                f"{of_bench[0]} is for servo benches, but {self.experiment} is not a servo fit: "
                "remove it; the limits of a robot are in its experiment file, under design"
            )
        experiment, folder, after = self._inputs(values)
        spec = DesignSpec.of(
            on_device(experiment, self.device),
            folder,
            after,
            predicted=self.predicted,
            anyway=self.anyway,
            **search_of(values),
        )
        target = self.output or folder / "runs" / f"{experiment.name}_design"
        return run_or_plan(
            run_design,
            plan_design,
            spec,
            target,
            self,
            output,
            show=show_design,
            show_plan=show_plan,
        )

    def _inputs(self, values: Mapping[str, Any]) -> tuple[Any, Path, Path | None]:
        """Experiment with the settings of the command, its folder, and the last run."""
        from pydantic import ValidationError

        from trueup.errors import ExperimentError
        from trueup.knowledge.identified import identified_run
        from trueup.sysid.experiment.file import load_experiment

        after = self.after
        if self.experiment.is_dir():
            after = after or self.experiment
            prepared = identified_run(self.experiment, anyway=self.anyway).prepared
            experiment, folder = prepared.experiment, prepared.folder
        else:
            experiment, folder = load_experiment(self.experiment), self.experiment.parent
        changes: dict[str, Any] = {}
        if (duration := values.get("duration")) is not None:
            changes["duration"] = duration
        if (wanted := values.get("target_interval")) is not None:
            changes["target_interval"] = share_of(wanted)
        part = experiment.design
        try:
            part = type(part).model_validate({**part.model_dump(), **changes})
        except ValidationError as error:
            first = error.errors()[0]
            name, reason = first["loc"][0], first["msg"].lower()
            raise ExperimentError(f"{name} is {first['input']}: {reason}") from error
        return experiment.model_copy(update={"design": part}), folder, after
