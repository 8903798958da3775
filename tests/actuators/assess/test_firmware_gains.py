"""Gains of a firmware that are not those of the servo's entry are found and named."""

from dataclasses import replace

import numpy as np
import pytest
import servo_model_logs as made

from trueup.actuators import BenchSimulator, FitSettings, ServoModel, evaluate, fit
from trueup.actuators.assess.bench_causes import bench_causes, causes_in_words
from trueup.actuators.assess.measured_gain import (
    gain_is_measured,
    measured_gain_finding,
    measured_gains,
)
from trueup.actuators.bench.loads import bench_of
from trueup.actuators.search.prepared_fit import Prepared
from trueup.actuators.search.problem import ServoProblem
from trueup.actuators.search.refit import refitted
from trueup.actuators.selection.suitable_terms import suitable_terms
from trueup.errors import FitError

RATIO = "error_gain_ratio"


def true_servo(ratio):
    """The servo of the logs, with a multiple of the gain of its entry."""
    own = replace(made.M1.servo, error_gain=ratio * made.M1.servo.error_gain)
    return ServoModel.create(own, "m1", **made.M1.values)


def logs_with(ratio, measured=True):
    """Logs at two gains, with large steps at the higher one, and torque off at the end."""
    logs = []
    for number, (kp, mass) in enumerate((k, m) for k in (100, 1200) for m in (0.2, 0.6)):
        plan = made.template_log(f"kp{kp}_m{mass}", kp=kp, mass=mass, torque_off_after=1.2)
        steps = np.where(np.sin(7.0 * plan.times) > 0, 1.4, -0.3)
        plan = replace(plan, goal_position=steps if kp > 100 else plan.goal_position)
        log = made.recorded(true_servo(ratio), plan, 1e-3, number)
        logs.append(log if measured else replace(log, load=None))
    return logs


@pytest.fixture(scope="module", params=(0.25, 4.0))
def planted(request):
    return request.param, logs_with(request.param)


def without_duty(logs):
    return [replace(log, load=None) for log in logs]


def test_the_measured_duty_cycle_gives_the_gain(planted):
    ratio, logs = planted
    servo = made.M1.servo
    assert measured_gains(logs, servo) == {
        kp: pytest.approx(ratio, rel=0.02) for kp in (100.0, 1200.0)
    }
    words = measured_gain_finding(logs, servo)
    assert float(words.split()[5]) == pytest.approx(ratio, rel=0.02)
    assert f"instead of {servo.error_gain:.4g}" in words
    assert "The entry is disputed: the manual divides by 128" in words
    assert measured_gain_finding(logs, servo, ratio) is None
    assert measured_gains(without_duty(logs), servo) == {}


def test_a_right_gain_is_named_by_none():
    logs = logs_with(1.0)
    assert measured_gain_finding(logs, made.M1.servo) is None
    assert gain_is_measured(logs, made.M1.servo)
    assert RATIO not in suitable_terms("xl330", logs, FitSettings())
    # unmeasured, the gain is a term like the others
    assert RATIO in suitable_terms("xl330", without_duty(logs), FitSettings())
    one_wrong = [replace(log, kp=2.0 * log.kp) if log.kp > 100 else log for log in logs]
    words = measured_gain_finding(one_wrong, made.M1.servo)
    assert "2400 (0.5 times)': correct kp of these logs" in words


def test_a_gain_without_measured_duty_is_fitted(planted):
    ratio, logs = planted
    prepared = Prepared("xl330", "m1", without_duty(logs), FitSettings(), workers=1)
    (cause,) = prepared.bench_causes(prepared.space.start)
    assert cause.what == "the gain of all logs" and cause.factor == pytest.approx(ratio, rel=0.02)
    words = causes_in_words([cause])
    assert f"error_gain of the entry ({cause.factor * made.M1.servo.error_gain:.4g}" in words
    assert "terms=error_gain_ratio fits it" in words


def test_a_gain_that_the_motor_makes_up_for_is_called_so():
    logs = [log for log in without_duty(logs_with(0.5)) if log.kp == 100.0]
    prepared = Prepared("xl330", "m1", logs, FitSettings(), workers=1)
    start = prepared.space.start
    found = prepared.gain_cause(logs)(dict(zip(prepared.space.names, start, strict=True)), 1.0)
    assert "do not determine this factor" in found.remark and "large steps" in found.remark


def test_a_fitted_gain_is_named_in_verdict_and_findings():
    ratio = 0.25
    logs = logs_with(ratio)
    settings = FitSettings(method="refine", terms=(RATIO,))
    start = np.array([0.37, 2.8, 0.002, 0.02, 0.005, 0.0, 0.3])
    found = fit("xl330", "m1", without_duty(logs), settings=settings, start=start)
    assert found.model.values[RATIO] == pytest.approx(ratio, rel=0.02)
    sentence = f"he gain of the firmware is {found.model.values[RATIO]:.4g} times"
    assert sentence in found.verdict.to_dict()["reasons"][0]["sentence"]
    assert any(sentence in words for words in found.findings)
    assert sentence in found.to_dict()["wrong_gain"]
    assert evaluate(found.model, logs).mae < 2e-3


def test_a_given_ratio_that_contradicts_the_duty_cycle_is_refused(planted):
    ratio, logs = planted
    settings = FitSettings(terms=(RATIO,), fixed={RATIO: 1.0})
    with pytest.raises(FitError, match=f"{RATIO} = 1 contradicts the logs: the measured duty"):
        Prepared("xl330", "m1", logs, settings)
    Prepared("xl330", "m1", logs, replace(settings, fixed={RATIO: ratio}))


def test_a_supply_is_named_where_the_motor_is_known_or_others_differ():
    logs = logs_with(1.0)

    def causes(logs, known_motor, **given):
        free = [name for name in made.M1.names if name not in given]
        benches = [bench_of(log) for log in logs]

        def simulators(some, loads):
            return BenchSimulator(made.M1, some, free=free, benches=loads, threads=1)

        problem = ServoProblem(simulators(logs, benches))
        x = refitted(problem, made.M1.vector(tuple(free)))
        return bench_causes(simulators, problem, x, logs, benches, known_motor=known_motor)

    halved = [replace(log, vin=0.6 * log.vin) for log in logs]
    assert not [one for one in causes(halved, False) if "supply" in one.what]
    (cause,) = causes(halved, True, kt=0.37, R=2.8)
    assert cause.what == "the supply of all logs"
    assert cause.factor == pytest.approx(1.0 / 0.6, rel=0.05)
    mixed = [replace(log, vin=0.6 * log.vin) if log.kp > 100 else log for log in logs]
    (cause,) = causes(mixed, False)
    assert cause.what == "the supply of the logs of 4.5 V"
    assert cause.factor == pytest.approx(1.0 / 0.6, rel=0.05)
