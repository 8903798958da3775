"""The export as C, compiled and run beside the network."""

import ctypes
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from random_networks import BASE, random_network, smooth_inputs
from servo_bases import LAWS, distinct_base

from trueup.cli import main
from trueup.deploy import export_network
from trueup.errors import FitError, SignalError
from trueup.networks import AnalyticBase, Network, NetworkRuntime, predict, save_network
from trueup.networks.runtime.record import state_size

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
compiled = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


def c_rollout(
    network: Network, path: Path, inputs: np.ndarray, *options: str, **parts: bool
) -> np.ndarray:
    """Torque of the compiled source after each step, from a cold start.

    With a range check, a last element is the number of steps with an input out of range.
    """
    export_network(network, "c", path, **parts)
    library = path.with_suffix(".so")
    words = [COMPILER, "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
    words += options
    subprocess.run([*words, "-shared", "-fPIC", path, "-o", library, "-lm"], check=True)
    functions = ctypes.CDLL(str(library))
    step = getattr(functions, f"{path.stem}_step")
    step.restype = ctypes.c_double
    step.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    state = np.full(100_000, 7.0)
    getattr(functions, f"{path.stem}_reset")(state.ctypes.data_as(ctypes.c_void_p))
    rows = np.ascontiguousarray(inputs)
    place = state.ctypes.data
    torque = [step(place, row.ctypes.data) for row in rows]
    counts = state.view(np.uint64)[state_size(network)] if options else []
    return np.append(torque, counts)


@compiled
@pytest.mark.parametrize("family", ["gru", "lstm", "mlp", "linear"])
@pytest.mark.parametrize("base", [None, BASE])
def test_ten_thousand_steps_are_those_of_the_network(tmp_path, family, base):
    limit = 6.0 if base is not None else None
    network = random_network(family, base=base, torque_limit=limit)
    inputs = smooth_inputs(network, 10_000)
    expected = predict(network, inputs)
    found = c_rollout(network, tmp_path / "knee.c", inputs)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@compiled
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("friction", ["m1", "m4", "m6"])
def test_the_equations_of_a_servo_are_inside(tmp_path, law, friction):
    network = random_network("gru", layers=1, skip=False, base=distinct_base(law, friction))
    inputs = smooth_inputs(network, 300)
    found = c_rollout(network, tmp_path / "servo.c", inputs)
    np.testing.assert_allclose(found, predict(network, inputs), rtol=0, atol=1e-9)


@compiled
@pytest.mark.parametrize("activation", ["elu", "relu", "softsign", "tanh"])
def test_every_activation(tmp_path, activation):
    network = random_network("mlp", activation=activation)
    inputs = smooth_inputs(network, 100)
    found = c_rollout(network, tmp_path / "net.c", inputs)
    np.testing.assert_allclose(found, predict(network, inputs), rtol=0, atol=1e-9)


def ranged_network(family: str, base: AnalyticBase | None = None) -> Network:
    network = random_network(family, base=base)
    middle = smooth_inputs(network, 200)[:, : len(network.features)]
    lowest, highest = (np.quantile(middle, part, axis=0) for part in (0.1, 0.9))
    return replace(network, feature_lowest=lowest, feature_highest=highest)


@compiled
@pytest.mark.parametrize("family", ["gru", "mlp"])
def test_inputs_out_of_range_are_counted_or_clamped_on_request(tmp_path, family):
    network = ranged_network(family, BASE)
    inputs = smooth_inputs(network, 200)
    found = {}
    for name, option in (("count", 1), ("clamp", 2)):
        runtime = NetworkRuntime(network, range_check=name)
        wanted = np.array([runtime.step(row[None])[0] for row in inputs])
        flag = f"-D{name}_RANGE_CHECK={option}"
        *torque, outside = c_rollout(network, tmp_path / f"{name}.c", inputs, flag)
        np.testing.assert_allclose(torque, wanted, rtol=0, atol=1e-9)
        assert 0 < outside == runtime.outside[0] < len(inputs)
        found[name] = np.array(torque)
        runtime.reset()
        assert runtime.outside[0] == 0
    np.testing.assert_array_equal(found["count"], c_rollout(network, tmp_path / "k.c", inputs))
    np.testing.assert_allclose(found["count"], predict(network, inputs), rtol=0, atol=1e-9)
    assert np.abs(found["clamp"] - found["count"]).max() > 0.01
    within = np.clip(inputs[:, :3], network.feature_lowest, network.feature_highest)
    bare = replace(network, base=None)
    base = BASE.torque(inputs[:, [network.inputs.index(name) for name in BASE.features]])
    np.testing.assert_allclose(found["clamp"], predict(bare, within) + base, rtol=0, atol=1e-9)


def test_a_range_check_requires_the_ranges():
    with pytest.raises(SignalError, match="which this network lacks: use 'off'"):
        NetworkRuntime(random_network(), range_check="count")
    with pytest.raises(SignalError, match="available: 'off', 'count', 'clamp'"):
        NetworkRuntime(random_network(), range_check="on")  # type: ignore[arg-type]


@compiled
def test_base_and_limit_can_be_left_out(tmp_path):
    network = random_network("gru", base=BASE, torque_limit=6.0)
    bare = random_network("gru")
    inputs = smooth_inputs(bare, 50)
    found = c_rollout(network, tmp_path / "bare.c", inputs, base=False, limits=False)
    np.testing.assert_allclose(found, predict(bare, inputs), rtol=0, atol=1e-9)


def test_the_command_names_the_files_and_their_use(tmp_path, capsys):
    save_network(random_network("gru"), tmp_path / "network.safetensors")
    words = ["network", "export", str(tmp_path / "network.safetensors"), "--form", "c"]
    assert main([*words, "--output", str(tmp_path / "4 knee-joint.c")]) == 0
    assert "double torque = network_4_knee_joint_step(&state, inputs);" in capsys.readouterr().out
    header = (tmp_path / "4 knee-joint.h").read_text()
    assert "[2] current_ang_vel_rad_s: measured joint velocity [rad/s]" in header
    assert "100 Hz" in header


def test_what_cannot_be_written_is_refused(tmp_path):
    network = random_network("gru")
    with pytest.raises(FitError, match=r"must end in \.c"):
        export_network(network, "c", tmp_path / "knee")
    with pytest.raises(FitError, match="cannot exclude the normalisation"):
        export_network(network, "c", tmp_path / "k.c", normalization=False)
