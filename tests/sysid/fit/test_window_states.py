"""Initial states of windows as unknowns: found by few simulations, and right."""

from pathlib import Path

import numpy as np
import pytest

from trueup.fitting import final_jacobian, minimise
from trueup.sysid import identify
from trueup.sysid.demo import EXPERIMENT, TRUE, write_demo
from trueup.sysid.experiment.file import load_experiment, parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.fit.identification_search import make_search

SWING = """
<mujoco><option timestep="0.002"/><worldbody><body name="rod">
<joint name="hinge" axis="0 1 0" damping="0.02"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.02" mass="1"/></body></worldbody>
<sensor><jointpos name="angle" joint="hinge"/></sensor></mujoco>
"""
SWING_EXPERIMENT = """
name: swing
model: {file: swing.xml}
recordings: [{file: swing.csv, signals: {hinge_qpos: q}, accept: [excitation]}]
parameters:
  damping: {target: joint/hinge/damping, start: 0.01, bounds: [0, 0.1]}
measurement: {signals: {"*": {noise: 0.01}}}
window: 0.24
window_states: estimated
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("windows")
    write_demo(folder, seed=3)
    text = EXPERIMENT + "window: 1.0\nwindow_states: estimated\n"
    return prepare(parse_experiment(text), folder)


def test_an_identification_with_window_states_has_its_report(tmp_path):
    """Of a free swing without a command: its last state is hardly determined, all else is."""
    import mujoco

    (tmp_path / "swing.xml").write_text(SWING)
    model = mujoco.MjModel.from_xml_string(SWING)
    data = mujoco.MjData(model)
    data.qpos[0] = 0.8
    rows = []
    for _ in range(1001):
        mujoco.mj_forward(model, data)
        rows.append([data.time, data.qpos[0]])
        mujoco.mj_step(model, data)
    noise = 1e-2 * np.random.default_rng(0).normal(size=len(rows))
    table = np.array(rows) + np.outer(noise, [0, 1])
    np.savetxt(tmp_path / "swing.csv", table, delimiter=",", header="t,q", comments="")
    (tmp_path / "swing.yaml").write_text(SWING_EXPERIMENT)
    experiment = load_experiment(tmp_path / "swing.yaml")
    result = identify(experiment, tmp_path, verbose=False)
    found = result.summary["identifiability"]
    names = {row["name"] for row in result.summary["parameters"]}
    directions = [set(d["coefficients"]) for d in found["directions"] + found["weak"]]
    assert any(not names & direction for direction in directions)
    assert result.report.is_file()


def test_states_of_all_windows_are_perturbed_in_the_same_simulations(prepared):
    space = prepared.problem().space
    windows = 7  # later ones of 8 s; two joints with position and velocity each
    assert space.size == 7 + 4 * windows
    assert int(space.groups.max()) + 1 == 7 + 4


def test_grouped_columns_are_those_of_single_perturbations(prepared):
    problem = prepared.problem()
    x = problem.space.start
    grouped = final_jacobian(problem, x)[1]
    step = 1e-6
    for element in (0, 6, 7, 12, problem.space.size - 1):
        neighbours = np.stack([x, x])
        neighbours[0, element] += step
        neighbours[1, element] -= step
        single = problem.residuals(neighbours)
        slope = problem.space.slope(x)[element]
        expected = (single[0] - single[1]) / (2 * step) * slope
        scale = np.abs(expected).max()
        np.testing.assert_allclose(grouped[:, element], expected, atol=2e-4 * scale)


def test_the_truth_is_found_with_unknown_window_states(prepared):

    problem = prepared.problem()
    search, _ = make_search(prepared.experiment, problem)
    solution = minimise(problem, search)
    assert solution.success
    for name, true in TRUE.items():
        assert solution.parameters[name] == pytest.approx(true, rel=0.03), name
    # weighted by the noise: one for each residual that the unknowns do not absorb
    free = problem.data_rows - problem.space.size
    assert 2 * solution.cost / free == pytest.approx(1.0, abs=0.05)
