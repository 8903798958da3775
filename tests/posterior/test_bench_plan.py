"""The next logs of a servo: they help more than repeated ones, and their prediction holds."""

import json

import numpy as np
import pytest
import servo_model_logs as made
from fitted_servo import TRUTH

from trueup import posterior
from trueup.actuators import BenchSimulator
from trueup.actuators.record.trajectories import trajectory_named
from trueup.actuators.search.problem import ServoProblem
from trueup.cli import main
from trueup.errors import FitError
from trueup.posterior.servo_run import servo_run


@pytest.fixture(scope="module")
def plan(servo_fit_run):
    return posterior.plan_bench(servo_fit_run, masses=[0.2, 0.6], lengths=[0.1], gains=[100, 400])


def test_planned_logs_narrow_every_interval_and_the_first_most(plan):
    after = [log["largest_after"] for log in plan.content["logs"]]
    assert plan.content["largest_before"] > after[0] > after[1] > after[2]
    for row in plan.content["parameters"]:
        assert row["after"] < row["before"] or row["unknown"]
    assert {log.mass for log in plan.logs} <= {0.2, 0.6}


def test_planned_logs_beat_any_single_log_repeated(servo_fit_run, plan):
    chosen = plan.content["logs"][-1]["largest_after"]
    for name in ("sin_sin", "chirp"):
        plain = posterior.plan_bench(
            servo_fit_run, masses=[0.2], lengths=[0.1], gains=[100], trajectories=[name]
        )
        assert plain.content["logs"][-1]["largest_after"] > chosen


def test_the_predicted_information_is_that_of_the_logs_once_recorded(servo_fit_run):
    """Sensitivities of a planned log, against those of the same log simulated and differenced."""
    run = servo_run(servo_fit_run)
    plain = posterior.plan_bench(
        servo_fit_run, logs=1, masses=[0.4], lengths=[0.1], gains=[200], trajectories=["sin_sin"]
    )
    trajectory = trajectory_named("sin_sin")
    goals, enable = trajectory(np.arange(0.0, trajectory.duration, 0.005))
    first = run.job.prepared.training_logs[0]
    zeros = np.zeros(len(goals))
    log = made.template_log(seconds=trajectory.duration, kp=200.0, mass=0.4)
    log = type(log)(**{**vars(log), "goal_position": goals, "torque_enable": enable,
                       "position": zeros + goals[0], "arm_mass": first.arm_mass,
                       "input_volts": zeros + first.vin})  # fmt: skip
    problem = ServoProblem(BenchSimulator(run.model, [log], free=run.job.prepared.free))
    step = 1e-6 * np.maximum(np.abs(run.fit), 1e-3)
    near = run.fit + np.concatenate([np.diag(step), -np.diag(step)])
    values = problem.residuals(near)
    p = len(step)
    jacobian = (values[:p] - values[p:]) / (2 * step[:, None]) * run.space.slope(run.fit)[:, None]
    shrink = np.outer(1 / run.widening, 1 / run.widening)
    total = run.known.precision * shrink + jacobian @ jacobian.T / run.known.inflation
    half = 0.5 * np.subtract(*run.space.search_bounds[::-1])
    box = np.diag((1.959964 / half) ** 2)
    expected = 1.959964 * np.sqrt(np.diag(np.linalg.inv(total + box))) / half
    found = [row["after"] for row in plain.content["parameters"]]
    np.testing.assert_allclose(found, expected, rtol=0.02)


def test_the_command_writes_the_plan(servo_fit_run, tmp_path, capsys):
    folder = tmp_path / "plan"
    words = ["design", str(servo_fit_run), "--masses", "0.3", "--lengths", "0.1", "--gains", "200",
             "--logs", "1", "-o", str(folder)]  # fmt: skip
    assert main([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["logs"][0]["command"].startswith("trueup actuator record --port PORT --motor")
    assert json.loads((folder / "bench_plan.json").read_text())["logs"] == printed["logs"]
    assert "Logs to record" in (folder / "report.html").read_text()
    assert main(words) == 2 and "--overwrite" in capsys.readouterr().err


def test_loads_that_the_servo_cannot_hold_are_told(servo_fit_run):
    with pytest.raises(FitError, match=r"the servo holds .* N m at most"):
        posterior.plan_bench(servo_fit_run, masses=[50.0], lengths=[0.2])
    with pytest.raises(FitError, match="mass -1 is not positive"):
        posterior.plan_bench(servo_fit_run, masses=[-1.0])


def test_the_truth_of_these_tests_is_that_of_the_fit(servo_fit_run):
    run = servo_run(servo_fit_run)
    assert run.model.values["armature"] == pytest.approx(TRUTH.values["armature"], rel=0.5)
