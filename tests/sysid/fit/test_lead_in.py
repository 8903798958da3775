"""What was recorded before a window or a held-out part: activations, delays, unmeasured joints."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from trueup.sysid import identify
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare

MODEL = """
<mujoco>
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <body>
      <joint name="j" axis="0 1 0" armature="0.05" damping="0.3"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5" contype="0"/>
    </body>
  </worldbody>
  <actuator>%s</actuator>
  <sensor><jointpos name="q" joint="j"/><jointvel name="v" joint="j"/></sensor>
</mujoco>
"""
ACTUATORS = {
    "filter": '<general name="m" joint="j" dyntype="filter" dynprm="0.3" gainprm="3"/>',
    "delay": '<motor name="m" joint="j" gear="3" delay="0.012" nsample="30" interp="linear"/>',
}
EXPERIMENT = """
model: {file: model.xml}
recordings:
  - {file: run.csv, signals: {q: q, v: v}, controls: {m: u}, initial: default}
parameters:
  damping: {target: joint/j/damping, start: 0.3, bounds: [0.01, 2]}
held_out: {fraction: 0.3}
"""


def _record(
    folder: Path, actuator: str, noise: float = 0.0, drift: float = 0.0, held: bool = False
) -> None:
    """A run of the model, whose damping rises by ``drift`` where the held-out part begins.

    It begins as after a reset, or, ``held``, where its first command has held for long.
    """
    text = MODEL % ACTUATORS[actuator]
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.act[:] = 0.8 * held
    rows, steps = [], 2000
    for k in range(steps):
        t = 0.002 * k
        model.dof_damping[0] = 0.3 + drift * (k > 0.7 * steps)
        command = 0.8 + 0.5 * np.sign(np.sin(9 * t)) + 0.3 * np.sin(7 * t)
        rows.append([t, command, data.qpos[0], data.qvel[0]])
        data.ctrl[0] = command
        mujoco.mj_step(model, data)
    rows = np.array(rows)
    rows[:, 2:] += noise * np.random.default_rng(3).normal(size=(steps, 2)) * [1.0, 10.0]
    (folder / "model.xml").write_text(text)
    np.savetxt(
        folder / "run.csv", rows, delimiter=",", header="t,u,q,v", comments="", fmt="%.17g"
    )  # fmt: skip


def _prepared(folder: Path, *changes: tuple[str, str]):
    text = EXPERIMENT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return prepare(parse_experiment(text), folder)


def _largest(prepared, sequences=None) -> float:
    """Largest residual at the truth, in spreads of the signals."""
    problem = prepared.problem(sequences=sequences)
    return float(np.abs(problem.residuals(problem.space.start)).max())


# the measured state is a local fit, which is smooth where a torque jumps
@pytest.mark.parametrize(("actuator", "least"), [("filter", 0.002), ("delay", 0.02)])
def test_windows_and_held_out_parts_take_over_what_commands_left(tmp_path, actuator, least):
    _record(tmp_path, actuator)
    prepared = _prepared(tmp_path)
    assert _largest(prepared) < 1e-9
    assert _largest(prepared, prepared.held_out) < least
    cut = _prepared(tmp_path, ("held_out:", "window: 0.2\nheld_out:"))
    assert len(cut.problem().sequences[0].windows) > 10
    assert _largest(cut) < least
    assert _largest(cut, cut.held_out) < least
    # what leads to the held-out part is simulated, and predicts nothing
    (sequence,) = cut.problem(sequences=cut.held_out).sequences
    assert 0 < len(sequence.windows) < len(sequence.segments)
    rows = np.concatenate([np.arange(len(sequence.times))[w.rows] for w in sequence.windows])
    np.testing.assert_array_equal(rows, np.arange(len(sequence.times)))


def test_a_recording_that_is_trimmed_takes_over_from_the_commands_before(tmp_path):
    _record(tmp_path, "filter", held=True)
    late = ("initial: default", "initial: measured, trim: {start: 1.501}")
    prepared = _prepared(tmp_path, late)
    assert _largest(prepared) < 0.002
    # the pose is that of the beginning again after half a second, so that it cannot drift away
    (sequence,) = prepared.problem().sequences
    starts = [segment.start_time for segment in sequence.segments]
    np.testing.assert_allclose(starts[:4], [0.0, 0.5, 1.0, 1.5], atol=0.002)


def test_a_joint_that_was_not_measured_goes_on_and_is_named(tmp_path):
    _record(tmp_path, "filter")
    prepared = _prepared(tmp_path, ("{q: q, v: v}", "{v: v}"))
    assert _largest(prepared, prepared.held_out) < 0.002
    (note,) = prepared.notes
    assert "position of 'j' was not measured" in note and "state/j/qpos" in note
    known = ("initial: default", "initial: {qpos: {j: 0.0}}")
    assert _prepared(tmp_path, ("{q: q, v: v}", "{v: v}"), known).notes == []
    unknown = ("held_out:", "  angle: {target: state/j/qpos, bounds: [-1, 1]}\nheld_out:")
    assert _prepared(tmp_path, ("{q: q, v: v}", "{v: v}"), unknown).notes == []


def test_an_initial_position_of_the_whole_is_that_of_the_beginning_only(tmp_path):
    _record(tmp_path, "filter")
    angle = "  angle: {target: state/j/qpos, start: 0.4, bounds: [-1, 1]}\nheld_out:"
    prepared = _prepared(tmp_path, ("held_out:", angle))
    problem = prepared.problem(sequences=prepared.held_out)
    other = problem.space.start.copy()
    other[list(problem.space.names).index("angle")] = -0.4
    residuals = problem.residuals(np.stack([problem.space.start, other]))
    np.testing.assert_allclose(residuals[0], residuals[1], atol=1e-9)
    assert np.abs(residuals).max() < 0.002


@pytest.mark.parametrize("windows", ["", "window: 0.4\nwindow_states: estimated\n"])
def test_the_noise_of_a_held_out_state_is_no_error_of_the_model(tmp_path, windows):
    _record(tmp_path, "filter", noise=1e-3)
    text = EXPERIMENT + windows + "output: {report: false}\n"
    result = identify(parse_experiment(text), tmp_path, output=tmp_path / "out", verbose=False)
    assert result.assessment.stability.ratios.max() < 1.0
    assert result.assessment.stability.values.shape == result.solution.x.shape
    # a machine that changes is one
    _record(tmp_path, "filter", noise=1e-3, drift=0.003)
    result = identify(parse_experiment(text), tmp_path, output=tmp_path / "two", verbose=False)
    assert result.assessment.stability.ratios[0] > 1.0
    assert "an error of the model" in result.assessment.stability.sentences[0]
