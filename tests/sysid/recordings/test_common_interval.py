"""Recordings whose streams have clocks of their own: every command counts, nothing is made up."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from trueup.errors import RecordingError
from trueup.sysid.experiment.experiment_file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.experiment.settings import Trim
from trueup.sysid.recordings.common_interval import common_interval, on_all_clocks

h5py = pytest.importorskip("h5py")

MODEL = """
<mujoco>
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <body>
      <joint name="upper" axis="0 1 0" armature="0.02" damping="0.3"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5" contype="0"/>
      <body pos="0 0 -0.3">
        <joint name="lower" axis="0 1 0" armature="0.01" damping="0.1"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.3" contype="0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="m1" joint="upper"/><motor name="m2" joint="lower"/></actuator>
  <sensor><jointpos name="q1" joint="upper"/><jointpos name="q2" joint="lower"/></sensor>
</mujoco>
"""
EXPERIMENT = """
model: {file: model.xml}
recordings:
  - file: run.h5
    signals: {q1: first/q1, q2: second/q2}
    controls: {m1: fast/u1, m2: slow/u2}
    initial: default
parameters:
  armature: {target: joint/upper/armature, bounds: [0.001, 0.5]}
  damping: {target: joint/upper/damping, bounds: [0, 5]}
held_out: {}
"""
STEPS, DT = 2000, 0.002
WHOLE = slice(0, STEPS)


def _record(
    folder: Path,
    first: slice = WHOLE,
    second: slice = WHOLE,
    fast: slice = WHOLE,
    slow: slice = slice(0, STEPS, 50),
) -> None:
    """A swept torque, and one that changes twice a second; the values of the model are true."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    t = DT * np.arange(STEPS)
    commands = np.stack(
        [1.5 * np.sin(2 * np.pi * (0.5 + t) * t), np.where((2 * t).astype(int) % 2 == 0, 0.2, -0.2)]
    )
    angles = np.empty((2, STEPS))
    for step in range(STEPS):
        angles[:, step] = data.qpos
        data.ctrl[:] = commands[:, step]
        mujoco.mj_step(model, data)
    (folder / "model.xml").write_text(MODEL)
    with h5py.File(folder / "run.h5", "w") as file:
        for stream, column, values, rows in (
            ("first", "q1", angles[0], first),
            ("second", "q2", angles[1], second),
            ("fast", "u1", commands[0], fast),
            ("slow", "u2", commands[1], slow),
        ):
            group = file.create_group(stream)
            group["t"], group[column] = t[rows], values[rows]


def _prepared(folder: Path, change: tuple[str, str] = ("", "")):
    return prepare(parse_experiment(EXPERIMENT.replace(*change)), folder)


def test_a_slow_command_does_not_thin_out_a_fast_one(tmp_path):
    _record(tmp_path)
    prepared = _prepared(tmp_path)
    problem = prepared.problem()
    assert np.abs(problem.residuals(problem.space.start)).max() < 1e-9
    assert prepared.notes == []


def test_what_ends_early_ends_the_part_that_is_used(tmp_path):
    _record(tmp_path, first=slice(0, STEPS, 5), second=slice(0, 1500))
    prepared = _prepared(tmp_path)
    (series,) = prepared.training[0].sensordata
    assert series.times[-1] == pytest.approx(2.99)
    assert any("q2 ends at 2.998 s" in note for note in prepared.notes)
    assert any("compared at the times of q1" in note for note in prepared.notes)
    problem = prepared.problem()
    assert np.abs(problem.residuals(problem.space.start)).max() < 1e-9


def test_commands_that_begin_late_are_not_held_backwards(tmp_path):
    _record(tmp_path, fast=slice(500, STEPS))
    prepared = _prepared(tmp_path)
    models = prepared.training[0]
    assert models.control[0].times[0] == models.sensordata[0].times[0] == pytest.approx(1.0)
    assert any("control of m1 begins at 1 s" in note for note in prepared.notes)
    # the default state of the file belongs to the beginning
    assert any("the measured state at 1 s is taken instead" in note for note in prepared.notes)
    assert abs(models.initial_state[0][1] - models.sensordata[0].data[0, 0]) < 1e-4


def test_commands_that_end_early_are_held_for_one_period_of_theirs(tmp_path):
    _record(tmp_path, slow=slice(0, 1500, 50))
    prepared = _prepared(tmp_path)
    assert prepared.training[0].sensordata[0].times[-1] == pytest.approx(3.0)
    assert any("control of m2 ends at 3 s" in note for note in prepared.notes)


def test_streams_that_hardly_overlap_are_refused(tmp_path):
    _record(tmp_path, fast=slice(1900, STEPS))
    with pytest.raises(RecordingError, match=r"only 3\.8 to .*control of m1 begins at 3\.8 s"):
        _prepared(tmp_path)
    trimmed = ("initial: default", "initial: measured\n    trim: {start: 3.8}")
    assert _prepared(tmp_path, trimmed).notes == []


def test_streams_of_different_epochs_have_no_time_in_common():
    times = np.linspace(0.0, 1.0, 100)
    with pytest.raises(RecordingError, match=r"cover no time.*Leave a stream out"):
        common_interval("run", {"q": (times, times)}, {"m": (times + 1.7e9, times)}, Trim())


def test_controls_are_held_or_interpolated_as_the_experiment_says():
    fast, slow = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 2.0])
    given = {"a": (fast, fast), "b": (slow, 10 * slow)}
    times, held = on_all_clocks(given, 0.5, 3.0, "zoh")
    np.testing.assert_array_equal(times, [0.5, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(held, [[0, 0], [1, 0], [2, 20], [3, 20]])
    _, joined = on_all_clocks(given, 0.5, 3.0, "linear")
    np.testing.assert_array_equal(joined, [[0.5, 5], [1, 10], [2, 20], [3, 20]])
