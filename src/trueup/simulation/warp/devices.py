"""Devices that simulate: the CPU, a graphics card, or the kernels of the card on the CPU."""

import functools
import importlib
import importlib.util
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from trueup._mujoco_files import check_mujoco, installed_version
from trueup.errors import InstallationError, MissingExtraError, SimulationError

DeviceName = Literal["auto", "cpu", "cuda", "warp-cpu"]
"""``auto``: a graphics card if there is one and batches are large enough to pay, else the CPU;
``cpu``: MuJoCo on all cores, in double precision; ``cuda``: MuJoCo Warp on an NVIDIA card, in
single precision; ``warp-cpu``: the same kernels on one core, slow, for tests."""

DEVICES: tuple[str, ...] = get_args(DeviceName)

WORLDS_PER_THREAD = 64
"""Worlds in a batch for each CPU thread from which a card pays.

Measured with an H200, compared with 16 threads: 256 worlds run 0.4 to 1.4 times as fast, 1024
worlds 1.5 to 5 times, 16384 worlds 12 to 18 times (docs/how-to/graphics-card.md).
"""

_LEAST_DRIVER = (12, 4)
"""CUDA version that the driver has to support: solvers loop inside a graph from 12.4 on."""

_INSTEAD = "Remove device: cuda, or choose device: cpu, which simulates on the cores of the CPU"


@dataclass(frozen=True)
class WarpDevice:
    """A device of Warp."""

    name: str
    """``cuda`` or ``warp-cpu``."""
    alias: str
    """Warp's name, such as ``cuda:0``."""
    label: str
    """Name of the card."""

    @property
    def is_card(self) -> bool:
        """Whether it is a graphics card."""
        return self.name == "cuda"


class DeviceChoice:
    """Choice of the device of batches, by name and size.

    Args:
      name: see :data:`DeviceName`.
      what: what simulates on it, for the notes.

    Raises:
      SimulationError: ``cuda`` without a usable card.
      MissingExtraError: MuJoCo Warp is not installed.
    """

    def __init__(self, name: str = "cpu", what: str = "The search"):
        self.name, self.what = name, what
        self.device = find_device(name)
        self.notes: list[str] = []
        """Sentences on the choice."""
        if name == "auto" and self.device is None and is_installed():
            self._note(f"The CPU simulates all batches: {why_no_card()} (simulation.device: auto).")

    def for_worlds(self, worlds: int, threads: int = 0) -> WarpDevice | None:
        """Device of a batch of so many worlds; None for the CPU.

        Args:
          worlds: candidates times segments.
          threads: threads of the CPU; 0 for all cores.
        """
        if self.device is None:
            return None
        if self.name == "auto":
            least = WORLDS_PER_THREAD * (threads or os.cpu_count() or 1)
            if worlds < least:
                return None
            self._note(
                f"Batches of {least} simulations or more run on {self.device.label} in single "
                "precision, smaller ones on the CPU (simulation.device: auto)."
            )
        else:
            self._note(f"{self.what} simulates on {self.device.label} in single precision.")
        return self.device

    def refuse(self, error: SimulationError) -> None:
        """Fall back to the CPU, if the choice is automatic.

        Raises:
          SimulationError: the device was requested.
        """
        if self.name != "auto":
            raise error
        self.device, self.notes = None, []
        self._note(f"The CPU simulates all batches, although there is a card: {error}.")

    def _note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)


def find_device(name: str) -> WarpDevice | None:
    """The Warp device of a name; None for the CPU.

    ``auto`` is a card where one can be used, see :func:`why_no_card`, and else the CPU.

    Raises:
      SimulationError: ``cuda`` without a card, or with too old a driver.
      MissingExtraError: MuJoCo Warp is not installed.
    """
    if name not in DEVICES:
        raise SimulationError(f"unknown device {name!r}; available: {', '.join(DEVICES)}")
    if name == "cpu":
        return None
    if name == "auto":
        return _card() if not why_no_card() else None
    if name == "cuda":
        reason = why_no_card()
        if reason:
            if not is_installed():
                raise MissingExtraError("device: cuda", "gpu", "mujoco-warp")
            raise SimulationError(f"device: cuda is not possible: {reason}. {_INSTEAD}")
        return _card()
    warp_modules()
    return WarpDevice("warp-cpu", "cpu", "Warp on the CPU")


def is_installed() -> bool:
    """Whether the packages of the extra ``gpu`` are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("warp", "mujoco_warp"))


def why_no_card() -> str:
    """Reason why no graphics card can be used, or ''."""
    if not is_installed():
        return 'MuJoCo Warp is not installed (pip install "trueup[gpu]")'
    if not _driver_exists():
        # found out without the seconds that the import of Warp takes
        return "this machine has no driver of an NVIDIA card"
    try:
        wp, _ = warp_modules()
    except InstallationError as error:
        return str(error)
    if not wp.get_cuda_device_count():
        return "the NVIDIA driver finds no card"
    version: Any = list(wp.get_cuda_driver_version() or (0, 0))
    if version < list(_LEAST_DRIVER):
        found, least = (".".join(map(str, v)) for v in (version, _LEAST_DRIVER))
        return f"the NVIDIA driver supports CUDA {found}, and CUDA {least} or newer is required"
    return ""


def _driver_exists() -> bool:
    """Whether the device files or the library of a driver are there."""
    import ctypes.util

    return Path("/dev/nvidiactl").exists() or ctypes.util.find_library("cuda") is not None


def _card() -> WarpDevice:
    wp, _ = warp_modules()
    device = wp.get_cuda_devices()[0]
    return WarpDevice("cuda", str(device.alias), str(device.name))


@functools.cache
def warp_modules() -> tuple[Any, Any]:
    """The packages ``warp`` and ``mujoco_warp``, quiet.

    Kernels are compiled on first use, into Warp's cache in the cache folder of the user
    (``WARP_CACHE_PATH`` moves it).

    Raises:
      MissingExtraError: they are not installed.
      InstallationError: two distributions of MuJoCo overwrite each other.
    """
    check_mujoco()
    if not is_installed():
        raise MissingExtraError("MuJoCo Warp", "gpu", "mujoco-warp")
    core = installed_version("mujoco-core")
    if core is not None:
        raise InstallationError(
            f"mujoco-core {core} is installed, and MuJoCo Warp requires the distribution "
            "mujoco, whose files it overwrites: pip uninstall -y mujoco "
            'mujoco-core, then pip install "trueup[gpu]"; or simulate with device: cpu'
        )
    warp: Any = importlib.import_module("warp")

    # missing cards are reported by why_no_card, compilation by the engine
    warp.config.log_level = warp.LOG_ERROR
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warp.init()
        return warp, importlib.import_module("mujoco_warp")
