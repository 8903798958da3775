"""``trueup design``: the recording that tells the unknowns apart."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from trueup.cli.output import Output
from trueup.cli.study.options import Json, OfRuns


@dataclass(frozen=True)
class Design(OfRuns):
    """Design the next recording: a motion that tells the unknowns apart, under its controller.

    Examples:
      trueup design experiment.yaml --dry-run
      trueup design experiment.yaml --duration 20 --target-interval 5%
      trueup design experiment.yaml --after runs/arm --output runs/next
      trueup design runs/arm --predicted runs/first_design
      trueup design xl330.json --masses 0.2 0.5 --lengths 0.1 0.15 --logs 3 --duration 24
      trueup design next.json --predicted xl330_design --output second_design

    The model has the controller (model: {actuators: position, kp: ..., kd: ...}), the part
    "design" of the experiment the limits of the motion. Recordings need not exist: the first one
    says which signals and actuators there are. Intervals are predicted as identify computes them,
    and what stays unknown is named with its reason. Ctrl-C saves the best so far. Of a servo fit it
    designs the next logs: mass, length, gain and trajectory of each. With --predicted the last
    prediction stands beside the result, and the next recording is designed from it.
    Exit codes: 0 done, 2 wrong input, 130 interrupted, 143 terminated.
    """

    experiment: Annotated[Positional[Path], arg(metavar="EXPERIMENT|RUN")]
    """Experiment file; or the run of the last recording, which stands for --after too, or the
    parameter file of a servo fit."""
    duration: Annotated[float | None, arg(metavar="SECONDS")] = None
    """Length of the recording [s], of all logs together; the experiment's own where absent, 24 on a
    servo bench."""
    target_interval: Annotated[str | None, arg(metavar="PERCENT")] = None
    """Widest interval wanted, as a share of the parameter's bounds: 5% or 0.05."""
    after: Annotated[Path | None, arg(metavar="RUN")] = None
    """Run of the last recording: its values, knowledge and noise are taken."""
    predicted: Annotated[Path | None, arg(metavar="DESIGN")] = None
    """Design of that recording: its prediction is compared with the result."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="DIRECTORY")] = None
    """Run directory; runs/NAME_design beside the experiment file where absent, NAME_design beside
    that of a servo fit."""
    seconds: Annotated[float, arg(metavar="FLOAT")] = 240.0
    """Time of the search [s]."""
    evaluations: Annotated[int | None, arg(metavar="INT")] = None
    """Designs that are evaluated at most; with --library the result does not depend on time."""
    library: Annotated[int | None, arg(metavar="INT")] = None
    """Random pieces to choose from; as many as the time allows where absent."""
    seed: Annotated[int | None, arg(metavar="INT")] = None
    """Seed of everything random; the experiment's own where absent."""
    resume: bool = False
    """Continue an interrupted design."""
    overwrite: bool = False
    """Replace the run that the directory holds."""
    dry_run: bool = False
    """Read and check everything, say what would be done and how long it takes, write nothing."""
    masses: Annotated[tuple[float, ...], arg(metavar="KG [KG ...]")] = ()
    """Servo bench: masses at hand [kg]; those of the former logs where absent."""
    lengths: Annotated[tuple[float, ...], arg(metavar="M [M ...]")] = ()
    """Servo bench: lengths of the arm at hand [m]; those of the former logs where absent."""
    gains: Annotated[tuple[float, ...], arg(metavar="GAIN [GAIN ...]")] = ()
    """Servo bench: firmware gains; the standard ones of the servo where absent."""
    logs: Annotated[int, arg(metavar="INT")] = 3
    """Servo bench: logs to record."""
    reach: Annotated[float | None, arg(metavar="RAD")] = None
    """Servo bench: greatest angle to both sides of where the pendulum hangs [rad]; pi where
    absent."""
    speed: Annotated[float | None, arg(metavar="RAD/S")] = None
    """Servo bench: highest speed [rad/s]; 15 where absent."""
    heat: Annotated[float | None, arg(metavar="SHARE")] = None
    """Servo bench: root mean square of the torque over the greatest torque; 0.5 where absent."""
    quiet: bool = False
    """No progress."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.knowledge.drawn_run import run_directory_of
        from trueup.runs.kinds import kind_of
        from trueup.runs.store.run_directory import RunDirectory

        is_run = self.experiment.is_dir() or self.experiment.suffix == ".json"
        if is_run and kind_of(RunDirectory.open(run_directory_of(self.experiment))) == "servo":
            from trueup.cli.robot.design_bench import run_bench

            wanted = self.target_interval
            return run_bench(self, None if wanted is None else share_of(wanted), output)
        return self._robot(output)

    def _robot(self, output: Output) -> int:
        """Design the recording of a robot; returns the exit code."""
        from trueup.cli.robot.design_results import run_or_plan, show_design, show_plan
        from trueup.design.run import plan_design, run_design
        from trueup.design.spec import DesignSpec
        from trueup.errors import ExperimentError
        from trueup.runs.loop.budget import Budget

        bench = ("masses", "lengths", "gains", "reach", "speed", "heat")
        if given := [f"--{name}" for name in bench if getattr(self, name)]:
            raise ExperimentError(
                f"{given[0]} is for servo benches, and {self.experiment} is no servo fit: the "
                "limits of a robot stand in its experiment file, under design"
            )
        experiment, folder, after = self._inputs()
        spec = DesignSpec.of(
            experiment,
            folder,
            after,
            predicted=self.predicted,
            anyway=self.anyway,
            library=self.library,
            seed=self.seed,
            limits=Budget(max_seconds=self.seconds, max_evaluations=self.evaluations),
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

    def _inputs(self) -> tuple[Any, Path, Path | None]:
        """Experiment with the options of the command, its folder, and the last run."""
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
        if self.duration is not None:
            if not 0 < self.duration < 1e5:
                raise ExperimentError(f"--duration is {self.duration:g} s; give a time above 0")
            changes["duration"] = self.duration
        if self.target_interval is not None:
            changes["target_interval"] = share_of(self.target_interval)
        part = experiment.design.model_copy(update=changes)
        return experiment.model_copy(update={"design": part}), folder, after


def share_of(text: str) -> float:
    """Share that a text names: ``5%``, ``5 %`` or ``0.05``.

    Raises:
      ExperimentError: it is no share between 0 and 1.
    """
    from trueup.errors import ExperimentError

    words = text.strip()
    try:
        value = float(words.removesuffix("%")) / (100 if words.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise ExperimentError(f"--target-interval is {text!r}; give a share such as 5% or 0.05")
    return value
