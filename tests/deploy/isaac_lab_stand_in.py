"""A stand-in for Isaac Lab's actuators: what our exports rely on of ``isaaclab.actuators`` 2.3.

``benchmarks/simulator_contracts/check_networks.py`` runs the same motion through these classes and
through the real ones, and compares their signatures. ``ActuatorNetGRU`` is that of Isaac Lab's pull
request 6083, which no release has.
"""

import copy
import dataclasses
import sys
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

NAMES = (
    "IdealPDActuator", "IdealPDActuatorCfg", "ActuatorNetMLP", "ActuatorNetMLPCfg",
    "ActuatorNetLSTM", "ActuatorNetLSTMCfg",
)  # fmt: skip
"""What stands in ``isaaclab.actuators`` too."""


def configclass(cls: type) -> type:
    """A dataclass by keyword; settings without a value are refused when the actuator is made."""
    fields = {}
    for base in reversed(cls.__mro__):
        fields |= {n: v for n, v in vars(base).items() if n in getattr(cls, "__fields__", {})}
        for name in vars(base).get("__annotations__", {}):
            fields[name] = vars(base).get(name, dataclasses.MISSING)
        fields |= {n: v for n, v in vars(base).items() if n in fields}

    def start(self: Any, **given: Any) -> None:
        unknown = set(given) - set(fields)
        if unknown:
            raise TypeError(f"unknown settings {sorted(unknown)}")
        for name, default in fields.items():
            setattr(self, name, given.get(name, copy.copy(default)))

    cls.__init__ = start  # type: ignore[misc]
    return cls


class ArticulationActions(SimpleNamespace):
    """Targets of joints, each (environments, joints)."""

    def __init__(self, joint_positions=None, joint_velocities=None, joint_efforts=None):
        super().__init__(
            joint_positions=joint_positions,
            joint_velocities=joint_velocities,
            joint_efforts=joint_efforts,
        )


class IdealPDActuator:
    """A PD law within a torque limit."""

    def __init__(
        self, cfg, joint_names, joint_ids, num_envs, device,
        stiffness=0.0, damping=0.0, armature=0.0, friction=0.0, dynamic_friction=0.0,
        viscous_friction=0.0, effort_limit=torch.inf, velocity_limit=torch.inf,
    ):  # fmt: skip
        self.cfg, self._num_envs, self._device = cfg, num_envs, device
        self.joint_names = joint_names
        shape = (num_envs, len(joint_names))
        limits = {"effort_limit": effort_limit, "velocity_limit": velocity_limit}
        for name, default in limits.items():
            value = getattr(cfg, name, None)
            setattr(self, name, torch.full(shape, float(default if value is None else value)))
        self.computed_effort, self.applied_effort = torch.zeros(shape), torch.zeros(shape)

    @property
    def num_joints(self):
        """Joints of an environment."""
        return len(self.joint_names)

    def _clip_effort(self, effort):
        return torch.clip(effort, -self.effort_limit, self.effort_limit)

    def _answer(self, control_action, torque):
        self.computed_effort = torque.reshape(self._num_envs, self.num_joints)
        self.applied_effort = self._clip_effort(self.computed_effort)
        control_action.joint_efforts = self.applied_effort
        control_action.joint_positions = control_action.joint_velocities = None
        return control_action


