"""What no fit can use is refused before time is spent, in one sentence that says what to do."""

import numpy as np
import pytest

from trueup.errors import ModelError, RecordingError, TargetError
from trueup.sysid.demo import write_demo
from trueup.sysid.experiment.file import load_experiment, parse_experiment
from trueup.sysid.experiment.preparation import prepare

SLIDER = """<mujoco><option timestep="{timestep}"/><worldbody><body name="block">
  <joint name="x" type="slide" axis="1 0 0" damping="1"/><geom size="0.1" mass="1"/></body>
  </worldbody><actuator><motor name="push" joint="x"/></actuator></mujoco>"""
EXPERIMENT = """
model: {file: slider.xml%s}
recordings: [{file: run.csv, time: t, signals: {x_qpos: x}, controls: {push: u}}]
parameters: {damping: {target: joint/x/damping, bounds: [0, 5]}}
"""


def write(folder, timestep="0.002", jump=0.0):
    """A block that is pushed for 0.8 s, with one jump of the clock in the middle."""
    times = np.arange(400) * 0.002
    x, v, rows = 0.0, 0.0, []
    for t in times:
        u = np.sin(20 * t) + np.sign(np.sin(7 * t))
        rows.append(f"{t + (jump if t >= 0.4 else 0.0):.6f},{x:.9f},{u:.9f}")
        v += 0.002 * (u - v)
        x += 0.002 * v
    (folder / "run.csv").write_text("t,x,u\n" + "\n".join(rows) + "\n")
    (folder / "slider.xml").write_text(SLIDER.format(timestep=timestep))


@pytest.mark.parametrize("jump", [60.0, 3600.0])
def test_a_clock_jump_far_longer_than_the_data_is_refused_and_can_be_split(tmp_path, jump):
    write(tmp_path, jump=jump)
    experiment = parse_experiment(EXPERIMENT % "")
    with pytest.raises(RecordingError, match=r"The clock jumps by .* split the recording") as told:
        prepare(experiment, tmp_path)
    lines = [line.strip() for line in str(told.value).splitlines() if line.strip()[:3] == "- {"]
    assert len(lines) == 2 and "run_1" in lines[0] and f"start: {0.4 + jump:g}" in lines[1]
    columns = "time: t, signals: {x_qpos: x}, controls: {push: u}"
    parts = "\n".join("  " + line.replace("...", columns) for line in lines)
    text = (EXPERIMENT % "").split("\n")
    text[2] = f"recordings:\n{parts}"
    split = prepare(parse_experiment("\n".join(text) + "held_out: {fraction: 0}\n"), tmp_path)
    assert [len(series) for series in split.training[0].sensordata] == [200, 200]
    assert split.problem().data_rows > 390


def test_a_gap_shorter_than_the_data_is_a_warning(tmp_path):
    write(tmp_path, jump=0.5)
    prepared = prepare(parse_experiment(EXPERIMENT % ""), tmp_path)
    (finding,) = prepared.recordings[0].quality.of_check("gaps")
    assert finding.severity == "warning"


@pytest.mark.parametrize("timestep", ["0", "nan", "1e-12", "-0.002", "1e6"])
def test_a_time_step_that_simulates_nothing_is_refused(tmp_path, timestep):
    write(tmp_path, timestep)
    with pytest.raises(ModelError, match=r"slider.xml"):
        prepare(parse_experiment(EXPERIMENT % ""), tmp_path)
    # the experiment's own step takes the place of the model's
    if timestep == "1e6":
        prepare(parse_experiment(EXPERIMENT % ", timestep: 0.002"), tmp_path)


@pytest.mark.parametrize("timestep", ["1e-12", "1e6"])
def test_a_time_step_of_the_experiment_is_refused_likewise(tmp_path, timestep):
    write(tmp_path)
    with pytest.raises(ModelError, match=r"model.timestep is the time step .* must be between"):
        prepare(parse_experiment(EXPERIMENT % f", timestep: {timestep}"), tmp_path)


def test_an_inertia_that_no_body_has_is_refused_with_the_way_out(tmp_path):
    files = write_demo(tmp_path)
    plain = load_experiment(files.experiment)
    text = files.experiment.read_text()
    wide = text.replace(
        "parameters:\n",
        "parameters:\n  spin: {target: body/load/inertia/0, bounds: [0.0001, 0.1]}\n",
        1,
    )
    with pytest.raises(TargetError, match=r"'spin'.*of body 'load'.*inertia_type: pseudo"):
        prepare(parse_experiment(wide), tmp_path).problem()
    assert "spin" not in plain.parameters
