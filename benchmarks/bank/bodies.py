"""Bodies of the bank's own machines: arms, legs, an axis, a wrist, a hanging quadruped."""

from dataclasses import dataclass

HARD = ' solreffriction=".004 1" solimpfriction=".99 .9999 .001 .5 2"'
"""Dry friction that hardly creeps."""


def head(name: str, step: float, hard: bool = False) -> str:
    """Beginning of the MJCF of a machine, with the middle of what its joints have."""
    return f"""<mujoco model="{name}"><option timestep="{step}" integrator="implicitfast"/>
<compiler angle="radian"/><default><joint armature=".03" damping=".3" frictionloss=".15"\
{HARD if hard else ""}/></default><worldbody>"""


@dataclass(frozen=True)
class Kind:
    """A kind of machine.

    Attributes:
      body: MJCF of its bodies.
      rest: pose that motions are about [rad, m].
      reach: amplitude of commands [rad, m].
      servo: gains kp [N m/rad, N/m] and kv of its position servos; zeros: those of its model.
      noise: noise of its encoders [rad, m].
      velocities: whether its logs hold velocities.
    """

    body: str
    rest: tuple[float, ...]
    reach: tuple[float, ...]
    servo: tuple[float, float]
    noise: float = 2e-4
    velocities: bool = False


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

FINGER = """<geom name="floor" type="plane" size="2 2 .1"/>
<body name="proximal" pos="0 0 .42"><joint name="base" axis="0 1 0"/>
<inertial pos="0 0 -.1" mass=".6" diaginertia=".003 .003 .0008"/>
<body name="distal" pos="0 0 -.2"><joint name="middle" axis="0 1 0"/>
<inertial pos="0 0 -.1" mass=".4" diaginertia=".002 .002 .0005"/>
<geom name="tip" type="sphere" size=".02" pos="0 0 -.2" mass="0"/></body></body>"""

AXIS = """<body name="carriage" pos="0 0 1"><joint name="slide" type="slide" axis="1 0 0"
armature="60" damping="140" frictionloss="18"/>
<inertial pos="0 0 0" mass="35" diaginertia=".2 .2 .2"/></body>"""

WRIST = """<body name="fork" pos="0 0 1"><joint name="pan" axis="0 0 1"/>
<inertial pos=".05 0 0" mass=".7" diaginertia=".003 .004 .004"/>
<body name="head" pos=".1 0 .05"><joint name="tilt" axis="0 1 0"/>
<inertial pos=".06 0 .02" mass=".5" diaginertia=".001 .002 .002"/></body></body>"""

CART = """<body name="cart" pos="0 0 1"><joint name="rail" type="slide" axis="1 0 0"
armature="2" damping="8" frictionloss="2"/>
<inertial pos="0 0 0" mass="3" diaginertia=".02 .02 .02"/>
<body name="boom"><joint name="lift" axis="0 1 0"/>
<inertial pos=".2 0 0" mass=".9" diaginertia=".002 .012 .012"/></body></body>"""


def _quadruped() -> str:
    """Trunk that hangs, with four legs of hip, thigh and calf."""
    legs = []
    for name, x, y in (("FL", 0.2, 0.1), ("FR", 0.2, -0.1), ("RL", -0.2, 0.1), ("RR", -0.2, -0.1)):
        side = 1 if y > 0 else -1
        legs.append(f"""<body name="{name}_hip" pos="{x} {y} 1"><joint name="{name}_hip_joint"
axis="1 0 0"/><inertial pos="0 {0.01 * side} 0" mass=".6" diaginertia=".0006 .0008 .0007"/>
<body name="{name}_thigh" pos="0 {0.07 * side} 0"><joint name="{name}_thigh_joint" axis="0 1 0"/>
<inertial pos="0 0 -.05" mass=".9" diaginertia=".005 .005 .001"/>
<body name="{name}_calf" pos="0 0 -.2"><joint name="{name}_calf_joint" axis="0 1 0"/>
<inertial pos="0 0 -.1" mass=".2" diaginertia=".0016 .0016 .0001"/></body></body></body>""")
    return "".join(legs)


def _arm7() -> str:
    """Seven joints, axes in turn upright and across."""
    masses = (3.0, 2.5, 2.2, 1.9, 1.5, 1.1, 0.6)
    text = ""
    for k, mass in reversed(list(enumerate(masses, start=1))):
        axis, moment = ("0 0 1", "0 1 0")[(k + 1) % 2], mass * 0.006
        text = f"""<body name="link{k}" pos="0 0 {0.15 if k > 1 else 0.3}">
<joint name="joint{k}" axis="{axis}"/><inertial pos=".02 .01 .08" mass="{mass}"
diaginertia="{moment:.4g} {moment:.4g} {moment / 3:.4g}"/>{text}</body>"""
    return text


LEGS = ((0.0, 0.7, -1.3) * 4, (0.35, 0.6, 0.6) * 4)
ARM7 = ((0.0, 0.4, 0.0, -0.9, 0.0, 0.7, 0.0), (0.9, 0.6, 0.9, 0.7, 1.0, 0.8, 1.2))

KINDS = {
    "arm2": Kind(ARM2, (0.4, 0.5), (0.7, 0.8), (60.0, 2.0)),
    "arm3": Kind(ARM3, (0.0, 0.4, 0.5), (0.8, 0.7, 0.8), (60.0, 2.0)),
    "leg": Kind(LEG, (0.3, -0.7, 0.2), (0.5, 0.6, 0.5), (50.0, 1.5)),
    "finger": Kind(FINGER, (0.35, -0.7), (0.4, 0.5), (40.0, 1.0)),
    "axis": Kind(AXIS, (0.0,), (0.12,), (60000.0, 2500.0), 2e-6),
    "wrist": Kind(WRIST, (0.2, -0.3), (0.9, 0.6), (30.0, 1.0)),
    "cart": Kind(CART, (0.0, 0.3), (0.2, 0.6), (400.0, 15.0)),
    "quadruped": Kind(_quadruped(), *LEGS, (40.0, 1.0)),
    "arm7": Kind(_arm7(), *ARM7, (300.0, 12.0), 1e-4),
}
"""Kinds of machines by name."""
