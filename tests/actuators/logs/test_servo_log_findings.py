"""Slipped units and mirrored encoders in servo logs, and fits that are worth nothing."""

import dataclasses

import numpy as np
import pytest
import servo_model_logs as made

from trueup.actuators import (
    Evaluation,
    FitSettings,
    ServoModel,
    fit,
    process,
    read_log,
    resample_log,
    write_log,
)
from trueup.actuators.logs.files import log_object, parse_log
from trueup.actuators.logs.findings import findings_in_words, header_finding, log_findings

SERVO = ServoModel.create(
    "xl330", "m1", kt=0.4, R=3.2, armature=0.0016, friction_base=0.02, friction_viscous=0.006
)
QUICK = FitSettings("least-squares", trials=200)


@pytest.fixture(scope="module")
def log():
    return made.recorded(SERVO, made.template_log("run", seconds=1.2, kp=400.0, mass=0.1), 1e-3, 0)


SLIPS = {
    "grams": ({"mass": 1e3}, "mass is 100 kg", "is it in g?"),
    "millimetres": ({"length": 1e3}, "length is 100 m", "is it in mm or cm?"),
    "millivolts": ({"vin": 1e3}, "vin is 7", "is it in mV?"),
    "speed in rpm": ({"speed": 60 / (2 * np.pi)}, "looks like rpm", "Rollouts start"),
    "speed in degrees": ({"speed": 180 / np.pi}, "looks like deg/s", "Rollouts start"),
    "speed mirrored": ({"speed": -1.0}, "sign of one of them", "Rollouts start"),
    "encoder mirrored": ({"position": -1.0, "speed": -1.0}, "moves against the goal", "encoder"),
}


@pytest.mark.parametrize(("factors", "found", "guess"), SLIPS.values(), ids=SLIPS)
def test_a_slipped_unit_is_found_and_named(log, factors, found, guess):
    changes = {name: getattr(log, name) * factor for name, factor in factors.items()}
    (sentence,) = findings_in_words([("run", log_findings(dataclasses.replace(log, **changes)))])
    assert found in sentence
    assert guess in sentence


def test_another_zero_of_the_goal_is_found(log):
    shifted = dataclasses.replace(log, goal_position=log.goal_position + np.pi)
    (finding,) = log_findings(shifted)
    assert "at a distance of" in finding.sentence


def test_good_logs_and_rigs_without_a_pendulum_are_left_alone(log):
    assert log_findings(log) == ()
    assert log_findings(dataclasses.replace(log, mass=0.0, length=0.0, vin=None)) == ()
    assert header_finding("vin", 48.0) is None
    resting = dataclasses.replace(log, position=np.zeros(len(log)), speed=np.zeros(len(log)))
    assert log_findings(resting) == ()


def test_recorded_logs_are_left_alone(recorded_data):
    for folder in ("xl330_bench", "sts3215_bench"):
        for path in sorted((recorded_data / folder).rglob("*.json")):
            log = resample_log(read_log(path, check_motion=False))
            found = {finding.check for finding in log_findings(log)}
            # headers of the STS3215 say 15 V, its logs hold 12 V
            assert found == ({"voltage"} if folder.startswith("sts") else set()), log.source


def test_many_logs_make_one_sentence(log, tmp_path):
    heavy = dataclasses.replace(log, mass=80.0)
    for name in "abc":
        write_log(heavy, tmp_path / f"{name}.json")
    done = process(tmp_path, tmp_path / "processed")
    (sentence,) = findings_in_words((each.path.stem, each.findings) for each in done)
    assert sentence.startswith("a: mass is 80 kg")
    assert sentence.endswith("Likewise in 2 other logs.")


def test_a_fit_to_logs_in_grams_says_so_and_that_it_is_worth_nothing(log):
    good = fit("xl330", "m1", [log], settings=QUICK)
    # one log has one gain, which is all that there is to say
    (sentence,) = good.findings
    assert sentence.startswith(f"all logs have the gain {log.kp:g}: effects of the gain")
    heavy = dataclasses.replace(log, mass=1e3 * log.mass)
    found = fit("xl330", "m1", [heavy], settings=dataclasses.replace(QUICK, vin=7400.0))
    said = " ".join(found.findings)
    assert "mass is 100 kg" in said
    assert "the settings: vin is 7400 V" in said
    assert found.to_dict()["notes"][: len(found.findings)] == list(found.findings)
    assert found.model.provenance["findings"] == list(found.findings)


def test_a_model_that_is_worse_than_a_guess_is_told_so():
    worse = Evaluation(mae=0.5, by_log={}, at_goal=0.2, at_rest=0.7)
    (sentence,) = worse.worse_than_trivial("the held-out logs")
    assert "off by 500 mrad, a servo that is at its goal by 200 mrad" in sentence
    assert dataclasses.replace(worse, mae=0.1).worse_than_trivial("the held-out logs") == []


def test_a_limp_servo_needs_no_gain(log):
    limp = dataclasses.replace(log, kp=0.0, torque_enable=np.zeros(len(log), bool))
    assert parse_log(log_object(limp), "limp", "limp.json").kp == 0
