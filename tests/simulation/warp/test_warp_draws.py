"""Draws of an identified model, checked by MuJoCo Warp."""

import json

import driven_pendulum as pendulum
import numpy as np
import pytest
from warp_models import needs_warp

from trueup import sysid
from trueup.errors import SimulationError
from trueup.knowledge import held_out_check
from trueup.knowledge.held_out_check import check_on_held_out
from trueup.randomise import export_randomisation
from trueup.simulation.warp.devices import DeviceChoice
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.fit.problem import GrayBoxProblem


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A pendulum with 0.75 s of held-out data."""
    folder = tmp_path_factory.mktemp("pendulum")
    pendulum.write(folder, pendulum.EXPERIMENT)
    return prepare(sysid.load_experiment(folder / "experiment.yaml"), folder)


@pytest.fixture(scope="module")
def held_out(prepared):
    """A function that makes the problem of the held-out data, with a device."""

    def make(device):
        return GrayBoxProblem(
            prepared.parameters, prepared.held_out, prepared.settings, prepared.rules,
            device=DeviceChoice(device, "The check of draws"),
        )  # fmt: skip

    return make


def _checked(problem, count=12):
    """The check of draws around the truth, some of which are beyond the limit."""
    truth = np.array([pendulum.TRUE[name] for name in problem.space.names])
    rng = np.random.default_rng(1)

    def draw(n):
        return truth * (1 + 0.01 * rng.standard_normal((n, len(truth))))

    nothing = np.zeros((10, len(truth)))
    return check_on_held_out(
        problem, truth, draw, count, nothing, training_error=1.0, inflation=3.0
    )


@needs_warp
def test_the_draws_that_a_device_excludes_are_those_of_the_cpu(held_out, monkeypatch):
    wanted = _checked(held_out("cpu"))
    # chunks of the same size, so that both see the same draws
    monkeypatch.setattr(held_out_check, "_SHARE", 0.0)
    found = _checked(held_out("warp-cpu"))
    assert found.excluded > 4
    assert (found.drawn, found.excluded, found.failed) == (wanted.drawn, wanted.excluded, 0)
    np.testing.assert_array_equal(found.accepted, wanted.accepted)
    (band,), (other,) = found.bands, wanted.bands
    assert np.abs(band.draws - other.draws).max() < 1e-5 * np.abs(other.draws).max()
    assert any("The check of draws simulates on Warp" in note for note in found.notes)
    assert wanted.notes == ()


@needs_warp
def test_rounding_that_decides_about_draws_is_refused(held_out, monkeypatch):
    monkeypatch.setattr(held_out_check, "_AGREEMENT", 0.0)
    problem = held_out("warp-cpu")
    with pytest.raises(SimulationError, match="too long for single precision; device: cpu"):
        _checked(problem)
    problem.device.name = "auto"  # as with a card
    monkeypatch.setattr(DeviceChoice, "for_worlds", lambda own, *_: own.device)
    found = _checked(problem)
    assert len(found.accepted) == 12
    assert any("The CPU simulates all batches, although" in note for note in found.notes)


@needs_warp
def test_an_export_names_the_device(prepared, tmp_path):
    run = sysid.identify(
        prepared.experiment, prepared.folder, output=tmp_path / "run", verbose=False
    ).directory
    folder = prepared.folder
    made = export_randomisation(
        run, tmp_path / "dr", draws=32, device="warp-cpu", folder=folder, anyway=True
    )
    description = json.loads((made.directory / "dr.json").read_text())
    assert "simulates on Warp on the CPU in single precision" in description["notes"][0]
    assert description["notes"][0] in (made.directory / "report.html").read_text()
