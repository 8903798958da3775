"""Machines of the bank: a model as a user has it, and the machine that it is a model of.

The machine differs from the model in armature, damping and friction of its joints, which are the
unknowns of the identification; faults are planted on top.
"""

from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np

from bank.bodies import KINDS, Kind, head

TERMS = ("armature", "damping", "frictionloss")
BUFFER = 30
"""Length of the delay buffers of servos [time steps]."""


@dataclass
class Machine:
    """A machine with its model.

    Attributes:
      kind: what it is.
      drive: ``"servo"`` or ``"torque"``.
      step: time step [s].
      model: MJCF that the user has, or its file.
      real: the machine; its actuated joints come first, in the order of its actuators.
      joints: names of the actuated joints.
      truth: values of its unknowns by name.
    """

    kind: Kind
    drive: str
    step: float
    model: str | Path
    real: mujoco.MjSpec
    joints: list[str]
    truth: dict[str, float] = field(default_factory=dict)


def make_machine(
    name: str,
    drive: str,
    rng: np.random.Generator,
    step: float = 0.002,
    friction: float = 1.0,
    hard: bool = False,
    buffer: bool = False,
) -> Machine:
    """A machine of a kind with unknowns drawn about those of its model.

    Args:
      name: one of :data:`KINDS`.
      drive: ``"servo"``: position servos with known gains; ``"torque"``: motors.
      rng: random numbers.
      step: time step [s].
      friction: factor of its dry friction; 0: machine and model have none.
      hard: whether dry friction is hard, in machine and model.
      buffer: whether the servos of machine and model have a buffer of delays.
    """
    kind = KINDS[name]
    text = [head(name, step, hard), kind.body, "</worldbody>"]
    bare = mujoco.MjSpec.from_string("".join([*text, "</mujoco>"]))
    joints = [joint.name for joint in bare.joints]
    text.append(_actuators(kind, drive, joints, step if buffer else None))
    text.append("<sensor>")
    text += [f'<jointpos name="{joint}_pos" joint="{joint}"/>' for joint in joints]
    text.append("</sensor></mujoco>")
    model = "".join(text)
    real = mujoco.MjSpec.from_string(model)
    truth = draw_joints(real, rng, friction=friction)
    if not friction:
        model = model.replace('frictionloss=".15"', 'frictionloss="0"')
        model = model.replace('frictionloss="18"', 'frictionloss="0"')
    return Machine(kind, drive, step, model, real, joints, truth)


def _actuators(kind: Kind, drive: str, joints: list[str], buffer: float | None) -> str:
    kp, kv = kind.servo
    delays = f' delay="{buffer}" nsample="{BUFFER}" interp="linear"' if buffer else ""
    lines = [
        f'<position name="m_{joint}" joint="{joint}" kp="{kp:g}" kv="{kv:g}"{delays}/>'
        if drive == "servo"
        else f'<motor name="m_{joint}" joint="{joint}"/>'
        for joint in joints
    ]
    return f"<actuator>{''.join(lines)}</actuator>"


def draw_joints(
    real: mujoco.MjSpec,
    rng: np.random.Generator,
    least: tuple[float, float, float] = (0.0, 0.0, 0.0),
    friction: float = 1.0,
) -> dict[str, float]:
    """Draw armature, damping and friction about those of the model, and return them by name.

    Args:
      real: the machine, changed in place.
      rng: random numbers.
      least: smallest middle of the draws of armature, damping and friction.
      friction: factor of the dry friction; 0: it is no unknown.
    """
    truth = {}
    for joint in real.joints:
        middles = (float(joint.armature), scalar(joint.damping), float(joint.frictionloss))
        values = [max(pair) * rng.uniform(0.6, 1.8) for pair in zip(middles, least, strict=True)]
        values[2] *= friction
        joint.armature, joint.frictionloss = values[0], values[2]
        set_damping(joint, values[1])
        for term, value in zip(TERMS, values, strict=True):
            if friction or term != "frictionloss":
                truth[f"{joint.name}_{term}"] = value
    return truth


def scalar(value: object) -> float:
    """First entry of a coefficient that newer MuJoCo has as a polynomial."""
    return float(np.ravel(np.asarray(value))[0])


def set_damping(joint: "mujoco.MjsJoint", value: float) -> None:
    """Set the linear damping of a joint [N m s/rad]."""
    joint.damping = with_first(joint.damping, value)


def with_first(coefficients: object, value: float) -> object:
    """A coefficient with another first entry, in the form in which this MuJoCo has it."""
    current = np.ravel(np.asarray(coefficients))
    return value if current.size == 1 else [value, *current[1:]]


def model_file(machine: Machine, folder: Path) -> Path:
    """File of the model as the user has it; written where it is the bank's own."""
    if isinstance(machine.model, Path):
        return machine.model
    file = folder / "model.xml"
    file.write_text(machine.model)
    return file
