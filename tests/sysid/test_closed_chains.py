"""A machine with closed chains is identified from logs of its driven joints alone."""

import json
from dataclasses import replace

import mujoco
import numpy as np
import pytest
import yaml
from closed_chain_models import (
    ANKLE_TRUTH,
    FOUR_BAR_TRUTH,
    MOTORS,
    ROCKER,
    SERVOS,
    ankle,
    four_bar,
    simulated,
    true_model,
    waves,
    write_log,
)

from trueup.cli import main
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.importing.import_log import propose_import
from trueup.sysid.torque.bandwidth import ChosenBandwidth, supported_rest
from trueup.sysid.torque.data import slowest_speeds
from trueup.sysid.torque.followed_motion import follow
from trueup.sysid.torque.joint_motion import torque_sources
from trueup.sysid.torque.linear_fit import linear_columns
from trueup.sysid.torque.problem import TorqueProblem

RATE = 100  # [Hz]


def recorded(folder, kind, by, seconds, rocker=0.4):
    """Model with other values than the machine, and a log of it."""
    torque = by == "torque"
    model = ankle if kind == "ankle" else four_bar
    drive = MOTORS if torque else SERVOS
    (folder / "model.xml").write_text(model(actuator=drive))
    count = 2 if kind == "ankle" else 1
    wave = waves(np.arange(0, seconds, 1 / RATE), count, 0.5 if kind == "ankle" else 0.7, seed=0)
    machine, parts = simulated(
        true_model(kind, drive, rocker), wave, 1000 // RATE, wave if torque else None
    )
    write_log(folder / "log.csv", machine, parts, "torque" if torque else "cmd")
    return machine, parts


@pytest.fixture(scope="session", params=[("four-bar", "torque", 8), ("ankle", "servo", 5)])
def identified(request, tmp_path_factory):
    """Import and identify with nothing edited."""
    folder = tmp_path_factory.mktemp("chain")
    kind, by, seconds = request.param
    recorded(folder, kind, by, seconds, ROCKER if kind == "four-bar" else 0.4)
    out = folder / "experiment.yaml"
    arguments = ["import", str(folder / "log.csv"), "--model", str(folder / "model.xml")]
    assert main([*arguments, "--output", str(out)]) == 0
    assert main(["identify", str(out), "--output", str(folder / "run"), "--quiet"]) == 0
    return kind, by, yaml.safe_load(out.read_text()), folder / "run"


def test_the_truth_lies_in_the_intervals(identified):
    kind, by, experiment, run = identified
    solution = json.loads((run / "solution.json").read_text())
    assert solution["verdict"]["grade"] == "use"
    assert (experiment["search"].get("method") == "inverse-dynamics") == (by == "torque")
    found = {row["name"]: row for row in solution["parameters"]}
    for joint, values in (ANKLE_TRUTH if kind == "ankle" else FOUR_BAR_TRUTH).items():
        for name, true in values.items():
            row = found[f"{joint}_{'friction' if name == 'frictionloss' else name}"]
            assert row["low"] <= true <= row["high"], row
            assert row["high"] - row["low"] < 0.1 * true
    assert any("was not measured and follows from" in note for note in solution["notes"])


def test_a_link_that_torques_show_to_differ_is_an_unknown(identified):
    kind, _, experiment, run = identified
    links = {n: p for n, p in experiment["parameters"].items() if "inertia" in p}
    if kind == "ankle":
        assert not links
        return
    assert links == {
        "rocker_mass": {"inertia": "rocker", "inertia_type": "density", "prior": {"sd": 0.3}}
    }
    rows = json.loads((run / "solution.json").read_text())["parameters"]
    (row,) = [row for row in rows if row["name"] == "rocker_mass"]
    assert row["low"] <= ROCKER <= row["high"]
    assert row["high"] - row["low"] < 0.02 * ROCKER


def experiment(model="model.xml", **changes) -> dict:
    """An experiment of the log of a four-bar."""
    return {
        "model": {"file": model, "actuators": "torque"},
        "recordings": [
            {
                "file": "log.csv",
                "signals": {"crank_qpos": "crank_pos"},
                "controls": {"crank_motor": "crank_torque"},
                **changes.pop("recording", {}),
            }
        ],
        "parameters": {"damping": {"target": "joint/crank/damping", "bounds": [0, 5]}},
        "held_out": {"fraction": 0},
        **changes,
    }


def prepared(folder, content):
    return prepare(parse_experiment(yaml.safe_dump(content)), folder)


@pytest.fixture(scope="session")
def log(tmp_path_factory):
    folder = tmp_path_factory.mktemp("four-bar")
    recorded(folder, "four-bar", "torque", 4)
    return folder


def gaps(model, state):
    """By how much the loops of a state are open."""
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    mujoco.mj_forward(model, data)
    rows = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    return np.abs(data.efc_pos[rows]).max(), np.abs(data.efc_vel[rows]).max()


def test_windows_begin_with_closed_loops(log):
    problem = prepared(log, experiment(window=0.4)).problem()
    segments = problem.sequences[0].segments
    assert len(segments) > 8
    model = problem.variants[0].model
    for segment in segments:
        assert max(gaps(model, segment.initial_state)) < 1e-8


