"""Designed recordings: ends at rest, limits, prediction against result, what stays unknown."""

import json
import os
import shutil
import signal

import mujoco
import numpy as np
import pytest
import yaml

import servo_arm
from trueup import runs, signals, sysid
from trueup.cli import main
from trueup.design import compared_with, design
from trueup.design.motion.family import CommandLimits, MotionFamily
from trueup.design.next_files import next_experiment
from trueup.design.prepared import make_search, prepare
from trueup.design.recording_noise import ChannelNoiseModel
from trueup.design.robot.clearance import Clearance
from trueup.design.robot.piece_information import PieceSimulator
from trueup.design.robot.prediction import predict
from trueup.design.search import DesignSearch
from trueup.design.spec import DesignSpec
from trueup.errors import ExperimentError, RunDirectoryError
from trueup.fitting.problem import Failures
from trueup.fitting.uncertainty.autoregressive import AutoregressiveModel
from trueup.sysid.experiment.file import load_experiment
from trueup.sysid.experiment.settings import Experiment


def arm_experiment(**changes):
    return Experiment.model_validate({**servo_arm.experiment(), **changes})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("arm")
    (place / "arm.xml").write_text(servo_arm.MODEL.format(**servo_arm.GUESS))
    return place


@pytest.fixture(scope="module")
def designed(folder):
    return design(
        arm_experiment(), folder, folder / "design", library=10, evaluations=45, verbose=False
    )


def test_the_viewer_gets_the_commanded_poses(designed):
    (motion,) = runs.motions(designed.directory)
    assert motion.shown == ("measured",) and motion.labels == ("commanded poses",)
    frames = np.arange(motion.positions.shape[1]) / 25
    times = np.arange(len(designed.commands)) / designed.rate
    for place, joint in enumerate(designed.joints):
        commanded = np.interp(frames, times, designed.commands[:, place])
        address = dict(motion.joints)[joint]
        assert np.allclose(motion.positions[0, :, address], commanded, atol=1e-6)
    assert motion.residuals.shape == (len(frames), 0)  # nothing was recorded


@pytest.fixture(scope="module")
def identified(folder, designed):
    """The designed motion, recorded with a robot of other values, and identified."""
    model = mujoco.MjModel.from_xml_string(servo_arm.MODEL.format(**servo_arm.TRUTH))
    data, rng = mujoco.MjData(model), np.random.default_rng(3)
    table = signals.read(folder / "design" / "motion.csv", time="t")
    commands = np.column_stack([table.column(j)[1] for j in ("shoulder", "elbow")])
    mujoco.mj_step(model, data, 400)
    rows = []
    for k, command in enumerate(commands):
        noisy = data.qpos[:2] + rng.normal(0, servo_arm.NOISE, 2)
        rows.append([0.01 * k, *noisy, *command])
        data.ctrl[:2] = command
        mujoco.mj_step(model, data, 2)
    header = "t,q1,q2,shoulder,elbow"
    path = folder / "design" / "recording.csv"
    np.savetxt(path, rows, delimiter=",", header=header, comments="")
    loaded = load_experiment(folder / "design" / "next_experiment.yaml")
    found = sysid.identify(loaded, folder / "design", output=folder / "run", verbose=False)
    return found.directory


def test_pieces_of_every_family_rest_at_both_ends_and_keep_their_limits():
    pose = np.array([0.3, -0.2])
    limits = CommandLimits(pose - 0.5, pose + 1.0, np.array([2.0, 1.0]), np.array([20.0, 8.0]))
    family = MotionFamily(pose, limits, 5.0, 200.0)
    commands = family.commands(family.random(30, np.random.default_rng(0)))
    assert np.abs(commands[:, [0, -1]] - pose).max() < 1e-15
    speed = np.gradient(commands, 1 / 200, axis=1)
    acceleration = np.gradient(speed, 1 / 200, axis=1)
    assert (commands >= limits.lower - 1e-9).all() and (commands <= limits.upper + 1e-9).all()
    assert (np.abs(speed) <= limits.speed * (1 + 1e-9)).all()
    assert (np.abs(acceleration) <= limits.acceleration * (1 + 1e-9)).all()
    assert np.abs(acceleration[:, [0, -1]]).max() < 0.2
    # a full share reaches one of the limits
    full = family.random(6, np.random.default_rng(1))
    full[:, 2::12] = 1.0
    moved = family.commands(full)
    speed = np.gradient(moved, 1 / 200, axis=1)
    reach = np.stack(
        [
            ((moved - pose) / (limits.upper - pose)).max(axis=1),
            ((pose - moved) / (pose - limits.lower)).max(axis=1),
            (np.abs(speed) / limits.speed).max(axis=1),
            (np.abs(np.gradient(speed, 1 / 200, axis=1)) / limits.acceleration).max(axis=1),
        ]
    ).max(axis=0)
    assert np.allclose(reach, 1.0)


