"""A servo's designed logs: they help more than chirps, keep their limits, and can be recorded."""

import json
import os
import signal

import numpy as np
import pytest
import servo_model_logs as made
from fitted_servo import TRUTH

from trueup import actuators, runs
from trueup.actuators import BenchSimulator, record
from trueup.actuators.record.trajectory import MotionLimits, check_trajectory
from trueup.actuators.search.problem import ServoProblem
from trueup.cli import main
from trueup.design import BenchChoices, BenchLimits, compared_with, design_bench
from trueup.design.bench.family import BenchCondition, BenchFamily
from trueup.design.bench.pieces import planned_log
from trueup.design.bench.prepared import prepare
from trueup.design.bench.spec import BenchDesignSpec
from trueup.design.motion.family import MotionFamily
from trueup.design.search import DesignSearch
from trueup.errors import ExperimentError, FitError, RunDirectoryError
from trueup.knowledge.servo_run import servo_run

CHOICES = BenchChoices(logs=2, seconds=6.0, masses=(0.2, 0.4), lengths=(0.1,), gains=(100.0, 300.0))


@pytest.fixture(scope="module")
def designed(servo_fit_run, tmp_path_factory):
    return design_bench(
        servo_fit_run, tmp_path_factory.mktemp("bench") / "design", choices=CHOICES, library=60,
        evaluations=600, verbose=False,
    )  # fmt: skip


def test_a_design_has_intervals_of_at_most_half_of_those_of_chirps(designed):
    rows = designed.summary["parameters"]
    both = [r for r in rows if r["chirp"] < 0.5]
    assert len(both) >= 3
    assert max(r["relative"] for r in both) < 0.5 * max(r["chirp"] for r in both)
    known = [max(r[key] for r in rows) for key in ("with_known", "chirp_with_known")]
    assert known[0] < known[1]
    assert all(r["with_known"] <= r["relative"] * (1 + 1e-9) for r in rows)
    assert designed.summary["verdict"]["grade"] == "use"


def test_logs_without_torque_are_among_the_pieces_and_begin_and_end_at_rest():
    limits = BenchLimits(reach=1.5, speed=8.0)
    motion = MotionFamily(np.zeros(1), limits.commands(), 6.0, 200.0)
    family = BenchFamily(motion, [BenchCondition(0.2, 0.1, 100.0), BenchCondition(0.4, 0.1, 200.0)])
    rows = family.random(40, np.random.default_rng(0))
    goals, enable = family.logs(rows)
    assert np.abs(goals[:, [0, -1]]).max() < 1e-12 and np.abs(goals).max() <= 0.9 * 1.5 + 1e-9
    assert (np.abs(np.gradient(goals, 1 / 200, axis=1)) <= 0.9 * 8.0 * (1 + 1e-9)).all()
    assert enable[:, [0, -1]].all() and 0.1 < (~enable).any(axis=1).mean() < 0.7
    for goal, on in zip(goals, enable, strict=True):
        if not on.all():  # the goal waits where the pendulum hangs
            assert np.abs(goal[np.flatnonzero(~on)[-1]]) < 1e-9
    assert {family.condition(row).mass for row in rows} == {0.2, 0.4}


def test_another_servo_keeps_the_limits(designed):
    limits = BenchLimits()
    motion = BenchSimulator(TRUTH, list(designed.logs)).simulate()
    over = limits.excess([TRUTH], list(designed.logs), motion, 0.0)
    assert all((values == 0).all() for values in over.values())


