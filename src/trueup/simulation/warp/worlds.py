"""Worlds of one model on a device, and the step that is replayed for all of them."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from trueup.errors import SimulationError, listing
from trueup.simulation.warp.devices import WarpDevice, warp_modules
from trueup.simulation.warp.world_fields import shaped, with_rows

STATE = (
    *("time", "qpos", "qvel", "act", "history", "qacc_warmstart", "ctrl", "qfrc_applied"),
    *("xfrc_applied", "eq_active", "mocap_pos", "mocap_quat", "userdata"),
)
"""Fields of the state of a world."""


@dataclass(frozen=True)
class Capacity:
    """Largest numbers of contacts and constraints that arrays hold, per world."""

    contacts: int
    constraints: int

    def grown(self, contacts: int, constraints: int) -> "Capacity":
        """A capacity for given numbers, half as large again, and never smaller than before."""
        return Capacity(
            max(self.contacts, int(1.5 * contacts) + 1),
            max(self.constraints, int(1.5 * constraints) + 1),
        )


@dataclass(frozen=True)
class Commands:
    """Commands of segments on a device."""

    controls: Any
    """``(segments, steps, nu)``."""
    last: Any
    """Index of the last step of each segment ``(segments,)``."""


class Worlds:
    """Worlds that advance together: every candidate in every segment of a bucket.

    Args:
      model: the model.
      put: the model on the device.
      rows: fields that differ between candidates ``(candidates, ...)``.
      commands: commands of the segments.
      segments: number of segments.
      candidates: number of candidates.
      record: fields to record.
      steps: most steps between two readings of the records.
      capacity: numbers of contacts and constraints per world.
      stamps: places of time stamps in the history of delays.
      device: the device.

    Raises:
      MemoryError: the device has not enough memory.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        put: Any,
        rows: dict[str, np.ndarray],
        commands: Commands,
        segments: int,
        candidates: int,
        record: Sequence[str],
        steps: int,
        capacity: Capacity,
        stamps: np.ndarray,
        device: WarpDevice,
    ):
        wp, mjw = warp_modules()
        self.device, self.steps, self.capacity = device, steps, capacity
        self.segments, self.candidates = segments, candidates
        self.count = segments * candidates
        self._commands = commands
        self._graph: Any = None
        with wp.ScopedDevice(device.alias), memory_errors():
            self.model, self._rows = with_rows(put, rows)
            self.data = mjw.make_data(
                model,
                nworld=self.count,
                nconmax=capacity.contacts,
                njmax=capacity.constraints,
            )
            self._failed = wp.zeros((self.count, 2), dtype=wp.int32)
            self._peaks = wp.zeros(4, dtype=wp.int32)
            self._step = wp.zeros(1, dtype=wp.int32)
            self._first = wp.zeros(1, dtype=wp.int32)
            self._rest = wp.array(model.qpos0, dtype=wp.float32)
            self._stamps = wp.array(stamps, dtype=wp.int32)
            self._sources = {name: self._source(name) for name in record}
            width = {name: source.shape[1] for name, source in self._sources.items()}
            self._latest = {
                n: wp.zeros((self.count, w), dtype=wp.float32) for n, w in width.items()
            }
            self._out = {
                n: wp.zeros((self.count, steps, w), dtype=wp.float32) for n, w in width.items()
            }

    def _source(self, name: str) -> Any:
        """A field of MjData ``(worlds, width)`` on the device."""
        wp, _ = warp_modules()
        array: Any = getattr(self.data, name, ())
        floats = (wp.float32, wp.vec3, wp.quat, wp.mat33, wp.spatial_vector)
        shape = getattr(array, "shape", None) or (0,)
        if shape[0] != self.count or array.dtype not in floats:
            raise SimulationError(
                f"MuJoCo Warp does not record {name!r} of MjData; device: cpu simulates it"
            )
        if array.dtype is wp.float32 and array.ndim == 2:
            return array
        width = array.size * int(np.prod(getattr(array.dtype, "_shape_", ()) or (1,))) // self.count
        return wp.array(
            ptr=array.ptr, dtype=wp.float32, shape=(self.count, width), device=array.device
        )

    def set_rows(self, rows: dict[str, np.ndarray]) -> None:
        """Set the fields that differ between candidates."""
        for name, values in rows.items():
            self._rows[name].assign(shaped(values, self._rows[name]))

    def set_state(self, state: dict[str, Any]) -> None:
        """Set the states of all worlds, from arrays of the host or of :meth:`state`."""
        wp, _ = warp_modules()
        for name, values in state.items():
            array = getattr(self.data, name)
            if isinstance(values, np.ndarray):
                fill(array, values)
            else:
                wp.copy(array, values)

    def state(self) -> dict[str, Any]:
        """Copies of the states of all worlds, on the device."""
        wp, _ = warp_modules()
        return {n: wp.clone(a) for n in STATE if (a := getattr(self.data, n)).size}

    def set_progress(self, step: int, failed: Any, latest: dict[str, Any]) -> None:
        """Set the next step, the worlds that failed and the latest records."""
        wp, _ = warp_modules()
        self._step.fill_(step)
        self._first.fill_(step)
        wp.copy(self._failed, failed)
        for name, values in latest.items():
            wp.copy(self._latest[name], values)

    def progress(self) -> tuple[Any, dict[str, Any]]:
        """Copies of the failed worlds and of the latest records."""
        wp, _ = warp_modules()
        return wp.clone(self._failed), {n: wp.clone(a) for n, a in self._latest.items()}

    def no_progress(self) -> tuple[Any, dict[str, Any]]:
        """The same before the first step."""
        wp, _ = warp_modules()
        return wp.zeros_like(self._failed), {n: wp.zeros_like(a) for n, a in self._latest.items()}

    def run(self, steps: int, pause: Callable[[], None]) -> None:
        """Advance all worlds by a number of steps, at most that of the records.

        Args:
          steps: the number.
          pause: called between steps, now and then; may raise to stop.
        """
        wp, _ = warp_modules()
        self._peaks.zero_()
        self.data.overflow.zero_()
        with wp.ScopedDevice(self.device.alias):
            if self.data.history.size and len(self._stamps):
                from trueup.simulation.warp import _kernels as k

                wp.launch(
                    k.rebase_time, self.count, [self._stamps, self.data.time, self.data.history]
                )
            for number in range(steps):
                if number % 64 == 0:
                    pause()
                self._advance()
            wp.synchronize_device()

    def _advance(self) -> None:
        """One step: a captured graph on a card, the same launches on the CPU."""
        wp, _ = warp_modules()
        if not self.device.is_card:
            self._launch()
            return
        if self._graph is None:
            # kernels are compiled and loaded before a capture, which must not allocate
            kept, at = self.state(), (int(self._step.numpy()[0]), self.progress())
            self._launch()
            self.set_state(kept)
            first = int(self._first.numpy()[0])
            self.set_progress(at[0], *at[1])
            self._first.fill_(first)
            self._peaks.zero_()
            self.data.overflow.zero_()
            with wp.ScopedCapture(device=self.device.alias) as capture:
                self._launch()
            self._graph = capture.graph
        wp.capture_launch(self._graph)

    def _launch(self) -> None:
        from trueup.simulation.warp import _kernels as k

        wp, mjw = warp_modules()
        d, n = self.data, self.candidates
        controls, last = self._commands.controls, self._commands.last
        if d.ctrl.size:
            wp.launch(k.set_controls, d.ctrl.shape, [controls, last, n, self._step, d.ctrl])
        mjw.step(self.model, d)
        state = (d.qpos, d.qvel, d.qacc, d.qacc_warmstart, d.act)
        check = [last, n, self._step, self._rest, *state, self._failed]
        wp.launch(k.check_states, self.count, check)
        for name, source in self._sources.items():
            at = (self._failed, self._step, self._first)
            keep = [source, *at, self._latest[name], self._out[name]]
            wp.launch(k.record, source.shape, keep)
        numbers = [d.nefc, d.nacon, d.ncollision, d.overflow, self._failed, self._peaks]
        wp.launch(k.count, self.count, numbers)
        wp.launch(k.advance, 1, [self._step])

    def records(self, steps: int) -> dict[str, np.ndarray]:
        """Records ``(candidates, segments, steps, width)`` of the last steps."""
        found = {}
        for name, array in self._out.items():
            values = array.numpy()[:, :steps].astype(float)
            shape = (self.segments, self.candidates, steps, values.shape[-1])
            found[name] = values.reshape(shape).transpose(1, 0, 2, 3)
        return found

    def failed(self) -> np.ndarray:
        """Field and degree of freedom of worlds that diverged ``(segments, candidates, 2)``."""
        return self._failed.numpy().reshape(self.segments, self.candidates, 2)

    def needed(self) -> Capacity | None:
        """A larger capacity, if contacts or constraints of the last steps did not fit.

        Raises:
          SimulationError: another table of MuJoCo Warp was full, of a fixed size.
        """
        return larger_capacity(self._peaks, self.count, self.capacity)


