"""Recordings whose streams have clocks of their own: every command counts, nothing is made up."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from trueup.errors import ExperimentError, RecordingError
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare

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
    assert any("the measured state at 1 s is used instead" in note for note in prepared.notes)
    assert abs(models.initial_state[0][1] - models.sensordata[0].data[0, 0]) < 1e-4


def test_commands_that_end_early_are_held_for_one_period_of_theirs(tmp_path):
    _record(tmp_path, slow=slice(0, 1500, 50))
    prepared = _prepared(tmp_path)
    assert prepared.training[0].sensordata[0].times[-1] == pytest.approx(3.0)
    assert any("control of m2 ends at 3 s" in note for note in prepared.notes)


def test_streams_that_hardly_overlap_are_refused(tmp_path):
    _record(tmp_path, fast=slice(1900, STEPS))
    with pytest.raises(
        RecordingError, match=r"'run': .*only 3\.8 to .*control of m1 begins at 3\.8 s.*trim"
    ):
        _prepared(tmp_path)
    with pytest.raises(RecordingError, match="recording 'swing': of 0 to"):
        _prepared(tmp_path, ("- file: run.h5", "- file: run.h5\n    name: swing"))
    trimmed = ("initial: default", "initial: measured\n    trim: {start: 3.8}")
    assert _prepared(tmp_path, trimmed).notes == []


@pytest.mark.parametrize(
    ("trim", "words"),
    [
        ("{start: 100}", r"trim\.start is 100 s, outside .* from 0 to 3\.998 s"),
        ("{end: -1}", r"trim\.end is -1 s, outside"),
        (
            "{start: 1.0, end: 1.003}",
            r"has 2 samples, at least 3 are required; .* covers 0 to 3\.998 s",
        ),
    ],
)
def test_a_trim_that_leaves_nothing_is_refused(tmp_path, trim, words):
    _record(tmp_path)
    with pytest.raises(ExperimentError, match=words):
        _prepared(tmp_path, ("initial: default", f"trim: {trim}"))


def test_controls_between_samples_are_held_or_interpolated_as_the_experiment_says(tmp_path):
    _record(tmp_path)
    held, joined = (
        _prepared(tmp_path, ("held_out: {}", f"held_out: {{}}\ncontrol: {method}")).training[0]
        for method in ("zoh", "linear")
    )
    slow = [models.control[0].data[:, 1] for models in (held, joined)]
    assert set(np.unique(slow[0])) == {-0.2, 0.2}
    assert len(np.unique(slow[1])) > 40
