"""Exports that load the parameter file and keep the whole model: MuJoCo script, mjlab config."""

import os
from pathlib import Path

from trueup.actuators.exports.servo_export import ExportRequest, printable_name
from trueup.errors import FitError

_MUJOCO = """\
# The servo {name!r} on a joint of a MuJoCo model, the whole model at C speed.
# Run: python THIS_FILE model.xml joint
import sys
from pathlib import Path

import mujoco
import mujoco.viewer

from trueup.actuators import servo_law

file, joint = sys.argv[1:]
servos = servo_law(file, {{joint: {path}}}{gains})
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
from pathlib import Path

from mjlab.managers.event_manager import EventTermCfg

from trueup.actuators.mjlab import ServoActuatorCfg, prepare_servo_fields

# among the actuators of an entity's articulation
actuator = ServoActuatorCfg(target_names_expr=(".*",), json_path=str({path}){gains})
# among the events of the environment: each has its own friction
event = EventTermCfg(func=prepare_servo_fields, mode="startup")
"""


def mujoco_script(request: ExportRequest) -> str:
    """Python script that simulates the servo on a joint of a MuJoCo model, with a viewer.

    Raises:
      FitError: the request has no parameter file.
    """
    return _filled(_MUJOCO, request)


def mjlab_configuration(request: ExportRequest) -> str:
    """Python code that configures the servo as an actuator of mjlab.

    Raises:
      FitError: the request has no parameter file.
    """
    return _filled(_MJLAB, request)


def _filled(text: str, request: ExportRequest) -> str:
    if request.path is None:
        raise FitError(
            "the forms 'mujoco' and 'mjlab' load the servo from its parameter file: save the model "
            "(save_model), and pass the path of the file"
        )
    given = {"kp": request.kp, "vin": request.vin}
    gains = "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)
    return text.format(name=printable_name(request.model), path=_beside(request), gains=gains)


def _beside(request: ExportRequest) -> str:
    """Expression of the parameter file, found from where the script is."""
    assert request.path is not None
    if request.output is None:
        relative = request.path.name  # a printed script is saved beside its parameter file
    else:
        folder = request.output.resolve().parent
        relative = Path(os.path.relpath(request.path.resolve(), folder)).as_posix()
    return f"Path(__file__).parent / {relative!r}"
