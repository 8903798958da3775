"""Exports that hold the stateful step: TorchScript, ONNX, torch.export, numpy."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from exported_steps import (
    SUFFIXES,
    consistent_inputs,
    load_script,
    onnx_metadata,
    rollout,
    script_metadata,
)
from random_networks import BASE, random_network, smooth_inputs

from trueup.deploy import export_network
from trueup.errors import FitError
from trueup.networks import FAMILIES, AnalyticBase, NetworkRuntime, load_numpy_network, predict
from trueup.networks.model.feature_change import with_features


@pytest.mark.parametrize(
    ("family", "form", "steps"),
    [
        ("gru", "torchscript", 5000),
        ("lstm", "torchscript", 500),
        ("mlp", "torchscript", 1000),
        ("gru", "onnx", 10_000),
        ("lstm", "onnx", 2000),
        ("mlp", "onnx", 3000),
        ("gru", "torch-export", 1000),
    ],
)
def test_an_export_is_the_network_over_a_long_run(tmp_path, family, form, steps):
    # all of them over 10 000 steps: benchmarks/network_export_parity.py
    network = random_network(family, base=BASE, torque_limit=6.0)
    path = tmp_path / f"network.{SUFFIXES[form]}"
    export_network(network, form, path)
    inputs = consistent_inputs(network, smooth_inputs(network, steps))
    expected = predict(network, inputs)
    assert (np.abs(expected) == 6.0).any() and (np.abs(expected) < 5.0).any()
    found = rollout(form, path, network, inputs)
    assert np.abs(found - expected).max() <= 1e-5 * np.ptp(expected)


@pytest.mark.parametrize(
    ("family", "form"),
    [(family, form) for family in FAMILIES for form in ("torchscript", "onnx")]
    + [("lstm", "torch-export"), ("mlp", "torch-export")],
)
def test_bare_networks_and_histories_of_one(tmp_path, family, form):
    network = random_network(family, layers=1, history=1)
    path = tmp_path / f"network.{SUFFIXES[form]}"
    export_network(network, form, path)
    inputs = smooth_inputs(network, 200)
    expected = predict(network, inputs)
    assert np.abs(rollout(form, path, network, inputs) - expected).max() <= 1e-5 * np.ptp(expected)


@pytest.mark.parametrize("form", SUFFIXES)
def test_any_number_of_joints_is_one_call(tmp_path, form):
    network = random_network("gru", base=AnalyticBase(kp=2.0, kd=0.1, target_velocity=True))
    assert "target_ang_vel_rad_s" in network.inputs
    export_network(network, form, tmp_path / f"network.{SUFFIXES[form]}")
    inputs = np.stack(
        [consistent_inputs(network, smooth_inputs(network, 30, seed)) for seed in range(5)], axis=1
    )
    runtime = NetworkRuntime(network, joints=5)
    expected = np.array([runtime.step(row) for row in inputs])
    content = (onnx_metadata if form == "onnx" else script_metadata)(
        tmp_path / f"network.{SUFFIXES[form]}"
    )
    assert content["inputs"] == [
        "current_angle_rad", "target_angle_rad", "current_ang_vel_rad_s", "target_ang_vel_rad_s",
    ]  # fmt: skip
    x = inputs[:, :, [network.inputs.index(n) for n in content["inputs"]]].astype(np.float32)
    held = content.get("held_steps", 0)
    assert held == (0 if form == "torchscript" else 50)
    x = np.concatenate([np.repeat(x[:1], held, axis=0), x])
    h = np.zeros((2, 5, 12), np.float32)
    if form == "onnx":
        import onnxruntime

        session = onnxruntime.InferenceSession(str(tmp_path / f"network.{SUFFIXES[form]}"))
        found = []
        for row in x:
            torque, h = session.run(["torque", "h_next"], {"x": row[:, None], "h": h})
            found.append(torque[:, 0])
    else:
        step = (
            load_script(tmp_path / f"network.{SUFFIXES[form]}")
            if form == "torchscript"
            else (torch.export.load(tmp_path / f"network.{SUFFIXES[form]}").module())
        )
        state, found = torch.tensor(h), []
        for row in torch.tensor(x):
            torque, state = step(row[:, None], state)
            found.append(torque[:, 0].detach().numpy())
    assert np.abs(np.array(found[held:]) - expected).max() <= 1e-5 * np.ptp(expected)


@pytest.mark.parametrize("form", SUFFIXES)
def test_a_file_describes_itself(tmp_path, form):
    network = random_network("gru", rate=250.0, base=BASE, torque_limit=6.0)
    export_network(network, form, tmp_path / f"network.{SUFFIXES[form]}")
    content = (onnx_metadata if form == "onnx" else script_metadata)(
        tmp_path / f"network.{SUFFIXES[form]}"
    )
    assert content["rate_hz"] == 250.0
    assert content["inputs"] == list(network.features)
    assert content["input_units"] == ["rad", "rad", "rad/s"]
    assert content["torque_limit_nm"] == 6.0
    assert content["inside"] == {"normalization": True, "base": True, "limits": True}
    assert content["state_shape"] == [2, "batch", 12]


def test_an_onnx_file_tells_its_tensors_and_nothing_of_this_machine(tmp_path):
    import onnx

    network = random_network("lstm", base=BASE)
    export_network(network, "onnx", tmp_path / "network.onnx")
    model = onnx.load(str(tmp_path / "network.onnx"))
    shapes = {
        value.name: [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in (*model.graph.input, *model.graph.output)
    }
    assert shapes == {
        "x": ["batch", 1, 3],
        "h": [4, "batch", 12],
        "torque": ["batch", 1],
        "h_next": [4, "batch", 12],
    }
    assert [(each.domain, each.version) for each in model.opset_import] == [("", 20)]
    assert (model.ir_version, model.producer_name) == (10, "trueup")
    content = (tmp_path / "network.onnx").read_bytes()
    for path in (sys.prefix, torch.__file__, "trueup/networks", "torch_modules"):
        assert path.encode() not in content


@pytest.mark.parametrize("form", ["torchscript", "onnx"])
def test_parts_are_left_out_on_request(tmp_path, form):
    network = random_network("gru", base=BASE, torque_limit=1.0)
    inputs = consistent_inputs(network, smooth_inputs(network, 100))
    bare = random_network("gru")
    plain = predict(bare, inputs[:, :3])
    path = tmp_path / "raw"
    export_network(network, form, path, base=False, limits=False)
    np.testing.assert_allclose(rollout(form, path, network, inputs), plain, atol=1e-4)
    stats = network.normalization
    scaled = inputs.copy()
    scaled[:, :3] = (inputs[:, :3] - stats.input_mean) / stats.input_deviation
    path = tmp_path / "normal"
    export_network(network, form, path, normalization=False, base=False, limits=False)
    normal = (plain - stats.output_mean) / stats.output_deviation
    np.testing.assert_allclose(rollout(form, path, network, scaled), normal, atol=1e-5)
    with pytest.raises(FitError, match="also exclude base and limits"):
        export_network(network, form, tmp_path / "none", normalization=False)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("form", ["torchscript", "onnx"])
def test_base_and_network_are_limited_together_or_not_at_all(tmp_path, form):
    limit = 1.0
    network = random_network("gru", base=BASE, torque_limit=limit)
    inputs = consistent_inputs(network, smooth_inputs(network, 100))
    whole = predict(network, inputs)
    added = network.base.torque(inputs[:, [network.inputs.index(n) for n in network.base.features]])
    alone = predict(replace(network, base=None, torque_limit=None), inputs[:, :3])
    # limited alone the network would give another sum
    assert np.abs(np.clip(alone, -limit, limit) + added - whole).max() > 0.1
    with pytest.raises(FitError, match=r"--without base limits.* 1 N m where the base is added"):
        export_network(network, form, tmp_path / "limited", base=False)
    assert not (tmp_path / "limited").exists()
    path = tmp_path / f"bare.{SUFFIXES[form]}"
    export_network(network, form, path, base=False, limits=False)
    found = rollout(form, path, network, inputs)
    np.testing.assert_allclose(np.clip(found + added, -limit, limit), whole, atol=1e-4)


def test_without_a_limit_or_a_base_there_is_nothing_to_limit_together(tmp_path):
    network = random_network("gru", base=BASE, torque_limit=1.0)
    free, bare = replace(network, torque_limit=None), replace(network, base=None)
    for name, each in (("free", free), ("bare", bare)):
        export_network(each, "torchscript", tmp_path / name, base=False)
        assert script_metadata(tmp_path / name)["inside"] == {
            "normalization": True,
            "base": False,
            "limits": name == "bare",
        }


def test_a_network_for_numpy_needs_numpy_alone(tmp_path):
    network = random_network("lstm", base=BASE, torque_limit=5.0)
    path = tmp_path / "network.npz"
    export_network(network, "numpy", path)
    inputs = smooth_inputs(network, 20)
    np.save(tmp_path / "inputs.npy", inputs)
    script = f"""
