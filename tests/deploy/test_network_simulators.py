"""Networks in the forms of Isaac Lab, mjlab and Newton, by stand-ins that the real classes confirm.

``benchmarks/simulator_contracts/run.py networks newton`` runs the same through the real classes.
"""

import json
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")

import isaac_lab_stand_in
import mjlab_learned_stand_in
import newton_stand_in
import onnxruntime
import torch
from random_networks import BASE, random_network
from servo_bases import LAWS, distinct_base
from simulator_steps import MOTOR, SHAPE, expected, isaac_lab_torques, motion, usage_config

from trueup.deploy import export_network
from trueup.deploy.newton.linear_skip import skip_as_unit
from trueup.errors import FitError
from trueup.networks import AnalyticBase, predict
from trueup.networks.data.features import (
    ANGLE,
    ANGLE_ERROR,
    FEATURE_NAMES,
    SIMULATOR_FEATURE_NAMES,
    TARGET_ANGLE,
    VELOCITY,
)
from trueup.networks.model.feature_change import with_features
from trueup.networks.model.network import HELD_STEPS

PD = AnalyticBase(kp=6.0, kd=0.3, stall_torque=3.0, no_load_speed=5.0)
FIT = {"features": SIMULATOR_FEATURE_NAMES, "torque_limit": 9.0}
ACTIONS = isaac_lab_stand_in.ArticulationActions


@pytest.fixture
def isaac_lab(monkeypatch):
    isaac_lab_stand_in.install(monkeypatch)


def exported(network, form, path, settings=None, **parts):
    usage = export_network(network, form, path, **parts).usage.replace("...", "50.0")
    return usage_config(usage, **(settings or {}))


def check(found, wanted):
    assert np.abs(found - wanted).max() <= 1e-5 * np.ptp(wanted)


@pytest.mark.parametrize("form", ["newton", "mjlab", "isaac-lab-mlp"])
def test_a_correction_is_no_whole_actuator(tmp_path, form):
    whole = random_network("mlp", **FIT)
    target = "correction of the torque of the servo model, trained by the motion"
    correction = replace(whole, provenance={"target": target, "base": {"kind": "servo"}})
    with pytest.raises(FitError, match=f"this network is a {target}"):
        export_network(correction, form, tmp_path / "n.pt")
    assert not list(tmp_path.iterdir())
    export_network(correction, "c", tmp_path / "n.c")
    # with nothing beneath it is the whole torque
    alone = replace(whole, provenance={"target": target, "base": {"kind": "none"}})
    export_network(alone, "newton", tmp_path / "m.onnx")


@pytest.mark.parametrize(
    ("form", "network"),
    [
        ("isaac-lab-mlp", random_network("mlp", base=PD, **FIT)),
        ("isaac-lab-mlp", random_network("linear", history=5, **FIT)),
        ("isaac-lab-mlp", random_network("mlp", history=1, features=FIT["features"][::-1])),
        ("isaac-lab-lstm", random_network("lstm", base=PD, **FIT)),
    ],
)
def test_networks_of_isaac_lab_give_the_torque_of_the_network(isaac_lab, tmp_path, form, network):
    cfg = exported(network, form, tmp_path / "network.pt", MOTOR)
    moved = motion()
    check(isaac_lab_torques(ACTIONS, cfg, moved), expected(network, *moved))


@pytest.mark.parametrize("normalization", [True, False])
def test_the_gru_of_isaac_lab_takes_angle_and_error(isaac_lab, tmp_path, normalization):
    base = {"base": BASE, "torque_limit": 9.0} if normalization else {}
    network = random_network("gru", **base)
    assert network.features == FEATURE_NAMES
    cfg = exported(
        network, "isaac-lab-gru", tmp_path / "network.pt", {"effort_limit": 50.0},
        normalization=normalization,
    )  # fmt: skip
    assert (cfg.output_normalization is None) == normalization
    moved = motion()
    torques = isaac_lab_torques(ACTIONS, cfg, moved, reset=False)
    check(torques, expected(network, *moved))


@pytest.mark.parametrize("law", LAWS)
def test_isaac_lab_runs_a_network_over_a_servo(isaac_lab, tmp_path, law):
    network = random_network("gru", hidden=4, layers=1, base=distinct_base(law), torque_limit=9.0)
    path = tmp_path / "network.pt"
    cfg = exported(network, "isaac-lab-gru", path, {"effort_limit": 50.0})
    moved = motion()
    torques = isaac_lab_torques(ACTIONS, cfg, moved, reset=False)
    check(torques, expected(network, *moved))