class _Motor(IdealPDActuator):
    """Within the four quadrants of a DC motor."""

    def __init__(self, cfg, *args, **kwargs):
        super().__init__(cfg, *args, **kwargs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            self.network = torch.jit.load(cfg.network_file).eval()

    def _clip_effort(self, effort):
        stall, free = self.cfg.saturation_effort, self.velocity_limit
        reach = free * (1 + self.effort_limit / stall)
        speed = torch.clip(self.velocity, -reach, reach)
        top = torch.clip(stall * (1 - speed / free), max=self.effort_limit)
        bottom = torch.clip(stall * (-1 - speed / free), min=-self.effort_limit)
        return torch.clip(effort, bottom, top)


class ActuatorNetMLP(_Motor):
    """A history of angle errors and velocities through a network."""

    def __init__(self, cfg, *args, **kwargs):
        super().__init__(cfg, *args, **kwargs)
        self.rows = torch.zeros(2, max(cfg.input_idx) + 1, self._num_envs, self.num_joints)

    def reset(self, env_ids):
        """Zero the history of environments."""
        self.rows[:, :, env_ids] = 0.0

    def compute(self, control_action, joint_pos, joint_vel):
        """Torques of a step."""
        self.velocity = joint_vel
        newest = torch.stack([control_action.joint_positions - joint_pos, joint_vel])
        self.rows = torch.cat([newest[:, None], self.rows[:, :-1]], dim=1)
        scales = torch.tensor([self.cfg.pos_scale, self.cfg.vel_scale])
        chosen = self.rows[:, list(self.cfg.input_idx)] * scales[:, None, None, None]
        if self.cfg.input_order == "vel_pos":
            chosen = chosen.flip(0)
        with torch.inference_mode():
            torque = self.network(chosen.flatten(2).permute(2, 0, 1).flatten(1))
        return self._answer(control_action, torque * self.cfg.torque_scale)


class ActuatorNetLSTM(_Motor):
    """Angle error and velocity through an LSTM."""

    def __init__(self, cfg, *args, **kwargs):
        super().__init__(cfg, *args, **kwargs)
        weights = self.network.lstm.state_dict()
        shape = len(weights) // 4, self._num_envs * self.num_joints
        width = weights["weight_hh_l0"].shape[1]
        self.state = [torch.zeros(*shape, width) for _ in range(2)]

    def reset(self, env_ids):
        """Zero the states of environments."""
        for part in self.state:
            per_env = part.view(len(part), self._num_envs, self.num_joints, -1)
            per_env[:, env_ids] = 0.0

    def compute(self, control_action, joint_pos, joint_vel):
        """Torques of a step."""
        # the real class forgets the speed too: its limits are those at rest
        self.velocity = torch.zeros_like(joint_vel)
        error = control_action.joint_positions - joint_pos
        x = torch.stack([error.flatten(), joint_vel.flatten()], dim=-1)[:, None]
        with torch.inference_mode():
            torque, (state, cell) = self.network(x, tuple(self.state))
        self.state[0][:], self.state[1][:] = state, cell
        return self._answer(control_action, torque)


class ActuatorNetGRU(IdealPDActuator):
    """Angle, angle error and velocity through a GRU, normalised as its settings say."""

    def __init__(self, cfg, *args, **kwargs):
        super().__init__(cfg, *args, **kwargs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            self.network = torch.jit.load(cfg.network_file).eval()
        weights = self.network.gru.state_dict()
        count = self._num_envs * self.num_joints
        self.state = torch.zeros(len(weights) // 4, count, weights["weight_hh_l0"].shape[1])
        fields = ("position", "pos_error", "vel", "output")
        pairs = [getattr(cfg, f"{name}_normalization") or (0.0, 1.0) for name in fields]
        self.mean, self.deviation = torch.tensor(pairs).T

    def compute(self, control_action, joint_pos, joint_vel):
        """Torques of a step."""
        error = control_action.joint_positions - joint_pos
        x = torch.stack([v.flatten() for v in (joint_pos, error, joint_vel)], dim=-1)[:, None]
        with torch.inference_mode():
            normal = (x - self.mean[:3]) / self.deviation[:3]
            output, self.state[:] = self.network(normal, self.state)
        return self._answer(control_action, output * self.deviation[3] + self.mean[3])


class _ActuatorCfg:
    class_type: type = dataclasses.MISSING
    joint_names_expr: list = dataclasses.MISSING
    effort_limit: Any = None
    velocity_limit: Any = None
    stiffness: Any = dataclasses.MISSING
    damping: Any = dataclasses.MISSING


@configclass
class IdealPDActuatorCfg(_ActuatorCfg):
    """Settings of a PD law."""

    class_type: type = IdealPDActuator


@configclass
class ActuatorNetLSTMCfg(_ActuatorCfg):
    """Settings of an LSTM."""

    class_type: type = ActuatorNetLSTM
    stiffness = None
    damping = None
    saturation_effort: Any = dataclasses.MISSING
    network_file: str = dataclasses.MISSING


@configclass
class ActuatorNetMLPCfg(_ActuatorCfg):
    """Settings of a network with a history."""

    class_type: type = ActuatorNetMLP
    stiffness = None
    damping = None
    saturation_effort: Any = dataclasses.MISSING
    network_file: str = dataclasses.MISSING
    pos_scale: float = dataclasses.MISSING
    vel_scale: float = dataclasses.MISSING
    torque_scale: float = dataclasses.MISSING
    input_order: str = dataclasses.MISSING
    input_idx: Any = dataclasses.MISSING


@configclass
class ActuatorNetGRUCfg(_ActuatorCfg):
    """Settings of a GRU."""

    class_type: type = ActuatorNetGRU
    stiffness = None
    damping = None
    network_file: str = dataclasses.MISSING
    position_normalization: Any = None
    pos_error_normalization: Any = None
    vel_normalization: Any = None
    output_normalization: Any = None


def install(monkeypatch: Any) -> None:
    """Put the stand-in in Isaac Lab's place."""
    parts = ("isaaclab", "isaaclab.actuators", "isaaclab.utils", "isaaclab.utils.types")
    found = {name: ModuleType(name) for name in parts}
    for name in (*NAMES, "ActuatorNetGRU", "ActuatorNetGRUCfg"):
        setattr(found["isaaclab.actuators"], name, globals()[name])
    found["isaaclab.utils"].configclass = configclass  # type: ignore[attr-defined]
    found["isaaclab.utils.types"].ArticulationActions = ArticulationActions  # type: ignore[attr-defined]
    for name, module in found.items():
        monkeypatch.setitem(sys.modules, name, module)
