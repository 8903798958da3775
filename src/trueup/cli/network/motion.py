"""``trueup network train-motion``: a correction of a joint's torque, trained by its motion."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from trueup.cli.output import Output
from trueup.cli.study.options import Json, OfRuns
from trueup.errors import ExperimentError


@dataclass(frozen=True, kw_only=True)
class TrainMotion(OfRuns):
    """Train corrections of joint torques by their motion, without a torque sensor.

    Logs need command and angle. The joint is simulated with its base, a servo model or a PD law,
    and with the correction; the error of angle and speed is what is trained on, over horizons that
    grow. The correction is written where it is better than the base on validation logs.

    An experiment file in place of the logs trains a correction for each joint of its MuJoCo model,
    over its position servos or torques as they are; what it holds out tests.

    Examples:
      trueup network train-motion logs --servo m4.json --output runs/knee
      trueup network train-motion logs --servo m4.json -o runs/knee --test-kp 400 --time 5min
      trueup network train-motion logs --servo m4.json -o runs/knee --test sin_sin --no-learn-base
      trueup network train-motion logs --base pd -o runs/knee --inputs kp load
      trueup network train-motion logs --servo m4.json -o runs/knee --identify-gains
      trueup network train-motion logs --servo m4.json -o runs/knee --dry-run
      trueup network train-motion arm.yaml -o runs/arm --time 30min
      trueup network train-motion --resume -o runs/knee

    Ctrl-C finishes the gradient step, saves, and says how to resume.
    Exit codes: 0 done, 2 wrong input, 130 interrupted, 143 terminated.
    """

    logs: Annotated[Positional[Path | None], arg(metavar="LOGS|EXPERIMENT")] = None
    """Folder of servo logs; raw ones are resampled to 5 ms. Or an experiment file (.yaml), whose
    recordings need the angle of every joint and the commands."""
    servo: Annotated[Path | None, arg(metavar="FILE")] = None
    """Base: parameter file of a servo model, as trueup actuator fit writes it."""
    base: Annotated[str | None, arg(metavar="pd|none|FILE")] = None
    """Base without a servo model. pd: a PD law within a torque-speed curve, with armature and
    friction, all found from the training logs; a base.json of a run; none: the correction is the
    whole torque."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="DIRECTORY")] = None
    """Run directory, for network.safetensors, servo.json or base.json, scores and report."""
    test_kp: Annotated[tuple[float, ...], arg(metavar="GAIN [GAIN ...]")] = ()
    """Gains whose logs test; the highest of three or more where nothing is named."""
    test: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")] = ()
    """Trajectories or logs that test."""
    validation: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")] = ()
    """Trajectories or logs that the correction is chosen by."""
    family: Literal["gru", "lstm", "mlp"] = "gru"
    """Family of the network."""
    time: Annotated[str, arg(metavar="TIME")] = "10min"
    """Time of the training, such as 90s or 1h."""
    steps: Annotated[int, arg(metavar="INT")] = 1500
    """Gradient steps at most."""
    horizons: Annotated[tuple[float, ...], arg(metavar="S [S ...]")] = (0.1, 0.3, 1.0)
    """Horizons of the error, one after the other [s]."""
    inputs: Annotated[
        tuple[
            Literal["angle", "error", "velocity", "kp", "kd", "load", "voltage", "temperature"], ...
        ],
        arg(metavar="INPUT [INPUT ...]"),
    ] = ()
    """Inputs of the correction; conditions such as kp and load alone are told beside angle, error
    and velocity. Default: angle and velocity, which hold at gains that no log has."""
    target: Literal["motion", "torque"] = "motion"
    """torque: train on the field torque of the logs [N m] instead, from each recorded state."""
    learn_base: bool = True
    """Move the numbers of the base along."""
    identify_gains: bool = False
    """Find along what the firmware makes of each gain that training logs state."""
    seed: int = 0
    """Seed of weights and windows."""
    resume: bool = False
    """Go on with the run that --output names, as it was started."""
    overwrite: bool = False
    """Replace the run that the directory holds."""
    dry_run: bool = False
    """Read and check everything, time a few steps, print what would be trained, write nothing."""
    quiet: bool = False
    """No progress."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup import runs
        from trueup.cli.network.motion_results import show_motion, show_plan
        from trueup.cli.run_results import print_outcome
        from trueup.networks.motion.train import resume_motion_training

        if self.output is None:
            raise ExperimentError("give the run directory with --output")
        verbose = not (self.quiet or output.json)
        if self.resume:
            given = {n for n, value in vars(self).items() if value != getattr(type(self), n)}
            if given - {"output", "resume", "quiet", "json"}:
                raise ExperimentError(
                    "--resume goes on with a run as it was started: leave everything but --output "
                    "out, or start a new run with another --output"
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
            # what would be written over is said by the run itself
            return show_plan(runs.plan(planned, spec, target, overwrite=True), output)
        outcome = runs.start(run, spec, target, overwrite=self.overwrite, verbose=verbose)
        return print_outcome(outcome, output, show_motion)

    def _settings(self) -> Any:
        from trueup.networks import MotionSettings
        from trueup.networks.training.settings import seconds_of

        return MotionSettings(
            family=self.family,
            seconds=seconds_of(self.time, "--time"),
            max_steps=self.steps,
            horizons=self.horizons,
            inputs=self.inputs,
            target=self.target,
            learn_base=self.learn_base,
            identify_gains=self.identify_gains,
            seed=self.seed,
        )

    def _spec(self) -> Any:
        from trueup.networks.motion.spec import MotionSpec

        if self.logs is None or (self.servo is None) == (self.base is None):
            raise ExperimentError(
                "give the folder of the logs, and what is corrected: a servo model with --servo, "
                "or --base pd or none; or an experiment file"
            )
        assert self.output is not None
        return MotionSpec.of(
            self._base(),
            self.logs,
            self._settings(),
            name=self.output.name,
            test_kp=self.test_kp,
            test=self.test,
            validation=self.validation,
        )

    def _model_spec(self) -> Any:
        from trueup.networks.motion.of_model.spec import ModelMotionSpec
        from trueup.sysid import load_experiment

        assert self.logs is not None and self.output is not None
        if self.servo is not None or self.base is not None or self.test or self.test_kp:
            raise ExperimentError(
                "an experiment file names model, gains and what tests (held_out): leave --servo, "
                "--base, --test and --test-kp out"
            )
        return ModelMotionSpec.of(
            load_experiment(self.logs),
            self.logs.parent,
            self._settings(),
            validation=self.validation,
            name=self.output.name,
            anyway=self.anyway,
        )

    def _base(self) -> Any:
        from trueup.actuators import load_model
        from trueup.networks.motion.base import NONE, PD, read_base

        if self.servo is not None:
            return load_model(self.servo, anyway=self.anyway)
        assert self.base is not None
        if self.base in (PD, NONE):
            return self.base
        return read_base(Path(self.base), anyway=self.anyway)
