"""The torch module gives what the deployed network gives, in chunks of any length."""

import numpy as np
import pytest
import torch
from random_networks import BASE, random_network, smooth_inputs

from trueup.errors import SignalError
from trueup.networks import FAMILIES, AnalyticBase, NetworkRuntime, Normalization
from trueup.networks.base.torch_form import TorchBase
from trueup.networks.model.torch_network import TorchNetwork, initial_network

SAMPLES = 240


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Threads wait for each other longer than such small networks take."""
    former = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(former)


def in_chunks(module: TorchNetwork, inputs: np.ndarray, length: int) -> np.ndarray:
    """Torque with the state carried from chunk to chunk."""
    parts, state = [], None
    x = torch.as_tensor(inputs, dtype=torch.float32)
    with torch.no_grad():
        for first in range(0, len(inputs), length):
            torque, state = module(x[None, first : first + length], state)
            parts.append(torque[0].numpy())
    return np.concatenate(parts)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("settings", [{}, {"base": BASE, "torque_limit": 4.0}])
@pytest.mark.parametrize("length", [1, 2, 7, 100, 200, SAMPLES])
def test_chunks_of_any_length_give_the_torque_of_the_deployed_steps(family, settings, length):
    network = random_network(family, **settings)
    inputs = smooth_inputs(network, SAMPLES)
    deployed = NetworkRuntime(network).rollout(inputs)
    torque = in_chunks(TorchNetwork.from_network(network), inputs, length)
    assert np.abs(torque - deployed).max() <= 1e-5 * np.ptp(deployed)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_network_survives_the_module_unchanged(family):
    network = random_network(family, base=BASE)
    back = TorchNetwork.from_network(network).to_network()
    assert back.base == network.base
    assert back.inputs == network.inputs
    for name, value in network.weights.items():
        np.testing.assert_array_equal(back.weights[name], value)


@pytest.mark.parametrize("family", FAMILIES)
def test_sequences_of_a_batch_are_independent(family):
    network = random_network(family)
    module = TorchNetwork.from_network(network)
    inputs = np.stack([smooth_inputs(network, 60, seed) for seed in range(3)])
    x = torch.as_tensor(inputs, dtype=torch.float32)
    with torch.no_grad():
        _, state = module(x)
        torque, _ = module(x[:2], module.first_of(state, 2))
    for k in range(2):
        warm = in_chunks(module, np.concatenate([inputs[k], inputs[k]]), 60)[60:]
        np.testing.assert_allclose(torque[k].numpy(), warm, atol=1e-5)


@pytest.mark.parametrize("target_velocity", [False, True])
def test_the_base_is_the_same_law_in_torch(target_velocity):
    base = AnalyticBase(5.0, 0.4, 0.7, -0.2, 2.0, 4.0, target_velocity)
    features = np.random.default_rng(0).normal(size=(1, 500, len(base.features))) * 3.0
    features[0, :5, 2] = 0.0  # at rest both directions may give the stall torque
    stats = Normalization(("current_angle_rad",), np.zeros(1), np.ones(1), 0.0, 2.0)
    torque = TorchBase(base, stats)(torch.as_tensor(features, dtype=torch.float32))
    np.testing.assert_allclose(torque.numpy(), base.torque(features), atol=1e-5)


def test_a_spring_of_the_base_with_a_positive_gain_pushes_away():
    base = AnalyticBase(k_spring=2.0, theta0=0.5)
    stats = Normalization(("current_angle_rad",), np.zeros(1), np.ones(1), 0.0, 1.0)
    torque = TorchBase(base, stats)(torch.tensor([[[1.5, 0.0, 0.0], [-0.5, 0.0, 0.0]]]))
    assert torque.tolist() == [[2.0, -2.0]]


def test_a_base_of_brakes_and_limits_runs_at_every_speed():
    # a limit of a tensor by a tensor and a number at once is what other trainers fail at
    base = AnalyticBase(kp=50.0, stall_torque=2.0, no_load_speed=3.0)
    stats = Normalization(("current_angle_rad",), np.zeros(1), np.ones(1), 0.0, 1.0)
    speeds = torch.tensor([-6.0, -1.5, 0.0, 1.5, 6.0])
    features = torch.stack([torch.zeros(5), torch.ones(5), speeds], dim=-1)[None]
    assert TorchBase(base, stats)(features)[0].tolist() == [2.0, 2.0, 2.0, 1.0, 0.0]


def test_learned_gains_come_back_with_the_network():
    network = random_network("gru", base=AnalyticBase(kp=3.0, kd=0.2, learned=True))
    module = TorchNetwork(network)
    assert module.base is not None
    assert module.to_network().base == network.base
    with torch.no_grad():
        module.base.steps[0] = 0.5
    moved = module.to_network().base
    assert isinstance(moved, AnalyticBase) and moved.kp != 3.0
    assert moved.kd == 0.2
    inputs = smooth_inputs(network, 50)
    np.testing.assert_allclose(
        module.rollout(inputs), NetworkRuntime(module.to_network()).rollout(inputs), atol=1e-5
    )


def test_the_seed_alone_decides_the_first_weights():
    template = {
        "family": "gru",
        "normalization": random_network().normalization,
        "rate": 100.0,
    }
    state = torch.random.get_rng_state()
    first, second, other = (initial_network(template, 8, 2, seed) for seed in (1, 1, 2))
    assert torch.equal(state, torch.random.get_rng_state())
    for name, value in first.weights.items():
        np.testing.assert_array_equal(value, second.weights[name])
    assert any((first.weights[n] != other.weights[n]).any() for n in first.weights)


def test_inputs_of_another_shape_are_refused():
    module = TorchNetwork.from_network(random_network())
    with pytest.raises(SignalError, match="current_angle_rad"):
        module.rollout(np.zeros((5, 2)))