def test_distances_to_the_ground_and_between_bodies_are_watched():
    model = mujoco.MjModel.from_xml_string(servo_arm.MODEL.format(**servo_arm.GUESS))
    watched = Clearance.of(model, np.zeros(3), 0.01)
    assert not watched.touching
    assert watched.lack(np.zeros((1, 3))) == 0.0
    # the lower arm reaches the sphere at the side
    assert watched.lack(np.array([[-1.5, 0.3, 0.0]])) > 0.0
    low = Clearance.of(model, np.zeros(3), 0.2)
    assert low.touching == ("world and lower",)


def test_a_design_beats_a_chirp_and_names_what_stays_unknown(designed):
    rows = {r["name"]: r for r in designed.summary["parameters"]}
    assert "no servo of the recording moves spare" in rows["spare"]["unknown"]
    learned = [r for n, r in rows.items() if n != "spare"]
    assert not any(r["unknown"] for r in learned)
    assert designed.summary["largest"] < 0.5 * max(r["chirp"] for r in learned)
    assert designed.summary["verdict"]["grade"] == "look"
    assert rows["spare"]["relative"] == 1.0


def test_the_predicted_intervals_are_those_that_the_recording_gives(folder, designed, identified):
    found = compared_with(folder / "design", identified)
    assert {r["name"] for r in found["parameters"]} == {"armature", "friction", "mass"}
    assert 0.8 < found["median"] < 1.25


def test_the_motion_keeps_the_limits_at_another_robot(folder, designed):
    model = mujoco.MjModel.from_xml_string(servo_arm.MODEL.format(**servo_arm.TRUTH))
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 400)
    for command in designed.commands:
        data.ctrl[:2] = command
        mujoco.mj_step(model, data, 2)
        assert data.ncon == 0
        assert np.abs(data.qvel[:2]).max() < 4.0 and np.abs(data.actuator_force).max() < 12.0
        assert np.abs(data.qpos[:2]).max() < 1.5


def test_the_files_hold_the_motion(folder, designed):
    place = folder / "design"
    trajectory = yaml.load((place / "motion_ros2.yaml").read_text(), yaml.CSafeLoader)
    assert trajectory["joint_names"] == ["shoulder", "elbow"]
    assert len(trajectory["points"]) == len(designed.commands) == 600
    assert trajectory["points"][150]["time_from_start"] == {"sec": 1, "nanosec": 500000000}
    assert np.allclose(trajectory["points"][150]["positions"], designed.commands[150])
    episode = signals.read(place / "motion_lerobot")
    angles = episode.column("action/elbow.pos")[1]
    assert np.allclose(np.radians(angles), designed.commands[:, 1], atol=1e-6)
    assert "<svg" in (place / "report.html").read_text()


def test_the_next_design_follows_the_run_and_compares_its_prediction(folder, identified):
    spec = DesignSpec.of(
        arm_experiment(), folder, identified, predicted=folder / "design", library=5
    )
    prepared = prepare(spec)
    assert prepared.robot.known.any()
    assert prepared.noise["elbow_qpos"].deviation == pytest.approx(servo_arm.NOISE, rel=0.1)
    armature = prepared.robot.draws[0, 0]
    assert armature == pytest.approx(servo_arm.TRUTH["armature"], rel=0.2)
    content = next_experiment(prepared, folder / "elsewhere")
    assert [r.get("name") for r in content["recordings"]] == [None, "designed"]


def test_one_command_compares_the_last_prediction_and_designs_what_is_next(
    folder, identified, capsys
):
    words = ["design", str(identified), "--predicted", str(folder / "design"), "duration=2"]
    words += ["library=4", "--evaluations", "12", "-o", str(folder / "second"), "--json"]
    assert main(words) in (0, 3)
    printed = json.loads(capsys.readouterr().out)
    assert 0.8 < printed["comparison"]["median"] < 1.25
    rows = {r["name"]: r for r in printed["parameters"]}
    assert set(rows) == {"armature", "friction", "mass", "spare"}
    assert rows["mass"]["with_known"] < rows["mass"]["relative"]
    assert rows["mass"]["with_known"] < rows["mass"]["chirp_with_known"] * 1.2
    again = load_experiment(folder / "second" / "next_experiment.yaml")
    assert [part.name for part in again.recordings] == ["designed", "designed_next"]


