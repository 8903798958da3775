"""Motion of a design: the robot in the commanded poses."""

import mujoco
import numpy as np

from trueup.design.motion.files import read_motion
from trueup.design.prepared import prepare
from trueup.runs.kinds import read_spec
from trueup.runs.store.run_directory import RunDirectory
from trueup.sysid.results.motions import FRAME_RATE, Motion


def motions_of_run(directory: RunDirectory) -> list[Motion]:
    """The designed motion, as it is commanded.

    Raises:
      RunDirectoryError: the run is not finished or is damaged.
      TrueupError: its inputs cannot be read.
    """
    arrays = read_motion(directory)
    robot = prepare(read_spec(directory)).robot  # type: ignore[arg-type]
    model = robot.model
    times, commands = arrays["times"], arrays["commands"]
    frames = np.arange(times[0], times[-1], 1.0 / FRAME_RATE)
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, robot.state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    positions = np.tile(data.qpos, (len(frames), 1))
    addresses = [int(model.joint(name).qposadr[0]) for name in robot.joints]
    for place, address in enumerate(addresses):
        positions[:, address] = np.interp(frames, times, commands[:, place])
    joints = tuple(zip(robot.joints, addresses))
    return [Motion("design", model, ("measured",), ("commanded poses",), positions[None], joints)]
