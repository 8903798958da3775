"""The compiled runtimes against the numpy runtime, which says what a network computes."""

import math

import numpy as np
import pytest
from random_networks import BASE, random_network, smooth_inputs

from trueup.errors import SignalError
from trueup.networks import FAMILIES, AnalyticBase, CompiledRuntime, NetworkRuntime, predict
from trueup.networks.runtime import kernel

BASES = {
    "none": None,
    "base": BASE,
    "target velocity": AnalyticBase(5.0, 0.4, 0.7, -0.2, 0.6, 4.0, target_velocity=True),
    "no curve": AnalyticBase(1.7, 0.6, 0.9, 0.3),
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("family", FAMILIES)
def test_compiled_code_equals_the_numpy_runtime(family, base):
    network = random_network(family, base=BASES[base], torque_limit=4.0)
    inputs = smooth_inputs(network, 300)
    expected = NetworkRuntime(network).rollout(inputs)
    assert (np.abs(expected) == 4.0).any()
    stepped = CompiledRuntime(network)
    found = np.array([stepped.step(row[None])[0] for row in inputs])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(predict(network, inputs), expected, atol=1e-12)


@pytest.mark.parametrize("activation", ["elu", "relu", "softsign", "tanh"])
def test_activations_are_the_same(activation):
    network = random_network("mlp", activation=activation)
    inputs = smooth_inputs(network, 100)
    runtime, expected = CompiledRuntime(network), NetworkRuntime(network).rollout(inputs)
    np.testing.assert_allclose([runtime.step(r[None])[0] for r in inputs], expected, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_single_precision_stays_within_the_bar_over_a_long_run(family):
    network = random_network(family, base=BASE)
    inputs = smooth_inputs(network, 10_000)
    expected = predict(network, inputs)
    runtime = CompiledRuntime(network, dtype=np.float32)
    found = np.array([runtime.step(row[None])[0] for row in inputs])
    assert np.abs(found - expected).max() < 1e-5 * np.ptp(expected)


def test_recordings_longer_than_a_chunk_carry_their_state(monkeypatch):
    monkeypatch.setattr("trueup.networks.runtime.compiled_runtime._CHUNK", 64)
    for family in FAMILIES:
        network = random_network(family)
        inputs = smooth_inputs(network, 200)
        expected = NetworkRuntime(network).rollout(inputs)
        np.testing.assert_allclose(predict(network, inputs), expected, atol=1e-12)


def test_several_recordings_each_start_cold():
    network = random_network()
    parts = [smooth_inputs(network, n, n) for n in (50, 1, 80)]
    for found, part in zip(predict(network, parts), parts, strict=True):
        np.testing.assert_array_equal(found, predict(network, part))


def test_joints_are_independent_and_reset_alone():
    network = random_network("lstm")
    inputs = np.stack([smooth_inputs(network, 40, seed) for seed in range(3)], axis=1)
    runtime = CompiledRuntime(network, joints=3)
    for row in inputs[:20]:
        runtime.step(row)
    runtime.reset(np.array([1]))
    found = np.array([runtime.step(row) for row in inputs[20:]])
    whole = [predict(network, inputs[:, joint]) for joint in range(3)]
    np.testing.assert_allclose(found[:, 0], whole[0][20:], atol=1e-12)
    np.testing.assert_allclose(found[:, 1], predict(network, inputs[20:, 1]), atol=1e-12)
    np.testing.assert_allclose(found[:, 2], whole[2][20:], atol=1e-12)


def test_what_is_not_a_number_is_not_hidden():
    for family in FAMILIES:
        network = random_network(family)
        inputs = smooth_inputs(network, 1)
        inputs[0, 1] = math.nan
        assert np.isnan(predict(network, inputs)[0])
        assert np.isnan(CompiledRuntime(network).step(inputs)[0])


def test_inputs_of_another_shape_are_refused():
    network = random_network()
    with pytest.raises(SignalError, match="current_angle_rad"):
        predict(network, np.zeros((5, 2)))
    with pytest.raises(SignalError, match=r"expected \(1, 3\)"):
        CompiledRuntime(network).step(np.zeros(3))


def test_exp_is_exact_and_goes_on_beyond_its_range():
    values = np.concatenate([np.linspace(-699.0, 699.0, 4001), np.linspace(-1.0, 1.0, 4001)])
    found = np.array([kernel._exp(value) for value in values])
    np.testing.assert_allclose(found, np.exp(values), rtol=4e-16)
    assert kernel._exp(1e9) > 1e300
    assert 0.0 < kernel._exp(-1e9) < 1e-300
