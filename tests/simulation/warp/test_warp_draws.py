"""Draws of an identified model, checked by MuJoCo Warp."""

import json

import numpy as np
import pytest
from warp_models import needs_warp

from trueup.errors import RunDirectoryError, SimulationError
from trueup.knowledge import held_out_check, identified_run
from trueup.knowledge.held_out_check import check_on_held_out
from trueup.randomise import export_randomisation


def _checked(run, count=24, **options):
    """The check of draws of which every third one is beyond the limit."""
    problem = run.held_out_problem()
    wrong = run.fit.copy()
    wrong[1] *= 1.5  # damping

    def draw(n):
        return np.where(np.arange(n)[:, None] % 3 == 0, wrong, run.fit)

    steps = run.belief.determined_steps(200, np.random.default_rng(0))
    return check_on_held_out(problem, run.fit, draw, count, steps, **options)


@needs_warp
def test_the_draws_that_a_device_excludes_are_those_of_the_cpu(pendulum_run):
    options = {"training_error": 1.0, "inflation": 1.0}
    wanted = _checked(identified_run(pendulum_run), **options)
    found = _checked(identified_run(pendulum_run, device="warp-cpu"), **options)
    assert (found.excluded > 0) and (found.drawn - found.excluded >= 24)
    assert (wanted.failed, found.failed) == (0, 0)
    np.testing.assert_array_equal(found.accepted, wanted.accepted)
    (band,), (other,) = found.bands, wanted.bands
    assert np.abs(band.draws - other.draws).max() < 1e-5 * np.abs(other.draws).max()
    assert any("The check of draws simulates on Warp" in note for note in found.notes)
    assert wanted.notes == ()


@needs_warp
def test_rounding_that_decides_about_draws_is_refused(pendulum_run, monkeypatch):
    monkeypatch.setattr(held_out_check, "_AGREEMENT", 0.0)
    run = identified_run(pendulum_run, device="warp-cpu")
    with pytest.raises(SimulationError, match="too long for single precision; device: cpu"):
        _checked(run, training_error=1.0, inflation=1.0)
    run.prepared.device.name = "auto"  # as with a card
    monkeypatch.setattr(type(run.prepared.device), "for_worlds", lambda own, *_: own.device)
    found = _checked(run, training_error=1.0, inflation=1.0)
    assert len(found.accepted) == 24
    assert any("The CPU simulates all batches, although" in note for note in found.notes)


@needs_warp
def test_an_export_names_the_device(pendulum_run, tmp_path):
    made = export_randomisation(pendulum_run, tmp_path / "dr", draws=32, device="warp-cpu")
    description = json.loads((made.directory / "dr.json").read_text())
    (note,) = description["notes"]
    assert note in (made.directory / "report.html").read_text()
    plain = export_randomisation(pendulum_run, tmp_path / "cpu", draws=32, device="cpu")
    assert plain.description["notes"] == []


def test_what_is_not_simulated_on_a_device_is_refused(pendulum_run, servo_fit_run, tmp_path):
    with pytest.raises(RunDirectoryError, match="servo fit, whose draws are simulated"):
        export_randomisation(servo_fit_run, tmp_path / "a", draws=32, device="cuda")
    with pytest.raises(RunDirectoryError, match="draws of a fleet are not simulated"):
        export_randomisation([pendulum_run] * 3, tmp_path / "b", draws=32, device="cuda")
    assert not any(tmp_path.iterdir())