@pytest.mark.parametrize("family", ["mlp", "linear"])
def test_the_learned_actuator_of_mjlab_gives_the_torque_of_the_network(
    monkeypatch, tmp_path, family
):
    monkeypatch.setitem(
        sys.modules, "mjlab.actuator", SimpleNamespace(LearnedMlpActuatorCfg=SimpleNamespace)
    )
    network = random_network(family, base=PD, **FIT)
    cfg = exported(network, "mjlab", tmp_path / "network.pt", MOTOR)
    actuator = mjlab_learned_stand_in.LearnedMlpActuator(cfg, *SHAPE[1:])
    moved, found = motion(), []
    for target, angle, velocity in zip(*(torch.tensor(m) for m in moved), strict=True):
        command = SimpleNamespace(position_target=target, pos=angle, vel=velocity)
        found.append(actuator.compute(command).numpy())
    check(np.array(found), expected(network, *moved))


def test_a_network_on_two_angles_that_needs_their_difference_fits(isaac_lab, tmp_path):
    on_error = random_network("mlp", **FIT)
    network = with_features(on_error, (TARGET_ANGLE, VELOCITY, ANGLE))
    cfg = exported(network, "isaac-lab-mlp", tmp_path / "network.pt", MOTOR)
    moved = motion()
    check(isaac_lab_torques(ACTIONS, cfg, moved), expected(on_error, *moved))