def test_an_initial_pose_of_the_driven_joint_closes_the_loop(log):
    recording = {"initial": {"qpos": {"crank": 0.4}, "qvel": {"crank": 2.0}}}
    content = experiment(recording=recording)
    state = prepared(log, content).training[0].measured_rollout[0].initial_state
    model = mujoco.MjModel.from_xml_path(str(log / "model.xml"))
    assert state[1] == 0.4 and state[1 + model.nq] == 2.0
    assert max(gaps(model, state)) < 1e-8


def test_a_candidate_with_another_zero_or_length_closes_the_loop(log):
    """An open loop would close with a jerk at the beginning of each window."""
    parameters = {
        "zero": {"target": "joint/crank/ref", "bounds": [-0.3, 0.3], "start": 0.0},
        "ground": {"target": "body/rocker/pos/0", "bounds": [0.25, 0.35], "start": 0.3},
        "pose": {"target": "state/crank/qpos@log#3", "bounds": [-3, 3], "start": 0.0},
    }
    problem = prepared(log, experiment(parameters=parameters, window=0.4)).problem()
    sequence = problem.sequences[0]
    pose = sequence.segments[3].initial_state[1]
    candidates = {
        name: [[0.0, 0.3, pose], [zero, ground, pose + away]]
        for name, zero, ground, away in (
            ("zero", 0.05, 0.3, 0.0),
            ("ground", 0.0, 0.303, 0.0),
            ("pose", 0.0, 0.3, 0.02),
        )
    }
    order = [("zero", "ground", "pose").index(name) for name in problem.space.names]
    first = [segment.first for segment in sequence.segments[1:]]
    for name, values in candidates.items():
        ((_, predicted),) = problem.predictions(np.array(values)[:, order])
        moved = (predicted[1] - predicted[0])[first, 0]
        if name == "pose":
            np.testing.assert_allclose(moved, 0.02 * (np.arange(len(first)) == 2), atol=2e-3)
        else:
            assert np.abs(moved).max() < 2e-3


def torques(ready):
    """Torque problem with a filter of 10 Hz, of torques as recorded."""
    trajectory = ready.training[0].measured_rollout[0]
    slowest = slowest_speeds([trajectory], 10.0)
    names = [f"{trajectory.model.joint(j).name} torque" for j in range(trajectory.model.njnt)]
    bandwidth = ChosenBandwidth(10.0, (), slowest, held=True)
    return TorqueProblem(ready.parameters, ready.training, bandwidth, dict.fromkeys(names, 1.0))


def test_torques_of_a_loop_are_linear_in_the_passive_joints_too(log):
    """Plain least squares of one driven joint sees dampers and links of those that follow."""
    content = experiment(search={"method": "inverse-dynamics"})
    content["parameters"]["passive"] = {"target": "joint/rocker/damping", "bounds": [0, 5]}
    problem = torques(prepared(log, content))
    (sequence,) = problem.sequences
    assert sequence.channel_names == ("crank torque",)
    columns = linear_columns([sequence.data])
    assert {"rocker damping", "coupler frictionloss", "rocker mcz"} <= set(columns.names)
    at = problem.space.start
    move = 0.3 * np.eye(len(at))[list(problem.space.names).index("passive")]
    ((_, needed),) = problem.predictions(np.array([at, at + move]))
    motion, rocker = sequence.data.motion, 2
    ratio = motion.qvel[:, rocker] / motion.qvel[:, 0]
    fast = np.abs(motion.qvel[:, 0]) > 0.5
    change = (needed[1] - needed[0])[:, 0]
    expected = 0.3 * ratio * motion.qvel[:, rocker]
    np.testing.assert_allclose(change[fast], expected[fast], rtol=1e-6)


def test_samples_near_rest_count_where_the_others_are_as_few_as_the_columns(log):
    """Plain least squares of as many columns as samples leaves no error, and knows nothing."""
    ready = prepared(log, experiment(search={"method": "inverse-dynamics"}))
    trajectory = ready.training[0].measured_rollout[0]
    chosen = ChosenBandwidth(5.0, (), slowest_speeds([trajectory], 5.0), held=True)
    rest = supported_rest(chosen, ready.training, None)
    (part,) = replace(chosen, rest=rest).torque_data(ready.training)
    assert part.counts.sum() > 1.2 * len(linear_columns([part]).names)


