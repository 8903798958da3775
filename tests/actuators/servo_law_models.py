"""Models, servos and logs that the tests of servos in MuJoCo share."""

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup.actuators import ServoLaw, ServoLog, ServoModel

GRAVITY = 9.80665

PENDULUM = """
<mujoco>
  <option timestep="0.001" gravity="0 0 -9.80665" integrator="{integrator}"/>
  <worldbody>
    <body>
      <joint name="hinge" axis="0 1 0" damping="0.3" frictionloss="0.2" armature="1"/>
      <inertial pos="0 0 -0.1" mass="0.4" diaginertia="0.001 0.001 0.001"/>
    </body>
  </worldbody>
</mujoco>
"""

CHAIN = """
<mujoco>
  <option timestep="{timestep}" integrator="{integrator}"/>
  <worldbody>
    <geom type="plane" size="3 3 0.1" pos="0 0 {floor}"/>
    <body>
      <joint name="a" axis="0 1 0"/>
      <geom type="capsule" size="0.01" fromto="0 0 0 0.08 0 0" mass="0.05"/>
      <body pos="0.08 0 0">
        <joint name="b" axis="0 1 0"/>
        <geom type="capsule" size="0.01" fromto="0 0 0 0.08 0 0" mass="0.04"/>
        <body pos="0.08 0 0">
          <joint name="c" axis="0 1 0"/>
          <geom type="capsule" size="0.01" fromto="0 0 0 0.05 0 0" mass="0.02"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

_LEG = """
<body pos="{x} {y} 0">
  <joint name="hip{number}" axis="0 1 0"/>
  <geom type="capsule" size="0.01" fromto="0 0 0 0 0 -0.06" mass="0.03"/>
  <body pos="0 0 -0.06">
    <joint name="knee{number}" axis="0 1 0"/>
    <geom type="capsule" size="0.01" fromto="0 0 0 0 0 -0.06" mass="0.02"/>
  </body>
</body>
"""
_PLACES = ((0.05, 0.05), (0.05, -0.05), (-0.05, 0.05), (-0.05, -0.05))
LEGS = "".join(_LEG.format(x=x, y=y, number=i) for i, (x, y) in enumerate(_PLACES))

QUADRUPED = f"""
<mujoco>
  <option timestep="0.001"/>
  <worldbody>
    <geom type="plane" size="3 3 0.1"/>
    <body pos="0 0 0.2">
      <freejoint/>
      <geom type="box" size="0.05 0.05 0.02" mass="0.3"/>
      {LEGS}
    </body>
  </worldbody>
</mujoco>
"""


def pendulum_spec(integrator: str = "Euler") -> mujoco.MjSpec:
    """A pendulum whose joint has friction that a servo replaces."""
    return mujoco.MjSpec.from_string(PENDULUM.format(integrator=integrator))


def chain_spec(
    timestep: float = 1e-3, floor: float = -3.0, integrator: str = "Euler"
) -> mujoco.MjSpec:
    """Three links, in the plane, above a floor."""
    text = CHAIN.format(timestep=timestep, floor=floor, integrator=integrator)
    return mujoco.MjSpec.from_string(text)


def small_servo(friction: str = "m6", terms: tuple[str, ...] = (), **values: float) -> ServoModel:
    """An XL330 with friction of every kind."""
    numbers = {
        "kt": 0.37, "R": 2.8, "armature": 0.0018, "friction_base": 0.01, "friction_viscous": 0.006,
        "friction_stribeck": 0.01, "load_friction_base": 0.1, "load_friction_stribeck": 0.1,
        "load_friction_motor": 0.12, "load_friction_external": 0.05,
        "load_friction_motor_stribeck": 0.1, "load_friction_external_stribeck": 0.08,
        "load_friction_motor_quad": 0.01, "load_friction_external_quad": 0.01,
        "dtheta_stribeck": 1.2, "alpha": 1.5,
    }  # fmt: skip
    start = ServoModel.create("xl330", friction, terms)
    known = {name: value for name, value in numbers.items() if name in start.names}
    return start.with_values(**known | values)


def pendulum_log(servo: str, kp: float, seconds: float = 2.0, **more: float) -> ServoLog:
    """Goals that swing and step, torque off at the end, on the pendulum of :data:`PENDULUM`."""
    times = np.arange(0.0, seconds, 0.005)
    goals = 0.8 * np.sin(3.0 * times**2) + 0.4 * (times > 0.7)
    zeros = np.zeros(len(times))
    header = {"total_inertia": 0.001 + 0.4 * 0.1**2, "total_g_bias": 0.4 * GRAVITY * 0.1}
    return ServoLog(
        name="swing", source="swing", sha256="", motor=servo, trajectory="swing", mass=0.4,
        arm_mass=0.0, length=0.1, kp=kp, vin=None, damping=None, dt=0.005, times=times,
        position=zeros + 0.2, speed=zeros - 0.5, goal_position=goals,
        torque_enable=times < 0.75 * seconds, load=None,
        input_volts=7.0 + 0.8 * np.sin(9.0 * times), temperature=25.0 + 20.0 * times,
        header=header | more,
    )  # fmt: skip


FREQUENT = 5
"""Simulation steps a sample of the logs."""


def in_mujoco(servos: ServoLaw, log: ServoLog, offset: float = 0.0, substeps: int = FREQUENT):
    """Positions of the pendulum at the samples of a log, as its encoder reads them."""
    return motions(servos, log, ["hinge"], offset, substeps)["hinge"]


def motions(
    servos: ServoLaw,
    log: ServoLog,
    joints: list[str],
    offset: float = 0.0,
    substeps: int = FREQUENT,
) -> dict[str, np.ndarray]:
    """Positions of joints that all get the goals of a log, at its samples."""
    batch = Batch(servos.compile(), 1)
    batch.bind("qpos")[:], batch.bind("qvel")[:] = log.position[0] + offset, log.speed[0]
    commands = {"goal": log.goal_position, "torque_off": 1.0 - log.torque_enable}
    if "voltage" in servos.channels:
        commands["voltage"] = log.input_volts
    if "warmth" in servos.channels:
        commands["warmth"] = log.temperature - 25.0
    controls = servos.controls(
        **{
            name: dict.fromkeys(joints, np.repeat(values, substeps))
            for name, values in commands.items()
        }
    )
    with servos.installed(batch):
        found = batch.rollout(len(controls), controls[None], record=["qpos"])["qpos"]
    assert servos.failures(batch) == {}
    places = [batch.model.joint(joint).qposadr[0] for joint in joints]
    sampled = found[0, substeps - 1 : -1 : substeps] - offset
    return {
        joint: np.concatenate([[log.position[0]], sampled[:, place]])
        for joint, place in zip(joints, places, strict=True)
    }
