"""An ensemble in one file of a simulator: each environment has the torque of its own member."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")

import isaac_lab_stand_in
import mjlab_learned_stand_in
import torch
from random_networks import BASE, random_network
from simulator_steps import MOTOR, SHAPE, expected, isaac_lab_torques, motion, usage_config

from trueup.deploy import DrawsRequest, find_form
from trueup.errors import FitError
from trueup.knowledge import Draws
from trueup.networks import NetworkEnsemble
from trueup.networks.data.features import SIMULATOR_FEATURE_NAMES

_, ENVS, JOINTS = SHAPE


def write_ensemble(ensemble, name, joints, path):
    """File of an ensemble; returns the configuration of the simulator's class."""
    form = find_form(name, "draws of an ensemble of networks")
    members = np.arange(len(ensemble.networks), dtype=float)[:, None]
    rows = Draws(("member",), ("",), ("network",), members)
    text, content = form.write(DrawsRequest(rows, "elbow", ensemble, joints)).contents
    path.write_bytes(content)
    return text.replace('str(Path(__file__).with_name("posterior_network.pt"))', "'members.pt'")


def ensemble_of(family, **settings):
    if family != "gru":
        settings = {"features": SIMULATOR_FEATURE_NAMES, **settings}
    return NetworkEnsemble([random_network(family, seed=seed, **settings) for seed in (0, 1)])


def of_members(ensemble, moved):
    """Torque of the member that each environment has."""
    each = [expected(network, *moved) for network in ensemble.networks]
    return np.stack([each[env % len(each)][:, env] for env in range(ENVS)], axis=1)


@pytest.mark.parametrize("family", ["mlp", "linear", "lstm", "gru"])
def test_environments_of_isaac_lab_have_their_own_member(family, monkeypatch, tmp_path):
    isaac_lab_stand_in.install(monkeypatch)
    more = {"base": BASE, "torque_limit": 9.0} if family == "gru" else {}
    ensemble = ensemble_of(family, **more)
    path = tmp_path / "members.pt"
    usage = write_ensemble(ensemble, "isaac-lab", JOINTS, path).replace("...", "50.0")
    settings = {"effort_limit": 50.0} if family == "gru" else MOTOR
    cfg = usage_config(usage, **settings, network_file=str(path))
    moved = motion()
    found = isaac_lab_torques(
        isaac_lab_stand_in.ArticulationActions, cfg, moved, reset=family != "gru"
    )
    wanted = of_members(ensemble, moved)
    assert np.abs(found - wanted).max() <= 1e-5 * np.ptp(wanted)
    assert np.abs(found[:, 0] - found[:, 1]).max() > 0.1


def test_environments_of_mjlab_have_their_own_member(tmp_path):
    ensemble = ensemble_of("mlp", history=3)
    path = tmp_path / "members.pt"
    usage = write_ensemble(ensemble, "mjlab", JOINTS, path)
    assert "history_length=3" in usage and "network_file='members.pt'" in usage
    cfg = SimpleNamespace(
        network_file=str(path), pos_scale=1.0, vel_scale=1.0, torque_scale=1.0,
        input_order="pos_vel", history_length=3, **MOTOR,
    )  # fmt: skip
    actuator = mjlab_learned_stand_in.LearnedMlpActuator(cfg, ENVS, JOINTS)
    moved = motion()
    found = []
    for target, angle, velocity in zip(*(torch.tensor(m) for m in moved), strict=True):
        command = SimpleNamespace(position_target=target, pos=angle, vel=velocity)
        found.append(actuator.compute(command))
    found, wanted = torch.stack(found).double().numpy(), of_members(ensemble, moved)
    assert np.abs(found - wanted).max() <= 1e-5 * np.ptp(wanted)


def test_fewer_environments_than_members_and_a_family_that_does_not_fit(tmp_path):
    ensemble = ensemble_of("lstm")
    write_ensemble(ensemble, "isaac-lab", JOINTS, tmp_path / "members.pt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        module = torch.jit.load(str(tmp_path / "members.pt"))
    network = ensemble.networks[0]
    state = torch.zeros(network.layers, JOINTS, network.hidden)
    torque, after = module(torch.ones(JOINTS, 1, 2), (state, state))
    assert torque.shape == (JOINTS, 1) and after[0].abs().min() > 0
    with pytest.raises(FitError, match=r"of mjlab supports networks of .* 'lstm'"):
        write_ensemble(ensemble, "mjlab", JOINTS, tmp_path / "none.pt")
    assert not (tmp_path / "none.pt").exists()
