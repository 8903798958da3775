"""``trueup network train-motion``: a correction of the joint torque, trained by the motion."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tyro.conf import Positional, arg

from trueup.cli.actuator.options import CatalogueSettings
from trueup.cli.command_settings import made_of, settings_in
from trueup.cli.output import Output
from trueup.cli.settings import Keys, options_of
from trueup.cli.study.options import Json, OfRuns
from trueup.errors import ExperimentError
from trueup.networks.motion.settings import MotionSettings


@dataclass(frozen=True, kw_only=True)
class SettingsOfMotion(CatalogueSettings, MotionSettings):
    """Settings of a training, and of the split of its logs."""

    test_kp: tuple[float, ...] = ()
    """Gains of the test logs; by default the highest of three or more."""
    test: tuple[str, ...] = ()
    """Trajectories or names of the test logs."""
    validation: tuple[str, ...] = ()
    """Trajectories or names of the validation logs, on which the correction is chosen."""


MotionOptions = options_of(SettingsOfMotion, "MotionOptions")
"""An option for each marked setting of a training."""


@dataclass(frozen=True, kw_only=True)
class TrainMotion(MotionOptions, OfRuns):
    """Train corrections of joint torques from motion, without a torque sensor.

    Logs require command and angle. The joint is simulated with its base, a servo model or a PD law,
    and with the correction; the loss is the error of angle and speed over increasing horizons. The
    correction is written if it is better than the base on validation logs.

    With an experiment file in place of the logs, a correction is trained for each joint of its
    MuJoCo model, in addition to its position servos or torques; its held-out recordings are the
    test.

    Examples:
      trueup network train-motion logs --servo m4.json --output runs/knee
      trueup network train-motion logs --servo m4.json -o runs/knee test_kp=400 --seconds 300
      trueup network train-motion logs --servo m4.json -o runs/knee test=sin_sin learn_base=0
      trueup network train-motion logs --servo mine.json -o runs/knee catalogue=servos.yaml
      trueup network train-motion logs --base pd -o runs/knee inputs=kp,load
      trueup network train-motion logs --servo m4.json -o runs/knee identify_gains=1
      trueup network train-motion logs --servo m4.json -o runs/knee --dry-run
      trueup network train-motion arm.yaml -o runs/arm --seconds 1800
      trueup network train-motion --resume -o runs/knee

    Ctrl-C finishes the gradient step, saves the state and prints the command to resume.
    Exit codes: 0 done, 2 wrong input, 3 "do not use", 130 interrupted, 143 terminated.
    """

    KEYS: ClassVar[type] = SettingsOfMotion

    logs: Annotated[Positional[Path | None], arg(metavar="LOGS|EXPERIMENT")] = None
    """Folder of servo logs; raw ones are resampled to 5 ms. Or an experiment file (.yaml), with
    recordings of the angle of every joint and of the commands."""
    keys: Keys = ()
    servo: Annotated[Path | None, arg(metavar="FILE")] = None
    """Base: parameter file of a servo model, as written by trueup actuator fit."""
    base: Annotated[str | None, arg(metavar="pd|none|FILE")] = None
    """Base without a servo model. pd: a PD law within a torque-speed curve, with armature and
    friction, all fitted to the training logs; FILE: base.json of a run; none: the correction is the
    whole torque."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="DIRECTORY")] = None
    """Run directory, with network.safetensors, servo.json or base.json, scores and report."""
    resume: bool = False
    """Continue the run in the run directory with its settings."""
    overwrite: bool = False
    """Replace the run in the directory."""
    dry_run: bool = False
    """Read and check everything, time a few steps and report the planned training; write nothing.
    """
    quiet: bool = False
    """Hide the progress."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup import runs
        from trueup.cli.network.motion_results import show_motion, show_plan
        from trueup.cli.run_results import print_outcome
        from trueup.networks.motion.train import resume_motion_training

        if self.output is None:
            raise ExperimentError("the run directory is missing: give it with --output")
        verbose = not (self.quiet or output.json)
        if self.resume:
            given = {n for n, value in vars(self).items() if value != getattr(type(self), n)}
            if given - {"output", "resume", "quiet", "json"}:
                raise ExperimentError(
                    "--resume continues a run with its settings: remove all options except "
                    "--output, or start a new run with another --output"
                )
            outcome = resume_motion_training(self.output, verbose=verbose)
            return print_outcome(outcome, output, show_motion)
        if self.logs is not None and self.logs.suffix in (".yaml", ".yml"):
            from trueup.networks.motion.of_model.run import plan_model_motion, run_model_motion

            spec, run, planned = self._model_spec(), run_model_motion, plan_model_motion
        else:
            from trueup.networks.motion.run import plan_motion, run_motion

            spec, run, planned = self._spec(), run_motion, plan_motion
        target = self.output.expanduser().resolve()
        if self.dry_run:
            # the run itself checks for files to overwrite
            return show_plan(runs.plan(planned, spec, target, overwrite=True), output)
        outcome = runs.start(run, spec, target, overwrite=self.overwrite, verbose=verbose)
        return print_outcome(outcome, output, show_motion)

    def _spec(self) -> Any:
        from trueup.networks.motion.spec import MotionSpec

        if self.logs is None or (self.servo is None) == (self.base is None):
            raise ExperimentError(
                "the inputs are the folder of the logs and one base: give a servo model with "
                "--servo, or --base pd or none; or give an experiment file"
            )
        assert self.output is not None
        values = settings_in(self)
        names = ("test_kp", "test", "validation", "catalogue")
        parts = {name: values[name] for name in names if name in values}
        settings = made_of(MotionSettings, values)
        base = self._base(parts.get("catalogue"))
        return MotionSpec.of(base, self.logs, settings, name=self.output.name, **parts)

    def _model_spec(self) -> Any:
        from trueup.networks.motion.of_model.spec import ModelMotionSpec
        from trueup.sysid import load_experiment

        assert self.logs is not None and self.output is not None
        values = settings_in(self)
        if (
            self.servo is not None
            or self.base is not None
            or {"test", "test_kp", "catalogue"} & set(values)
        ):
            raise ExperimentError(
                "an experiment file contains model, gains and test recordings (held_out): remove "
                "--servo, --base, catalogue, test and test_kp"
            )
        return ModelMotionSpec.of(
            load_experiment(self.logs),
            self.logs.parent,
            made_of(MotionSettings, values),
            validation=values.get("validation", ()),
            name=self.output.name,
            anyway=self.anyway,
        )

    def _base(self, catalogue: Path | None) -> Any:
        from trueup.actuators import load_model
        from trueup.actuators.catalogue.entries import use_catalogue
        from trueup.networks.motion.base import NONE, PD, read_base

        use_catalogue(catalogue)
        if self.servo is not None:
            return load_model(self.servo, anyway=self.anyway)
        assert self.base is not None
        if self.base in (PD, NONE):
            return self.base
        return read_base(Path(self.base), anyway=self.anyway)
