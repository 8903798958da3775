"""Torque over many whole recordings from cold starts, as a batch."""

from collections.abc import Sequence

import numpy as np
import torch

from trueup.networks.model.torch_network import TorchNetwork

_BATCH = 64
_STEPS = 4096


@torch.no_grad()
def rollouts(network: TorchNetwork, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Torque over each whole recording from a cold start.

    Args:
        network: the module; dropout is disabled.
        inputs: inputs of each recording, shape (n, inputs); lengths may differ.

    Returns:
        Torque of each recording, shape (n,) [N m].
    """
    training = network.training
    network.eval()
    results: list[np.ndarray] = [np.empty(0)] * len(inputs)
    # batches of similar length, for little padding
    order = sorted(range(len(inputs)), key=lambda i: -len(inputs[i]))
    for first in range(0, len(order), _BATCH):
        members = order[first : first + _BATCH]
        longest = len(inputs[members[0]])
        stacked = np.zeros((len(members), longest, inputs[members[0]].shape[1]), np.float32)
        for row, member in enumerate(members):
            stacked[row, : len(inputs[member])] = inputs[member]
        x = torch.as_tensor(stacked)
        state, parts = None, []
        for step in range(0, longest, _STEPS):
            torque, state = network(x[:, step : step + _STEPS].to(network.input_mean.device), state)
            parts.append(torque.float().cpu())
        torque = torch.cat(parts, dim=1).double().numpy()
        for row, member in enumerate(members):
            results[member] = torque[row, : len(inputs[member])]
    network.train(training)
    return results
