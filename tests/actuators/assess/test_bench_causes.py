"""Wrong descriptions of a bench are found, and logs in other units are named."""

from dataclasses import replace

import numpy as np
import pytest
from servo_model_logs import logs_of, recorded

from trueup.actuators import BenchSimulator, ServoModel
from trueup.actuators.assess.bench_causes import bench_causes, causes_in_words
from trueup.actuators.assess.odd_logs import odd_logs
from trueup.actuators.bench.loads import bench_of
from trueup.actuators.search.problem import ServoProblem
from trueup.actuators.search.refit import refitted

TRUTH = ServoModel.create(
    "xl330", "m1", kt=0.37, R=2.8, armature=0.002, friction_base=0.02, friction_viscous=0.005
)


@pytest.fixture(scope="module")
def logs():
    return logs_of(TRUTH)


def problem_of(logs, benches=None):
    benches = [bench_of(log) for log in logs] if benches is None else benches
    return ServoProblem(BenchSimulator(TRUTH, logs, benches=benches, threads=1))


def found(logs):
    problem = problem_of(logs)
    x = refitted(problem, problem.space.start)
    simulators = lambda some, loads: problem_of(some, loads).simulator  # noqa: E731
    return bench_causes(simulators, problem, x, logs, [bench_of(log) for log in logs])


def test_a_right_description_has_no_cause(logs):
    assert found(logs) == []


@pytest.mark.parametrize(
    ("change", "what", "factor"),
    [
        (
            lambda log: replace(log, mass=0.3) if log.mass == 0.2 else log,
            "the load of the logs of 0.3 kg",
            0.67,
        ),
        (
            lambda log: replace(log, mass=0.42) if log.mass == 0.6 else log,
            "the load of the logs of 0.42 kg",
            1.43,
        ),
        (lambda log: replace(log, length=1.4 * log.length), "the arm length of all logs", 0.71),
        (
            lambda log: replace(log, kp=200.0) if log.kp == 300.0 else log,
            "the gain of the logs of 200",
            1.5,
        ),
    ],
)
def test_a_wrong_description_is_found_with_its_factor(logs, change, what, factor):
    (cause,) = found([change(log) for log in logs])
    assert cause.what == what and cause.factor == pytest.approx(factor, rel=0.05)
    assert cause.after < 1.3e-3 < 5e-3 < cause.before
    words = causes_in_words([cause])
    assert f"with {what} times {cause.factor:.2g} the error" in words


@pytest.mark.parametrize(("mass", "factor"), [(0.6, 0.6), (0.2, 0.75)])
def test_a_supply_that_was_changed_with_the_load_is_found(logs, mass, factor):
    """The logs state one voltage."""
    changed = [
        replace(recorded(TRUTH, replace(log, vin=factor * log.vin), 1e-3), vin=log.vin)
        if log.mass == mass
        else log
        for log in logs
    ]
    causes = found(changed)
    assert causes[0].what == f"the supply of the logs of {mass} kg"
    assert causes[0].factor == pytest.approx(factor, rel=0.05)


@pytest.mark.parametrize(
    ("change", "words", "contradicts"),
    [
        (np.rad2deg, "degrees are read as radians", True),
        (np.deg2rad, "degrees are read as radians", True),
        (np.negative, "position is reversed", True),
        (lambda position: np.roll(position, 3), "clock", False),
    ],
)
def test_a_log_that_contradicts_the_others_is_named(logs, change, words, contradicts):
    problem = problem_of(logs)
    x = refitted(problem, problem.space.start)
    motion = [one[0] for one in problem.simulator.simulate(x[None]).position]
    assert odd_logs(logs, motion) == []
    wrong = [*logs[:3], replace(logs[3], position=change(logs[3].position)), *logs[4:]]
    (odd,) = odd_logs(wrong, motion)
    assert odd.name == logs[3].name and odd.number == 3 and odd.contradicts is contradicts
    assert odd.sentence.startswith(logs[3].name) and words in odd.sentence
    assert odd_logs(wrong[2:4], motion[2:4]) == []  # two logs have no majority
