"""Commands that simulate on a device name it in their notes, or refuse it by name."""

import driven_pendulum as pendulum
import pytest

from trueup.design.prepared import prepare
from trueup.design.spec import DesignSpec
from trueup.errors import SimulationError
from trueup.explain.log import explained_log, prepare_log
from trueup.simulation.warp import devices
from trueup.sysid import load_experiment

SERVO = {"file": "pendulum.xml", "actuators": "position", "kp": 20.0, "kd": 1.0}
DESIGN = {"model": SERVO, "design": {"duration": 2.0, "limits": {"acceleration": 50.0}}}


@pytest.fixture
def notes_of(tmp_path, monkeypatch):
    """Notes of explain and design on a machine with MuJoCo Warp and without a card."""
    monkeypatch.setattr(devices, "is_installed", lambda: True)
    monkeypatch.setattr(devices, "_driver_exists", lambda: False)

    def explained(device):
        pendulum.write(tmp_path, {**pendulum.EXPERIMENT, "simulation": {"device": device}})
        log = prepare_log(load_experiment(tmp_path / "experiment.yaml"), tmp_path)
        return explained_log(log, ["friction"]).all_notes

    def designed(device):
        pendulum.write(
            tmp_path, {**pendulum.EXPERIMENT, "simulation": {"device": device}, **DESIGN}
        )
        experiment = load_experiment(tmp_path / "experiment.yaml")
        return prepare(DesignSpec.of(experiment, tmp_path, library=4)).spec.notes

    return [explained, designed]


def test_auto_names_why_the_cpu_simulates(notes_of):
    for notes in notes_of:
        assert sum("no driver of an NVIDIA card" in note for note in notes("auto")) == 1
        assert not any("CPU" in note for note in notes("cpu"))


def test_a_card_that_is_not_there_is_refused(notes_of):
    for notes in notes_of:
        with pytest.raises(SimulationError, match="no driver of an NVIDIA card"):
            notes("cuda")