def test_a_search_goes_on_from_its_state_bit_for_bit(folder):
    part = {**servo_arm.experiment()["design"], "duration": 2.0, "draws": 1}
    prepared = prepare(DesignSpec.of(arm_experiment(design=part), folder, library=6))
    problem, histories = prepared.problem, []
    for saved in (False, True):
        search = make_search(prepared)
        for _ in range(8):
            if saved:
                search = DesignSearch.from_state(search.state(), problem.space)
            X, failures = search.ask(), Failures()
            search.tell(X, search.evaluate(problem, X, failures), failures)
        histories.append(search.history)
    assert histories[0] == histories[1]
    assert histories[0][-1]["phase"] == "polish"


def test_a_killed_design_resumes_from_its_folder(folder):
    part = {**servo_arm.experiment()["design"], "duration": 2.0, "draws": 1}
    small = arm_experiment(design=part)
    first = design(small, folder, folder / "half", library=4, evaluations=16, verbose=False)
    again = design(small, folder, folder / "half", resume=True, evaluations=32, verbose=False)
    content = json.loads((folder / "half" / "solution.json").read_text())
    done = first.summary["stats"]["evaluations"]
    assert done <= 16 < content["stats"]["evaluations"] <= 32
    assert again.commands.shape == first.commands.shape


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recordings": [{"file": "a.csv", "controls": {"wrist": "c"}}]}, "'wrist' is not in the"),
        ({"recordings": [{"file": "a.csv", "controls": {"winch": "c"}}]}, "not a position servo"),
        ({"design": {"limits": {"position": [0.2, 0.2001]}}}, "outside |exclude any motion"),
        ({"design": {"limits": {"speed": {"wrist": 1}}}}, "speed: unknown joint 'wrist'"),
        ({"design": {"pose": {"wrist": 1}}}, "pose: unknown joint 'wrist'"),
        (
            {"design": {"limits": {"position": {"Shoulder": [-1, 1]}}}},
            r"position: unknown joint 'Shoulder'; .*Did you mean 'shoulder'",
        ),
    ],
)
def test_wrong_limits_and_controllers_are_told(folder, change, message):
    with pytest.raises(ExperimentError, match=message):
        prepare(DesignSpec.of(arm_experiment(**change), folder))


def test_limits_that_no_motion_keeps_are_told(folder):
    part = {**servo_arm.experiment()["design"], "limits": {"torque": 0.01}}
    with pytest.raises(ExperimentError, match=r"exclude every one of 5 motions.*torque in 5"):
        design(arm_experiment(design=part), folder, folder / "no", library=5, verbose=False)
    assert not (folder / "no").exists()


def test_a_run_of_another_model_is_refused(folder, identified):
    (folder / "twin.xml").write_text(servo_arm.MODEL.format(**servo_arm.GUESS))
    other = arm_experiment(model={"file": "twin.xml"})
    with pytest.raises(RunDirectoryError, match=r"is of model .*arm\.xml"):
        prepare(DesignSpec.of(other, folder, identified))


def written(folder):
    """Experiment file of the arm."""
    path = folder / "arm.yaml"
    path.write_text(yaml.safe_dump(servo_arm.experiment()))
    return path


def test_the_command_plans_without_writing(folder, capsys):
    path = written(folder)
    words = ["design", str(path), "--dry-run", "--seconds", "1", "--json", "-o", str(folder / "x")]
    assert main([*words, "duration=3", "target_interval=5%"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["pieces"] == 1 and plan["joints"] == ["shoulder", "elbow"]
    assert plan["simulations_a_piece"] == 2 * (4 + 2)
    assert plan["noise"]["elbow_qpos"] == [servo_arm.NOISE, "experiment file"]
    assert not (folder / "x").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["target_interval=half"], "target_interval is 'half'"),
        (["duration=-1"], "duration is -1"),
        (["duration=4000"], "duration is 4000.0: input should be less than or equal to 3600"),
        (["--after", "nowhere"], "nowhere"),
        (["--predicted", "nowhere"], "pass it with --after"),
        (["masses=0.3"], "masses is for servo benches"),
        (["library=0"], "the library of pieces must be between 1 and 1000000, found 0"),
    ],
)
def test_the_command_tells_what_is_wrong(folder, capsys, words, message):
    assert main(["design", str(written(folder)), *words]) == 2
    assert message in capsys.readouterr().err


