"""Models with closed chains, and recordings of them with known truth."""

from pathlib import Path

import mujoco
import numpy as np

HARD = 'solref="0.002 1" solimp="0.99 0.999 0.001 0.5 2"'

FOUR_BAR = """<mujoco model="fourbar"><compiler angle="radian"/>
<option timestep="0.001" integrator="implicitfast"/>
<default><geom type="capsule" size=".01" contype="0" conaffinity="0"/></default>
<worldbody>
<body name="crank"><joint name="crank" axis="0 1 0" armature="{armature}" damping="{damping}"
  frictionloss="{friction}"/><geom fromto="0 0 0 0 0 .2" mass=".3"/>
 <body name="coupler" pos="0 0 .2"><joint name="coupler" axis="0 1 0" damping="0.01"/>
  <geom fromto="0 0 0 .3 0 .05" mass=".3"/></body></body>
<body name="rocker" pos=".3 0 0"><joint name="rocker" axis="0 1 0" damping="{passive}"/>
 <geom fromto="0 0 0 0 0 .25" mass="{rocker}"/></body>
</worldbody>
<equality>
 <connect name="loop" body1="coupler" body2="rocker" anchor=".3 0 .05" {solver}/></equality>
<actuator>{actuator}</actuator></mujoco>"""

ANKLE = """<mujoco model="ankle"><compiler angle="radian"/>
<option timestep="0.001" integrator="implicitfast"/>
<default><geom type="capsule" size=".008" contype="0" conaffinity="0"/></default>
<worldbody>{cranks}
<body name="yoke"><joint name="pitch" axis="0 1 0" damping="0.02"/>
 <inertial pos="0 0 0" mass="0.05" diaginertia="2e-5 2e-5 2e-5"/>
 <body name="foot"><joint name="roll" axis="1 0 0" damping="0.02"/>
  <geom type="box" size=".1 .04 .01" pos=".04 0 -.04" mass=".8"/>
  <site name="heel_left" pos="-.05 .04 0"/><site name="heel_right" pos="-.05 -.04 0"/></body></body>
</worldbody>
<equality><connect name="left" site1="end_left" site2="heel_left" {solver}/>
<connect name="right" site1="end_right" site2="heel_right" {solver}/></equality>
<actuator>{actuator}</actuator></mujoco>"""
_CRANK = """<body name="{side}" pos="0 {y} .2"><joint name="{side}" axis="0 1 0" {joint}/>
 <geom fromto="0 0 0 -.05 0 0" mass=".1"/>
 <body name="rod_{side}" pos="-.05 0 0"><joint name="{side}_u" axis="0 1 0" damping="0.001"/>
  <joint name="{side}_v" axis="1 0 0" damping="0.001"/><geom fromto="0 0 0 0 0 -.2" mass=".06"/>
  <site name="end_{side}" pos="0 0 -.2"/></body></body>"""

MOTORS = '<motor name="{0}_motor" joint="{0}"/>'
SERVOS = '<position name="{0}_servo" joint="{0}" kp="12" kv="0.3"/>'

FOUR_BAR_TRUTH = {"crank": {"armature": 0.025, "damping": 0.25, "frictionloss": 0.12}}
ANKLE_TRUTH = {
    "left": {"armature": 0.012, "damping": 0.15, "frictionloss": 0.08},
    "right": {"armature": 0.015, "damping": 0.12, "frictionloss": 0.1},
}


def four_bar(
    armature=0.01,
    damping=0.1,
    friction=0.05,
    passive=0.01,
    actuator=MOTORS,
    solver=HARD,
    rocker=0.4,
) -> str:
    """A four-bar linkage whose crank is driven."""
    return FOUR_BAR.format(
        armature=armature,
        damping=damping,
        friction=friction,
        passive=passive,
        rocker=rocker,
        actuator=actuator.format("crank"),
        solver=solver,
    )


def ankle(truth=None, actuator=MOTORS, solver=HARD) -> str:
    """An ankle with two passive axes, driven by two cranks and rods."""
    start = {"armature": 0.006, "damping": 0.05, "frictionloss": 0.03}
    cranks = ""
    for side, y in (("left", 0.04), ("right", -0.04)):
        values = start if truth is None else truth[side]
        joint = " ".join(f'{name}="{value}"' for name, value in values.items())
        cranks += _CRANK.format(side=side, y=y, joint=joint)
    drives = "".join(actuator.format(side) for side in ("left", "right"))
    return ANKLE.format(cranks=cranks, actuator=drives, solver=solver)


ROCKER = 0.6
"""Mass of the rocker of the machine [kg], whose moments are in proportion; .4 in its model."""


def true_model(kind: str, actuator=MOTORS, rocker=0.4) -> str:
    """The machine of a kind of model."""
    if kind == "ankle":
        return ankle(ANKLE_TRUTH, actuator)
    values = FOUR_BAR_TRUTH["crank"]
    joint = values["armature"], values["damping"], values["frictionloss"]
    return four_bar(*joint, actuator=actuator, rocker=rocker)


def waves(times: np.ndarray, count: int, size: float, seed: int) -> np.ndarray:
    """Smooth random signals ``(T, count)`` of several frequencies, zero at the beginning."""
    rng = np.random.default_rng(seed)
    out = np.zeros((len(times), count))
    for k in range(count):
        for frequency in (0.31, 0.7, 1.3, 2.1):
            phase = rng.uniform(0, 2 * np.pi)
            wave = np.sin(2 * np.pi * frequency * times + phase) - np.sin(phase)
            out[:, k] += wave * rng.uniform(0.5, 1.0)
    return size * out * (1 - np.exp(-times / 0.3))[:, None] / 2


def simulated(text: str, commands: np.ndarray, hold: int, guide: np.ndarray | None = None):
    """States and torques of each sample of a simulation: ``(time, qpos, qvel, controls)``.

    Args:
      text: the model.
      commands: control of each sample ``(n, nu)``.
      hold: simulation steps of a sample.
      guide: angles that a controller of motors follows ``(n, nu)``; the controls are its torques.
    """
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    joints = model.actuator_trnid[:, 0]
    places, dofs = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
    rows = []
    for k in range(len(commands)):
        control = commands[k]
        if guide is not None:
            control = 12 * (guide[k] - data.qpos[places]) - 0.6 * data.qvel[dofs]
        data.ctrl[:] = control
        rows.append((data.time, data.qpos.copy(), data.qvel.copy(), data.ctrl.copy()))
        mujoco.mj_step(model, data, hold)
    return model, [np.array(part) for part in zip(*rows, strict=True)]


def write_log(path: Path, model, parts, suffix: str, noise=2e-4, seed=0) -> None:
    """A CSV with the driven joints only: positions with noise and an encoder step, commands."""
    times, qpos, _, controls = parts
    rng = np.random.default_rng(seed)
    joints = model.actuator_trnid[:, 0]
    names = [model.joint(int(j)).name for j in joints]
    angles = qpos[:, model.jnt_qposadr[joints]]
    step = 2 * np.pi / 16384
    angles = step * np.round((angles + noise * rng.normal(size=angles.shape)) / step)
    header = ",".join(["time", *(f"{n}_pos" for n in names), *(f"{n}_{suffix}" for n in names)])
    table = np.column_stack([times, angles, controls])
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.9g")
