"""Walks on a device of Warp: blocks of steps, after which ended walks make room."""

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup._memory_budget import memory_size
from trueup.errors import SimulationError
from trueup.gait.walk import _kernel as k
from trueup.gait.walk.frames import Frame
from trueup.gait.walk.records import End, WalkRecords
from trueup.gait.walk.warp_worlds import Controllers, WalkWorlds, initial_state
from trueup.simulation.warp.devices import WarpDevice, warp_modules
from trueup.simulation.warp.model_support import put_model
from trueup.simulation.warp.worlds import Capacity, bytes_per_world
from trueup.time_limit import check_time

_BLOCK = 0.5
"""Time between two readings of a device [s], after which worlds of ended walks are given up."""

_LEAST_ON_CARD = 64
"""Number of worlds below which a step on a card takes no less time."""

_LEAST_CAPACITY = Capacity(16, 64)
"""Room for a fall of a walker with few contacts: a kernel is compiled again where tables grow."""

_COMPARED, _FLOOR, _PART = 0.05, 1e-4, 0.02
"""Time of the comparison with the CPU [s], and largest difference [rad]: of an angle, and as a part
of its range. Chaos takes longer to separate single from double precision."""

_SHARE, _HOST_SHARE = 0.6, 0.1
"""Share of the free memory of a card, and of the memory of the host, that walks may take."""

_ALL_SIZES = 3.5
"""Worlds of all sizes that stay on a device, in units of the largest one: 1, 3/4, 1/2, 3/8 ..."""


