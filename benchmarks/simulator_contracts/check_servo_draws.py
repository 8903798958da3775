"""Draws of a servo in the real classes of mjlab: each environment moves as its own servo does.

The module of draws gives three environments two rows; each is compared with the exported module of
the servo of its row, alone. Run in the environment that ``run.py`` makes.
"""

import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "actuators"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "deploy"))
import numpy as np
import torch
from distinct_servos import LAWS
from drawn_servos import ENVS, drawn, loaded
from exported_modules import DT, module_of
from mjlab.entity import EntityArticulationInfoCfg, EntityCfg
from mjlab.managers.event_manager import EventManager
from mjlab.scene import Scene, SceneCfg
from mjlab.sim import MujocoCfg, Simulation, SimulationCfg
from mjlab_pendulum import pendulum_spec

from trueup.actuators.bench.loads import GRAVITY

BAR, STEPS = 1e-3, 100


def motion(module, envs: int) -> np.ndarray:
    """Angles ``(steps, environments)`` of a pendulum that the module's servo drives."""
    entity = EntityCfg(
        spec_fn=lambda: pendulum_spec(0.4, 0.1),
        articulation=EntityArticulationInfoCfg(
            actuators=(module.BamActuatorCfg(target_names_expr=("hinge",)),)
        ),
    )
    scene = Scene(SceneCfg(num_envs=envs, entities={"robot": entity}), "cpu")
    mujoco_cfg = MujocoCfg(timestep=DT, gravity=(0.0, 0.0, -GRAVITY), integrator="implicitfast")
    sim = Simulation(
        num_envs=envs, cfg=SimulationCfg(mujoco=mujoco_cfg), model=scene.compile(), device="cpu"
    )
    scene.initialize(sim.mj_model, sim.model, sim.data)
    if hasattr(module, "EVENTS"):
        events = EventManager(
            module.EVENTS, SimpleNamespace(num_envs=envs, device="cpu", scene=scene, sim=sim)
        )
        sim.expand_model_fields(events.domain_randomization_fields)
        events.apply("startup")
    else:
        sim.expand_model_fields(module.SERVO_MODEL_FIELDS)
    robot = scene["robot"]
    robot.write_joint_state_to_sim(torch.full((envs, 1), 0.3), torch.zeros(envs, 1))
    scene.reset()
    sim.forward()
    found = np.empty((STEPS, envs))
    for k in range(STEPS):
        found[k] = robot.data.joint_pos[:, 0].numpy()
        robot.actuators[0].torque_enable[:] = not 70 < k < 85
        robot.data.joint_pos_target[:] = float(np.sin(0.08 * k) + 0.7 * (k > 45))
        scene.write_data_to_sim()
        sim.step()
        scene.update(DT)
    return found


def main() -> None:
    """Compare all laws."""
    worst = 0.0
    for law in LAWS:
        model, rows, alone = drawn(law)
        with tempfile.TemporaryDirectory() as folder:
            together = motion(loaded("mjlab", model, rows, Path(folder)), ENVS)
        expected = [motion(module_of(each, "mjlab"), 1)[:, 0] for each in alone]
        error = max(
            float(np.abs(together[:, i] - expected[i % len(expected)]).max()) for i in range(ENVS)
        )
        apart = float(np.abs(together[:, 0] - together[:, 1]).max())
        print(f"{law}: {error:.1e} rad from the servo of its row, rows {apart:.1e} rad apart")
        worst = max(worst, error)
    print(f"worst {worst:.1e} rad (bar {BAR:g})")
    sys.exit(worst > BAR)


if __name__ == "__main__":
    main()
