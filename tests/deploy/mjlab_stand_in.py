"""A stand-in for mjlab: the contract that our actuator relies on, stepped by MuJoCo itself.

What stands here has the names and signatures of mjlab 1.6;
``benchmarks/simulator_contracts/check_mjlab.py`` compares them with the real package.
"""

import dataclasses
import sys
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import mujoco
import numpy as np
import torch


@dataclass(kw_only=True)
class ActuatorCfg:
    """Settings that all actuators share."""

    target_names_expr: tuple[str, ...]
    transmission_type: str = "joint"
    armature: float | None = None
    frictionloss: float | None = None
    viscous_damping: float | None = None
    delay_min_lag: int = 0
    delay_max_lag: int = 0
    delay_hold_prob: float = 0.0
    delay_update_period: int = 0
    delay_per_env_phase: bool = True

    def __post_init__(self) -> None:
        assert self.delay_min_lag <= self.delay_max_lag


@dataclass
class ActuatorCmd:
    """Targets and state, each (environments, joints)."""

    position_target: torch.Tensor
    velocity_target: torch.Tensor
    effort_target: torch.Tensor
    pos: torch.Tensor
    vel: torch.Tensor


class DelayBuffer:
    """Gives back what was appended a fixed number of steps ago; the first value before that."""

    def __init__(
        self,
        min_lag: int = 0,
        max_lag: int = 3,
        batch_size: int = 1,
        device: str = "cpu",
        per_env: bool = True,
        hold_prob: float = 0.0,
        update_period: int = 0,
        per_env_phase: bool = True,
        generator: torch.Generator | None = None,
    ):
        assert min_lag == max_lag, "the stand-in has no random lag"
        self.lag, self.values, self.empty = max_lag, [], torch.ones(batch_size, dtype=torch.bool)

    def append(self, value: torch.Tensor) -> None:
        """Add the newest value, (environments, ...)."""
        if not self.values:
            self.values = [value.clone() for _ in range(self.lag + 1)]
        self.values = [*self.values[1:], value.clone()]
        for old in self.values:
            old[self.empty] = value[self.empty]
        self.empty[:] = False

    def compute(self) -> torch.Tensor:
        """The value of ``lag`` steps ago."""
        return self.values[0]

    def reset(self, batch_ids: Any = None) -> None:
        """Forget the values of environments."""
        self.empty[slice(None) if batch_ids is None else batch_ids] = True


class Actuator:
    """Base class of actuators."""

    def __init__(self, cfg: Any, entity: Any, target_ids: list[int], target_names: list[str]):
        self.cfg, self.entity = cfg, entity
        self._target_ids_list, self._target_names = target_ids, target_names
        self._mjs_actuators: list[Any] = []
        self._delay_buffer: DelayBuffer | None = None

    @property
    def has_delay(self) -> bool:
        """Whether a delay is configured."""
        return self.cfg.delay_max_lag > 0

    @property
    def target_ids(self) -> torch.Tensor:
        """Joints in the entity."""
        return self._target_ids

    @property
    def global_ctrl_ids(self) -> torch.Tensor:
        """Actuators in the model."""
        return self._global_ctrl_ids

    def initialize(self, mj_model: Any, model: Any, data: Any, device: str) -> None:
        """Called when the model is compiled."""
        self._target_ids = torch.tensor(self._target_ids_list, dtype=torch.long, device=device)
        self._global_ctrl_ids = torch.tensor([a.id for a in self._mjs_actuators], device=device)
        self._init_delay_buffer(data.nworld, device)

    def _init_delay_buffer(self, num_envs: int, device: str) -> None:
        if self.has_delay:
            self._delay_buffer = DelayBuffer(
                min_lag=self.cfg.delay_min_lag,
                max_lag=self.cfg.delay_max_lag,
                batch_size=num_envs,
                device=device,
            )

    def apply_delay(self, cmd: ActuatorCmd) -> ActuatorCmd:
        """Delay the targets."""
        if self._delay_buffer is None:
            return cmd
        self._delay_buffer.append(cmd.position_target)
        return dataclasses.replace(cmd, position_target=self._delay_buffer.compute())

    def reset(self, env_ids: torch.Tensor | slice | None = None) -> None:
        """Reset environments."""
        if self._delay_buffer is not None:
            self._delay_buffer.reset(env_ids)

    def update(self, dt: float) -> None:
        """End a physics step."""


def requires_model_fields(*fields: str, recompute: Any = None) -> Any:
    """Mark the model fields that an event needs for each environment."""

    def mark(function: Any) -> Any:
        function.model_fields = fields
        return function

    return mark


def modules() -> dict[str, ModuleType]:
    """The stand-in's modules by name."""
    found = {
        name: ModuleType(name)
        for name in (
            "mjlab", "mjlab.actuator", "mjlab.managers", "mjlab.managers.event_manager",
            "mjlab.managers.scene_entity_config",
        )
    }  # fmt: skip
    for name in ("Actuator", "ActuatorCfg", "ActuatorCmd"):
        setattr(found["mjlab.actuator"], name, globals()[name])
    levels = SimpleNamespace(none="none", set_const_0="set_const_0", set_const="set_const")
    events = vars(found["mjlab.managers.event_manager"])
    events["requires_model_fields"], events["RecomputeLevel"] = requires_model_fields, levels
    events["EventTermCfg"] = lambda func, mode: SimpleNamespace(func=func, mode=mode)
    entities = vars(found["mjlab.managers.scene_entity_config"])
    entities["SceneEntityCfg"] = lambda name: SimpleNamespace(name=name)
    return found


