"""The batch engine: candidates x segments of one model layout in one rollout on all cores."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch
from mujoco.batch import SimulationError as BatchError

from trueup.simulation.engine.closed_starts import SHAPES, ClosedStarts
from trueup.simulation.engine.continuation import Continuation
from trueup.simulation.engine.held_start import HeldStart, fields_of
from trueup.simulation.engine.initial_state import with_start_time
from trueup.simulation.engine.pace import Pace
from trueup.simulation.engine.segment import FULL_PHYSICS, INTEGRATION, Segment
from trueup.simulation.engine.warning_capture import captured_warnings, warning_reasons
from trueup.simulation.targets.resolution import FieldWrite
from trueup.time_limit import check_time

_KEPT_BATCHES = 4  # batch sizes to cache: construction costs more than a short rollout

BLOCK_BYTES = 64_000_000
"""Maximum recorded data in memory; longer runs are returned in several blocks of time."""


@dataclass(frozen=True)
class Block:
    """Records of some consecutive steps."""

    first_step: int
    segments: np.ndarray
    """Indices of the segments that are still running."""
    records: dict[str, np.ndarray]
    """field -> ``(candidates, running segments, steps, width)``."""


class BatchEngine:
    """Runs many candidates of one model over many segments.

    Args:
      model: the compiled model.
      segments: segments to simulate, which may have different lengths.
      record: fields of MjData to record after every step, such as ``("sensordata", "qpos")``.
      n_threads: threads; 0 for all cores.
      chains: consecutive segments of each recording, some of which continue from the previous
        one, in time order; the last one of each is among ``segments``.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        segments: Sequence[Segment],
        record: Sequence[str],
        n_threads: int = 0,
        chains: Sequence[Sequence[Segment]] = (),
    ):
        self.model = model
        self.record = tuple(record)
        self.n_threads = n_threads
        # longest first, so that the running segments are always the first ones
        self.order = np.argsort([-s.steps for s in segments], kind="stable")
        self.segments = [segments[i] for i in self.order]
        self._rows = _integration_rows(model, self._data, self.segments)
        self._places = _places(self.segments)
        chains = [c for c in chains if any(s.carried is not None for s in c)]
        rows = [_integration_rows(model, self._data, c) for c in chains]
        self._has_open = any(np.isnan(r).any() for r in (self._rows, *rows))
        places = {id(s): i for i, s in enumerate(self.segments)}
        self._continuation = Continuation(model, chains, places, rows)
        self._held = HeldStart(model)
        self._closed = ClosedStarts(model, self.segments)
        self._widths = {name: int(np.size(getattr(self._data, name))) for name in self.record}
        self._batch: Batch | None = None
        self._model_batches: dict[int, Batch] = {}
        self._expanded: set[str] = set()
        self._pace = Pace()

    def limit_threads(self, threads: int) -> None:
        """Set the number of simulation threads; 0 uses all cores."""
        self.n_threads = threads
        self._batch, self._model_batches, self._expanded = None, {}, set()

    def set_controls(self, controls: Sequence[np.ndarray]) -> None:
        """Replace the controls of the segments, with the same lengths.

        Args:
          controls: control of each step ``(steps, nu)``, one per segment in the order of
            construction.
        """
        for place, index in enumerate(self.order):
            former = self.segments[place]
            if controls[index].shape != former.controls.shape:
                raise ValueError(
                    f"controls have shape {controls[index].shape}, expected that of the segment, "
                    f"{former.controls.shape}"
                )
            self.segments[place] = replace(former, controls=controls[index])

    def __getstate__(self) -> dict[str, Any]:
        """State for another process, which constructs its own batches."""
        state = {**self.__dict__, "_batch": None, "_model_batches": {}, "_expanded": set()}
        state.pop("_template", None)
        return state

    def _batch_of(self, nsim: int) -> Batch:
        if self._batch is None or self._batch.nsim < nsim:
            self._batch = Batch(self.model, nsim, self.n_threads)
            self._expanded = set()
        return self._batch

    def run(
        self,
        n: int,
        writes: Sequence[tuple[FieldWrite, np.ndarray]] = (),
        models: Sequence[mujoco.MjModel] | None = None,
        failures: dict[int, str] | None = None,
    ) -> Iterator[Block]:
        """Simulate ``n`` candidates over all segments.

        Args:
          n: number of candidates.
          writes: fields and their values ``(n, entries)`` for the candidates.
          models: one compiled model per candidate, instead of ``writes``.
          failures: filled with candidate -> reason where a simulation fails. Its records repeat
            the last valid values.

        Yields:
          Blocks of time, in order.

        Raises:
          TimeUpError: a time limit expired, see :mod:`trueup.time_limit`.
        """
        failures = {} if failures is None else failures
        with captured_warnings():
            batch = self._begin(n, writes, models, failures)
            yield from self._advance(batch, n, failures)

    def _begin(
        self,
        n: int,
        writes: Sequence[tuple[FieldWrite, np.ndarray]],
        models: Sequence[mujoco.MjModel] | None,
        failures: dict[int, str],
    ) -> Batch:
        """Return a batch with the models and initial states of ``n`` candidates."""
        count = len(self.segments)
        batch = self._batch_of(n * count) if models is None else self._new(n * count)
        states = [w for w in writes if w[0].field.startswith("state.")]
        if models is not None:
            batch.set_models([m for m in models for _ in range(count)])
        else:
            self._set_fields(batch, n, writes, failures)
        batch.warning[...] = 0
        fill = partial(self._fill, batch, self._fields(batch, models), failures)
        carried = self._carried(batch, n, states, fill, failures)
        self._set_states(batch, n, states, carried)
        shaped = SHAPES & self._expanded or models is not None
        model_of = batch.get_model if shaped else None
        self._closed.close(batch.state[: n * count], self._rows, count, model_of)
        first = np.array([s.first_control for s in self.segments])
        fill(np.arange(n * count), np.tile(first, (n, 1)))
        return batch

    def model_of(self, sim: int) -> mujoco.MjModel:
        """Model of one simulation of the last run that wrote fields, derived constants included."""
        assert self._batch is not None, "no run yet"
        return self._batch.get_model(sim)

    def _new(self, nsim: int) -> Batch:
        """Return a batch for given models, separate from batches with expanded fields."""
        if nsim not in self._model_batches:
            if len(self._model_batches) >= _KEPT_BATCHES:
                self._model_batches.clear()
            self._model_batches[nsim] = Batch(self.model, nsim, self.n_threads)
        return self._model_batches[nsim]

    def _fields(
        self, batch: Batch, models: Sequence[mujoco.MjModel] | None
    ) -> Callable[[str], Any]:
        """Values of a field of the model in simulations, by its name."""
        if models is not None:
            own, count = fields_of(models), len(self.segments)
            return lambda name: np.repeat(own(name), count, axis=0)

        def field(name: str) -> np.ndarray:
            if name in self._expanded:
                return batch.expand(name)
            value = model_field(self.model, name)
            return np.broadcast_to(value, (batch.nsim, *value.shape))

        return field

    def _fill(
        self,
        batch: Batch,
        fields: Callable[[str], np.ndarray],
        failures: dict[int, str],
        ids: np.ndarray,
        controls: np.ndarray,
    ) -> None:
        """Set open states of simulations to the steady state under their first command."""
        if not self._has_open:
            return
        attempt = partial(self._try, batch, failures, len(self.segments))
        self._held.fill(batch, ids, controls, lambda name: fields(name)[ids], attempt)

    def _carried(
        self, batch: Batch, n: int, writes, fill, failures: dict[int, str]
    ) -> list[np.ndarray]:
        """Final states of the simulation before the segments, from which they continue."""
        going_on = self._continuation
        if not going_on.taken_over:
            return []
        count = len(self.segments)
        width = 8 * n * len(going_on.chains) * max(self.model.nu, 1)

        def advance(ids: np.ndarray, steps: int, controls: np.ndarray) -> None:
            self._rollout(batch, steps, controls, ids, {}, failures)

        longest = max(16, BLOCK_BYTES // width)
        found = going_on.run(batch, n, count, writes, longest, advance, fill)
        self._collect_warnings(batch, n, failures)
        batch.warning[...] = 0
        return found

    def _set_states(self, batch: Batch, n: int, writes, carried: list[np.ndarray]) -> None:
        count = len(self.segments)
        batch.state[: n * count] = np.tile(self._rows, (n, 1))
        taken_over = self._continuation.taken_over
        for (place, columns), values in zip(taken_over, carried, strict=True):
            batch.state[np.ix_(np.arange(n) * count + place, columns)] = values
        for write, values in writes:
            rows = batch.bind(write.field.removeprefix("state."))[: n * count]
            for s in self._places.get(write.sequence, ()):
                # rows of one segment of every candidate, a strided view of the state
                rows[s::count][:, write.entries] = values

    def _set_fields(self, batch: Batch, n: int, writes, failures: dict[int, str]) -> None:
        count = len(self.segments)
        physical = [w for w in writes if not w[0].field.startswith("state.")]
        former, self._expanded = self._expanded, {write.field for write, _ in physical}
        for name in former:
            # reset fields written by an earlier run
            batch.expand(name)[...] = model_field(self.model, name)
        for write, values in physical:
            flat = batch.expand(write.field)
            flat = flat.reshape(flat.shape[0], -1)
            flat[: n * count, write.entries] = np.repeat(values, count, axis=0)
        if physical or former:
            ids = np.arange(n * count)
            # without it the constants derived from these fields silently keep their old values
            self._try(batch, failures, count, lambda: batch.set_const(ids))

    def _advance(self, batch: Batch, n: int, failures: dict[int, str]) -> Iterator[Block]:
        count = len(self.segments)
        steps = np.array([s.steps for s in self.segments])
        width = sum(self._widths.values()) + self.model.nu
        done = 0
        while done < steps.max(initial=0):
            running = int(np.sum(steps > done))
            limit = max(16, BLOCK_BYTES // (8 * n * running * max(width, 1)))
            todo = int(min(steps[running - 1] - done, limit))
            ids = (np.arange(n)[:, None] * count + np.arange(running)).reshape(-1)
            control = np.stack([s.controls[done : done + todo] for s in self.segments[:running]])
            control = np.broadcast_to(control, (n, *control.shape)).reshape(len(ids), todo, -1)
            out = {name: self._buffer(name, len(ids), todo) for name in self.record}
            self._rollout(batch, todo, control, ids, out, failures)
            self._collect_warnings(batch, n, failures)
            yield Block(
                done,
                self.order[:running],
                {k: v.reshape(n, running, todo, self._widths[k]) for k, v in out.items()},
            )
            done += todo

    def _rollout(
        self,
        batch: Batch,
        steps: int,
        control: np.ndarray,
        ids: np.ndarray,
        out: dict[str, np.ndarray],
        failures: dict[int, str],
    ) -> None:
        """Simulate in chunks, checking time limits between them.

        Args:
          batch: the batch.
          steps: number of steps.
          control: ``(simulations, steps, nu)``.
          ids: simulations.
          out: filled with the recorded fields ``(simulations, steps, ...)``.
          failures: filled with candidate -> reason.
        """
        done = 0
        while done < steps:
            check_time()
            todo = self._pace.steps(len(ids), steps - done)
            rows = slice(done, done + todo)
            # the whole array is written in place; a part of it is not contiguous
            part: dict[Any, np.ndarray]
            part = out if todo == steps else {n: np.zeros_like(v[:, rows]) for n, v in out.items()}
            began = time.perf_counter()
            call = partial(batch.rollout, todo, np.ascontiguousarray(control[:, rows]), ids=ids)
            if out:
                call = partial(call, record=self.record, out=part)
            self._try(batch, failures, len(self.segments), call)
            self._pace.took(len(ids), todo, time.perf_counter() - began)
            if part is not out:
                for name, values in part.items():
                    out[name][:, rows] = values
            done += todo

    def _buffer(self, name: str, rows: int, steps: int) -> np.ndarray:
        value = getattr(self._data, name)
        whole = isinstance(value, int)  # counts, which MuJoCo records as 32-bit integers
        return np.zeros((rows, steps, *np.shape(value)), np.int32 if whole else float)

    @property
    def _data(self) -> mujoco.MjData:
        if not hasattr(self, "_template"):
            self._template = mujoco.MjData(self.model)
        return self._template

    def _try(self, batch: Batch, failures: dict[int, str], count: int, call) -> None:
        """Run a batch call; simulations in which MuJoCo raises are failures of their candidate."""
        try:
            call()
        except BatchError as error:
            for sim in error.ids:
                failures.setdefault(int(sim) // count, f"MuJoCo error: {batch.error(int(sim))}")

    def _collect_warnings(self, batch: Batch, n: int, failures: dict[int, str]) -> None:
        count = len(self.segments)
        raised = batch.warning[: n * count, :, 1].any(axis=1).reshape(n, count)
        for candidate in np.flatnonzero(raised.any(axis=1)):
            if int(candidate) not in failures:
                sim = candidate * count + int(np.argmax(raised[candidate]))
                failures[int(candidate)] = warning_reasons(batch.warning[sim])


def _places(segments: Sequence[Segment]) -> dict[str, list[int]]:
    """Segments by the sequence that state targets address; '' addresses all starts."""
    out: dict[str, list[int]] = {}
    for place, segment in enumerate(segments):
        for name in {segment.sequence, "" if segment.begins else segment.sequence}:
            out.setdefault(name, []).append(place)
    return out


def model_field(model: mujoco.MjModel, name: str) -> np.ndarray:
    """Array of a field of MjModel, or of MjOption as ``opt.<name>``."""
    owner = model.opt if name.startswith("opt.") else model
    return np.asarray(getattr(owner, name.removeprefix("opt.")))


def written_models(
    model: mujoco.MjModel, writes: Sequence[tuple[FieldWrite, np.ndarray]], n: int
) -> list[mujoco.MjModel]:
    """Models of a batch of ``n`` simulations into whose fields ``(n, entries)`` were written.

    Raises:
      BatchError, ValueError: a field cannot be written.
    """
    batch = Batch(model, n, 1)
    for write, values in writes:
        batch.expand(write.field).reshape(n, -1)[:, write.entries] = values
    batch.set_const()
    return [batch.get_model(i) for i in range(n)]


def _integration_rows(
    model: mujoco.MjModel, data: mujoco.MjData, segments: Sequence[Segment]
) -> np.ndarray:
    """Complete state rows ``(segments, nstate)``.

    Entries outside the full-physics state are the model's defaults: applied forces, mocap bodies,
    active equalities, userdata, the warm start of the solver.
    """
    rows = np.empty((len(segments), mujoco.mj_stateSize(model, INTEGRATION)))
    for row, segment in zip(rows, segments, strict=True):
        mujoco.mj_resetData(model, data)
        state = with_start_time(model, segment.initial_state, segment.clock)
        mujoco.mj_setState(model, data, state, FULL_PHYSICS)
        mujoco.mj_getState(model, data, row, INTEGRATION)
    return rows
