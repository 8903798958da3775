"""Noise of measured start states: in the intervals, and no model error."""

import numpy as np
import pytest
from recorded_models import PENDULUM, simulate

from trueup import sysid
from trueup.fitting import final_jacobian
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.fit.start_noise import measured_starts
from trueup.sysid.recordings.measured_state import measured_state, state_columns

NOISE = {"angle": 0.005, "speed": 0.05}
TRUTH = {"damping": 0.04, "armature": 0.03}
EXPERIMENT = """
name: swing
model: {file: rod.xml}
recordings:
  - file: swing.csv
    signals: {angle: angle, speed: speed}
    controls: {motor: u}
    initial: measured
parameters:
  damping: {target: joint/pivot/damping, bounds: [0, 5], start: 0.15}
  armature: {target: joint/pivot/armature, bounds: [0.001, 0.5]}
measurement: {signals: {angle: {noise: 0.005}, speed: {noise: 0.05}}}
output: {report: false}
"""


def write_swing(folder, seed, friction=0.0):
    """Model and 5 s of a chirp at 500 Hz with white noise, of a rod whose values are known."""

    def edit(spec):
        joint = spec.joint("pivot")
        joint.damping[0], joint.armature = TRUTH["damping"], TRUTH["armature"]
        joint.frictionloss = friction

    times = 0.002 * np.arange(2501)
    command = 0.6 * np.sin(2 * np.pi * (0.2 + 0.15 * times) * times)
    sensors = simulate(PENDULUM, command[:, None], np.zeros(1), edit=edit)[4]
    sensors = sensors + np.random.default_rng(seed).normal(size=sensors.shape) * [*NOISE.values()]
    rows = np.column_stack([times[: len(sensors)], command[: len(sensors)], sensors])
    header = "t,u,angle,speed"
    np.savetxt(folder / "swing.csv", rows, delimiter=",", header=header, comments="")
    (folder / "rod.xml").write_text(PENDULUM)


def identified(folder, text=EXPERIMENT):
    experiment = parse_experiment(text)
    return sysid.identify(experiment, folder, output=folder / "run", overwrite=True, verbose=False)


def test_intervals_hold_the_truth_and_an_exact_model_is_no_model_error(tmp_path):
    inside, verdicts, seeds = np.zeros(2), 0, 6
    for seed in range(seeds):
        write_swing(tmp_path, seed)
        found = identified(tmp_path)
        low, high = np.transpose(found.solution.intervals)
        truth = np.array([TRUTH[name] for name in found.problem.space.names])
        inside += (low <= truth) & (truth <= high)
        verdicts += bool(found.assessment.stability.sentences)
    assert (inside >= seeds - 1).all()
    assert verdicts <= 1


def test_a_friction_that_the_model_lacks_is_still_a_model_error(tmp_path):
    write_swing(tmp_path, 0, friction=0.05)
    (term,) = identified(tmp_path).summary["missing_terms"]
    assert term["sentence"].startswith("Coulomb friction is missing")
    (found,) = term["found"]
    assert abs(found["value"] - 0.05) < max(2 * found["half_width"], 0.005)


def test_a_fit_that_did_not_converge_is_not_called_a_model_error(tmp_path):
    write_swing(tmp_path, 0)
    found = identified(tmp_path, EXPERIMENT + "search: {max_iters: 1}\n")
    assert not found.solution.success
    assert found.assessment.stability is None


@pytest.mark.parametrize(("window", "count"), [(0.0, 1), (0.5, 8)])
def test_measured_starts_are_those_that_the_problem_takes(tmp_path, window, count):
    write_swing(tmp_path, 0)
    prepared = prepare(parse_experiment(f"{EXPERIMENT}window: {window}\n"), tmp_path)
    problem = prepared.problem()
    starts = measured_starts(prepared, prepared.training, held_out=False)
    assert len(starts.starts) == count
    x = problem.space.start
    residual, jacobian, _ = final_jacobian(problem, x)
    free = starts.free.residuals(starts.free.space.start[None, :])[0]
    np.testing.assert_array_equal(free, residual)
    recorded = prepared.training[0].sensordata[0]
    columns = state_columns(prepared.training[0].gt_model, recorded)
    model = prepared.training[0].gt_model
    state = measured_state(model, recorded, columns, recorded.times[0], 0.02)
    position, velocity = starts.starts[0].weights
    near = recorded.data[: len(position)]
    assert [position @ near[:, 0], velocity @ near[:, 1]] == pytest.approx(state[1:3])
    # the pull of a single start is that of its position and velocity, one by one
    spread = starts.spread(x, residual, jacobian, np.ones(len(residual)))
    wide = final_jacobian(starts.free, starts.free.space.start)[1][:, 2:]
    pulls = wide * [
        noise * np.sqrt(weights @ weights)
        for start in starts.starts
        for noise, weights in zip(NOISE.values(), start.weights, strict=True)
    ]
    expected = (jacobian.T @ pulls) @ (jacobian.T @ pulls).T
    np.testing.assert_allclose(np.diag(spread), np.diag(expected), rtol=0.1)


@pytest.mark.parametrize("initial", ["default", "estimated", "{qpos: {pivot: 0.0}}"])
def test_starts_that_are_known_or_fitted_have_no_noise(tmp_path, initial):
    write_swing(tmp_path, 0)
    text = EXPERIMENT.replace("initial: measured", f"initial: {initial}")
    prepared = prepare(parse_experiment(text), tmp_path)
    assert measured_starts(prepared, prepared.training, held_out=False) is None
    # the later part of the recording starts in motion: its start is fitted with it
    assert measured_starts(prepared, prepared.held_out, held_out=True) is None


def test_a_start_that_the_experiment_fits_itself_has_no_noise(tmp_path):
    write_swing(tmp_path, 0)
    own = "  begin: {target: state/pivot/qvel, start: 0.0, bounds: [-1, 1]}\nmeasurement"
    prepared = prepare(parse_experiment(EXPERIMENT.replace("measurement", own, 1)), tmp_path)
    (start,) = measured_starts(prepared, prepared.training, held_out=False).starts
    assert start.elements == (0, -1)
    assert start.covariance(np.array([1.0, 1.0]))[1, 1] == 0.0
