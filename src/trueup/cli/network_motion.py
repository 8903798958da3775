"""``trueup network train-motion``: a correction of a servo, trained through the simulator."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from trueup.cli.output import Output
from trueup.cli.study_options import Json


@dataclass(frozen=True, kw_only=True)
class TrainMotion:
    """Train a correction of a servo's torque by its motion, without a torque sensor.

    Logs need command and angle. The joint of the servo model is simulated with the correction, and
    the error of angle and speed is what is trained on, over horizons that grow. The correction is
    written where it is better than the servo model on validation logs.

    Examples:
      trueup network train-motion logs --servo m4.json --output runs/knee
      trueup network train-motion logs --servo m4.json -o runs/knee --test-kp 400 --time 5min
      trueup network train-motion logs --servo m4.json -o runs/knee --test sin_sin --learn-base

    Exit codes: 0 done, 2 wrong input.
    """

    logs: Annotated[Positional[Path], arg(metavar="LOGS")]
    """Folder of servo logs; raw ones are resampled to 5 ms."""
    servo: Annotated[Path, arg(metavar="FILE")]
    """Parameter file of the servo model, as trueup actuator fit writes it."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="FOLDER")]
    """Folder for network.safetensors, servo.json and metrics.json."""
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
    learn_base: bool = False
    """Move the parameters of the servo along."""
    seed: int = 0
    """Seed of weights and windows."""
    overwrite: bool = False
    """Replace the training that the folder holds."""
    quiet: bool = False
    """No progress."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.actuators import load_model, read_logs
        from trueup.networks import MotionSettings, run_motion_training
        from trueup.networks.training.settings import seconds_of
        from trueup.studies.progress import Progress

        settings = MotionSettings(
            family=self.family,
            seconds=seconds_of(self.time, "--time"),
            max_steps=self.steps,
            horizons=self.horizons,
            learn_base=self.learn_base,
            seed=self.seed,
        )
        model, logs = load_model(self.servo), read_logs(self.logs)
        with Progress(not (self.quiet or output.json)) as progress:
            result = run_motion_training(
                model,
                logs,
                self.output,
                settings=settings,
                test_kp=self.test_kp,
                test=self.test,
                validation=self.validation,
                overwrite=self.overwrite,
                progress=progress.update,
            )
        output.text(*result.verdict.lines())
        rows = [
            [name, f"{1e3 * result.base_errors[name]:.4g}", f"{1e3 * error:.4g}"]
            for name, error in result.errors.items()
        ]
        where = "test" if result.parts.test else "validation"
        output.table([f"{where} log", "servo model, mrad", "corrected, mrad"], rows)
        output.text(
            f"RMS angle error of whole logs, {result.training.steps} gradient steps. "
            f"Files: {self.output}"
        )
        output.result({**result.to_dict(), "output": str(self.output)})
        return 0