def install(monkeypatch: Any) -> None:
    """Put the stand-in in mjlab's place."""
    for name, module in modules().items():
        monkeypatch.setitem(sys.modules, name, module)


_DOFS = ("dof_frictionloss", "dof_damping", "dof_armature")


class Pendulums:
    """Joints side by side, each a point mass on an arm, in several environments.

    Args:
      build: makes the actuators, given the entity: a list of (configuration, joint names).
      loads: mass [kg] and length [m] of each joint's pendulum.
      dt: time step [s].
      num_envs: number of environments.
      expand: whether each environment has its own model fields.
    """

    def __init__(
        self,
        configurations: list[tuple[Any, list[str]]],
        loads: dict[str, tuple[float, float]],
        dt: float,
        num_envs: int = 2,
        expand: bool = True,
    ):
        spec = mujoco.MjSpec()
        spec.option.timestep = dt
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.gravity = [0.0, 0.0, -9.80665]
        for name, (mass, length) in loads.items():
            body = spec.worldbody.add_body(name=name)
            body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, -1, 0])
            body.mass, body.explicitinertial = mass, True
            body.ipos, body.inertia = [0, 0, -length], [1e-9, 1e-9, 1e-9]
        names = list(loads)
        addresses = torch.arange(len(names))
        entity = SimpleNamespace(indexing=SimpleNamespace(joint_v_adr=addresses), actuators=[])
        for cfg, joints in configurations:
            actuator = cfg.build(entity, [names.index(j) for j in joints], joints)
            actuator.edit_spec(spec, joints)
            entity.actuators.append(actuator)
        self.actuators = entity.actuators
        self.mj_model = spec.compile()
        self.models = [spec.compile() for _ in range(num_envs)]
        self.datas = [mujoco.MjData(m) for m in self.models]
        rows = num_envs if expand else 1
        dofs = {
            name: torch.tensor(getattr(self.mj_model, name)).float().repeat(rows, 1)
            for name in _DOFS
        }
        self.model = SimpleNamespace(
            **dofs,
            actuator_biasprm=torch.tensor(self.mj_model.actuator_biasprm)
            .float()
            .repeat(rows, 1, 1),
        )
        shape, rows = (num_envs, len(names)), 4 * len(names) + 2
        self.data = SimpleNamespace(
            nworld=num_envs,
            nefc=torch.zeros(num_envs, dtype=torch.int32),
            qfrc_bias=torch.zeros(shape),
            qfrc_constraint=torch.zeros(shape),
            efc=SimpleNamespace(
                type=torch.full((num_envs, rows), -1, dtype=torch.int32),
                id=torch.zeros((num_envs, rows), dtype=torch.int32),
                force=torch.zeros((num_envs, rows)),
            ),
        )
        for actuator in self.actuators:
            actuator.initialize(self.mj_model, self.model, self.data, "cpu")
        self.dt = dt

    @property
    def positions(self) -> torch.Tensor:
        """Angles, (environments, joints)."""
        return torch.tensor(np.array([d.qpos for d in self.datas]), dtype=torch.float32)

    @property
    def speeds(self) -> torch.Tensor:
        """Speeds, (environments, joints)."""
        return torch.tensor(np.array([d.qvel for d in self.datas]), dtype=torch.float32)

    def start(self, position: float = 0.0) -> None:
        """Put all joints to an angle at rest, and reset."""
        for model, data in zip(self.models, self.datas, strict=True):
            mujoco.mj_resetData(model, data)
            data.qpos[:] = position
            mujoco.mj_forward(model, data)
        self._publish()
        for actuator in self.actuators:
            actuator.reset()

    def step(self, goal: float | torch.Tensor) -> None:
        """One physics step towards a goal."""
        positions, speeds = self.positions, self.speeds
        goals, zeros = torch.zeros_like(positions) + goal, torch.zeros_like(positions)
        controls = torch.zeros((len(self.models), self.mj_model.nu))
        for actuator in self.actuators:
            ids = actuator.target_ids
            fields = (goals, zeros, zeros, positions, speeds)
            command = ActuatorCmd(*(field[:, ids] for field in fields))
            controls[:, actuator.global_ctrl_ids] = actuator.compute(actuator.apply_delay(command))
        for i, (model, data) in enumerate(zip(self.models, self.datas, strict=True)):
            for name in _DOFS:
                getattr(model, name)[:] = getattr(self.model, name)[i]
            model.actuator_biasprm[:] = self.model.actuator_biasprm[i]
            data.ctrl[:] = controls[i]
            mujoco.mj_step(model, data)
        self._publish()
        for actuator in self.actuators:
            actuator.update(self.dt)

    def _publish(self) -> None:
        """Copy what actuators read out of MuJoCo."""
        for i, data in enumerate(self.datas):
            count = data.nefc
            self.data.nefc[i] = count
            self.data.qfrc_bias[i] = torch.tensor(data.qfrc_bias)
            self.data.qfrc_constraint[i] = torch.tensor(data.qfrc_constraint)
            self.data.efc.type[i, :count] = torch.tensor(data.efc_type)
            self.data.efc.id[i, :count] = torch.tensor(data.efc_id)
            self.data.efc.force[i, :count] = torch.tensor(data.efc_force)
