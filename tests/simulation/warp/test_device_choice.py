"""Choice of the device: which card, from how many worlds on, and what is said without one."""

from types import SimpleNamespace

import pytest

from trueup.errors import InstallationError, MissingExtraError, SimulationError
from trueup.simulation.warp import devices
from trueup.simulation.warp.devices import WORLDS_PER_THREAD, DeviceChoice, find_device


def _machine(monkeypatch, installed=True, driver=(13, 0), cards=("NVIDIA H200",)):
    """A machine with MuJoCo Warp, a driver of a CUDA version (None: no driver) and cards."""
    wp = SimpleNamespace(
        get_cuda_device_count=lambda: len(cards),
        get_cuda_driver_version=lambda: driver,
        get_cuda_devices=lambda: [SimpleNamespace(alias="cuda:0", name=c) for c in cards],
    )
    monkeypatch.setattr(devices, "is_installed", lambda: installed)
    monkeypatch.setattr(devices, "_driver_exists", lambda: driver is not None)
    monkeypatch.setattr(devices, "warp_modules", lambda: (wp, None))


def test_a_card_is_chosen_where_there_is_one(monkeypatch):
    _machine(monkeypatch)
    for name in ("cuda", "auto"):
        found = find_device(name)
        assert found is not None and found.is_card
        assert (found.alias, found.label) == ("cuda:0", "NVIDIA H200")
    assert find_device("cpu") is None


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        ({"driver": None}, "this machine has no driver of an NVIDIA card"),
        ({"cards": ()}, "the NVIDIA driver finds no card"),
        ({"driver": (12, 2)}, "supports CUDA 12.2, and CUDA 12.4 or newer is required"),
    ],
)
def test_a_requested_card_that_cannot_be_used_is_one_sentence(monkeypatch, machine, words):
    _machine(monkeypatch, **machine)
    with pytest.raises(SimulationError, match=f"device: cuda is not possible: .*{words}.*cpu"):
        find_device("cuda")
    choice = DeviceChoice("auto")
    assert choice.device is None
    assert choice.for_worlds(10**6) is None
    (note,) = choice.notes
    assert words in note and note.startswith("The CPU simulates all batches")


def test_a_missing_extra_is_named_when_a_device_is_requested(monkeypatch):
    monkeypatch.setattr(devices, "is_installed", lambda: False)
    devices.warp_modules.cache_clear()
    for name in ("cuda", "warp-cpu"):
        with pytest.raises(MissingExtraError, match=r"mujoco-warp.*trueup\[gpu\]"):
            find_device(name)
    # nothing is said to the many who do not have it
    assert DeviceChoice("auto").notes == []


def test_two_distributions_of_mujoco_are_refused(monkeypatch):
    """mujoco-core overwrites the files of mujoco, which MuJoCo Warp requires."""
    monkeypatch.setattr(devices, "is_installed", lambda: True)
    monkeypatch.setattr(devices, "check_mujoco", lambda: None)
    monkeypatch.setattr(
        devices, "installed_version", lambda n: "4.0.1" if n == "mujoco-core" else None
    )
    devices.warp_modules.cache_clear()
    with pytest.raises(InstallationError, match=r"mujoco-core 4\.0\.1 .* device: cpu"):
        find_device("warp-cpu")
    monkeypatch.setattr(devices, "_driver_exists", lambda: True)
    choice = DeviceChoice("auto")
    assert choice.device is None and "mujoco-core 4.0.1" in choice.notes[0]


def test_an_unknown_device_names_the_known_ones():
    with pytest.raises(SimulationError, match="'gpu'; available: auto, cpu, cuda, warp-cpu"):
        find_device("gpu")


def test_auto_takes_the_card_for_large_batches_and_says_so(monkeypatch):
    _machine(monkeypatch)
    choice = DeviceChoice("auto")
    least = 16 * WORLDS_PER_THREAD
    assert choice.for_worlds(least - 1, threads=16) is None
    assert choice.notes == []
    assert choice.for_worlds(least, threads=16) is choice.device
    (note,) = choice.notes
    assert f"Batches of {least} simulations" in note and "NVIDIA H200" in note
    assert DeviceChoice("cuda").for_worlds(1, threads=16) is not None


def test_auto_falls_back_to_the_cpu_for_a_model_that_a_device_refuses(monkeypatch):
    _machine(monkeypatch)
    choice = DeviceChoice("auto")
    choice.refuse(SimulationError("MuJoCo Warp does not have plugins; device: cpu simulates it"))
    assert choice.for_worlds(10**6) is None
    assert "does not have plugins" in choice.notes[0]
    with pytest.raises(SimulationError, match="plugins"):
        DeviceChoice("cuda").refuse(SimulationError("plugins"))