class DeviceWalks:
    """Simulation of walks on a device of Warp, in single precision.

    Initial states, gains and the first signals are those of the CPU, rounded once. The controllers
    are those of the CPU, of the same text (:mod:`trueup.simulation.warp.numba_text`).

    Args:
      simulation: the walks.
      device: the device.

    Raises:
      SimulationError: the device cannot simulate them.
    """

    def __init__(self, simulation: Any, device: WarpDevice):
        model = simulation.walker.model
        _refuse(simulation)
        self.device, self.notes = device, list[str]()
        self._simulation = simulation
        self._put = put_model(model, device)
        self._controllers = Controllers(simulation, device)
        self._capacity = _LEAST_CAPACITY
        self._agreed = False
        self._sizes: dict[Capacity, int] = {}
        self._kept: dict[tuple[int, bool], WalkWorlds] = {}
        self._frames = max(1, round(_BLOCK / (simulation.period * simulation.frame_every)))

    @property
    def most(self) -> int:
        """Largest number of walks at once that the memory of the device and the host allow."""
        wp, _ = warp_modules()
        simulation, alias = self._simulation, self.device.alias
        capacity, layout = self._capacity, simulation.layout
        if capacity not in self._sizes:
            model = simulation.walker.model
            self._sizes[capacity] = bytes_per_world(model, capacity, self.device)
        each = self._sizes[capacity]
        values = 2 * (len(layout.registers) + layout.ring_size + 2 * len(layout.measured))
        each += 4 * (values + (self._frames + 2) * simulation.frame_columns)
        free = wp.get_device(alias).free_memory if self.device.is_card else memory_size() // 4
        free += each * sum(size for size, _ in self._kept)
        host = 8 * simulation.most_frames * simulation.frame_columns
        on_device = _SHARE * free / (_ALL_SIZES * each)
        return max(int(min(on_device, _HOST_SHARE * memory_size() / host)), 1)

    def check(self, X: np.ndarray) -> None:
        """Compare the first steps of two of the vectors ``X (n, size)`` with the CPU, once.

        A feature of a model that MuJoCo Warp reads otherwise would be silently wrong.

        Raises:
          SimulationError: a joint moves differently.
        """
        if self._agreed:
            return
        twin = self._simulation.with_settings(duration=_COMPARED)
        twin.on(self.device)._agreed = self._agreed = True
        angles = slice(Frame.pitch, Frame.ankle_l + 1)
        few = X[[0, -1]]
        wanted = twin.run(few).frames[:, :, angles].copy()
        found = twin.run(few, device=self.device).frames[:, :, angles]
        allowed = _FLOOR + _PART * np.ptp(wanted, axis=1, keepdims=True)
        apart = np.abs(found - wanted)
        if (over := apart > allowed).any():
            column = int(np.argmax(over.any(axis=(0, 1))))
            name = Frame(Frame.pitch + column).name
            raise SimulationError(
                f"MuJoCo Warp moves {name!r} differently than MuJoCo: "
                f"{apart[:, :, column].max():.2g} rad apart in the first {_COMPARED:g} s, more "
                "than rounding; device: cpu simulates the model as MuJoCo does"
            )

    def run(
        self,
        batch: Batch,
        walks: k.Walks,
        records: WalkRecords,
        ids: np.ndarray,
        factors: np.ndarray | None,
        stop: Callable[[WalkRecords], np.ndarray] | None,
    ) -> None:
        """Simulate started walks to their ends.

        Args:
          batch: their initial states.
          walks: their controllers.
          records: their records, views of ``walks``.
          ids: the walks to simulate.
          factors: factors on the friction of each walk; None: that of the model.
          stop: as for :meth:`WalkSimulation.run`, called after a block in which walks ended.

        Raises:
          SimulationError: the memory of the device does not suffice, or a table of a fixed size.
        """
        state = initial_state(batch)
        slippery = factors is not None
        friction = np.ones(len(walks.status)) if factors is None else factors
        every, runs = self._simulation.frame_every, self._simulation.runs
        worlds, tick = None, 0
        while len(ids):
            size = _size(len(ids), self.device)
            if worlds is None or size < worlds.count:
                worlds = self._worlds(size, slippery, walks)
                worlds.load(walks, state, ids, tick, friction)
            steps = min(self._frames * every, runs - tick)
            worlds.run(steps, tick + steps == runs, check_time)
            if (needed := worlds.needed()) is not None:
                # the same steps again, from the state before them
                self._grow(needed)
                worlds = None
                continue
            worlds.read(walks, state, ids)
            tick += steps
            alive = records.ended[ids] == End.running
            if not alive.all() and stop is not None and tick < runs:
                stopped = stop(records) & (records.ended == End.running)
                records.ended[stopped] = End.stopped
                alive &= ~stopped[ids]
            if tick == runs:
                break
            if not alive.all():
                ids = ids[alive]
                worlds = None

    def _grow(self, needed: Capacity) -> None:
        self.notes.append(
            f"Tables grew to {needed.contacts} contacts and {needed.constraints} constraints per "
            "world."
        )
        self._capacity = needed
        self._kept.clear()

    def _worlds(self, size: int, slippery: bool, walks: k.Walks) -> WalkWorlds:
        if (size, slippery) not in self._kept:
            try:
                # a fall is recorded besides, and the end of the time
                self._kept[size, slippery] = WalkWorlds(
                    self._controllers, self._put, size, walks, self._frames + 2, slippery,
                    self._capacity,
                )  # fmt: skip
            except MemoryError as error:
                raise SimulationError(
                    f"the memory of {self.device.label} does not suffice for {size} walks at once: "
                    "choose a smaller population, or device: cpu"
                ) from error
        return self._kept[size, slippery]


def _size(walks: int, device: WarpDevice) -> int:
    """Number of worlds for so many walks: a power of two, or three quarters of one."""
    power = 1 << (walks - 1).bit_length()
    size = 3 * power // 4 if walks <= 3 * power // 4 else power
    return max(size, _LEAST_ON_CARD) if device.is_card else size


def _refuse(simulation: Any) -> None:
    """Raise SimulationError for what a device does not have."""
    model = simulation.walker.model
    found = {
        "the order of MyoAssist (compat=myoassist)": simulation.settings.compat,
        "the integrator RK4 between steps of a controller": (
            int(model.opt.integrator) == int(mujoco.mjtIntegrator.mjINT_RK4)
        ),
    }
    for what, has in found.items():
        if has:
            raise SimulationError(f"a device does not have {what}; device: cpu simulates it")