@pytest.fixture(scope="session")
def behind(tmp_path_factory):
    """A log of the rocker's angle and of the torque of the crank, which was not measured."""
    folder = tmp_path_factory.mktemp("behind")
    (folder / "model.xml").write_text(four_bar())
    wave = waves(np.arange(0, 4, 1 / RATE), 1, 0.7, seed=5)
    _, (times, qpos, _, torque) = simulated(true_model("four-bar"), wave, 1000 // RATE, wave)
    table = np.column_stack([times, qpos[:, 2], torque])
    header = "time,rocker_pos,crank_torque"
    np.savetxt(folder / "log.csv", table, delimiter=",", header=header, comments="", fmt="%.9g")
    return folder


def test_the_torque_of_a_driven_joint_is_used_though_another_one_was_measured(behind):
    found = propose_import(behind / "model.xml", [behind / "log.csv"], behind).proposal
    content = yaml.safe_load(found.text)
    assert content["recordings"][0]["controls"] == {"crank_motor": "crank_torque"}
    assert content["search"]["method"] == "inverse-dynamics"
    names = ("crank_armature", "crank_damping", "crank_friction")
    assert tuple(content["parameters"]) == names
    assert any("the torque of 'crank' drives" in point for point in found.open_points)


def test_a_follower_of_a_passive_joint_holds_the_whole_loop(behind):
    """Held by the inertia of the rocker alone, the crank moves far from the recording."""
    content = experiment(recording={"signals": {"rocker_qpos": "rocker_pos"}})
    (group,) = prepared(behind, content).training
    trajectory = group.measured_rollout[0]
    model, recorded = trajectory.model, trajectory.sensordata
    sources = torque_sources(model, recorded, {0})
    spec = mujoco.MjSpec.from_string(four_bar(0.0252, 0.256, 0.117))
    found = follow(spec, trajectory, sources, 10.0, "zoh")
    assert found is not None
    away = found.trajectory.sensordata.data - recorded.data
    assert np.std(away) < 0.01 * np.std(recorded.data)


GRIPPER = """<mujoco><compiler angle="radian"/><option timestep="0.001"/>
<default><geom size=".02" mass="0.3" contype="0" conaffinity="0" pos="0 0 .08"/></default>
<worldbody><body><joint name="thumb" axis="0 1 0" armature="{}" damping="{}"/><geom/></body>
<body pos=".1 0 0"><joint name="finger" axis="0 1 0" armature="0.004" damping="0.03"/><geom/></body>
</worldbody><equality><joint joint1="finger" joint2="thumb" polycoef="0 -1.3 0.2 0 0"
 solref="0.002 1" solimp="0.99 0.999 0.001 0.5 2"/></equality>
<actuator><motor name="motor" joint="thumb"/></actuator></mujoco>"""


def test_a_gripper_with_friction_in_both_fingers_is_identified(tmp_path):
    """The finger that follows adds no armature of its own to the measured one."""
    text = GRIPPER.replace('damping="0.03"', 'damping="0.03" frictionloss="0.02"').replace(
        'damping="{}"', 'damping="{}" frictionloss="{}"'
    )
    (tmp_path / "model.xml").write_text(text.format(0.002, 0.05, 0.02))
    wave = waves(np.arange(0, 4, 1 / RATE), 1, 0.8, 1)
    machine, parts = simulated(text.format(0.01, 0.2, 0.08), wave, 1000 // RATE, wave)
    write_log(tmp_path / "log.csv", machine, parts, "torque")
    out = tmp_path / "experiment.yaml"
    arguments = ["import", str(tmp_path / "log.csv"), "--model", str(tmp_path / "model.xml")]
    assert main([*arguments, "--output", str(out)]) == 0
    assert main(["identify", str(out), "--output", str(tmp_path / "run"), "--quiet"]) == 0
    solution = json.loads((tmp_path / "run" / "solution.json").read_text())
    assert solution["verdict"]["grade"] == "use"
    found = {row["name"]: row for row in solution["parameters"]}
    assert set(found) == {"thumb_armature", "thumb_damping", "thumb_friction"}
    for name, true in (("armature", 0.01), ("damping", 0.2), ("friction", 0.08)):
        row = found[f"thumb_{name}"]
        assert row["low"] <= true <= row["high"], row
        assert row["high"] - row["low"] < 0.1 * true


def test_torques_of_a_gripper_with_a_mimic_joint_hold_the_finger_that_follows(tmp_path):
    """Plain least squares of the measured joint finds the values of the machine."""
    (tmp_path / "model.xml").write_text(GRIPPER.format(0.002, 0.01))
    wave = waves(np.arange(0, 5, 0.005), 1, 0.8, 0)
    machine, parts = simulated(GRIPPER.format(0.01, 0.2), wave, 5, wave)
    write_log(tmp_path / "log.csv", machine, parts, "torque", noise=1e-5)
    content = experiment(
        recording={
            "signals": {"thumb_qpos": "thumb_pos"},
            "controls": {"motor": "thumb_torque"},
        },
        parameters={
            "damping": {"target": "joint/thumb/damping", "bounds": [0, 5]},
            "armature": {"target": "joint/thumb/armature", "bounds": [0, 0.1]},
        },
        search={"method": "inverse-dynamics"},
    )
    problem = torques(prepared(tmp_path, content))
    start = problem.space.start
    (pair,) = problem.predictions(np.stack([start, *(start + 0.01 * np.eye(2))]))
    applied, needed = pair[0][0, :, 0], pair[1][:, :, 0]
    slopes = (needed[1:] - needed[0]).T / 0.01
    found = start + np.linalg.lstsq(slopes, applied - needed[0], rcond=None)[0]
    truth = {"damping": 0.2, "armature": 0.01}
    np.testing.assert_allclose(found, [truth[n] for n in problem.space.names], rtol=0.03)