def larger_capacity(peaks: Any, worlds: int, capacity: Capacity) -> Capacity | None:
    """A larger capacity, if tables were too small; None if they were not.

    Args:
      peaks: numbers and flags of the kernel ``count``.
      worlds: number of worlds.
      capacity: capacity of the tables.

    Raises:
      SimulationError: another table of MuJoCo Warp was full, of a fixed size.
    """
    _, mjw = warp_modules()
    constraints, contacts, pairs, flags = (int(v) for v in peaks.numpy())
    kinds = mjw.OverflowType
    rows = kinds.NEFC | kinds.NJMAX_NNZ
    points = kinds.BROADPHASE | kinds.NARROWPHASE | kinds.CCD
    other = flags & ~int(rows | points | kinds.ITERATIONS | kinds.LS_ITERATIONS)
    if other:
        names = [k.name or "" for k in kinds if int(k) & other and int(k) == int(k) & -int(k)]
        raise SimulationError(
            f"MuJoCo Warp ran out of room for {listing(n.lower() for n in names)}, whose size "
            "is fixed; device: cpu simulates it"
        )
    if not flags & int(rows | points):
        return None
    per_world = -(-max(contacts, pairs) // worlds)
    grown = Capacity(
        2 * capacity.contacts if flags & int(points) else capacity.contacts,
        2 * capacity.constraints if flags & int(rows) else capacity.constraints,
    )
    return grown.grown(
        per_world if flags & int(points) else 0, constraints if flags & int(rows) else 0
    )


def fill(array: Any, values: np.ndarray) -> None:
    """Fill an array of a device with the values of an array of the host."""
    wp, _ = warp_modules()
    own = _of_kind(values, array)
    wp.copy(array, wp.array(own, dtype=array.dtype, shape=array.shape, device="cpu"))


def numbers_of(array: Any) -> Any:
    """An array of a device as one of numbers, a view, with an axis for vectors and matrices."""
    wp, _ = warp_modules()
    if array.dtype is wp.float32:
        return array
    shape = (*array.shape, int(np.prod(array.dtype._shape_)))
    return wp.array(ptr=array.ptr, dtype=wp.float32, shape=shape, device=array.device)


def _of_kind(values: np.ndarray, array: Any) -> np.ndarray:
    wp, _ = warp_modules()
    if array.dtype is wp.bool:
        return np.ascontiguousarray(values != 0)
    shape = (*array.shape, *getattr(array.dtype, "_shape_", ()))
    return np.ascontiguousarray(values, np.float32).reshape(shape)


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turn Warp's error of an allocation into a MemoryError."""
    try:
        yield
    except RuntimeError as error:
        if "allocate" not in str(error).lower():
            raise
        raise MemoryError(str(error)) from error


def in_world_order(starts: dict[str, np.ndarray], places: range) -> dict[str, np.ndarray]:
    """Values ``(candidates, segments, width)`` of a bucket as rows of its worlds."""
    part = slice(places[0], places[-1] + 1)
    return {
        name: np.swapaxes(values[:, part], 0, 1).reshape(-1, values.shape[2])
        for name, values in starts.items()
    }


def bytes_per_world(model: mujoco.MjModel, capacity: Capacity, device: WarpDevice) -> int:
    """Memory of a world, without its records [bytes]."""
    wp, mjw = warp_modules()

    def size(worlds: int) -> int:
        data = mjw.make_data(
            model, nworld=worlds, nconmax=capacity.contacts, njmax=capacity.constraints
        )
        return _size_of(data)

    with wp.ScopedDevice(device.alias):
        return max(size(3) - size(2), 1)


def _size_of(data: Any) -> int:
    total = 0
    for field in dataclasses.fields(data):
        value = getattr(data, field.name)
        if dataclasses.is_dataclass(value):
            total += _size_of(value)
        elif hasattr(value, "capacity"):
            total += int(value.capacity)
    return total
