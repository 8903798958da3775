"""Torques at other times than their inputs are named, with the delay and its mend."""

from dataclasses import replace

import numpy as np
import pytest

from trueup.errors import RecordingError
from trueup.networks import DataSettings, SyntheticSettings, read_series, synthesize
from trueup.networks.data.check import check_data
from trueup.networks.data.odd_torques import odd_torques

NONLINEAR = {"coulomb": 0.4, "viscous": 0.05, "no_load_speed": 12.0, "torque_limit": 3.0}
PLANTS = {"linear": {"torque_limit": 100.0}, "nonlinear": NONLINEAR}


@pytest.fixture(scope="module", params=list(PLANTS))
def recorded(request, tmp_path_factory):
    """Settings of three recordings of one joint at 100 Hz, and the recordings."""
    folder = tmp_path_factory.mktemp(request.param) / "data"
    asked = SyntheticSettings(
        signals=("multisine",), repeats=3, duration=8.0, **PLANTS[request.param]
    )
    synthesize(asked, folder, seed=3)
    settings = DataSettings(data_base_dir=str(folder))
    return settings, read_series(settings)


def moved(series, samples):
    return replace(series, torque=np.roll(series.torque, samples))


def test_torques_at_their_times_are_not_named(recorded):
    settings, series = recorded
    assert odd_torques(series, settings.features) == []
    assert [f for f in check_data(settings).findings if f.check == "agreement"] == []


@pytest.mark.parametrize("samples", [-60, -20, -8, 15, 30])
def test_the_shift_of_all_recordings_is_found(recorded, samples):
    settings, series = recorded
    found = odd_torques([moved(each, samples) for each in series], settings.features)[0]
    assert found.name == ""
    assert found.delay == pytest.approx(samples / 100.0, abs=0.021)
    assert ("leads its inputs" in found.sentence) == (samples < 0)
    assert f"data.torque_delay={found.delay:.3g}" in found.sentence
    assert found.is_certain and found.is_graded


@pytest.mark.parametrize("samples", [-20, 25])
@pytest.mark.parametrize("number", [0, 2])
def test_the_one_recording_with_another_delay_is_named(recorded, samples, number):
    settings, series = recorded
    series = list(series)
    series[number] = moved(series[number], samples)
    (found,) = odd_torques(series, settings.features)
    assert found.name == series[number].name and found.sentence.startswith(found.name)
    assert found.delay == pytest.approx(samples / 100.0, abs=0.021)


def test_samples_of_other_times_are_named(recorded):
    settings, series = recorded
    rng = np.random.default_rng(0)

    def mixed(each):
        rows = np.arange(0, len(each), 2)
        torque = each.torque.copy()
        torque[rows] = torque[rng.permutation(rows)]
        return replace(each, torque=torque)

    found = odd_torques([mixed(each) for each in series], settings.features)
    assert [each.name for each in found][:1] == [""]
    assert "jumps from sample to sample" in found[0].sentence


def test_the_key_that_is_named_mends_the_delay(recorded):
    """A positive delay moves the torque earlier, and cuts the samples without torque."""
    settings, series = recorded
    late = replace(settings, torque_delay=-0.2)
    (found,) = odd_torques(read_series(late), settings.features)
    assert found.delay == pytest.approx(0.2, abs=0.021)
    for before, after in zip(series, read_series(late), strict=True):
        assert len(after) == len(before) - 20
        np.testing.assert_allclose(after.torque, before.torque[:-20], atol=1e-9)
        for name, values in after.channels.items():
            np.testing.assert_allclose(values, before.channels[name][20:], atol=1e-9)


def test_a_delay_beyond_the_recording_is_refused(recorded):
    settings, _ = recorded
    with pytest.raises(RecordingError, match=r"torque_delay is 9 s, but .* is 7.99 s long"):
        read_series(replace(settings, torque_delay=9.0))
