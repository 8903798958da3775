"""Torque problems with as few rows as columns: their costs and derivatives are the same."""

import numpy as np
import pytest

from trueup.fitting.linearisation import difference_points, linearise
from trueup.fitting.losses import Loss
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.torque.bandwidth import ChosenBandwidth
from trueup.sysid.torque.data import rest_speeds, slowest_speeds
from trueup.sysid.torque.known_errors import OwnErrors
from trueup.sysid.torque.measured_noise import noise_effect
from trueup.sysid.torque.problem import TorqueProblem
from trueup.sysid.torque.reduced import ReducedTorques, searched

ARM = """<mujoco><worldbody>
<body name="upper"><joint name="shoulder" axis="0 1 0" stiffness="3" springref="20"/>
 <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".04" mass="2"/>
 <body name="fore" pos="0 0 -.4"><joint name="elbow" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03" mass="1"/></body></body>
</worldbody>{further}<actuator>{drives}</actuator></mujoco>"""
ELBOW = '<general name="b" joint="elbow" biastype="affine" biasprm=".1 0 0"/>'
DRIVE = '<general name="a" joint="shoulder" gear="2" biastype="affine" biasprm="{}"/>'
MOTORS = DRIVE.format("0 0 0") + ELBOW
SERVO = DRIVE.format("0 -30 -2") + ELBOW
SENSOR = '<sensor><jointactuatorfrc name="force" joint="elbow"/></sensor>'
COUPLED = '<equality><joint joint1="elbow" joint2="shoulder" polycoef="0 .7 .2 0 0"/></equality>'
EXPERIMENT = """
name: arm
model: {file: arm.xml}
recordings:
  - file: first.csv
    signals: {shoulder_qpos: q1, elbow_qpos: q2, shoulder_qvel: v1, elbow_qvel: v2FORCE}
    controls: {a: t1, b: t2}
  - file: second.csv
    signals: {shoulder_qpos: q1, elbow_qpos: q2, shoulder_qvel: v1, elbow_qvel: v2FORCE}
    controls: {a: t1, b: t2}
parameters:
  gain: {target: actuator/*/gainprm/0, each: true, start: 1.2, bounds: [0.2, 40]}
  offset: {target: actuator/*/biasprm/0, each: true, start: 0.1, bounds: [-2, 2]}
  armature: {target: joint/*/armature, each: true, start: 0.1, bounds: [0, 2]}
  damping: {target: joint/*/damping, each: true, start: 0.1, bounds: [0, 2]}
  friction: {target: joint/*/frictionloss, each: true, start: 0.1, bounds: [0, 2]}
  spring: {target: joint/shoulder/stiffness, start: 3, bounds: [0, 20], prior: {mean: 2, sd: 1}}
  rest: {target: joint/shoulder/springref, start: 0.2, bounds: [-2, 2]}
  fore: {inertia: fore, inertia_type: pseudo}
search: {method: inverse-dynamics}
"""
CASES = {
    "motors": {"drives": MOTORS},
    "a servo": {"drives": SERVO},
    "a recorded torque": {"drives": MOTORS, "further": SENSOR},
    "coupled joints": {"drives": MOTORS, "further": COUPLED},
}


def write(folder, drives, further, more=""):
    (folder / "arm.xml").write_text(ARM.format(drives=drives, further=further))
    rng = np.random.default_rng(0)
    times = 0.01 * np.arange(4000)
    for name in ("first", "second"):
        rate = 2 * np.pi * rng.uniform(0.2, 1.0, (2, 3))
        phase = times[:, None, None] * rate + rng.uniform(0, 6, (2, 3))
        q, v = np.sin(phase).sum(axis=2), (rate * np.cos(phase)).sum(axis=2)
        if further == COUPLED:
            q[:, 1] = 0.7 * q[:, 0] + 0.2 * q[:, 0] ** 2
            v[:, 1] = (0.7 + 0.4 * q[:, 0]) * v[:, 0]
        table = np.column_stack([times, q, v, rng.normal(size=(len(times), 3))])
        header = "t,q1,q2,v1,v2,t1,t2,f"
        np.savetxt(folder / f"{name}.csv", table, delimiter=",", header=header, comments="")
    force = ", force: f" if further == SENSOR else ""
    return parse_experiment(EXPERIMENT.replace("FORCE", force) + more)


