"""Pendulum with a servo in mjlab, on a CPU, in a few environments at a time."""

from pathlib import Path
from types import ModuleType
from typing import Any

import mujoco
import numpy as np
import torch
from mjlab.entity import EntityArticulationInfoCfg, EntityCfg
from mjlab.scene import Scene, SceneCfg
from mjlab.sim import MujocoCfg, Simulation, SimulationCfg

from trueup.actuators import ServoModel
from trueup.actuators.bench.loads import GRAVITY
from trueup.deploy import export_servo


def written_module(model: ServoModel, name: str = "written_servo") -> ModuleType:
    """The module for mjlab that is written from a servo, as an import of its file makes it."""
    module = ModuleType(name)
    exec(compile(export_servo(model, "mjlab").text, name, "exec"), vars(module))
    return module


def pendulum_spec(mass: float, length: float) -> mujoco.MjSpec:
    """A point mass [kg] on a massless arm of a length [m]; the angle is 0 where it hangs down."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="arm")
    body.add_joint(name="hinge", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, -1, 0])
    body.mass, body.explicitinertial = mass, True
    body.ipos, body.inertia = [0, 0, -length], [1e-9, 1e-9, 1e-9]
    return spec


class MjlabPendulum:
    """Environments with one pendulum each, driven by the ``BamActuatorCfg`` of a module.

    Args:
      module: module that was written for mjlab.
      json_path: parameter file of the servo; None: that of the module.
      mass: mass at the tip [kg].
      length: length of the arm [m].
      dt: physics time step [s]; commands come as often.
      num_envs: number of environments.
      expand: whether each environment gets its own model fields.
      settings: further settings of the actuator.
    """

    def __init__(
        self,
        module: ModuleType,
        json_path: Path | str | None,
        mass: float,
        length: float,
        dt: float,
        num_envs: int = 2,
        expand: bool = True,
        integrator: str = "implicitfast",
        **settings: Any,
    ):
        actuator = module.BamActuatorCfg(
            target_names_expr=("hinge",), json_path=json_path, **settings
        )
        entity = EntityCfg(
            spec_fn=lambda: pendulum_spec(mass, length),
            articulation=EntityArticulationInfoCfg(actuators=(actuator,)),
        )
        self.scene = Scene(SceneCfg(num_envs=num_envs, entities={"servo": entity}), "cpu")
        mujoco_cfg = MujocoCfg(timestep=dt, gravity=(0.0, 0.0, -GRAVITY), integrator=integrator)
        self.sim = Simulation(
            num_envs=num_envs,
            cfg=SimulationCfg(mujoco=mujoco_cfg),
            model=self.scene.compile(),
            device="cpu",
        )
        self.scene.initialize(self.sim.mj_model, self.sim.model, self.sim.data)
        if expand:
            self.sim.expand_model_fields(module.SERVO_MODEL_FIELDS)
        self.dt = dt
        self.servo = self.scene["servo"]
        self.actuator = self.servo.actuators[0]

    def start(self, position: float, speed: float) -> None:
        """Put all pendulums to an angle [rad] and a speed [rad/s]."""
        envs = self.sim.num_envs
        self.servo.write_joint_state_to_sim(
            torch.full((envs, 1), position), torch.full((envs, 1), speed)
        )
        self.scene.reset()
        self.sim.forward()

    def step(self, goal: torch.Tensor | float) -> None:
        """One physics step towards a goal [rad], for each environment or all alike."""
        self.servo.data.joint_pos_target[:] = goal
        self.scene.write_data_to_sim()
        self.sim.step()
        self.scene.update(self.dt)

    def follow(
        self, goals: np.ndarray, enable: np.ndarray, position: float, speed: float
    ) -> np.ndarray:
        """Angles at the start of each step, (T, environments), for goals [rad], one a step."""
        self.start(position, speed)
        angles = np.empty((len(goals), self.sim.num_envs))
        for k, goal in enumerate(goals.tolist()):
            angles[k] = self.servo.data.joint_pos[:, 0].numpy()
            self.actuator.torque_enable[:] = bool(enable[k])
            self.step(goal)
        return angles
