"""Check of a written model: it is read back and simulated briefly."""

import re

import mujoco
import numpy as np

from trueup.errors import ModelError, listing
from trueup.gait.opensim.comparison import WrittenModel
from trueup.gait.opensim.mjcf_joints import Skeleton
from trueup.gait.opensim.model import OsimModel
from trueup.simulation.engine.warning_capture import captured_warnings

MOMENT = 1.0
"""Duration of the test simulation without activation [s]: a body falls by 5 m, and a limb without
damping turns a few times."""

FASTEST = 1e3
"""Largest plausible speed of a joint [rad/s or m/s]: a limb that turns 160 times a second."""

_BAD = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)


def read_back(text: str, built: Skeleton, model: OsimModel) -> WrittenModel:
    """The model of an MJCF text, after a test simulation.

    Args:
      text: MJCF text.
      built: skeleton of the text.
      model: model of OpenSim.

    Raises:
      ModelError: MuJoCo rejects the text, or the model diverges.
    """
    try:
        compiled = mujoco.MjModel.from_xml_string(text, dict(built.spec.assets))
    except ValueError as error:
        raise ModelError(refusal_of(error)) from error
    written = WrittenModel(compiled, {name: built.sense(name) for name in model.free})
    _simulate(written, model)
    return written


def refusal_of(error: Exception) -> str:
    """Error message of MuJoCo with the rejected element."""
    said = " ".join(str(error).split())
    found = re.match(r"(?:XML )?(?:Error: )?(?P<why>.*?)\s*Element name '(?P<name>[^']*)'", said)
    if found is None:
        return f"MuJoCo rejects it: {said.removeprefix('Error: ')}"
    what = f"the element {found['name']!r}" if found["name"] else "an element without a name"
    why = found["why"].rstrip(", ").removeprefix("Error: ")
    return f"MuJoCo rejects {what}: {why}"


def _simulate(written: WrittenModel, model: OsimModel) -> None:
    """Raise ModelError where the model diverges from its default pose."""
    compiled = written.compiled
    data = mujoco.MjData(compiled)
    default = {name: np.array([model.coordinates[name].default]) for name in model.free}
    data.qpos[:] = written.positions(default)[0]
    worst = None
    with captured_warnings():
        for _ in range(max(1, round(MOMENT / compiled.opt.timestep))):
            mujoco.mj_step(compiled, data)
            bad = [data.warning[int(kind)] for kind in _BAD]
            worst = next((one.lastinfo for one in bad if one.number), None)
            if worst is None and np.abs(data.qvel).max(initial=0.0) > FASTEST:
                worst = int(np.argmax(np.abs(data.qvel)))
            if worst is not None:
                break
    if worst is None:
        return
    body = compiled.body(int(compiled.dof_bodyid[worst])).name
    joints = [compiled.joint(j).name for j in np.flatnonzero(compiled.jnt_dofadr == worst)]
    raise ModelError(
        f"it diverges within {MOMENT:g} s from its default pose, at the joint {listing(joints)} of "
        f"the body {body!r}: check mass, inertia and muscles there"
    )