def test_the_predicted_information_is_that_of_the_logs_once_recorded(servo_fit_run, designed):
    """Sensitivities of planned logs, against differences of the problem of a fit."""
    run = servo_run(servo_fit_run)
    pieces = prepare(BenchDesignSpec.of(servo_fit_run, CHOICES, library=4)).pieces
    found = pieces.information_of(designed.logs)
    space = run.space
    step = 1e-6 * np.maximum(np.abs(run.fit), 1e-3)
    near = run.fit + np.concatenate([np.diag(step), -np.diag(step)])
    problem = ServoProblem(BenchSimulator(run.model, designed.logs, free=run.prepared.free))
    values = problem.residuals(near)
    p = len(step)
    jacobian = (values[:p] - values[p:]) / (2 * step[:, None]) * space.slope(run.fit)[:, None]
    for piece, group in zip(found, problem.groups, strict=True):
        own = jacobian[:, group.rows]
        expected = own @ own.T / run.known.inflation
        scale = np.sqrt(np.diag(expected))
        unit = piece.gram[0] / np.outer(scale, scale)
        # an error of the start that friction holds takes some of its worth
        worth = unit[0, 0]
        assert 0.2 < worth <= 1.0 + 1e-6
        np.testing.assert_allclose(unit / worth, expected / np.outer(scale, scale), atol=0.02)
        widened = piece.spread[0] - piece.gram[0]
        assert np.linalg.eigvalsh(widened).min() > -1e-6 * scale.max() ** 2
        assert np.trace(widened) > 0.0


def test_a_log_that_rests_for_long_before_it_moves_counts_for_less(servo_fit_run):
    choices = BenchChoices(logs=1, seconds=4.0)
    pieces = prepare(BenchDesignSpec.of(servo_fit_run, choices, library=4)).pieces
    times = np.arange(0.0, 4.0, 0.005)
    logs = []
    for rest in (0.0, 1.5):
        moving = np.clip(times - rest, 0.0, 2.0)
        goals = 0.5 * np.sin(np.pi * moving) ** 2
        motion = np.stack([goals, np.ones_like(goals)])
        logs.append(planned_log(pieces.template, BenchCondition(0.2, 0.1, 200.0), "a", 200, motion))
    soon, late = pieces.information_of(logs)
    first, second = (np.diagonal(piece.gram, axis1=1, axis2=2) for piece in (soon, late))
    assert (second < 0.5 * first).all()


def test_the_predicted_intervals_are_those_that_a_fit_of_the_recorded_logs_obtains(
    servo_fit_run, designed, tmp_path
):
    folder = servo_fit_run.parent
    paths = []
    for number, log in enumerate(designed.logs):
        paths.append(tmp_path / f"{log.name}.json")
        actuators.write_log(made.recorded(TRUTH, log, 2e-3, 40 + number), paths[-1])
    settings = actuators.FitSettings(trials=1500)
    former = [folder / f"run{k}.json" for k in range(3)]  # what was held out was not known
    fit = actuators.fit(
        "xl330", "m1", [*former, *paths], settings=settings, output=tmp_path / "next.json",
        start=servo_fit_run,
    )  # fmt: skip
    found = compared_with(designed.directory, fit.directory)
    assert len(found["parameters"]) == 6
    assert 0.75 < found["median"] < 1.35


def test_the_trajectories_are_those_that_a_recording_reads(designed):
    for log in designed.logs:
        trajectory = record.read_trajectory(designed.directory / f"{log.name}.csv")
        check_trajectory(trajectory, MotionLimits())
        goals, enable = trajectory(log.times)
        np.testing.assert_allclose(goals, log.goal_position, atol=1e-8)
        np.testing.assert_array_equal(enable, log.torque_enable)
        assert trajectory.name == log.trajectory


def test_the_page_shows_the_motion_beside_the_intervals_of_a_chirp(designed):
    page = (designed.directory / "report.html").read_text()
    for words in (
        "Logs to record",
        "after_m1_2.csv",
        "chirp with former",
        "--trajectory after_m1_1.csv",
    ):
        assert words in page


def test_the_prediction_is_compared_with_what_a_fit_obtained(designed, servo_fit_run):
    found = compared_with(designed.directory, servo_fit_run)
    # the fit that the design follows knows less than the design will teach
    assert all(row["ratio"] > 1.0 for row in found["parameters"])
    with pytest.raises(RunDirectoryError, match="is not the design of a recording"):
        compared_with(servo_fit_run, servo_fit_run)


