"""Recordings that contradict the others are named: reversed, in other units, of other inputs."""

from dataclasses import replace

import numpy as np
import pytest

from trueup.networks import ActuatorSeries
from trueup.networks.data.agreement import contradictions

FEATURES = ("angle_error_rad", "current_ang_vel_rad_s")


def recording(number, friction=0.5, limit=6.0, seconds=6.0, noise=0.05):
    """A joint with friction and a torque limit, driven by a PD law along a multisine."""
    rng = np.random.default_rng(number)
    time = np.arange(round(100 * seconds)) / 100.0
    error, speed = np.zeros_like(time), np.zeros_like(time)
    for frequency in (0.4, 0.9, 1.7, 2.9):
        for signal, size in ((error, 0.3), (speed, 1.5)):
            signal += size * rng.uniform(0.4, 1.0) * np.sin(
                2 * np.pi * frequency * time + rng.uniform(0, 6.3)
            )  # fmt: skip
    torque = np.clip(10.0 * error - 0.8 * speed, -limit, limit) - friction * np.tanh(speed / 0.05)
    torque = torque + noise * rng.normal(size=time.size)
    channels = {"angle_error_rad": error, "current_ang_vel_rad_s": speed}
    return ActuatorSeries(f"run_{number}", "joint", 100.0, channels, torque)


def names(series):
    return [each.name for each in contradictions(series, FEATURES)]


@pytest.mark.parametrize("first", range(0, 60, 6))
def test_recordings_of_one_actuator_agree(first):
    """Also with other friction and another limit."""
    series = [recording(first + k, friction=0.4 * (k % 3), limit=4.0 + k) for k in range(6)]
    assert names(series) == []


def shuffled(series):
    order = np.random.default_rng(1).permutation(len(series))
    return replace(series, torque=series.torque[order])


@pytest.mark.parametrize("count", [3, 4, 7, 30])
@pytest.mark.parametrize(
    ("change", "words", "is_certain"),
    [
        (lambda s: replace(s, torque=-s.torque), "is reversed", True),
        (lambda s: replace(s, torque=1000.0 * s.torque), "N m and mN m differ by that", True),
        (lambda s: replace(s, torque=0.001 * s.torque), "N m and mN m differ by that", True),
        (
            lambda s: replace(s, channels={n: np.rad2deg(c) for n, c in s.channels.items()}),
            "degrees and radians differ by that",
            True,
        ),
        (
            lambda s: replace(s, channels={n: np.deg2rad(c) for n, c in s.channels.items()}),
            "degrees and radians differ by that",
            True,
        ),
        (shuffled, "inputs belong together", False),
    ],
)
def test_the_recording_that_contradicts_the_others_is_named(count, change, words, is_certain):
    for wrong in {0, count // 2, count - 1}:
        series = [recording(k) for k in range(count)]
        series[wrong] = change(series[wrong])
        (found,) = contradictions(series, FEATURES)
        assert found.name == f"run_{wrong}" and found.sentence.startswith(f"run_{wrong}: ")
        assert words in found.sentence and found.is_certain == is_certain
        assert f"{count - 1} other recordings" in found.sentence


def test_two_recordings_with_opposite_signs_are_both_named():
    series = [recording(0), recording(1)]
    assert names(series) == []
    series[1] = replace(series[1], torque=-series[1].torque)
    assert names(series) == ["run_0", "run_1"]


def test_inputs_that_do_not_predict_the_torque_say_nothing():
    """Nothing is known of recordings whose torque has nothing to do with the inputs."""
    assert names([shuffled(recording(k)) for k in range(6)]) == []
    assert names([recording(0)]) == []
    still = recording(1)
    assert names([recording(0), replace(still, torque=np.zeros(len(still)))]) == []
