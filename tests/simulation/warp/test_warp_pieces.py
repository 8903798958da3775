"""Information of pieces of a designed motion, simulated by MuJoCo Warp."""

import driven_pendulum as pendulum
import numpy as np
from warp_models import needs_warp

from trueup.design.prepared import prepare
from trueup.design.robot import piece_information
from trueup.design.spec import DesignSpec
from trueup.sysid import load_experiment
from trueup.sysid.experiment.settings import on_device

DESIGN = {
    "model": {"file": "pendulum.xml", "actuators": "position", "kp": 20.0, "kd": 1.0},
    "design": {"duration": 0.5, "draws": 2, "limits": {"acceleration": 50.0}},
}


@needs_warp
def test_sensitivities_are_those_of_the_cpu(tmp_path, monkeypatch):
    monkeypatch.setattr(piece_information, "_ON_DEVICE", 24)
    pendulum.write(tmp_path, {**pendulum.EXPERIMENT, **DESIGN})
    experiment = load_experiment(tmp_path / "experiment.yaml")
    found = {}
    for device in ("cpu", "warp-cpu"):
        spec = DesignSpec.of(on_device(experiment, device), tmp_path, library=4)
        prepared = prepare(spec)
        simulator = prepared.problem.simulator
        rows = prepared.family.random(2, np.random.default_rng(1))
        rows[:, 2:] *= 0.3
        found[device] = simulator.information(rows)
        named = [n for n in prepared.spec.notes if "search for pieces simulates on Warp" in n]
        assert len(named) == (device == "warp-cpu")
    for wanted, own in zip(found["cpu"], found["warp-cpu"], strict=True):
        assert wanted.excess == own.excess == 0
        assert np.diagonal(wanted.gram, axis1=1, axis2=2).min() > 0
        for name in ("gram", "spread"):
            size = np.sqrt(np.diagonal(getattr(wanted, name), axis1=1, axis2=2))
            apart = getattr(own, name) - getattr(wanted, name)
            assert (np.abs(apart) < 0.02 * size[:, :, None] * size[:, None]).all()
