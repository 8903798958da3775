"""Models and laws that the tests of compiled control laws share."""

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup.simulation.control import control_law, prepare_spec

PENDULUM = """
<mujoco>
  <option timestep="0.002" integrator="{integrator}"/>
  <worldbody>
    <body name="link">
      <joint name="hinge" axis="0 1 0" damping="0.05" frictionloss="{frictionloss}"/>
      <geom size="0.05" pos="0.1 0 -0.4" mass="0.5"/>
      <site name="tip" pos="0 0 -0.4"/>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="hinge"/></actuator>
  <sensor>
    <jointpos name="angle" joint="hinge"/>
    <accelerometer name="acceleration" site="tip"/>
  </sensor>
</mujoco>
"""


def pendulum_spec(integrator: str = "Euler", frictionloss: float = 0.0) -> mujoco.MjSpec:
    text = PENDULUM.format(integrator=integrator, frictionloss=frictionloss)
    return mujoco.MjSpec.from_string(text)


@control_law(
    gains={"kp": "joint", "kd": "joint"},
    state={"runs": 1, "error_sum": "joint"},
    writes=["ctrl"],
    failures={1: "the joint is beyond 3 rad"},
)
def pid(position, velocity, command, gains, state, ctrl_out):
    state.runs[0] += 1.0
    for i in range(len(position)):
        if position[i] > 3.0:
            return 1
        state.error_sum[i] += command[i] - position[i]
        feedback = gains.kp[i] * (command[i] - position[i]) - gains.kd[i] * velocity[i]
        ctrl_out[i] = feedback + 1e-3 * state.error_sum[i]
    return 0


@control_law(gains=["gain"], state={"seen": 3}, writes=["qfrc_applied"])
def from_acceleration(sensors, gains, state, qfrc_applied_out):
    for i in range(3):
        state.seen[i] = sensors[i]
    qfrc_applied_out[0] = gains.gain[0] * sensors[0]


@control_law(gains=["friction"], writes=["dof_frictionloss"])
def friction(velocity, gains, dof_frictionloss_out):
    for i in range(len(velocity)):
        dof_frictionloss_out[i] = gains.friction[0] / (1.0 + abs(velocity[i]))


def commands(n: int, steps: int) -> np.ndarray:
    """(n, steps, 1) commands [rad], a sine."""
    return np.broadcast_to(0.4 * np.sin(0.02 * np.arange(steps))[:, None], (n, steps, 1)).copy()


def make_batch(model, n: int, **options) -> Batch:
    batch = Batch(model, n, **options)
    batch.bind("qpos")[:, 0] = np.linspace(-0.5, 0.5, n)
    return batch


def header_size() -> int:
    """Values in front of the first array of a law in ``userdata``."""
    law = pid.on(joints=["hinge"], actuators=["motor"])
    layout = law.layout(prepare_spec(pendulum_spec(), law).compile())
    return min(part.offset for part in layout.parts.values())


HEADER_SIZE = header_size()