def problem_of(folder, own: bool, drives, further="", more=""):
    prepared = prepare(write(folder, drives, further, more), folder)
    trajectories = prepared.training[0].measured_rollout
    slowest = slowest_speeds(trajectories, 5.0)
    bandwidth = ChosenBandwidth(5.0, (), slowest, rest_speeds(slowest, 0.2))
    noise = {"shoulder torque": 0.3, "elbow torque": 0.7}
    problem = TorqueProblem(prepared.parameters, prepared.training, bandwidth, noise)
    rng = np.random.default_rng(1)
    series = {
        s.name: (s.times, rng.normal(size=s.measured.shape)) for s in problem.sequences[: int(own)]
    }
    return problem.with_own_errors(OwnErrors(problem.space.start, "zoh", series))


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_costs_and_derivatives_are_those_of_all_samples(tmp_path, case, own):
    problem = problem_of(tmp_path, own, **CASES[case])
    few = searched(problem, LeastSquares(problem.space))
    assert isinstance(few, ReducedTorques)
    assert few.residual_size < 0.2 * problem.residual_size == 0.2 * few.counted_rows
    rng = np.random.default_rng(2)
    x = problem.space.start + 0.02 * rng.normal(size=problem.space.size)
    x = np.clip(x, problem.space.lower, problem.space.upper)
    points, steps = difference_points(problem.space, x, 1e-4, False, np.zeros(len(x), bool))
    expected, found = (linearise(each, points, steps, False, Loss(), {}) for each in (problem, few))
    np.testing.assert_allclose(found.costs, expected.costs, rtol=1e-11)
    for a, b in ((found.gradient, expected.gradient), (found.gram, expected.gram)):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8 * np.abs(b).max())
    assert found.rows == expected.rows


def test_a_fit_finds_the_same_values(tmp_path):
    problem = problem_of(tmp_path, True, MOTORS)
    settings = LeastSquaresSettings(max_iters=30, loss="linear")
    robust = LeastSquares(problem.space, LeastSquaresSettings(loss="huber", loss_scale=1.0))
    assert searched(problem, robust) is problem
    ends = []
    for each in (problem, searched(problem, LeastSquares(problem.space, settings))):
        search = LeastSquares(problem.space, settings)
        while search.done() is None:
            X = search.ask()
            failures: dict[int, str] = {}
            search.tell(X, search.evaluate(each, X, failures), failures)
        ends.append(search)
    assert ends[0].cost == pytest.approx(ends[1].cost, rel=1e-4)
    costs = problem.costs(np.stack([each.x for each in ends]))[:, 0]
    np.testing.assert_allclose(costs, [each.cost for each in ends], rtol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_effect_of_noise_by_columns_is_that_by_samples(tmp_path, case, monkeypatch):
    problem = problem_of(tmp_path, True, **CASES[case])
    x = problem.space.start
    found = noise_effect(problem, x)
    monkeypatch.setattr(TorqueProblem, "changes_zeros", True)
    expected = noise_effect(problem, x).pulls
    np.testing.assert_allclose(found.pulls, expected, rtol=1e-5, atol=1e-7 * np.abs(expected).max())


def test_zeros_of_joints_keep_all_samples(tmp_path):
    zero = "  zero: {target: joint/elbow/ref, start: 0, bounds: [-1, 1]}\nsearch:"
    text = EXPERIMENT.replace("search:", zero)
    write(tmp_path, MOTORS, "")
    prepared = prepare(parse_experiment(text.replace("FORCE", "")), tmp_path)
    slowest = slowest_speeds(prepared.training[0].measured_rollout, 5.0)
    problem = TorqueProblem(
        prepared.parameters,
        prepared.training,
        ChosenBandwidth(5.0, (), slowest),
        {"shoulder torque": 1.0, "elbow torque": 1.0},
    )
    assert searched(problem, LeastSquares(problem.space)) is problem


def test_a_candidate_without_finite_torques_has_failed(tmp_path):
    problem = problem_of(tmp_path, False, MOTORS)
    few = searched(problem, LeastSquares(problem.space))
    X = np.stack([problem.space.start] * 2)
    X[1, 0] = np.inf
    failures: dict[int, str] = {}
    values = few.residuals(X, failures)
    assert list(failures) == [1] and np.isfinite(values).all()
