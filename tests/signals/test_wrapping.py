"""Angles and counters that start again are found, continued where that is certain, and refused."""

import numpy as np
import pytest

from trueup.errors import RecordingError
from trueup.signals import Recording, Stream, check_quality, select
from trueup.signals.wrapping import sure_period

TIMES = np.arange(2000) / 200.0
ANGLE = 9.0 * np.sin(0.8 * TIMES) + 0.5 * np.sin(5.0 * TIMES)
TURN = 2 * np.pi
UNITS = {
    "rad about 0": (lambda q: np.mod(q + np.pi, TURN) - np.pi, "rad", 1.0, True),
    "rad from 0": (lambda q: np.mod(q, TURN), "rad", 1.0, True),
    "rad over two turns": (lambda q: np.mod(q, 2 * TURN), "rad", 1.0, 2 * TURN),
    "degrees": (lambda q: np.mod(np.degrees(q) + 180, 360) - 180, "deg", 1.0, True),
    "turns": (lambda q: np.mod(q / TURN, 1.0), "turn", 1.0, True),
    "12 bits": (lambda q: np.floor(np.mod(q / TURN, 1.0) * 4096), "turn", 1 / 4096, True),
    "12 bits by period": (lambda q: np.floor(np.mod(q / TURN, 1.0) * 4096), "turn", 1 / 4096, 4096),
    "14 bits at the motor, gear 3": (
        lambda q: np.floor(np.mod(3 * q / TURN, 1.0) * 16384), "turn", 1 / 16384 / 3, 16384
    ),
    "16 bits over 8 turns": (
        lambda q: np.floor(np.mod(q / TURN / 8, 1.0) * 65536), "turn", 8 / 65536, 65536
    ),
}  # fmt: skip


def recorded(values, times=TIMES):
    return Recording("run", (Stream("", times, {"q": values}),))


@pytest.mark.parametrize("kind", UNITS)
def test_an_angle_is_continued_by_its_key(kind):
    wrap, unit, scale, key = UNITS[kind]
    mapping = {"column": "q", "unit": unit, "scale": scale, "unwrap": key}
    found = select(recorded(wrap(ANGLE)), {"joint": mapping})
    values = found.stream.columns["joint"]
    off = values - ANGLE
    assert np.ptp(off) < 0.01
    assert any("joint is unwrapped" in note and "continued" in note for note in found.notes)
    assert sure_period(wrap(ANGLE)) > 0


def test_an_angle_that_does_not_wrap_stays_as_it_is():
    found = select(recorded(ANGLE), {"joint": {"column": "q", "unwrap": True}})
    np.testing.assert_array_equal(found.stream.columns["joint"], ANGLE)
    assert found.notes == ()


def test_a_check_names_the_key_that_continues():
    wrapped = np.mod(ANGLE, 2 * TURN)
    (found,) = check_quality(TIMES, {"q": wrapped}, roles={"q": "position"}).of_check("wrapping")
    assert found.severity == "refuse"
    assert "2 turns" in found.sentence and "unwrap: 12.5664" in found.sentence
    mended = select(recorded(wrapped), {"q": {"column": "q", "unwrap": 12.5664}})
    report = check_quality(TIMES, {"q": mended.stream.columns["q"]}, roles={"q": "position"})
    assert not report.of_check("wrapping")


@pytest.mark.parametrize("unwrap", [True, TURN])
def test_several_turns_with_few_samples_are_refused(unwrap):
    times = np.arange(200) / 4.0
    wrapped = np.mod(40.0 * np.sin(0.35 * times), TURN)
    with pytest.raises(RecordingError, match=r"'joint' moves up to 0\.\d+ of the period .*trim"):
        select(recorded(wrapped, times), {"joint": {"column": "q", "unwrap": unwrap}})
    assert sure_period(wrapped) == 0.0


def test_a_turn_of_a_slide_has_no_meaning():
    mapping = {"column": "q", "unit": "mm", "unwrap": True}
    with pytest.raises(RecordingError, match="give the period in the unit of the column"):
        select(recorded(ANGLE), {"cart": mapping})


GENUINE = {
    "within a turn": 0.99 * np.pi * np.sin(2 * TIMES),
    "steps of a set value": np.where(np.sin(3 * TIMES) > 0, np.pi, -np.pi),
    "two foreign samples": np.where(np.arange(2000) % 700 == 3, -12.4, np.sin(TIMES)),
    "a wheel": 20.0 * TIMES,
    "a jump of a restarted driver": np.where(TIMES > 5, np.sin(TIMES) + TURN, np.sin(TIMES)),
}


@pytest.mark.parametrize("kind", GENUINE)
def test_other_jumps_are_no_wraps(kind):
    assert sure_period(GENUINE[kind]) == 0.0


def test_clean_angles_raise_no_alarm():
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        size, f, phase = rng.uniform((0.2, 0.1, 0), (2, 2.5, 6.3), (4, 3)).T
        q = (size * np.sin(TURN * np.outer(TIMES, f) + phase)).sum(axis=1)
        q += rng.choice([0.0, 1e-3]) * rng.normal(size=q.size)
        report = check_quality(TIMES, {"q": q}, roles={"q": "position"})
        alarms += bool(report.of_check("wrapping"))
    assert alarms == 0
