"""Trajectories in files: what is written comes back, and other files are rejected."""

import json

import numpy as np
import pytest

from trueup.actuators import record, trajectory_named
from trueup.actuators.record import read_trajectory
from trueup.cli import main
from trueup.errors import RecordingError


@pytest.fixture
def file(tmp_path):
    times = np.arange(0.0, 1.0, 0.01)
    enable = (times < 0.3) | (times >= 0.6)
    return record.write_trajectory(tmp_path / "nod.csv", times, 0.2 * np.sin(3 * times), enable)


def test_a_trajectory_comes_back_from_its_file(file):
    found = record.read_trajectory(file)
    assert found.name == "nod" and found.duration == pytest.approx(0.99)
    between = 0.1 * (np.sin(1.5) + np.sin(1.53))
    assert found.at(0.505)[0] == pytest.approx(between, abs=1e-8)
    assert [found.at(t)[1] for t in (0.295, 0.305, 0.595, 0.605)] == [True, False, False, True]
    assert record.trajectory_of(str(file)).name == "nod"
    assert record.trajectory_of("sin_sin") is trajectory_named("sin_sin")


def test_a_torque_that_stays_off_and_one_that_is_not_said(tmp_path):
    off = record.write_trajectory(tmp_path / "off.csv", [0, 1, 2], [0, 0, 0], [1, 0, 0])
    assert record.read_trajectory(off).limp == ((1.0, np.inf),)
    plain = tmp_path / "plain.csv"
    plain.write_text("t,goal_position\n0,0\n1,0.5\n")
    assert record.read_trajectory(plain).at(0.5) == (0.25, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,angle\n0,0\n1,1\n", "the column 'goal_position' is missing.*this file has t, angle"),
        ("t,goal_position\n0,0\n", "start at 0 and increase"),
        ("t,goal_position\n1,0\n2,0\n", "start at 0 and increase"),
        ("t,goal_position\n0,0\n0,0\n", "start at 0 and increase"),
        ("t,goal_position\n0,0\n1,nan\n", "not finite"),
        ("t,goal_position\n0,zero\n", "column 'goal_position': it contains text such as 'zero'"),
        ("t,goal_position\n0,0,0\n", "is not a trajectory"),
        ("t,goal_position,torque\n0,0,0\n1,1,0\n", "Did you mean 'torque_enable'"),
        (
            "t,goal_position,goal_position\n0,0,0\n1,1,0\n",
            r"unknown column 'goal_position \(repeat 2\)'",
        ),
        ("", "is not a trajectory"),
    ],
)
def test_what_is_no_trajectory_is_told(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(RecordingError, match=message):
        record.read_trajectory(path)


def test_the_command_records_a_file(file, tmp_path, capsys):
    words = ["actuator", "record", "--port", "simulated", "--motor", "xl330", "--mass", "0.1"]
    words += ["--length", "0.1", "--kp", "300", "rate=50"]
    words += ["--output", str(tmp_path / "a.json")]
    assert main([*words, "--trajectory", str(tmp_path / "none.csv")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main([*words, "--trajectory", str(file), "--json"]) == 0
    header = json.loads((tmp_path / "a.json").read_text())
    assert header["trajectory"] == "nod"
    torque = [entry["torque_enable"] for entry in header["entries"]]
    assert True in torque and False in torque


@pytest.mark.parametrize(
    "text", ["\ufefft,goal_position\n0,0.5\n1,1\n", "t;goal_position\n0,0;0,5\n1,0;1,0\n"]
)
def test_a_trajectory_of_a_spreadsheet_is_read(tmp_path, text):
    (tmp_path / "own.csv").write_text(text, encoding="utf-8")
    found = read_trajectory(tmp_path / "own.csv")
    np.testing.assert_allclose(found.angle(np.array([0.0, 0.5, 1.0])), [0.5, 0.75, 1.0])
