"""Tracking error of an arm with identified servos, at several battery voltages.

Two joints have identified servos, friction and firmware included, which run as compiled code inside
MuJoCo. One batch lifts the arm at many bus voltages and prints the tracking error; ``--viewer``
shows the arm with a slider for each goal. Run::

    python examples/servo_arm.py
    python examples/servo_arm.py --viewer

Parameter files of your own servos can replace the models: ``{"shoulder": "m6.json", ...}``.
"""

import sys
import time

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup.actuators import ServoLaw, ServoModel, servo_law

ARM = """
<mujoco>
  <option timestep="0.001"/>
  <worldbody>
    <light pos="0 0 2"/>
    <body pos="0 0 0.3">
      <joint name="shoulder" axis="0 -1 0" range="-100 100"/>
      <geom type="capsule" size="0.012" fromto="0 0 0 0.1 0 0" mass="0.06"/>
      <body pos="0.1 0 0">
        <joint name="elbow" axis="0 -1 0" range="-120 120"/>
        <geom type="capsule" size="0.01" fromto="0 0 0 0.09 0 0" mass="0.05"/>
        <geom type="sphere" size="0.015" pos="0.1 0 0" mass="0.05"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="shoulder" joint="shoulder" kp="1" inheritrange="1"/>
    <position name="elbow" joint="elbow" kp="1" inheritrange="1"/>
  </actuator>
</mujoco>
"""


def arm() -> ServoLaw:
    """The arm with an XL330 on each joint; the goals are the controls of the old actuators."""
    motor = {"kt": 0.37, "R": 2.8, "armature": 0.0018, "friction_viscous": 0.005}
    shoulder = ServoModel.create("xl330", "m4").with_values(
        friction_base=0.01, friction_stribeck=0.01, load_friction_base=0.12,
        load_friction_stribeck=0.08, dtheta_stribeck=1.2, alpha=1.5, **motor,
    )  # fmt: skip
    elbow = ServoModel.create("xl330", "m1").with_values(friction_base=0.03, **motor)
    spec = mujoco.MjSpec.from_string(ARM)
    return servo_law(spec, {"shoulder": shoulder, "elbow": elbow}, kp=400.0)


def lag(voltages: np.ndarray, seconds: float = 2.0) -> np.ndarray:
    """Mean distance of the joints from their goals, ``(voltages, 2)`` [rad], while they swing.

    Args:
      voltages: bus voltage of each arm [V].
      seconds: how long to simulate [s].
    """
    servos = arm()
    batch = Batch(servos.compile(), len(voltages))
    servos.start(batch, vin=voltages)
    times = np.arange(0.0, seconds, 1e-3)
    goals = {"shoulder": 0.8 * np.sin(5.0 * times), "elbow": 0.8 * np.sin(8.0 * times)}
    controls = servos.controls(goal=goals)
    with servos.installed(batch):
        everyone = np.broadcast_to(controls, (len(voltages), *controls.shape))
        angles = batch.rollout(len(times), everyone, record=["qpos"])["qpos"]
    if servos.failures(batch):
        raise SystemExit(f"the law failed: {servos.failures(batch)}")
    return np.abs(angles - np.stack([goals["shoulder"], goals["elbow"]], axis=1)).mean(axis=1)


def show() -> None:
    """Show the arm in the viewer, until its window is closed."""
    import mujoco.viewer

    servos = arm()
    model = servos.compile()
    data = mujoco.MjData(model)
    with servos.installed(data), mujoco.viewer.launch_passive(model, data) as viewer:
        while viewer.is_running():
            began = time.perf_counter()
            for _ in range(10):
                mujoco.mj_step(model, data)
            viewer.sync()
            time.sleep(max(0.0, 0.01 - (time.perf_counter() - began)))


def main() -> None:
    """Print the lag of the arm at each voltage, or show the arm."""
    if "--viewer" in sys.argv[1:]:
        show()
        return
    voltages = np.linspace(5.0, 8.0, 7)
    for volts, (shoulder, elbow) in zip(voltages, lag(voltages), strict=True):
        print(
            f"{volts:.1f} V: shoulder {1e3 * shoulder:5.1f} mrad behind, elbow "
            f"{1e3 * elbow:5.1f} mrad"
        )


if __name__ == "__main__":
    main()
