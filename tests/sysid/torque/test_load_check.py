"""Torques of another sign, joint or side of a gear, and recordings that overlap: said at once."""

from pathlib import Path

import numpy as np
import pytest
from test_elastic_and_loads import LOAD, MEASURED, arm_xml, record

from trueup.errors import RecordingError, SignalError
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.torque.load_check import torque_notes

PARAMETERS = """
parameters:
  damping: {target: joint/*/damping, each: true, start: 0.1, bounds: [0, 2]}
"""
HEAD = "name: arm\nmodel: {file: arm.xml}\nrecordings:\n  - file: arm.csv"


def prepared(folder: Path, text: str = HEAD + MEASURED + PARAMETERS, load: str = ""):
    record(arm_xml(load=load), folder / "arm.csv")
    (folder / "arm.xml").write_text(arm_xml())
    return prepare(parse_experiment(text), folder)


def changed(folder: Path, columns: dict[str, str]):
    """The experiment with other columns of controls."""
    text = HEAD + MEASURED + PARAMETERS
    for old, new in columns.items():
        text = text.replace(old, new)
    return prepared(folder, text)


def test_right_torques_and_a_missing_payload_pass(tmp_path):
    assert torque_notes(prepared(tmp_path)) == []
    assert torque_notes(prepared(tmp_path, load=LOAD)) == []


@pytest.mark.parametrize(
    ("columns", "joints"),
    [
        ({"shoulder: t1": "shoulder: {column: t1, scale: -1}"}, "'shoulder' opposes"),
        ({"elbow: t2": "elbow: {column: t2, scale: -1}"}, "'elbow' opposes"),
    ],
)
def test_a_torque_of_the_other_sign_is_refused(tmp_path, columns, joints):
    with pytest.raises(SignalError, match=f"{joints} the weight.*scale: -1"):
        torque_notes(changed(tmp_path, columns))


def test_exchanged_torques_are_refused(tmp_path):
    with pytest.raises(SignalError, match="controls are exchanged"):
        torque_notes(changed(tmp_path, {"shoulder: t1, elbow: t2": "shoulder: t2, elbow: t1"}))


def test_torques_of_the_motor_side_are_named_unless_gains_are_unknown(tmp_path):
    side = {"t1, elbow: t2": "{column: t1, scale: .01}, elbow: {column: t2, scale: .01}"}
    (sentence,) = torque_notes(changed(tmp_path, side))
    assert "motor side of a gear of about 100" in sentence
    gains = "  gain: {target: actuator/*/gainprm/0, each: true, start: 1, bounds: [0.1, 200]}\n"
    assert torque_notes(changed(tmp_path, {**side, "parameters:\n": f"parameters:\n{gains}"})) == []


def test_samples_that_stand_in_two_recordings_are_refused(tmp_path):
    two = HEAD + MEASURED + "  - file: later.csv" + MEASURED + PARAMETERS
    record(arm_xml(), tmp_path / "later.csv")
    table = np.loadtxt(tmp_path / "later.csv", delimiter=",", skiprows=1)
    header = "t,q1,q2,v1,v2,t1,t2"

    def write(rows):
        np.savetxt(tmp_path / "later.csv", rows, delimiter=",", header=header, comments="")

    write(table[1000:])
    with pytest.raises(RecordingError, match=r"'arm' and 'later' overlap from 10 to 14.99 s"):
        prepared(tmp_path, two)
    # another motion on a clock that begins at zero too
    record(arm_xml(), tmp_path / "later.csv", seed=3)
    prepared(tmp_path, two)
    # and one that goes on where the first ends
    table = np.loadtxt(tmp_path / "later.csv", delimiter=",", skiprows=1)
    write(np.add(table[:800], [15.0, 0, 0, 0, 0, 0, 0]))
    prepared(tmp_path, two)


def test_two_recordings_of_one_calendar_do_not_overlap(tmp_path):
    from trueup.signals import TimeSeries
    from trueup.simulation import SystemTrajectory
    from trueup.sysid.recordings.overlap import check_overlap

    parts = prepared(tmp_path).training[0].measured_rollout
    epoch = 1.7e9
    late = [
        SystemTrajectory(
            p.model,
            p.control,
            TimeSeries(p.sensordata.times + epoch + shift, p.sensordata.data + shift),
            p.initial_state,
            name=f"run {shift}",
        )
        for p in parts
        for shift in (0.0, 7.0, 100.0)
    ]
    check_overlap([late[0], late[2]])
    with pytest.raises(RecordingError, match="of absolute time"):
        check_overlap(late)
