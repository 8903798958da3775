"""Replay of an identification: positions by forward kinematics, kept with the run."""

from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml

from trueup import runs
from trueup.errors import RunDirectoryError
from trueup.runs.store.run_directory import RunDirectory
from trueup.sysid import identify
from trueup.sysid.experiment.file import load_experiment
from trueup.sysid.results.replay import REPLAY_FILE, read_replay

MODEL = """
<mujoco><compiler angle="radian"/><option timestep="0.005"/><worldbody>
<body name="upper"><joint name="shoulder" axis="0 1 0" damping="{damping}"/>
<geom type="capsule" fromto="0 0 0 0 0 -.4" size=".04" mass="1"/>
<body name="fore" pos="0 0 -.4"><joint name="elbow" axis="0 1 0" damping=".1"/>
<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03" mass=".5"/></body></body></worldbody>
<actuator><motor name="m1" joint="shoulder"/><motor name="m2" joint="elbow"/></actuator>
</mujoco>
"""


def write(folder: Path, signals: tuple[str, ...], method: str) -> Path:
    """A recorded arm with its experiment."""
    model = mujoco.MjModel.from_xml_string(MODEL.format(damping=0.5))
    data, rows, rng = mujoco.MjData(model), [], np.random.default_rng(0)
    for k in range(800):
        t = 0.005 * k
        data.ctrl[:] = [2 * np.sin(3 * t), 0.4 * np.cos(5 * t)]
        rows.append([t, *data.qpos, *data.qvel, *data.ctrl])
        mujoco.mj_step(model, data)
    table = np.array(rows)
    table[:, 1:5] += rng.normal(scale=1e-3, size=(len(table), 4))
    names = "t,q1,q2,v1,v2,u1,u2"
    np.savetxt(folder / "run.csv", table, delimiter=",", header=names, comments="")
    (folder / "arm.xml").write_text(MODEL.format(damping=0.2))
    known = {"shoulder_qpos": "q1", "elbow_qpos": "q2", "shoulder_qvel": "v1", "elbow_qvel": "v2"}
    content = {
        "name": "arm",
        "model": {"file": "arm.xml"},
        "recordings": [
            {
                "file": "run.csv",
                "signals": {name: known[name] for name in signals},
                "controls": {"m1": "u1", "m2": "u2"},
            }
        ],
        "parameters": {"damping": {"target": "joint/shoulder/damping", "bounds": [0, 2]}},
        "search": {"method": method},
        "held_out": {"fraction": 0.25},
        "output": {"report": True},
    }
    file = folder / "experiment.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


ALL = ("shoulder_qpos", "elbow_qpos", "shoulder_qvel", "elbow_qvel")


def identified(folder: Path, signals: tuple[str, ...] = ALL, method: str = "mujoco") -> Path:
    file = write(folder, signals, method)
    return Path(identify(load_experiment(file), folder, verbose=False).directory)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return identified(tmp_path_factory.mktemp("arm"))


def test_robot_and_model_are_two_links_that_agree(run: Path):
    replay = read_replay(RunDirectory(run))
    assert replay is not None and "held out" in replay.title
    robot, model = (figure.positions for figure in replay.figures)
    assert robot.shape == (len(replay.times), 3, 3)
    for points in (robot, model):
        lengths = np.linalg.norm(np.diff(points, axis=1), axis=2)
        np.testing.assert_allclose(lengths, [[0.4, 0.33]] * len(lengths), atol=1e-3)
    assert np.abs(robot - model).max() < 0.02
    assert np.ptp(robot[:, 2, 0]) > 0.1


def test_a_report_written_again_has_the_same_replay(run: Path):
    before = (run / "report.html").read_text()
    assert 'class="figure replay"' in before
    again = runs.report(RunDirectory.open(run)).html()
    part = slice(before.index('<figure class="figure replay"'), before.index("</svg>"))
    assert before[part] in again


def test_a_damaged_file_is_named(run: Path, tmp_path: Path):
    (tmp_path / REPLAY_FILE).write_bytes((run / REPLAY_FILE).read_bytes()[:300])
    with pytest.raises(RunDirectoryError, match=REPLAY_FILE):
        read_replay(RunDirectory(tmp_path))
    assert read_replay(RunDirectory(tmp_path / "elsewhere")) is None


def test_a_fit_to_torques_is_simulated_in_pieces(tmp_path: Path):
    replay = read_replay(RunDirectory(identified(tmp_path, method="inverse-dynamics")))
    assert replay is not None and "pieces of 0.5 s" in replay.caption
    robot, model = (figure.positions for figure in replay.figures)
    assert 0 < np.abs(robot - model).max() < 0.05


def test_without_the_position_of_a_joint_there_is_none(tmp_path: Path):
    folder = identified(tmp_path, signals=ALL[:1])
    assert not (folder / REPLAY_FILE).exists()
    assert 'class="figure replay"' not in (folder / "report.html").read_text()
