"""Draws of a robot in mjlab's event classes, compared with rollouts of MuJoCo itself.

64 environments take 64 rows at startup, in one call, and move for 0.5 s under given torques; each
row is written into a plain model of the same MuJoCo version and moved likewise. Run in the
environment that ``run.py`` makes, with the folder that an export wrote and its MJCF::

    python check_posterior.py EXPORT MODEL.xml
"""

import argparse
import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import torch
from mjlab.actuator import XmlActuatorCfg
from mjlab.entity import EntityArticulationInfoCfg, EntityCfg
from mjlab.managers.event_manager import EventManager
from mjlab.scene import Scene, SceneCfg
from mjlab.sim import MujocoCfg, Simulation, SimulationCfg

ENVIRONMENTS, SECONDS, BAR = 64, 0.5, 1e-3


def main() -> None:
    """Compare the angles of all environments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("export", type=Path)
    parser.add_argument("model", type=Path)
    options = parser.parse_args()
    event = _module(options.export / "posterior_event.py")
    plain = mujoco.MjModel.from_xml_path(str(options.model))
    goals = np.random.default_rng(0).uniform(-1.0, 1.0, plain.nu) * 2.0
    simulated = in_mjlab(event, options.model, plain, goals)
    expected = in_mujoco(options.export, plain, goals)
    worst = float(np.abs(simulated - expected).max())
    spread = float(np.ptp(expected, axis=0).max())
    same = float(np.abs(simulated - expected[:1]).max())
    print(
        f"{ENVIRONMENTS} environments, {SECONDS} s: at most {worst:.2e} rad from MuJoCo "
        f"{mujoco.__version__} (bar {BAR:g}); rows differ by up to {spread:.2e} rad, without "
        f"the event it would be {same:.2e}"
    )
    sys.exit(worst > BAR)


def in_mjlab(event, path: Path, plain: mujoco.MjModel, torque: np.ndarray) -> np.ndarray:
    """Angles at the end ``(environments, joints)``."""

    def spec() -> mujoco.MjSpec:
        return mujoco.MjSpec.from_file(str(path))

    entity = EntityCfg(
        spec_fn=spec,
        articulation=EntityArticulationInfoCfg(
            actuators=(XmlActuatorCfg(target_names_expr=(".*",), command_field="effort"),)
        ),
    )
    scene = Scene(SceneCfg(num_envs=ENVIRONMENTS, entities={"robot": entity}), "cpu")
    config = MujocoCfg(
        timestep=plain.opt.timestep, gravity=tuple(plain.opt.gravity), integrator="implicitfast"
    )
    sim = Simulation(
        num_envs=ENVIRONMENTS, cfg=SimulationCfg(mujoco=config), model=scene.compile(), device="cpu"
    )
    scene.initialize(sim.mj_model, sim.model, sim.data)
    env = SimpleNamespace(num_envs=ENVIRONMENTS, device="cpu", scene=scene, sim=sim)
    events = EventManager(event.EVENTS, env)
    sim.expand_model_fields(events.domain_randomization_fields)
    calls = []
    former = sim.recompute_constants
    sim.recompute_constants = lambda level: (calls.append(level), former(level))
    events.apply("startup")
    assert len(calls) <= 1, calls
    scene.reset()
    sim.forward()
    robot = scene["robot"]
    for _ in range(round(SECONDS / plain.opt.timestep)):
        robot.set_joint_effort_target(torch.as_tensor(torque).float().expand(ENVIRONMENTS, -1))
        scene.write_data_to_sim()
        sim.step()
        scene.update(plain.opt.timestep)
    return robot.data.joint_pos.numpy().astype(float)


def in_mujoco(export: Path, plain: mujoco.MjModel, torque: np.ndarray) -> np.ndarray:
    """The same of a plain model that each row is written into."""
    plain.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    rows = np.load(export / "posterior.npz", allow_pickle=False)
    fields = json.loads((export / "dr.json").read_text())["fields"]
    start = {f["field"]: getattr(plain, f["field"]).copy() for f in fields}
    kinds = {
        "joint": mujoco.mjtObj.mjOBJ_JOINT,
        "body": mujoco.mjtObj.mjOBJ_BODY,
        "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR,
        "geom": mujoco.mjtObj.mjOBJ_GEOM,
    }
    out = np.empty((ENVIRONMENTS, plain.nq))
    for i in range(ENVIRONMENTS):
        for name, values in start.items():
            getattr(plain, name)[:] = values
        for f in fields:
            number = mujoco.mj_name2id(plain, kinds[f["kind"]], f["element"])
            if f["field"].startswith("dof_"):
                number = plain.jnt_dofadr[number]
            flat = getattr(plain, f["field"]).reshape(-1)
            width = getattr(plain, f["field"]).size // len(getattr(plain, f["field"]))
            flat[number * width + np.array(f["components"])] = rows[f["array"]][i]
        data = mujoco.MjData(plain)
        mujoco.mj_setConst(plain, data)
        mujoco.mj_resetData(plain, data)
        data.ctrl[:] = torque
        mujoco.mj_step(plain, data, round(SECONDS / plain.opt.timestep))
        out[i] = data.qpos
    return out


def _module(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
