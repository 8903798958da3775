"""The first steps of a network at a joint that rests away from zero: no form of it is kicked."""

from pathlib import Path

import exported_steps
import mujoco
import numpy as np
import pytest
import torch
from random_networks import random_network, smooth_inputs

from trueup.deploy import export_network
from trueup.networks import (
    FAMILIES,
    CompiledRuntime,
    Network,
    NetworkRuntime,
    Normalization,
    load_numpy_network,
    network_law,
    predict,
)
from trueup.networks.data.features import ANGLE_ERROR, VELOCITY
from trueup.networks.model.torch_network import TorchNetwork
from trueup.networks.training.lanes import Lanes

RESTING = [
    *(random_network("mlp", history=history) for history in (1, 2, 7)),
    *(random_network("linear", history=history) for history in (1, 2, 7)),
    *(random_network(family, layers=1, hidden=8, reach=0.5) for family in ("gru", "lstm")),
]
POSE, GOAL = 1.1, 1.35
WEIGHT = 0.4 * 9.81 * 0.25
"""Largest torque of the arm's weight [N m]."""

ARM = f"""<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body><joint name="hinge" axis="0 -1 0"/>
      <geom size=".01" pos="0 0 -.25" mass=".4"/></body>
  </worldbody>
  <keyframe><key name="rest" qpos="{POSE}"/></keyframe>
</mujoco>"""


def held(network: Network, steps: int = 12) -> np.ndarray:
    """Features of a joint that is held at an angle, against a load: all samples alike."""
    known = {"current_angle_rad": POSE, "target_angle_rad": GOAL, ANGLE_ERROR: GOAL - POSE}
    return np.tile([known.get(name, 0.0) for name in network.inputs], (steps, 1))


def differences(history: int = 6) -> Network:
    """A PD law that takes the speed from the last two errors; its gain holds the arm at its pose.

    A step of the error that is none gives it some hundred times the torque.
    """
    stiffness = WEIGHT * np.sin(POSE) / (GOAL - POSE)
    weights = np.zeros((1, 2 * history), np.float32)
    weights[0, :2] = stiffness + 20.0, -20.0
    stats = Normalization((ANGLE_ERROR, VELOCITY), np.zeros(2), np.ones(2), 0.0, 1.0)
    return Network(
        "linear",
        stats,
        {"layers.0.weight": weights, "layers.0.bias": np.zeros(1, np.float32)},
        rate=100.0,
        history=history,
    )


@pytest.mark.parametrize("network", RESTING, ids=lambda network: network.family)
def test_a_held_joint_gets_one_torque_from_the_first_step_on(network):
    inputs = held(network)
    runtime = NetworkRuntime(network)
    torque = np.array([runtime.step(row[None])[0] for row in inputs])
    np.testing.assert_allclose(torque, torque[-1], rtol=1e-4)
    runtime.step(np.zeros((1, len(network.inputs))))
    runtime.reset()
    assert runtime.step(inputs[:1])[0] == pytest.approx(torque[-1], rel=1e-4)


@pytest.fixture(scope="module", params=FAMILIES)
def exported(request, tmp_path_factory) -> tuple[Network, dict[str, Path]]:
    """A network of each family, and its file of each form: exports take seconds."""
    network = random_network(request.param, layers=1, torque_limit=50.0)
    folder = tmp_path_factory.mktemp(request.param)
    suffixes = {**exported_steps.SUFFIXES, "numpy": "npz"}
    files = {form: folder / f"network.{suffix}" for form, suffix in suffixes.items()}
    for form, path in files.items():
        export_network(network, form, path)
    return network, files


@pytest.mark.parametrize("moves", [False, True])
def test_all_forms_agree_from_the_first_step_on(exported, moves):
    network, files = exported
    inputs = smooth_inputs(network, 12) + held(network) if moves else held(network)
    wanted = NetworkRuntime(network).rollout(inputs)
    compiled = CompiledRuntime(network)
    found = {
        "compiled": [compiled.step(row[None])[0] for row in inputs],
        "recording": predict(network, inputs),
        "torch": TorchNetwork.from_network(network).rollout(inputs),
        "numpy": predict(load_numpy_network(files["numpy"]), inputs),
    }
    for form in exported_steps.SUFFIXES:
        found[form] = exported_steps.rollout(form, files[form], network, inputs)
    for form, torque in found.items():
        np.testing.assert_allclose(torque, wanted, atol=1e-5, err_msg=form)


@pytest.mark.parametrize("history", [2, 6])
def test_an_arm_at_rest_under_gravity_stays_there_in_mujoco(history):
    law = network_law(mujoco.MjSpec.from_string(ARM), {"hinge": differences(history)})
    model = law.compile()
    data = mujoco.MjData(model)
    for start in (lambda: None, lambda: law.start(data)):
        mujoco.mj_resetDataKeyframe(model, data, model.key("rest").id)
        data.ctrl[:] = law.controls(goal={"hinge": GOAL})
        start()
        with law.installed(data):
            for _ in range(100):
                mujoco.mj_step(model, data)
                assert abs(data.qpos[0] - POSE) < 1e-5


def test_several_arms_each_start_at_their_own_pose():
    network = differences()
    poses = np.array([-2.0, -0.4, 0.0, 0.9, 2.5])
    goals = poses + (GOAL - POSE) * np.sin(poses) / np.sin(POSE)
    law = network_law(mujoco.MjSpec.from_string(ARM), {"hinge": network})
    batch = mujoco.batch.Batch(law.compile(), len(poses))
    batch.bind("qpos")[:, 0] = poses
    goals = np.repeat(goals[:, None], 200, axis=1)
    with law.installed(batch):
        moved = batch.rollout(200, law.controls(goal={"hinge": goals}), record=["qpos"])["qpos"]
    assert np.abs(moved[:, :, 0] - poses[:, None]).max() < 1e-4


@pytest.mark.parametrize("family", FAMILIES)
def test_training_starts_cold_lanes_as_the_deployed_network(family):
    """Their first sample is held; the lanes within a recording run what was before them."""
    lanes = Lanes([40, 60], batch=4, chunk=10, burn_in=12, cold_start_share=0.5)
    for chunk in lanes.chunks(0):
        if chunk.starts:
            first, before = chunk.samples[:, :1], chunk.burn_in
            cold = (before == first).all(axis=1)
            np.testing.assert_array_equal(
                before[~cold], first[~cold] + np.arange(-12, 0), "what was recorded before"
            )
            assert cold[np.isin(first[:, 0], [0, 40])].all()
    module = TorchNetwork.from_network(random_network(family, layers=1, hidden=8, reach=0.5))
    x = torch.tensor(np.random.default_rng(0).normal(size=(1, 9, 3)) + POSE, dtype=torch.float32)
    x.requires_grad_()
    torque, _ = module(x)
    _, state = module(x[:, :1].expand(-1, 12, -1))
    after, _ = module(x, state)
    np.testing.assert_allclose(torque.detach(), after.detach(), atol=1e-3)
    torque.sum().backward()
    assert x.grad is not None and bool(torch.isfinite(x.grad).all())
