"""Real recordings of several laboratories."""

import numpy as np
import pytest

from trueup.errors import ColumnError
from trueup.signals import read, read_all, select, suspect_units


def test_emps(recorded_data):
    recording = read(recorded_data / "emps" / "DATA_EMPS.mat")
    times, position = recording.column("qm")
    assert times.size == 24841
    assert recording.end == pytest.approx(24.84)
    assert recording.metadata["kp"] == pytest.approx(160.18)
    # The published control law ties the voltage to the position: vir = kv (kp (qg - qm) - v).
    reference, voltage = recording.column("qg")[1], recording.column("vir")[1]
    kp, kv = (float(str(recording.metadata[key])) for key in ("kp", "kv"))
    velocity = np.gradient(position, times)
    predicted = np.clip(kv * (kp * (reference - position) - velocity), -10, 10)
    assert np.corrcoef(predicted, voltage)[0, 1] > 0.99


def test_ur10e_without_header(recorded_data):
    path = recorded_data / "ur10e" / "identification_data" / "ur-20_01_31-load.csv"
    with pytest.raises(ColumnError, match="Give time"):
        read(path)
    recording = read(path, time=0)
    assert len(recording.columns) == 30
    assert recording.start == pytest.approx(1110.663)
    mapping = {"shoulder_qpos": {"column": "1", "unit": "rad"}, "current": {"column": "13"}}
    moved = select(recording, mapping).shifted_to_zero().merged(rate=100)
    assert moved.start == 0.0
    assert suspect_units("q1", recording.column("1")[1], "angle") is None
    # Columns 7 to 12 are the velocities of columns 1 to 6.
    times, position = recording.column("2")
    gradient = np.gradient(position, times)
    assert np.corrcoef(gradient, recording.column("8")[1])[0, 1] > 0.99


def test_servo_logs(recorded_data):
    recordings = read_all(recorded_data / "xl330_bench")
    assert len(recordings) == 12
    for recording in recordings:
        assert recording.metadata["motor"] == "xl330"
        assert recording.column("position")[1].size > 1000
        assert set(np.unique(recording.column("torque_enable")[1])) <= {0.0, 1.0}
        assert len(recording.sha256) == 64


def test_bench_with_header(recorded_data):
    recording = read(recorded_data / "hej90_bench" / "PLC_0.10-10_exp.csv")
    assert "torAct" in recording.columns
    steps = np.diff(recording.streams[0].times)
    assert np.median(steps) == pytest.approx(1e-3)
    # The end of this log repeats one time: the reader keeps that for the quality checks.
    assert steps.min() == 0.0


def test_percent_and_value_text(recorded_data):
    folder = recorded_data / "gait_norms" / "grimmer2014_walking"
    recording = read(folder / "Hip_Torque.txt", rate=100)
    assert recording.columns == ("0", "1")
