"""Signs of missing terms in logs of servos that have them."""

import dataclasses
import re

import numpy as np
import pytest
import servo_model_logs as made

from trueup.actuators import FitSettings, ServoModel
from trueup.actuators.selection.missing_terms import symptom
from trueup.actuators.selection.term_evidence import evidence_for_terms, lag

NUMBER = r"(-?\d+(?:\.\d+)?)"


def sign(term, value, seconds=3.0, off=np.inf, gains=(100.0, 400.0)):
    """Sign of a term in logs of a servo that has it, beside the same servo without."""
    plain = made.M1
    truth = ServoModel.create("xl330", "m1", (term,), **{**plain.values, term: value})
    logs = [
        made.recorded(
            truth, made.template_log(str(kp), seconds=seconds, kp=kp, torque_off_after=off)
        )
        for kp in gains
    ]
    return evidence_for_terms({term: (plain, value)}, logs, FitSettings()).get(term, "")


def numbers(text):
    return [float(n) for n in re.findall(NUMBER, text)]


def test_a_delay_shows_as_a_lag_of_its_length():
    assert numbers(sign("command_delay", 0.02))[0] == pytest.approx(20.0, abs=4.0)


def test_a_lag_is_the_shift_of_two_motions():
    t = np.arange(0.0, 3.0, 0.005)
    simulated, measured = np.sin(4 * t), np.sin(4 * (t - 0.01))
    assert lag(simulated - measured, 4 * np.cos(4 * t)) == pytest.approx(0.01, rel=0.05)
    assert lag(np.ones(3), np.zeros(3)) == 0.0


def test_a_current_limit_shows_as_the_share_above_it():
    found = numbers(sign("current_limit", 0.3))
    assert found[0] == pytest.approx(0.3)
    assert 5 < found[1] < 100
    # less torque leaves a larger error: the bridge is at its limit more often than simulated
    words = sign("torque_saturation", 2.0, gains=(2000.0,))
    assert "duty cycle at its limit" in words
    measured, simulated = numbers(words)[-2:]
    assert measured > simulated


def test_saturation_shows_as_less_torque_per_ampere():
    fall, amps = numbers(sign("torque_saturation", 0.5))[:2]
    assert fall == pytest.approx(100 * (1 - 1 / (1 + 0.5 * amps)), abs=2.0)


def test_backlash_shows_as_a_step_between_the_sides():
    step, reversals = numbers(sign("backlash", 0.05))
    assert 5 < step < 50
    assert reversals >= 4


def test_a_speed_limit_shows_as_a_plateau():
    measured, simulated = numbers(sign("max_velocity", 2.0))
    assert measured < simulated


def test_warmth_shows_as_a_lag_that_grows():
    cold, middle, warm, *ends = numbers(sign("resistance_temperature", 0.02, seconds=20.0))
    assert warm > cold > 0
    assert ends[0] < middle < ends[1]


def test_braking_shows_where_torque_is_off():
    share, measured, simulated = numbers(sign("winding_braking", 1.0, off=0.4))
    assert share == pytest.approx(87, abs=2)
    assert measured < simulated


def test_the_bus_voltage_is_shown_with_and_without_load():
    idle, loaded = numbers(sign("measured_voltage", 1.0))
    assert 7.0 <= min(idle, loaded) <= max(idle, loaded) <= 8.0


def test_a_log_that_shows_nothing_has_no_sign():
    limp = made.template_log("limp", torque_off_after=-1.0)
    limp = dataclasses.replace(limp, input_volts=None, temperature=None, load=None)
    terms = (
        "command_delay", "current_limit", "torque_saturation", "backlash", "max_velocity",
        "resistance_temperature", "measured_voltage", "supply_resistance",
    )  # fmt: skip
    assert evidence_for_terms(dict.fromkeys(terms, (made.M1, 1.0)), [limp], FitSettings()) == {}


def test_a_sign_stands_beside_its_symptom():
    words = symptom("command_delay", {"command_delay": "14 ms behind"})
    assert words == "the motion lags behind its command (14 ms behind)"
    assert symptom("command_delay", {}) == "the motion lags behind its command"
