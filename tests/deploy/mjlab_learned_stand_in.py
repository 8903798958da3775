"""A stand-in for mjlab's learned MLP actuator, version 1.6.

``benchmarks/simulator_contracts/check_networks.py`` drives it and the real class alike.
"""

import warnings
from types import SimpleNamespace
from typing import Any

import torch


class LearnedMlpActuator:
    """A history of angle errors and velocities through a network, within a DC motor's limits.

    The first sample after a reset fills the whole history.
    """

    def __init__(self, cfg: Any, envs: int, joints: int):
        self.cfg, self.rows = cfg, None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            self.network = torch.jit.load(cfg.network_file).eval()
        self.shape = (envs, joints)

    def compute(self, cmd: Any) -> torch.Tensor:
        """Torques of a step, (environments, joints)."""
        cfg, newest = self.cfg, torch.stack([cmd.position_target - cmd.pos, cmd.vel])[:, None]
        if self.rows is None:
            self.rows = newest.repeat(1, cfg.history_length, 1, 1)
        self.rows = torch.cat([newest, self.rows[:, :-1]], dim=1)
        scales = torch.tensor([cfg.pos_scale, cfg.vel_scale])[:, None, None, None]
        chosen = self.rows * scales
        if cfg.input_order == "vel_pos":
            chosen = chosen.flip(0)
        with torch.inference_mode():
            torque = self.network(chosen.flatten(2).permute(2, 0, 1).flatten(1))
        torque = torque.reshape(self.shape) * cfg.torque_scale
        stall, free, most = cfg.saturation_effort, cfg.velocity_limit, cfg.effort_limit
        reach = free * (1 + most / stall)
        speed = torch.clip(cmd.vel, -reach, reach)
        top = torch.clip(stall * (1 - speed / free), max=most)
        bottom = torch.clip(stall * (-1 - speed / free), min=-most)
        return torch.clip(torque, bottom, top)


def prepare(actuator: Any, envs: int) -> Any:
    """Initialise a real actuator of mjlab without a model: what a CPU check needs."""
    actuator.entity.indexing = SimpleNamespace(ctrl_ids=torch.tensor([], dtype=torch.long))
    actuator.initialize(None, None, SimpleNamespace(nworld=envs), "cpu")
    return actuator
