"""Devices that a machine does not have, and models that a device does not simulate."""

import driven_pendulum as pendulum
import pytest
from work import refused

from trueup.simulation.warp import devices


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    """An identification on a machine with MuJoCo Warp, as far as the command looks."""
    monkeypatch.setattr(devices, "is_installed", lambda: True)
    monkeypatch.setattr(devices, "_driver_exists", lambda: False)
    pendulum.write(tmp_path, pendulum.EXPERIMENT)
    return tmp_path / "experiment.yaml"


def _refused(path, capfd, *words, named):
    refused(["identify", str(path), *words], path.parent, capfd, named)


def test_a_search_for_a_walk_refuses_a_device_before_anything_is_written(
    experiment, capfd, monkeypatch
):
    command = ["gait", "optimize", "walk", "--output", f"{experiment.parent}/run"]
    named = ("no driver of an NVIDIA card", "device: cpu")
    for words in (["--device", "cuda"], ["device=cuda"], ["--device", "cuda", "--dry-run"]):
        refused([*command, *words], experiment.parent, capfd, named)
    refused([*command, "--device", "gpu"], experiment.parent, capfd, ("auto", "warp-cpu"))
    monkeypatch.setattr(devices, "is_installed", lambda: False)
    devices.warp_modules.cache_clear()
    refused([*command, "device=warp-cpu"], experiment.parent, capfd, ("trueup[gpu]",))


def _with_device(path, device):
    path.write_text(path.read_text() + f"\nsimulation: {{device: {device}}}\n")


def test_a_card_that_is_not_there_is_refused_before_anything_is_written(experiment, capfd):
    named = ("no driver of an NVIDIA card", "device: cpu")
    for words in (["--device", "cuda"], ["--device", "cuda", "--dry-run"]):
        _refused(experiment, capfd, *words, named=named)
    _with_device(experiment, "cuda")
    _refused(experiment, capfd, named=named)


def test_causes_and_designs_refuse_a_device_before_anything_is_written(experiment, capfd):
    named = ("no driver of an NVIDIA card", "device: cpu")
    for command in ("explain", "design"):
        for words in (["--device", "cuda"], ["--device", "cuda", "--dry-run"]):
            refused([command, str(experiment), *words], experiment.parent, capfd, named)
        refused([command, str(experiment), "--device", "gpu"], experiment.parent, capfd, ("auto",))


def test_draws_refuse_a_device_before_anything_is_written(pendulum_run, experiment, capfd):
    command = ["export", "dr", str(pendulum_run), "--output", f"{experiment.parent}/dr"]
    named = ("no driver of an NVIDIA card", "device: cpu")
    for words in (["--device", "cuda"], ["--device", "cuda", "--dry-run"]):
        refused([*command, *words], experiment.parent, capfd, named)
    refused([*command, "--device", "gpu"], experiment.parent, capfd, ("auto", "warp-cpu"))


def test_servos_and_fleets_have_no_device(servo_fit_run, pendulum_run, tmp_path, capfd):
    command = ["export", "dr", "--device", "warp-cpu", "--output", f"{tmp_path}/dr"]
    named = ("servo fit", "remove the device", "trueup identify")
    refused([*command, str(servo_fit_run)], tmp_path, capfd, named)
    refused([*command, *[str(pendulum_run)] * 3], tmp_path, capfd, ("fleet", "remove the device"))
    named = ("servo fit", "remove --device")
    words = ["--device", "cuda", "--output", f"{tmp_path}/next"]
    refused(["design", str(servo_fit_run), *words], tmp_path, capfd, named)


def test_a_missing_extra_is_named(experiment, capfd, monkeypatch):
    monkeypatch.setattr(devices, "is_installed", lambda: False)
    devices.warp_modules.cache_clear()
    for device in ("cuda", "warp-cpu"):
        _refused(experiment, capfd, "--device", device, named=('pip install "trueup[gpu]"',))


def test_a_device_that_does_not_exist_names_those_that_do(experiment, capfd):
    _refused(experiment, capfd, "--device", "gpu", named=("auto", "warp-cpu"))
    _with_device(experiment, "gpu")
    _refused(experiment, capfd, named=("simulation.device", "warp-cpu"))
