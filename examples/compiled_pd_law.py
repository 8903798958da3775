"""Command delay of a joint, identified from a step response with a compiled control law.

A joint with dry friction follows a step of its command under PD control with friction compensation
and a command delay. One batch simulates all candidate delays; the law runs as compiled code inside
MuJoCo, with separate gains for each simulation. Run::

    python examples/compiled_pd_law.py
"""

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup.simulation import control

JOINT = """
<mujoco>
  <option timestep="0.001"/>
  <worldbody>
    <body name="arm">
      <joint name="elbow" axis="0 1 0" armature="0.01" damping="0.05" frictionloss="0.1"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0" mass="0.3"/>
    </body>
  </worldbody>
  <actuator><motor name="elbow_motor" joint="elbow" ctrlrange="-6 6"/></actuator>
</mujoco>
"""

GAINS = {"kp": 12.0, "kd": 0.4, "friction": 0.1, "friction_velocity": 0.05}


def step_responses(delays: np.ndarray, steps: int = 600) -> np.ndarray:
    """Positions [rad] of the joint, (delays, steps), for a step of 0.5 rad at 0.1 s.

    Args:
        delays: delay of the command in each simulation [s].
        steps: number of time steps of 1 ms.
    """
    law = control.pd_law(delay_steps=50).on(joints=["elbow"], actuators=["elbow_motor"])
    model = control.prepare_spec(mujoco.MjSpec.from_string(JOINT), law).compile()
    batch = Batch(model, len(delays))
    law.start(batch, GAINS | {"delay": delays})
    command = np.where(np.arange(steps) >= 100, 0.5, 0.0)
    with control.installed(law, batch):
        commands = np.broadcast_to(command[:, None], (len(delays), steps, 1))
        positions = batch.rollout(steps, commands, record=["qpos"])["qpos"][:, :, 0]
    failures = law.failures(batch)
    if failures:
        raise SystemExit(f"The law failed: {failures}")
    return positions


def main() -> None:
    """Record a step response with a known delay, and find the delay again."""
    true_delay = 0.0234
    noise = np.random.default_rng(1).normal(scale=0.002, size=600)
    measured = step_responses(np.array([true_delay]))[0] + noise
    delays = np.linspace(0.0, 0.05, 501)
    errors = np.sqrt(np.mean((step_responses(delays) - measured) ** 2, axis=1))
    best = delays[np.argmin(errors)]
    print(f"true delay {1e3 * true_delay:.1f} ms, found {1e3 * best:.1f} ms")
    print(f"error {1e3 * errors.min():.2f} mrad; without a delay {1e3 * errors[0]:.2f} mrad")


if __name__ == "__main__":
    main()
