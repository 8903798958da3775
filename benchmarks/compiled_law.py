"""CPU time of a compiled control law, compared with the same rollouts without a callback.

Pendulums under PD control, in one batch, on all cores, in alternating rounds. Run::

    python benchmarks/compiled_law.py
"""

import argparse
import json
import time

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup.simulation import control

PENDULUM = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body><joint name="hinge" axis="0 1 0" damping="0.05"/><geom size="0.05" pos="0 0 -0.4"/></body>
  </worldbody>
  <actuator><motor name="motor" joint="hinge"/></actuator>
</mujoco>
"""


@control.control_law(gains={"kp": "joint", "kd": "joint"}, writes=["ctrl"])
def plain_pd(position, velocity, command, gains, ctrl_out):
    for i in range(len(position)):
        ctrl_out[i] = gains.kp[i] * (command[i] - position[i]) - gains.kd[i] * velocity[i]


def laws() -> dict[str, tuple[control.ControlLaw, dict[str, float]]]:
    """The laws that are timed, with the gains they do not vary."""
    servo = {"kd": 0.3, "friction": 0.05, "friction_velocity": 0.05, "delay": 0.011}
    return {
        "PD": (plain_pd, {"kd": 0.3}),
        "PD, friction compensation, delay": (control.pd_law(), servo),
    }


def seconds(law: control.ControlLaw, gains: dict, nsim: int, nstep: int, repeats: int) -> dict:
    """Times [s] of rollouts with a law and without any callback, taking turns."""
    aimed = law.on(joints=["hinge"], actuators=["motor"])
    began = time.perf_counter()
    law.callback  # noqa: B018 - compiled on first use
    compile_time = time.perf_counter() - began
    model = control.prepare_spec(mujoco.MjSpec.from_string(PENDULUM), aimed).compile()
    batch, commands = Batch(model, nsim), np.full((nsim, nstep, 1), 0.2)
    varied = gains | {"kp": np.linspace(1.0, 20.0, nsim)}
    out = {"qpos": np.empty((nsim, nstep, 1))}
    times = {"law": [], "no callback": []}
    for _ in range(repeats):
        for kind, found in times.items():
            batch.reset(stage=mujoco.mjtStage.mjSTAGE_NONE)
            batch.bind("qpos")[:, 0] = 0.5
            if kind == "law":
                aimed.start(batch, varied)
                with control.installed(aimed, batch):
                    began = time.perf_counter()
                    batch.rollout(nstep, commands, record=["qpos"], out=out)
                    found.append(time.perf_counter() - began)
                if aimed.failures(batch):
                    raise SystemExit(f"the law failed: {aimed.failures(batch)}")
            else:
                began = time.perf_counter()
                batch.rollout(nstep, commands, record=["qpos"], out=out)
                found.append(time.perf_counter() - began)
    ratios = np.divide(times["law"], times["no callback"])
    return {
        "with the law, best [s]": min(times["law"]),
        "no callback, best [s]": min(times["no callback"]),
        "ratio, median of pairs": float(np.median(ratios)),
        "compile [s]": compile_time,
    }


def main() -> None:
    """Time each law and print the results as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    results = {
        name: seconds(law, gains, options.simulations, options.steps, options.repeats)
        for name, (law, gains) in laws().items()
    }
    print(json.dumps({"mujoco": mujoco.__version__, **results}, indent=2))


if __name__ == "__main__":
    main()
