"""Corrections of several joints: one network per joint, trained in a batch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor, nn

from trueup.networks.model.network import Network
from trueup.networks.model.torch_network import TorchNetwork
from trueup.networks.motion.of_model.joints import ModelJoints
from trueup.networks.motion.of_model.logs import ModelLogs
from trueup.networks.motion.settings import MotionSettings
from trueup.networks.motion.starting_correction import zero_network

_SAMPLES = 50
"""Number of samples of a recording used for the scale of the torque."""


@dataclass(frozen=True, eq=False)
class NetworkSet:
    """Networks of joints by name, with their weights in one dictionary."""

    templates: Mapping[str, Network]
    weights: dict[str, np.ndarray]

    @property
    def features(self) -> tuple[str, ...]:
        """Inputs of each network."""
        return next(iter(self.templates.values())).features

    @property
    def networks(self) -> dict[str, Network]:
        """The network of each joint."""
        found = {}
        for place, (name, template) in enumerate(self.templates.items()):
            head = f"{place}."
            own = {k.removeprefix(head): v for k, v in self.weights.items() if k.startswith(head)}
            found[name] = Network(**{**vars(template), "weights": own})
        return found


class JointNetworks(nn.Module):
    """Networks of joints; rows are divided equally, joint by joint."""

    def __init__(self, networks: Mapping[str, Network]):
        super().__init__()
        self.joints = tuple(networks)
        self.members = nn.ModuleList(TorchNetwork(each) for each in networks.values())
        deviations = [[each.normalization.output_deviation] for each in networks.values()]
        self.output_deviation = torch.tensor(deviations, dtype=torch.float64)

    def unlimited(self, x: Tensor, state: list[Any] | None = None) -> tuple[Tensor, list[Any]]:
        """Torques of rows (rows, samples) [N m], and the state of each network after them."""
        torques, states = [], []
        parts = x.reshape(len(self.members), -1, *x.shape[1:])
        for member, part, own in zip(
            self.members, parts, state or [None] * len(parts), strict=True
        ):
            torque, after = member.unlimited(part, own)  # type: ignore[operator]
            torques.append(torque)
            states.append(after)
        return torch.cat(torques), states

    def to_network(self) -> NetworkSet:
        """The networks as plain data, with the current weights of the module."""
        found = [member.to_network() for member in self.members]  # type: ignore[operator]
        weights = {f"{k}.{n}": v for k, each in enumerate(found) for n, v in each.weights.items()}
        return NetworkSet(dict(zip(self.joints, found, strict=True)), weights)


def starting_networks(
    logs: ModelLogs, joints: ModelJoints, settings: MotionSettings, alone: bool = False
) -> JointNetworks:
    """A network for each joint, with zero torque before training."""
    whole = logs.whole(joints)
    count = int(logs.lengths.min())
    values = torch.stack(
        [whole.features(t, whole.position[t], whole.speed[t]) for t in range(count)]
    )
    by_joint = values.reshape(count, len(logs.joints), -1, values.shape[-1]).permute(1, 0, 2, 3)
    torques = torque_scales(logs, joints)
    networks = {
        name: zero_network(
            rows.reshape(-1, values.shape[-1]).numpy(), logs.inputs, logs.rate, torque, settings,
            settings.seed + place,
        )
        for place, (name, rows, torque) in enumerate(
            zip(logs.joints, by_joint, torques, strict=True)
        )
    }  # fmt: skip
    return JointNetworks(networks).double()


def torque_scales(logs: ModelLogs, joints: ModelJoints) -> list[float]:
    """Reference torque of the correction of each joint: RMS torque of the recorded motion by
    inverse dynamics [N m]."""
    model = joints.base.model
    data, found = mujoco.MjData(model), []
    acceleration = np.gradient(logs.speed.numpy(), 1.0 / logs.rate, axis=1)
    for recording, count in enumerate(logs.lengths):
        for sample in np.linspace(0, count - 1, _SAMPLES).astype(int):
            data.qpos[:] = logs.position[recording, sample].numpy()
            data.qvel[:] = logs.speed[recording, sample].numpy()
            data.qacc[:] = acceleration[recording, sample]
            mujoco.mj_inverse(model, data)
            found.append(data.qfrc_inverse.copy())
    return np.maximum(np.sqrt(np.mean(np.square(found), axis=0)), 1e-3).tolist()