def test_a_run_without_intervals_or_not_to_be_used_is_refused(folder, identified):
    bad = folder / "bad"
    shutil.copytree(identified, bad)
    content = json.loads((bad / "solution.json").read_text())
    content["verdict"]["reasons"][0]["grade"] = "do not use"
    (bad / "solution.json").write_text(json.dumps(content))
    with pytest.raises(RunDirectoryError, match="do not use"):
        prepare(DesignSpec.of(arm_experiment(), folder, bad))
    prepare(DesignSpec.of(arm_experiment(), folder, bad, anyway=True, library=4))
    content["known"] = None
    (bad / "solution.json").write_text(json.dumps(content))
    with pytest.raises(RunDirectoryError, match="no intervals"):
        prepare(DesignSpec.of(arm_experiment(), folder, bad, anyway=True))


def test_slow_noise_widens_the_intervals_of_search_and_prediction_alike(folder):
    """The sums over pieces, against the intervals that an identification computes."""
    part = {**servo_arm.experiment()["design"], "draws": 1}
    widths = []
    for pole in (0.0, 0.9):
        prepared = prepare(DesignSpec.of(arm_experiment(design=part), folder, library=4))
        robot, family = prepared.robot, prepared.family
        model = AutoregressiveModel(np.array([1.0, -pole]), 1.0 - pole**2, 600)
        slow = ChannelNoiseModel(servo_arm.NOISE, model, "test")
        noise = {"shoulder_qpos": slow, "elbow_qpos": slow}
        simulator = PieceSimulator(robot, family, noise, prepared.clearance)
        commands = family.commands(family.random(1, np.random.default_rng(5)))
        (found,) = simulator.information_of(commands)
        assert found.excess == 0
        criterion = prepared.problem.criterion
        searched = criterion.intervals(found.gram, found.spread)[0, :3]
        predicted = predict(robot, commands[0], noise).half_widths[:3]
        widths.append([searched, predicted / criterion.scale[:3]])
    white, slow = np.array(widths)
    np.testing.assert_allclose(white[0], white[1], rtol=0.15)
    np.testing.assert_allclose(slow[0], slow[1], rtol=0.35)
    assert (slow[0] > 1.3 * white[0]).all()


def test_a_stopped_design_leaves_a_motion_that_can_be_recorded(folder, monkeypatch, capsys):
    told = DesignSearch.tell

    def tell(self, *arguments):
        told(self, *arguments)
        if np.isfinite(self.cost):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(DesignSearch, "tell", tell)
    run = folder / "stopped"
    words = ["design", str(written(folder)), "duration=2", "library=4", "-o", str(run)]
    assert main([*words, "--quiet"]) == 130
    assert "best motion so far is in" in capsys.readouterr().err
    assert len(signals.read(run / "motion.csv", time="t").column("elbow")[1]) == 200
    assert not (run / "solution.json").exists()
    load_experiment(run / "next_experiment.yaml")


def test_the_search_ends_where_the_intervals_are_narrow_enough(folder, designed):
    part = {**servo_arm.experiment()["design"], "target_interval": 0.1}
    found = design(arm_experiment(design=part), folder, folder / "enough", library=6, verbose=False)
    assert found.summary["status"] == "target reached" and found.summary["largest"] < 0.1
    assert main(["report", str(folder / "enough")]) == 0


def test_a_design_goes_on_by_the_command_and_damage_is_refused(designed, tmp_path, capsys):
    place = tmp_path / "arm"
    shutil.copytree(designed.directory.parent, place)
    run = place / "design"
    (run / "solution.json").unlink()
    assert main(["study", "resume", str(run)]) in (0, 3)
    assert "armature" in capsys.readouterr().out
    whole = (run / "experiment.yaml").read_bytes()
    (run / "experiment.yaml").write_bytes(whole[: len(whole) // 2])
    assert main(["study", "resume", str(run)]) == 2
    said = capsys.readouterr().err
    assert "experiment.yaml is damaged" in said and said.count("\n") == 1
