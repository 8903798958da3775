"""``trueup actuator export``: an identified servo for a simulator."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from trueup.cli.output import Output
from trueup.cli.study_options import Json

Form = Literal["mujoco", "mjcf-position", "mjcf-dcmotor", "mjlab", "isaac-lab"]
"""What a servo is exported for."""

_SCRIPT = """\
# The servo {name!r} on a joint of a MuJoCo model, the whole model at C speed.
# Run: python THIS_FILE model.xml joint
import sys

import mujoco
import mujoco.viewer

from trueup.actuators import servo_law

file, joint = sys.argv[1:]
servos = servo_law(file, {{joint: {path!r}}}{gains})
model = servos.compile()
data = mujoco.MjData(model)
print("the goal [rad] is the control of", servos.channels["goal"][joint])
with servos.installed(data), mujoco.viewer.launch_passive(model, data) as viewer:
    while viewer.is_running():
        mujoco.mj_step(model, data)
        viewer.sync()
"""

_MJLAB = """\
# The servo {name!r} in mjlab; trueup is installed beside it.
from mjlab.managers.event_manager import EventTermCfg

from trueup.actuators.mjlab import ServoActuatorCfg, prepare_servo_fields

# among the actuators of an entity's articulation
actuator = ServoActuatorCfg(target_names_expr=(".*",), json_path={path!r}{gains})
# among the events of the environment: each has its own friction
event = EventTermCfg(func=prepare_servo_fields, mode="startup")
"""


@dataclass(frozen=True, kw_only=True)
class ExportServo:
    """Write an identified servo for a simulator, its error against the full model stated.

    Examples:
      trueup actuator export --params m6.json --form mjcf-dcmotor --logdir data_processed -o m6.xml
      trueup actuator export --params m6.json --form mujoco -o servo.py
      trueup actuator export --params m6.json --form isaac-lab

    mujoco and mjlab use the whole model; the others come as near as the simulator can.
    Exit codes: 0 done, 2 wrong input.
    """

    params: Annotated[Path, arg(metavar="FILE")]
    """Parameter file of the servo."""
    form: Annotated[Form, arg(aliases=["--to"])] = "mjcf-dcmotor"
    """mujoco: a script that runs the model at C speed. mjcf-dcmotor, mjcf-position: MJCF without
    code. mjlab: the actuator's configuration. isaac-lab: the nearest of its configurations."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """File to write; printed where absent."""
    logdir: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Resampled logs on which the error is measured and made small; the standard trajectories
    where absent."""
    kp: Annotated[float | None, arg(metavar="GAIN")] = None
    """Firmware gain; the servo's own where absent."""
    vin: Annotated[float | None, arg(metavar="V")] = None
    """Bus voltage [V]; the servo's own where absent."""
    timestep: Annotated[float, arg(metavar="S")] = 0.001
    """Time step of the simulation [s]."""
    catalogue: Annotated[Path | None, arg(metavar="FILE")] = None
    """YAML file with further servos."""
    skip_bad_logs: bool = False
    """Leave logs out that cannot be used, rather than refusing them all."""
    overwrite: bool = False
    """Replace a file that is there."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        return run_export(self, output)


def run_export(command: ExportServo, output: Output) -> int:
    """Write or print what a servo is exported as; returns the exit code.

    Raises:
      ParameterError: the parameter file cannot be read.
      RecordingError: a log cannot be used.
      FitError: the form does not exist for the servo.
      ReportError: the file exists or cannot be written.
    """
    from trueup.actuators import load_catalogue, load_model, read_logs
    from trueup.errors import ReportError
    from trueup.studies import atomic

    target = command.output
    if target is not None and target.exists() and not command.overwrite:
        raise ReportError(f"{target} exists: give another --output, or --overwrite")
    if command.catalogue is not None:
        load_catalogue(command.catalogue, replace=True)
    model = load_model(command.params)
    skipped: list[str] = []
    logs = None
    if command.logdir is not None:
        logs = read_logs(
            command.logdir, uniform=True, skip_bad=command.skip_bad_logs, on_skip=skipped.append
        )
    text, errors = _exported(model, command, logs)
    if target is None:
        output.text(text.rstrip("\n"))
    else:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_text(target, text)
        except OSError as error:
            raise ReportError(f"cannot write {target}: {error.strerror}") from error
        for message in skipped:
            output.text(f"  ! {message}")
        output.text(f"{command.form} of {command.params} in {target}")
        if errors is not None:
            output.text(_sentence(errors))
    output.result(
        {
            "form": command.form,
            "params": str(command.params),
            "output": None if target is None else str(target),
            "text": text,
            "errors_rad": errors,
            "skipped": skipped,
        }
    )
    return 0


def _sentence(errors: dict[str, float]) -> str:
    words = f"Position difference from the full model: {1e3 * errors['from_model']:.2f} mrad"
    if "from_logs" in errors:
        words += (
            f"; from the recordings: {1e3 * errors['from_logs']:.2f} mrad, where the full model is "
            f"off by {1e3 * errors['model_from_logs']:.2f} mrad"
        )
    return words


def _exported(model: Any, command: ExportServo, logs: Any) -> tuple[str, dict[str, float] | None]:
    from trueup.actuators.export._isaac_lab_export import export_isaac_lab
    from trueup.actuators.export._mjcf_export import export_mjcf

    options = {"kp": command.kp, "vin": command.vin}
    if command.form in ("mjcf-position", "mjcf-dcmotor"):
        form = command.form.removeprefix("mjcf-")
        return export_mjcf(model, form, logs, timestep=command.timestep, **options)
    if command.form == "isaac-lab":
        return export_isaac_lab(model, logs, timestep=command.timestep, **options)
    gains = "".join(f", {k}={v!r}" for k, v in options.items() if v is not None)
    text = _SCRIPT if command.form == "mujoco" else _MJLAB
    path = str(command.params.resolve())
    return text.format(name=model.servo.name, path=path, gains=gains), None