import json, sys
import numpy as np
from trueup.networks import NetworkRuntime
from trueup.networks import load_numpy_network
network = load_numpy_network({str(path)!r})
torque = NetworkRuntime(network).rollout(np.load({str(tmp_path / "inputs.npy")!r}))
heavy = {{"torch", "mujoco", "numba", "scipy", "pandas", "safetensors", "onnx"}} & set(sys.modules)
print(json.dumps([torque.tolist(), sorted(heavy)]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    torque, heavy = json.loads(done.stdout)
    np.testing.assert_allclose(torque, predict(network, inputs), atol=1e-12)
    assert heavy == []


@pytest.mark.parametrize("damage", ["text", "truncated", "pickle"])
def test_a_damaged_file_is_refused_and_never_unpickled(tmp_path, damage):
    path = tmp_path / "network.npz"
    export_network(random_network(), "numpy", path)
    whole = path.read_bytes()
    if damage == "text":
        path.write_text("no network")
    elif damage == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    else:
        np.savez(path, description=np.array([{"a": 1}], dtype=object))
    with pytest.raises(FitError, match="cannot be read as a network for numpy"):
        load_numpy_network(path)


def test_an_unknown_form_names_the_known_ones(tmp_path):
    with pytest.raises(FitError, match="Did you mean 'torchscript'"):
        export_network(random_network(), "torch-script", tmp_path / "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_linear_change_of_inputs_is_exact(family):
    angle, target, velocity = "current_angle_rad", "target_angle_rad", "current_ang_vel_rad_s"
    error = "angle_error_rad"
    network = random_network(family)
    inputs = smooth_inputs(network, 100)
    changed = with_features(network, (angle, error, velocity))
    other = np.stack([inputs[:, 0], inputs[:, 1] - inputs[:, 0], inputs[:, 2]], axis=1)
    np.testing.assert_allclose(predict(changed, other), predict(network, inputs), atol=1e-12)
    with pytest.raises(FitError, match="cannot be derived"):
        with_features(network, (error, velocity))
    on_error = random_network(family, (error, velocity))
    on_both = with_features(on_error, (velocity, target, angle))
    back = with_features(on_both, (error, velocity))
    np.testing.assert_allclose(
        predict(back, other[:, 1:]), predict(on_error, other[:, 1:]), atol=1e-12
    )
    np.testing.assert_allclose(
        predict(on_both, inputs[:, [2, 1, 0]]), predict(on_error, other[:, 1:]), atol=1e-12
    )
