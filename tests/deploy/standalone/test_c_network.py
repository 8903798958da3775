"""The export as C, compiled and run beside the network."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from random_networks import BASE, random_network, smooth_inputs
from servo_bases import LAWS, distinct_base

from trueup.cli import main
from trueup.deploy import export_network
from trueup.errors import FitError
from trueup.networks import Network, predict, save_network

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
compiled = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


def c_rollout(network: Network, path: Path, inputs: np.ndarray, **parts: bool) -> np.ndarray:
    """Torque of the compiled source after each step, from a cold start."""
    export_network(network, "c", path, **parts)
    library = path.with_suffix(".so")
    words = [COMPILER, "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
    subprocess.run([*words, "-shared", "-fPIC", path, "-o", library, "-lm"], check=True)
    functions = ctypes.CDLL(str(library))
    step = getattr(functions, f"{path.stem}_step")
    step.restype = ctypes.c_double
    step.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    state = np.full(100_000, 7.0)
    getattr(functions, f"{path.stem}_reset")(state.ctypes.data_as(ctypes.c_void_p))
    rows = np.ascontiguousarray(inputs)
    place = state.ctypes.data
    return np.array([step(place, row.ctypes.data) for row in rows])


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
