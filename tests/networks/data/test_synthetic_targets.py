"""Target angles of synthetic recordings: sines, sweeps, lines and steps by their formulas."""

import numpy as np
import pytest

from trueup.networks import SyntheticSettings, synthesize

DURATION, RATE, AMPLITUDE, LOW, HIGH = 8.0, 200.0, 0.6, 0.5, 4.0
GENTLE = {"kp": 2.0, "kd": 0.5, "torque_limit": 1e3}


@pytest.fixture(scope="module")
def targets(tmp_path_factory):
    """Target of each signal [rad], of two groups."""
    settings = SyntheticSettings(
        inertias=(0.08, 0.1), signals=("sine", "chirp", "multisine", "steps"), duration=DURATION,
        rate=RATE, amplitude=AMPLITUDE, frequency=LOW, highest_frequency=HIGH, **GENTLE,
    )  # fmt: skip
    data = synthesize(settings, tmp_path_factory.mktemp("made") / "data", seed=5)
    found = [np.genfromtxt(file.path, delimiter=",", names=True) for file in data.files]
    angles = [np.radians(table["Commanded_Angle"]) for table in found]
    times = found[0]["Time_ms"] / 1e3
    return times, dict(zip(settings.signals, angles, strict=False)), angles[4:]


def test_a_sine_is_a_sine_of_its_frequency(targets):
    times, signals, others = targets
    expected = AMPLITUDE * np.sin(2 * np.pi * LOW * times)
    np.testing.assert_allclose(signals["sine"], expected, atol=1e-7)
    # the next group moves less far and faster
    expected = 0.9 * AMPLITUDE * np.sin(2 * np.pi * 1.2 * LOW * times)
    np.testing.assert_allclose(others[0], expected, atol=1e-7)


def test_a_chirp_sweeps_from_the_lowest_frequency_to_the_highest(targets):
    """Its phase, by the arc sine of the angle, turns so many cycles: an exponential's mean."""
    times, signals, _ = targets
    angle = signals["chirp"] / AMPLITUDE
    crossings = np.flatnonzero(np.diff(np.sign(angle)))
    cycles = LOW * DURATION * (HIGH / LOW - 1.0) / np.log(HIGH / LOW)
    assert len(crossings) == pytest.approx(2 * cycles, abs=1.5)
    first, last = (1.0 / (2.0 * np.diff(times[crossings])[[0, -1]])).tolist()
    assert LOW < first < 1.5 * LOW and 0.8 * HIGH < last < 1.2 * HIGH
    assert np.abs(angle).max() == pytest.approx(1.0, abs=5e-3)


def test_lines_of_a_multisine_lie_between_both_frequencies(targets):
    _, signals, _ = targets
    spectrum = np.abs(np.fft.rfft(signals["multisine"] * np.hanning(len(signals["multisine"]))))
    frequencies = np.fft.rfftfreq(len(signals["multisine"]), 1.0 / RATE)
    inside = (frequencies > LOW - 0.3) & (frequencies < HIGH + 0.3)
    assert np.sum(spectrum[inside] ** 2) > 0.999 * np.sum(spectrum**2)
    assert np.abs(signals["multisine"]).max() == pytest.approx(AMPLITUDE, rel=5e-3)


def test_steps_stand_still_but_for_a_tenth_of_a_second_each(targets):
    """Along half a cosine: the steepest slope of a rise r is pi / 2 r / 0.1 s."""
    times, signals, _ = targets
    steps = signals["steps"]
    moving = np.abs(np.gradient(steps)) > 1e-9
    assert 0.0 < moving.mean() < 0.3
    edges = np.flatnonzero(np.diff(moving.astype(int)))
    starts, ends = edges[::2], edges[1::2]
    for start, end in zip(starts, ends, strict=False):
        took = times[end] - times[start]
        if took < 0.15:  # no two of them meet
            rise = abs(steps[end + 1] - steps[start])
            steepest = np.abs(np.diff(steps[start : end + 2])).max() * RATE
            assert took == pytest.approx(0.1, abs=0.02)
            assert steepest == pytest.approx(0.5 * np.pi * rise / 0.1, rel=0.05)
    assert len(starts) >= 2 and np.abs(steps).max() <= AMPLITUDE
