"""The batch engine on a device of Warp: candidates x segments as worlds, in single precision."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup._memory_budget import memory_size
from trueup.errors import SimulationError
from trueup.simulation.engine.batch import BLOCK_BYTES, BatchEngine, Block, model_field
from trueup.simulation.engine.segment import Segment
from trueup.simulation.engine.warning_capture import captured_warnings
from trueup.simulation.targets.resolution import FieldWrite
from trueup.simulation.warp.agreement import Pilot, check_structure
from trueup.simulation.warp.devices import WarpDevice, warp_modules
from trueup.simulation.warp.model_support import put_model
from trueup.simulation.warp.world_fields import derived_fields, differing_rows, world_fields
from trueup.simulation.warp.worlds import (
    STATE,
    Capacity,
    Commands,
    Worlds,
    bytes_per_world,
    in_world_order,
)
from trueup.time_limit import check_time

_KEPT = 4  # sets of worlds that stay on the device: a Jacobian, a line search, the start
_ALIKE = 0.7  # shortest segment of a bucket relative to its longest: the rest is simulated in vain
_SHARE = 0.6  # share of the free memory of a card that worlds may take
_MOST_WORLDS = 2**18
_COMPILATION = 5.0  # duration of a comparison with the CPU that is compilation, not simulation [s]
_WARNINGS = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)


@dataclass
class _Chunk:
    """Candidates that are on the device together."""

    ids: np.ndarray
    """Indices of the candidates; the last one is repeated to fill the chunk."""
    rows: dict[str, np.ndarray]
    starts: dict[str, np.ndarray]
    """Initial state by field ``(candidates, segments, width)``."""
    resumed: dict[int, Any] = field(default_factory=dict)
    """Bucket -> state and progress on the device, between blocks."""


class WarpEngine(BatchEngine):
    """A :class:`BatchEngine` whose simulations are worlds of MuJoCo Warp.

    Initial states and derived constants of each candidate are computed on the CPU in double
    precision, as by the batch engine, and rounded once. The rest is in single precision: positions
    of smooth models agree to about 1e-6, and derivatives need steps of about 1 %, see
    :class:`trueup.fitting.searches.device_first.DeviceFirst`.

    Args:
      model: the compiled model.
      segments: segments to simulate, which may have different lengths.
      record: fields of MjData to record after every step.
      n_threads: threads of the CPU for initial states; 0 for all cores.
      chains: consecutive segments of each recording, see :class:`BatchEngine`.
      device: the device.

    Raises:
      SimulationError: MuJoCo Warp cannot simulate the model.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        segments: Sequence[Segment],
        record: Sequence[str],
        n_threads: int = 0,
        chains: Sequence[Sequence[Segment]] = (),
        *,
        device: WarpDevice,
    ):
        super().__init__(model, segments, record, n_threads, chains)
        self.device = device
        self.notes: list[str] = []
        """Sentences on chunks and on regrown tables."""
        self._put = put_model(model, device)
        self._buckets = _buckets([s.steps for s in self.segments])
        self._derived = derived_fields(self._put)
        self._capacity: Capacity | None = None
        self._sizes: dict[Capacity, int] = {}
        self._most = _MOST_WORLDS
        self._names: set[str] = set()
        self._agreed: set[frozenset[str]] = set()
        self._kept: dict[Any, Worlds] = {}
        self._commands: dict[int, Commands] = {}
        self._stamps = _time_stamps(model)

    def __getstate__(self) -> dict[str, Any]:
        """A device cannot be given to another process.

        Raises:
          SimulationError: always.
        """
        raise SimulationError(
            f"a simulation on {self.device.label} cannot be shared out over processes: use one "
            "process, or device: cpu"
        )

    def set_controls(self, controls: Sequence[np.ndarray]) -> None:
        """Replace the controls of the segments, with the same lengths."""
        super().set_controls(controls)
        self._commands, self._kept = {}, {}

    def run(
        self,
        n: int,
        writes: Sequence[tuple[FieldWrite, np.ndarray]] = (),
        models: Sequence[mujoco.MjModel] | None = None,
        failures: dict[int, str] | None = None,
    ) -> Iterator[Block]:
        """Simulate ``n`` candidates over all segments, see :meth:`BatchEngine.run`.

        Blocks of the longest segments come first, and all blocks of a segment before those of much
        shorter ones.

        Raises:
          SimulationError: a field differs that all worlds share, the simulation differs from the
            one on the CPU, or the memory of the device does not suffice for one candidate.
        """
        failures = {} if failures is None else failures
        with captured_warnings():
            chunks = self._chunks(n, writes, models, failures)
            for number, places in enumerate(self._buckets):
                yield from self._advance_bucket(number, places, n, chunks, failures)

    # --- candidates ------------------------------------------------------------------------------

    def _chunks(self, n: int, writes, models, failures: dict[int, str]) -> list[_Chunk]:
        """Candidates in chunks that fit onto the device, the first of them in its worlds."""
        largest = max(len(places) for places in self._buckets)
        number = next(i for i, p in enumerate(self._buckets) if len(p) == largest)
        while True:
            size = min(n, max(self._room() // largest, 1))
            count = -(-n // size)
            size = -(-n // count)
            chunks = [
                self._prepared(
                    np.minimum(np.arange(k * size, (k + 1) * size), n - 1), writes, models, failures
                )
                for k in range(count)
            ]
            self._names |= {name for chunk in chunks for name in chunk.rows}
            try:
                self._worlds(number, chunks[0], n)
            except MemoryError as error:
                self._kept.clear()
                if size == 1:
                    raise self._out_of_memory(largest) from error
                self._most = largest * (size // 2)
                continue
            if count > 1:
                self._note(f"{count} chunks of {size} candidates fit onto {self.device.label}.")
            return chunks

    def _out_of_memory(self, worlds: int) -> SimulationError:
        return SimulationError(
            f"the memory of {self.device.label} does not suffice for one candidate in {worlds} "
            "windows: use longer windows, so that there are fewer of them, or device: cpu"
        )

    def _room(self) -> int:
        """Number of worlds that the memory allows."""
        if self._capacity is None:
            return self._most
        wp, _ = warp_modules()
        device = wp.get_device(self.device.alias)
        free = device.free_memory if self.device.is_card else memory_size() // 4
        kept = sum(w.count for w in self._kept.values())
        if self._capacity not in self._sizes:
            self._sizes[self._capacity] = bytes_per_world(self.model, self._capacity, self.device)
        each = self._sizes[self._capacity]
        return max(min(self._most, int(_SHARE * (free + each * kept) / each)), 1)

    def _prepared(self, ids: np.ndarray, writes, models, failures: dict[int, str]) -> _Chunk:
        """Models and initial states of candidates, by the CPU in double precision."""
        own: dict[int, str] = {}
        part = [(write, values[ids]) for write, values in writes]
        batch = self._begin(
            len(ids), part, None if models is None else [models[i] for i in ids], own
        )
        count, c = len(self.segments), len(ids)
        for candidate, reason in own.items():
            failures.setdefault(int(ids[candidate]), reason)
        written = {w.field for w, _ in part if not w.field.startswith("state.")}
        rows_of: Callable[[str], np.ndarray]
        if models is None:
            names = sorted(written | set(self._derived)) if written else []
            rows_of = lambda name: np.array(batch.expand(name)[: c * count : count])  # noqa: E731
        else:
            names = [n for n in world_fields(self._put) if _is_numeric(self.model, n)]
            own_models = [models[i] for i in ids]
            rows_of = lambda name: np.stack([model_field(m, name) for m in own_models])  # noqa: E731
        # once a field differed, its rows stay, so that the captured graph does
        rows = differing_rows(self.model, names, rows_of, written | self._names, self._put)
        if rows:
            rows |= {n: _broadcast(self.model, n, c) for n in self._names - set(rows)}
        starts = {}
        for name in STATE:
            values = batch.bind(name)[: c * count]
            if values.size:
                starts[name] = np.array(values).reshape(c, count, -1)
        chunk = _Chunk(ids, rows, starts)
        self._check(batch, chunk, models is not None)
        return chunk

    def _check(self, batch: Batch, chunk: _Chunk, compiled: bool) -> None:
        """Size the tables by a short simulation on the CPU, and compare the device with it."""
        names = frozenset(chunk.rows)
        if self._capacity is not None and names in self._agreed:
            return
        count, c = len(self.segments), len(chunk.ids)
        looked_at = sorted({0, c - 1})
        pilot = Pilot(self, batch, looked_at)
        if self._capacity is None:
            self._capacity = Capacity(8, 16).grown(pilot.contacts, pilot.constraints)
        if chunk.rows:
            for candidate in looked_at:
                moved = batch.get_model(candidate * count)
                check_structure(self.model, moved, set(chunk.rows), self.device)
        self._names |= names
        number = 0
        try:
            worlds = self._worlds(number, chunk, c)
        except MemoryError:
            return  # chunks become smaller, and are compared then
        began = time.perf_counter()
        pilot.compare(worlds, chunk.starts, self._buckets[number])
        seconds = time.perf_counter() - began
        if seconds > _COMPILATION:
            self._note(
                f"Kernels of MuJoCo Warp were compiled for this model, in {seconds:.0f} s; later "
                "runs take them from the cache."
            )
        self._agreed.add(names)

    # --- worlds ----------------------------------------------------------------------------------

    def _worlds(self, number: int, chunk: _Chunk, n: int, fresh: bool = False) -> Worlds:
        """The worlds of a chunk in a bucket, with its fields but not its states.

        Raises:
          MemoryError: they do not fit.
        """
        places, c = self._buckets[number], len(chunk.ids)
        width = sum(self._widths.values()) or 1
        longest = self.segments[places[0]].steps
        steps = min(longest, max(16, BLOCK_BYTES // (8 * n * len(places) * width)))
        key = (number, c, steps, frozenset(chunk.rows))
        worlds = None if fresh else self._kept.pop(key, None)
        if worlds is None:
            while len(self._kept) >= _KEPT:
                self._kept.pop(next(iter(self._kept)))
            assert self._capacity is not None
            worlds = Worlds(
                self.model, self._put, chunk.rows, self._commands_of(number), len(places), c,
                self.record, steps, self._capacity, self._stamps, self.device,
            )  # fmt: skip
        self._kept[key] = worlds  # the most recent last
        worlds.set_rows(chunk.rows)
        return worlds

    def _commands_of(self, number: int) -> Commands:
        if number not in self._commands:
            wp, _ = warp_modules()
            places = self._buckets[number]
            lengths = np.array([self.segments[p].steps for p in places])
            controls = np.zeros((len(places), lengths[0], self.model.nu), np.float32)
            for row, place in zip(controls, places, strict=True):
                own = self.segments[place].controls
                row[: len(own)] = own
            with wp.ScopedDevice(self.device.alias):
                self._commands[number] = Commands(
                    wp.array(controls, dtype=wp.float32), wp.array(lengths - 1, dtype=wp.int32)
                )
        return self._commands[number]

    def _advance_bucket(
        self, number: int, places: range, n: int, chunks: list[_Chunk], failures: dict[int, str]
    ) -> Iterator[Block]:
        lengths = np.array([self.segments[p].steps for p in places])
        done = 0
        while done < lengths.max(initial=0):
            running = int(np.sum(lengths > done))
            parts = []
            todo = int(lengths[running - 1] - done)
            for chunk in chunks:
                check_time()
                worlds, todo = self._simulated(number, chunk, n, done, todo)
                parts.append({k: v[:, :running] for k, v in worlds.records(todo).items()})
                _note_failures(worlds.failed(), chunk.ids, failures)
                if len(chunks) > 1:
                    chunk.resumed[number] = (worlds.state(), worlds.progress())
            records = {
                k: (parts[0][k] if len(parts) == 1 else np.concatenate([p[k] for p in parts]))[:n]
                for k in self.record
            }
            yield Block(done, self.order[places[0] : places[0] + running], records)
            done += todo

    def _simulated(
        self, number: int, chunk: _Chunk, n: int, done: int, todo: int
    ) -> tuple[Worlds, int]:
        """Worlds after the next steps of a bucket, and the number of steps."""
        worlds = self._worlds(number, chunk, n)
        todo = min(todo, worlds.steps)
        if done == 0:
            worlds.set_state(in_world_order(chunk.starts, self._buckets[number]))
            worlds.set_progress(0, *worlds.no_progress())
        elif number in chunk.resumed:
            state, progress = chunk.resumed.pop(number)
            worlds.set_state(state)
            worlds.set_progress(done, *progress)
        else:
            worlds.set_progress(done, *worlds.progress())
        before = (worlds.state(), worlds.progress())
        worlds.run(todo, check_time)
        while (needed := worlds.needed()) is not None:
            self._note(
                f"Tables grew to {needed.contacts} contacts and {needed.constraints} constraints "
                "per world."
            )
            self._capacity = needed
            del worlds
            self._kept.clear()
            try:
                worlds = self._worlds(number, chunk, n, fresh=True)
            except MemoryError as error:
                raise self._out_of_memory(len(self._buckets[number])) from error
            worlds.set_state(before[0])
            worlds.set_progress(done, *before[1])
            worlds.run(todo, check_time)
        return worlds, todo

    def _note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)


def _buckets(lengths: Sequence[int]) -> list[range]:
    """Places of segments of similar lengths, the longest first; segments are in that order."""
    found, first = [], 0
    for place in range(1, len(lengths) + 1):
        if place == len(lengths) or lengths[place] < _ALIKE * lengths[first]:
            found.append(range(first, place))
            first = place
    return [p for p in found if lengths[p[0]] > 0] or found[:1]


def _note_failures(failed: np.ndarray, ids: np.ndarray, failures: dict[int, str]) -> None:
    """Enter candidates of which a world diverged, in the words of MuJoCo."""
    segments, candidates = np.nonzero(failed[:, :, 0])
    for segment, candidate in zip(segments, candidates, strict=True):
        kind, where = (int(v) for v in failed[segment, candidate])
        text = mujoco.mju_warningText(int(_WARNINGS[kind - 1]), where)
        failures.setdefault(int(ids[candidate]), text)


def _broadcast(model: mujoco.MjModel, name: str, n: int) -> np.ndarray:
    value = model_field(model, name)
    return np.broadcast_to(value, (n, *value.shape))


def _is_numeric(model: mujoco.MjModel, name: str) -> bool:
    """Whether a field of a device's model is one of MjModel, under the same name."""
    owner = model.opt if name.startswith("opt.") else model
    return hasattr(owner, name.removeprefix("opt."))


def _time_stamps(model: mujoco.MjModel) -> np.ndarray:
    """Places of times in the history of delays: of samples, and of the last sample of a sensor."""
    found: list[int] = []
    for sizes, addresses, sampled in (
        (model.actuator_history, model.actuator_historyadr, False),
        (model.sensor_history, model.sensor_historyadr, True),
    ):
        for (size, _), address in zip(sizes.tolist(), addresses.tolist(), strict=True):
            if address >= 0 and size > 0:
                found += range(address + 2, address + 2 + size)
                found += [address] if sampled else []
    return np.array(found, np.int32)