@pytest.mark.parametrize(
    ("form", "network", "words"),
    [
        ("isaac-lab-mlp", random_network("gru"), "family 'gru'. Train one .*name=mlp"),
        ("mjlab", random_network("lstm", **FIT), "LearnedMlpActuatorCfg of mjlab supports"),
        ("isaac-lab-lstm", random_network("lstm"), r"data.features=\[angle_error_rad"),
        ("isaac-lab-mlp", random_network("mlp", base=BASE, **FIT), "base also requires"),
        ("isaac-lab-gru", random_network("lstm"), "family 'lstm'"),
        ("newton", random_network("mlp", base=PD, **FIT), "export without the base"),
        ("newton", random_network("gru", features=(ANGLE, "voltage_v")), "voltage_v"),
        ("newton", random_network("lstm", **FIT), "one layer; this one has 2"),
        ("isaac-lab-combined", random_network("gru", features=(ANGLE, VELOCITY, "voltage_v")),
         "cannot be derived"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_with_what_would(tmp_path, form, network, words):
    with pytest.raises(FitError, match=words):
        export_network(network, form, tmp_path / "network")
    assert not (tmp_path / "network").exists()


@pytest.mark.parametrize(
    ("form", "network"),
    [
        ("isaac-lab-mlp", random_network("mlp", base=BASE, **FIT)),
        ("mjlab", random_network("linear", base=BASE, **FIT)),
        ("isaac-lab-lstm", random_network("lstm", base=BASE, **FIT)),
        ("isaac-lab-gru", random_network("gru", base=BASE, torque_limit=9.0)),
        ("newton", random_network("gru", base=BASE, torque_limit=9.0)),
    ],
)
def test_a_network_without_its_base_is_not_limited_alone(tmp_path, form, network):
    with pytest.raises(FitError, match="--without base limits"):
        export_network(network, form, tmp_path / "none", base=False)
    usage = export_network(network, form, tmp_path / "a.pt", base=False, limits=False).usage
    assert "effort_limit=9" not in usage
    assert "Clamp its effort" not in usage
    assert re.search(r"9(\.0)? N m is the limit of the sum|sum with the base to 9 N m", usage)
    whole = replace(network, base=None)
    usage = export_network(whole, form, tmp_path / "b.pt").usage
    assert "effort_limit=9.0,  # N m" in usage or "Clamp its effort to 9 N m" in usage


NEWTON = {"features": SIMULATOR_FEATURE_NAMES}


@pytest.mark.parametrize(
    "network",
    [
        random_network("mlp", history=4, **NEWTON),
        random_network("mlp", skip=False, **NEWTON),
        random_network("linear", history=2, **NEWTON),
        random_network("lstm", layers=1, **NEWTON),
        random_network("lstm", layers=1, skip=False, **NEWTON),
        random_network("gru", layers=3),
        random_network("gru", layers=1, skip=False, features=(ANGLE, ANGLE_ERROR, VELOCITY)),
    ],
)
def test_newton_runs_the_network(tmp_path, network):
    usage = export_network(network, "newton", tmp_path / "network.onnx").usage
    drive = newton_stand_in.NeuralDrive(tmp_path / "network.onnx", 6, 0.01)
    moved = motion()
    rows = list(zip(*(each.reshape(len(each), -1) for each in moved), strict=True))
    if network.family in ("gru", "lstm"):
        assert "hold the joints" in usage
        for _ in range(HELD_STEPS):
            drive.step(*rows[0])
    torque = np.array([drive.step(*row) for row in rows]).reshape(moved[0].shape)
    # Newton's history begins with zeros, which its operators cannot tell from samples
    zeros = network.history - 1
    assert (f"the first {zeros} steps differ" in usage) == (zeros > 0)
    check(torque[zeros:], expected(network, *moved)[zeros:])


def run_by_metadata(path, signals):
    """Torque of one joint over time, by the file's own description and no knowledge of its kind."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    described = json.loads(session.get_modelmeta().custom_metadata_map["metadata"])
    shapes = {each.name: each.shape for each in session.get_inputs()}
    states = {
        name: np.zeros([1 if size == "batch" else size for size in state["shape"]], np.float32)
        for name, state in described["states"].items()
    }
    assert {name: shapes[name] for name in states} == {
        name: state["shape"] for name, state in described["states"].items()
    }
    stats = described.get("normalization")
    assert (stats is None) == described["inside"]["normalization"]
    columns = described.get("input_columns", described["inputs"])
    rows = np.stack([signals[name] for name in columns], axis=1)
    mean, deviation = 0.0, 1.0
    if stats is not None:
        inputs = stats["inputs"]
        rows = rows - np.array([inputs["mean"][name] for name in columns])
        rows = rows / np.array([inputs["std"][name] for name in columns])
        mean, deviation = stats["targets"]["mean"]["torque"], stats["targets"]["std"]["torque"]
    torque = []
    for step in range(len(rows)):
        values = rows[step]
        if "history" in described:
            assert described["input_axes"] == ["input", "steps ago"]
            past = [rows[max(step - k, 0)] for k in range(described["history"])]
            values = np.stack(past, axis=1).ravel()
        feed = {"input": values.astype(np.float32).reshape([*[1] * (len(shapes["input"]) - 1), -1])}
        following = [state["next"] for state in described["states"].values()]
        found, *new = session.run(["output", *following], {**feed, **states})
        states = dict(zip(states, new, strict=True))
        torque.append(float(found.squeeze()) * deviation + mean)
    return np.array(torque)


@pytest.mark.parametrize(
    "network",
    [
        random_network("mlp", history=4, **NEWTON),
        random_network("lstm", layers=1, **NEWTON),
        random_network("gru", layers=2),
    ],
)
def test_the_metadata_of_newton_alone_describe_the_graph(tmp_path, network):
    export_network(network, "newton", tmp_path / "network.onnx")
    target, angle, velocity = (each.reshape(len(each), -1)[:, 0] for each in motion())
    signals = {
        "position": angle,
        "target_position": target,
        "velocity": velocity,
        ANGLE_ERROR: target - angle,
        VELOCITY: velocity,
    }
    held = HELD_STEPS if network.family in ("gru", "lstm") else 0
    signals = {k: np.concatenate([np.full(held, v[0]), v]) for k, v in signals.items()}
    torque = run_by_metadata(tmp_path / "network.onnx", signals)[held:]
    check(torque, expected(network, target[:, None], angle[:, None], velocity[:, None])[:, 0])


def test_a_skip_is_one_hidden_unit_of_a_gru_also_far_from_the_mean():
    network = random_network("gru", layers=3)
    inputs = 5.0 * np.random.default_rng(2).normal(size=(300, 3))
    wanted = predict(network, inputs)
    wider = skip_as_unit(network)
    assert (wider.hidden, wider.has_skip) == (network.hidden + 1, False)
    assert np.abs(predict(wider, inputs) - wanted).max() <= 1e-6 * np.ptp(wanted)


def test_newton_knows_the_time_step_of_a_gru(tmp_path):
    export_network(random_network("gru"), "newton", tmp_path / "network.onnx")
    with pytest.raises(ValueError, match=r"steps of 0\.01 s"):
        newton_stand_in.NeuralDrive(tmp_path / "network.onnx", 6, 0.02)
