"""An identification with MuJoCo Warp ends where one on the CPU ends."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from warp_models import needs_warp

from resting_arm import delayed, write_experiment, write_log
from trueup.errors import SimulationError
from trueup.simulation.warp.devices import DeviceChoice
from trueup.simulation.warp.engine import WarpEngine
from trueup.sysid.experiment.file import load_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.experiment.settings import on_device
from trueup.sysid.fit.run import read_and_check
from trueup.sysid.fit.spec import IdentificationSpec

ROOT = Path(__file__).resolve().parents[3]


def _prepared(folder, device="cpu"):
    """An arm with late position servos, recorded for 0.6 s, in windows of 60 ms."""
    actuators = delayed(0.006)
    write_log(folder, actuators, duration=0.6, settle=1.0)
    more = "window: 0.06\nheld_out: {fraction: 0.0}\n"
    text = write_experiment(folder, actuators, more=more)
    (folder / "arm.yaml").write_text(text)
    return on_device(load_experiment(folder / "arm.yaml"), device)


@needs_warp
def test_parameters_agree_to_a_hundredth_of_their_standard_errors(tmp_path):
    from trueup import fitting
    from trueup.fitting.linearisation import final_jacobian
    from trueup.fitting.searches.device_first import DeviceFirst

    found = {}
    for device in ("cpu", "warp-cpu"):
        ready = read_and_check(IdentificationSpec.of(_prepared(tmp_path, device), tmp_path))
        assert isinstance(ready.search, DeviceFirst) is (device == "warp-cpu")
        found[device] = fitting.minimise(ready.problem, ready.search).x
        notes = ready.problem.device_notes
        assert any("single precision" in note for note in notes) is (device == "warp-cpu")
    residual, jacobian, _ = final_jacobian(ready.problem, found["cpu"])
    rows, p = jacobian.shape
    variance = residual @ residual / (rows - p)
    errors = np.sqrt(variance * np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    space = ready.problem.space
    apart = np.abs(space.to_search(found["warp-cpu"]) - space.to_search(found["cpu"]))
    assert (apart < 0.01 * errors).all()


@needs_warp
def test_residuals_of_the_quick_form_are_those_of_the_problem(tmp_path):
    """Delays, open states and windows that continue each other included."""
    experiment = _prepared(tmp_path)
    prepared = prepare(experiment, tmp_path)
    prepared.device = DeviceChoice("warp-cpu")
    problem = prepared.problem()
    X = np.array([[0.02, 0.2], [0.03, 0.4], [0.1, 1.0]])
    quick = problem.quick(len(X))
    assert quick is not problem
    wanted, found = problem.residuals(X), quick.residuals(X)
    noise = np.sqrt(np.mean(np.square(wanted[1])))
    assert np.abs(found - wanted).max() < 0.02 * noise
    assert problem.quick(1)._groups is quick._groups  # made once


@needs_warp
def test_a_model_that_warp_refuses_is_named_and_auto_takes_the_cpu(tmp_path):
    experiment = _prepared(tmp_path, "warp-cpu")
    model = tmp_path / "arm.xml"
    model.write_text(model.read_text().replace("<option ", '<option solver="PGS" '))
    spec = IdentificationSpec.of(experiment, tmp_path)
    with pytest.raises(SimulationError, match="the solver PGS; device: cpu"):
        read_and_check(spec)
    prepared = prepare(experiment, tmp_path)
    prepared.device = DeviceChoice("warp-cpu")
    prepared.device.name = "auto"  # as with a card
    problem = prepared.problem()
    assert problem.quick(100_000) is problem
    assert any("solver PGS" in note for note in problem.device_notes)


@needs_warp
def test_a_change_that_warp_refuses_is_named_and_auto_takes_the_cpu(tmp_path, monkeypatch):
    """What parameters change is known when the first batch is made."""

    def refuse(*args):
        raise SimulationError("MuJoCo Warp has one geom_size for all candidates")

    monkeypatch.setattr(WarpEngine, "_chunks", refuse)
    prepared = prepare(_prepared(tmp_path), tmp_path)
    prepared.device = DeviceChoice("warp-cpu")
    problem = prepared.problem()
    X = np.array([[0.02, 0.2], [0.03, 0.4]])
    with pytest.raises(SimulationError, match="one geom_size"):
        problem.quick(len(X)).residuals(X)
    quick = problem.quick(len(X))
    problem.device.name = "auto"  # as with a card
    np.testing.assert_array_equal(quick.residuals(X), problem.residuals(X))
    np.testing.assert_array_equal(quick.residuals(X), problem.residuals(X))  # no other engine
    assert problem.quick(100_000) is problem
    assert any("one geom_size" in note for note in problem.device_notes)


@needs_warp
@pytest.mark.gpu_cold
def test_kernels_are_compiled_from_an_empty_cache_and_said_to_be(tmp_path, request):
    if "gpu_cold" not in request.config.getoption("-m"):
        pytest.skip("compiles for minutes: select it by -m gpu_cold")
    script = (
        "from warp_models import *\n"
        "from trueup.simulation.warp.devices import find_device\n"
        "from trueup.simulation.warp.engine import WarpEngine\n"
        "device, model = find_device('warp-cpu'), leg()\n"
        "engine = WarpEngine(model, [segment(model, 5)], RECORD, 1, device=device)\n"
        "collected(engine, 2)\n"
        "print(*engine.notes)\n"
    )
    cache = tmp_path / "kernels"
    paths = os.pathsep.join([str(Path(__file__).parent), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "WARP_CACHE_PATH": str(cache), "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Kernels of MuJoCo Warp were compiled" in done.stdout
    assert any(cache.iterdir())


def test_the_extra_belongs_to_the_installed_mujoco():
    if importlib.util.find_spec("mujoco_warp") is None:
        pytest.skip('MuJoCo Warp is not installed: pip install "trueup[gpu]"')
    from importlib.metadata import version

    assert version("mujoco-warp").split(".")[:2] == version("mujoco").split(".")[:2]
