"""Script that loads a servo's parameter file and simulates the whole model in MuJoCo."""

import os
from pathlib import Path

from trueup.deploy.servo import ExportRequest, ServoExport, printable_name
from trueup.errors import FitError

_MUJOCO = """\
# The servo {name!r} on a joint of a MuJoCo model, the whole model as compiled code.
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


def mujoco_script(request: ExportRequest) -> ServoExport:
    """Python script that simulates the servo on a joint of a MuJoCo model, with a viewer.

    Raises:
      FitError: the request has no parameter file.
    """
    if request.path is None:
        raise FitError(
            "the form 'mujoco' loads the servo from its parameter file: save the model "
            "(save_model), and pass the path of the file"
        )
    given = {"kp": request.kp, "vin": request.vin}
    gains = "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)
    text = _MUJOCO.format(name=printable_name(request.model), path=_path_text(request), gains=gains)
    return ServoExport(text)


def _path_text(request: ExportRequest) -> str:
    """Expression of the path of the parameter file, relative to the script."""
    assert request.path is not None
    if request.output is None:
        relative = request.path.name  # a printed script is assumed to be next to its parameter file
    else:
        folder = request.output.resolve().parent
        relative = Path(os.path.relpath(request.path.resolve(), folder)).as_posix()
    return f"Path(__file__).parent / {relative!r}"
