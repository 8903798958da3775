"""Intervals where the model is not that of the servo: fits without parts of the logs."""

from dataclasses import replace

import numpy as np
import pytest
import servo_model_logs as made
from scipy import stats

from trueup.actuators import BenchSimulator, FitSettings, ServoProblem, fit
from trueup.actuators.assess.jackknife import (
    BLOCKS,
    JackknifeSpread,
    jackknife_parts,
    jackknife_spread,
)
from trueup.actuators.search.prepared_fit import Prepared
from trueup.fitting import minimise
from trueup.parameters import Space

SETTINGS = FitSettings(method="least-squares", trials=2000)


def limp_at_last(model, noise=1e-3, number=6):
    """Logs of up to three gains and masses, torque off in the last third: it tells kt from R."""
    cases = [(k, m) for k in (100, 200, 300) for m in (0.2, 0.4, 0.6)][:number]
    return [
        made.recorded(
            model,
            made.template_log(f"{kp} {mass}", kp=kp, mass=mass, torque_off_after=1.0),
            noise,
            row,
        )
        for row, (kp, mass) in enumerate(cases)
    ]


@pytest.fixture(scope="module")
def wrong():
    """M1 fitted to logs of a servo whose friction grows with its load."""
    return fit("xl330", "m1", limp_at_last(made.M3), settings=SETTINGS)


def test_a_wrong_model_has_the_intervals_of_fits_without_parts_of_the_logs(wrong):
    spread = wrong.assessment.spread
    assert spread is not None
    assert spread.quantities == ("log",) and spread.parts == 6
    told = wrong.to_dict()["confidence"]
    assert told["left_out"] == {"quantities": ["log"], "fits": 6}
    assert any("errors of the model" in remark for remark in told["remarks"])
    # at least as wide as noise makes them
    noise = wrong.assessment.covariance.half_widths
    space, x = wrong.problem.space, wrong.solution.x
    narrow = np.array(space.unclipped(space.to_search(x) + np.array([-noise, noise]))).T
    inside = np.clip(narrow, space.lower[:, None], space.upper[:, None])
    intervals = wrong.assessment.intervals
    assert (intervals[:, 0] <= inside[:, 0] + 1e-12).all()
    assert (intervals[:, 1] >= inside[:, 1] - 1e-12).all()
    assert (intervals[:, 0] >= space.lower).all() and (intervals[:, 1] <= space.upper).all()
    base = space.names.index("friction_base")
    assert np.ptp(intervals[base]) > 3.0 * np.ptp(inside[base])


def test_the_spread_is_that_of_fits_made_one_by_one(wrong):
    space = wrong.problem.space
    logs = limp_at_last(made.M3)
    ends = []
    for log in logs:
        rest = [other for other in logs if other is not log]
        prepared = Prepared("xl330", "m1", rest, SETTINGS)
        ends.append(space.to_search(minimise(prepared.searched, prepared.search()).x))
    error = np.sqrt(5.0 * np.var(ends, axis=0))
    free = ~wrong.assessment.at_bound
    spread = wrong.assessment.spread
    # those fits minimise absolute errors, these a smooth loss that is near
    ratio = spread.standard_errors[free] / error[free]
    assert (ratio > 0.5).all() and (ratio < 2.0).all(), ratio
    np.testing.assert_allclose(
        spread.half_widths, stats.t.ppf(0.975, 5) * spread.standard_errors, rtol=1e-12
    )


def test_halves_of_the_logs_have_intervals_that_overlap():
    logs = limp_at_last(made.M3, number=8)
    halves = [fit("xl330", "m1", logs[i::2], settings=SETTINGS) for i in (0, 1)]
    assert all(half.assessment.spread is not None for half in halves)
    first, second = (half.assessment.intervals for half in halves)
    assert (first[:, 0] <= second[:, 1]).all() and (second[:, 0] <= first[:, 1]).all()


def test_the_right_model_has_the_intervals_of_the_noise():
    found = fit("xl330", "m3", limp_at_last(made.M3), settings=SETTINGS)
    assert found.assessment.spread is None
    assert found.to_dict()["confidence"]["left_out"] is None
    assert not any("errors of the model" in remark for remark in found.assessment.remarks)


def test_two_logs_are_left_out_in_blocks_of_time():
    logs = limp_at_last(made.M3, number=2)
    found = fit("xl330", "m1", logs, settings=SETTINGS)
    assert found.assessment.spread is not None
    assert found.assessment.spread.quantities == ("time",)
    assert found.assessment.spread.parts == BLOCKS
    assert any("block of time" in remark for remark in found.assessment.remarks)


def test_each_sample_is_in_one_part():
    logs = [
        made.template_log(f"{kp} {name}", kp=kp, trajectory=name)
        for kp in (100, 200, 300, 400)
        for name in "abcde"
    ]
    problem = ServoProblem(BenchSimulator(made.M1, logs))
    parts = jackknife_parts(problem, logs)
    assert {name: len(each) for name, each in parts.items()} == {
        "log": 12,
        "kp": 4,
        "trajectory": 5,
    }
    for each in (*parts.values(), *jackknife_parts(problem, logs[:3]).values()):
        for number in range(len(each[0])):
            assert (np.sum([masks[number] for masks in each], axis=0) == 1).all()
    # each log has a mass of its own: leaving out a mass is leaving out a log
    masses = [replace(log, mass=0.1 * n) for n, log in enumerate(logs[:5], 1)]
    assert list(jackknife_parts(problem, masses)) == ["log"]


def test_a_part_that_is_left_out_does_not_count():
    logs = made.logs_of(made.M1, noise=0.0)
    bent = made.recorded(made.M1.with_values(friction_base=0.05), logs[0], 0.0)
    problem = ServoProblem(BenchSimulator(made.M1, [bent, *logs[1:]]))
    spread = jackknife_spread(problem, made.M1.vector(), problem.simulator.logs, 0.95)
    # five fits see the log that differs and one does not: only that one is the truth
    assert spread.quantities == ("log",)
    whole = fit("xl330", "m1", [bent, *logs[1:]], settings=SETTINGS)
    rest = fit("xl330", "m1", logs[1:], settings=SETTINGS)
    assert rest.training.mae < 1e-5 < whole.training.mae
    assert spread.standard_errors.max() > 0.0


def test_an_interval_stays_within_the_bounds():
    ends = np.array([0.1, 0.0]), np.array([1.0, 1.0])
    space = Space(("a", "b"), *ends, np.array([0.5, 0.0]), np.zeros(2, bool))
    spread = JackknifeSpread(("log",), 4, np.array([0.1, 0.2]), np.array([0.3, 0.6]))
    ends = spread.widened(np.array([[0.45, 0.9], [0.0, 0.1]]), space, np.array([0.5, 0.0]))
    np.testing.assert_allclose(ends, [[0.2, 0.9], [0.0, 0.6]])
