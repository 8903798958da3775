"""Machines of the bank: a model as a user has it, and the machine that it is a model of.

The machine differs from the model in armature, damping and friction of its joints, which are the
unknowns of the identification; faults are planted on top.
"""

from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np

TERMS = ("armature", "damping", "frictionloss")

HEAD = """<mujoco model="{name}"><option timestep="{step}" integrator="implicitfast"/>
<compiler angle="radian"/><default><joint armature=".03" damping=".3" frictionloss=".15"/>
</default><worldbody>"""

ARM2 = """<body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0"/>
<inertial pos="0 0 -.15" mass="1.2" diaginertia=".012 .012 .002"/>
<body name="lower" pos="0 0 -.3"><joint name="elbow" axis="0 1 0"/>
<inertial pos="0 0 -.13" mass=".8" diaginertia=".006 .006 .001"/></body></body>"""

ARM3 = """<body name="base" pos="0 0 1"><joint name="yaw" axis="0 0 1"/>
<inertial pos="0 0 0" mass="1" diaginertia=".02 .02 .02"/>
<body name="upper"><joint name="shoulder" axis="0 1 0"/>
<inertial pos="0 0 -.15" mass="1.2" diaginertia=".012 .012 .002"/>
<body name="lower" pos="0 0 -.3"><joint name="elbow" axis="0 1 0"/>
<inertial pos="0 0 -.13" mass=".8" diaginertia=".006 .006 .001"/></body></body></body>"""

LEG = """<body name="thigh" pos="0 0 1"><joint name="hip" axis="0 1 0"/>
<inertial pos="0 0 -.13" mass=".9" diaginertia=".008 .008 .002"/>
<body name="shank" pos="0 0 -.27"><joint name="knee" axis="0 1 0"/>
<inertial pos="0 0 -.12" mass=".4" diaginertia=".004 .004 .001"/>
<body name="foot" pos="0 0 -.25"><joint name="ankle" axis="0 1 0"/>
<inertial pos=".04 0 -.02" mass=".15" diaginertia=".0006 .0006 .0004"/></body></body></body>"""

AXIS = """<body name="carriage" pos="0 0 1"><joint name="slide" type="slide" axis="1 0 0"
armature="60" damping="140" frictionloss="18"/>
<inertial pos="0 0 0" mass="35" diaginertia=".2 .2 .2"/></body>"""

WRIST = """<body name="fork" pos="0 0 1"><joint name="pan" axis="0 0 1"/>
<inertial pos=".05 0 0" mass=".7" diaginertia=".003 .004 .004"/>
<body name="head" pos=".1 0 .05"><joint name="tilt" axis="0 1 0"/>
<inertial pos=".06 0 .02" mass=".5" diaginertia=".001 .002 .002"/></body></body>"""


@dataclass(frozen=True)
class Kind:
    """A kind of machine.

    Attributes:
      body: MJCF of its bodies.
      rest: pose that motions are about [rad, m].
      reach: amplitude of commands [rad, m].
      servo: gains kp [N m/rad, N/m] and kv of its position servos.
      noise: noise of its encoders [rad, m].
    """

    body: str
    rest: tuple[float, ...]
    reach: tuple[float, ...]
    servo: tuple[float, float]
    noise: float = 2e-4


KINDS = {
    "arm2": Kind(ARM2, (0.4, 0.5), (0.7, 0.8), (60.0, 2.0)),
    "arm3": Kind(ARM3, (0.0, 0.4, 0.5), (0.8, 0.7, 0.8), (60.0, 2.0)),
    "leg": Kind(LEG, (0.3, -0.7, 0.2), (0.5, 0.6, 0.5), (50.0, 1.5)),
    "axis": Kind(AXIS, (0.0,), (0.12,), (60000.0, 2500.0), 2e-6),
    "wrist": Kind(WRIST, (0.2, -0.3), (0.9, 0.6), (30.0, 1.0)),
}


@dataclass
class Machine:
    """A machine with its model.

    Attributes:
      kind: what it is.
      drive: ``"servo"`` or ``"torque"``.
      step: time step [s].
      model: MJCF that the user has.
      real: the machine.
      truth: values of its unknowns by name.
    """

    kind: Kind
    drive: str
    step: float
    model: str
    real: mujoco.MjSpec
    truth: dict[str, float] = field(default_factory=dict)

    @property
    def joints(self) -> list[str]:
        return [joint.name for joint in self.real.joints]


def make_machine(
    name: str, drive: str, rng: np.random.Generator, step: float = 0.002, friction: float = 1.0
) -> Machine:
    """A machine of a kind with unknowns drawn about those of its model.

    Args:
      name: one of :data:`KINDS`.
      drive: ``"servo"``: position servos with known gains; ``"torque"``: motors.
      rng: random numbers.
      step: time step [s].
      friction: factor of its dry friction; 0: machine and model have none.
    """
    kind = KINDS[name]
    kp, kv = kind.servo
    text = [HEAD.format(name=name, step=step), kind.body, "</worldbody><actuator>"]
    joints = [
        joint.name
        for joint in mujoco.MjSpec.from_string(text[0] + kind.body + "</worldbody></mujoco>").joints
    ]
    for joint in joints:
        text.append(
            f'<position name="m_{joint}" joint="{joint}" kp="{kp:g}" kv="{kv:g}"/>'
            if drive == "servo"
            else f'<motor name="m_{joint}" joint="{joint}"/>'
        )
    text.append("</actuator><sensor>")
    text += [f'<jointpos name="{joint}_pos" joint="{joint}"/>' for joint in joints]
    text.append("</sensor></mujoco>")
    model = "".join(text)
    real = mujoco.MjSpec.from_string(model)
    truth = {}
    for joint in real.joints:
        joint.armature = float(joint.armature) * rng.uniform(0.6, 1.8)
        damping = scalar(joint.damping) * rng.uniform(0.6, 1.8)
        set_damping(joint, damping)
        joint.frictionloss = float(joint.frictionloss) * rng.uniform(0.6, 1.8) * friction
        values = (float(joint.armature), damping, float(joint.frictionloss))
        for term, value in zip(TERMS, values, strict=True):
            if friction or term != "frictionloss":
                truth[f"{joint.name}_{term}"] = value
    if not friction:
        model = model.replace('frictionloss=".15"', 'frictionloss="0"')
        model = model.replace('frictionloss="18"', 'frictionloss="0"')
    return Machine(kind, drive, step, model, real, truth)


def scalar(value: object) -> float:
    """First entry of a coefficient that newer MuJoCo has as a polynomial."""
    return float(np.ravel(np.asarray(value))[0])


def set_damping(joint: "mujoco.MjsJoint", value: float) -> None:
    """Set the linear damping of a joint [N m s/rad]."""
    current = np.ravel(np.asarray(joint.damping))
    joint.damping = value if current.size == 1 else [value, *current[1:]]


def write_model(machine: Machine, folder: Path) -> Path:
    """Write the model of a machine as the user has it."""
    file = folder / "model.xml"
    file.write_text(machine.model)
    return file