def test_the_command_plans_and_designs(servo_fit_run, designed, tmp_path, capsys):
    folder = tmp_path / "design"
    words = ["design", str(servo_fit_run), "masses=0.3", "gains=200", "logs=1"]
    words += ["duration=3", "library=20", "--evaluations", "60", "-o", str(folder)]
    assert main([*words, "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["conditions"] == [{"mass": 0.3, "length": 0.1, "kp": 200.0}]
    assert not folder.exists()
    assert main([*words, "--predicted", str(designed.directory), "--json"]) in (0, 3)
    printed = json.loads(capsys.readouterr().out)
    assert printed["logs"][0]["command"].startswith("trueup actuator record --port PORT --actuator")
    assert printed["comparison"]["parameters"]
    assert (folder / "after_m1_1.csv").is_file()
    assert main(words) == 2 and "--overwrite" in capsys.readouterr().err


def test_loads_and_limits_that_exclude_any_motion_are_told(servo_fit_run, tmp_path):
    with pytest.raises(FitError, match=r"the servo holds at most .* N m"):
        heavy = BenchChoices(masses=(50.0,), lengths=(0.2,))
        prepare(BenchDesignSpec.of(servo_fit_run, heavy))
    with pytest.raises(FitError, match="the mass must be positive, got -1"):
        BenchChoices(masses=(-1.0,))
    with pytest.raises(FitError, match=r"24 s for 20 logs are 1\.2 s each"):
        BenchChoices(logs=20)
    with pytest.raises(FitError, match="the limit heat must be positive, got 0"):
        BenchLimits(heat=0.0)
    with pytest.raises(FitError, match="wider"):
        BenchLimits(reach=4.0)
    with pytest.raises(ExperimentError, match=r"every one of 8 motions.*heat in 8.*speed or heat"):
        design_bench(
            servo_fit_run, tmp_path / "no", choices=CHOICES, library=8, verbose=False,
            motion_limits=BenchLimits(heat=1e-3),
        )  # fmt: skip
    assert not (tmp_path / "no").exists()


def test_a_prediction_that_is_not_there_is_told_before_the_search(servo_fit_run, tmp_path, capsys):
    words = ["design", str(servo_fit_run), "-o", str(tmp_path / "x"), "--predicted"]
    assert main([*words, str(tmp_path / "nowhere")]) == 2
    assert "nowhere does not exist" in capsys.readouterr().err
    assert main(["design", str(servo_fit_run), "--after", str(servo_fit_run)]) == 2
    assert "remove --after" in capsys.readouterr().err
    with pytest.raises(
        ExperimentError, match="the library of pieces must be between 1 and 1000000, found 0"
    ):
        BenchDesignSpec.of(servo_fit_run, library=0)
    assert not (tmp_path / "x").exists()


def test_a_stopped_design_leaves_trajectories_that_can_be_recorded(
    servo_fit_run, tmp_path, monkeypatch
):
    told = DesignSearch.tell

    def tell(self, *arguments):
        told(self, *arguments)
        if self.phase == "polish":
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(DesignSearch, "tell", tell)
    with pytest.raises(KeyboardInterrupt, match="best motion so far is in"):
        design_bench(servo_fit_run, tmp_path / "half", choices=CHOICES, library=20, verbose=False)
    monkeypatch.undo()
    assert record.read_trajectory(tmp_path / "half" / "after_m1_2.csv").duration > 2.9
    assert runs.state(tmp_path / "half").state == "stopped"


def test_the_truth_of_these_tests_is_that_of_the_fit(servo_fit_run):
    run = servo_run(servo_fit_run)
    assert run.model.values["armature"] == pytest.approx(TRUTH.values["armature"], rel=0.5)
