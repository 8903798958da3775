"""Commands that simulate on the CPU alone say so, where an experiment asks for another device."""

import driven_pendulum as pendulum
import pytest

from trueup.design.prepared import prepare
from trueup.design.spec import DesignSpec
from trueup.explain.log import prepare_log
from trueup.sysid import load_experiment

SERVO = {"file": "pendulum.xml", "actuators": "position", "kp": 20.0, "kd": 1.0}
DESIGN = {"model": SERVO, "design": {"duration": 2.0, "limits": {"acceleration": 50.0}}}


@pytest.mark.parametrize("device", ["cuda", "warp-cpu", "auto", "cpu"])
def test_a_device_that_is_not_used_is_named(tmp_path, device):
    content = {**pendulum.EXPERIMENT, "simulation": {"device": device}}
    pendulum.write(tmp_path, content)
    experiment = load_experiment(tmp_path / "experiment.yaml")
    notes = {"explain": prepare_log(experiment, tmp_path).notes}
    pendulum.write(tmp_path, {**content, **DESIGN})
    experiment = load_experiment(tmp_path / "experiment.yaml")
    notes["design"] = prepare(DesignSpec.of(experiment, tmp_path)).spec.notes
    for command, found in notes.items():
        named = [note for note in found if "simulation.device" in note]
        assert len(named) == (device in ("cuda", "warp-cpu"))
        assert all(f"{device} is for trueup identify; trueup {command}" in n for n in named)
