# pyright: reportMissingImports=false
"""Worlds of MuJoCo Warp in which walks advance together."""

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from trueup.gait.walk import _kernel as k
from trueup.gait.walk.perturbations import friction_rows
from trueup.gait.walk.records import End
from trueup.simulation.warp.devices import WarpDevice, warp_modules
from trueup.simulation.warp.numba_text import array_of
from trueup.simulation.warp.world_fields import shaped, with_rows
from trueup.simulation.warp.worlds import (
    STATE,
    Capacity,
    fill,
    larger_capacity,
    memory_errors,
    numbers_of,
)

LAST_STEP = ("sensordata", "actuator_force")
"""Fields that hold values of the last step until the next one."""

_OF_CONTROLLERS = ("registers", "rings", "measured", "clocks", "curve", "exo", "energy")
"""Fields of walks that a controller keeps from one step to the next, or only reads."""

_THREADS = 32
"""Threads of a block of the controllers: few, so that their long steps spread over the card."""


class Controllers:
    """Controller, body and rules on a device, shared by all walks of a simulation."""

    def __init__(self, simulation: Any, device: WarpDevice):
        from trueup.gait.walk import warp_kernel as w

        wp, _ = warp_modules()
        self.simulation, self.device = simulation, device
        to, program, body = device.alias, simulation.program, simulation.body
        self.program, self.body = w.Program(), w.BodyMap()
        for name, struct in (
            ("head", w.Head), ("lines", w.Line), ("muscles", w.Group), ("reflexes", w.Reflex),
            ("terms", w.Term),
        ):  # fmt: skip
            setattr(self.program, name, array_of(getattr(program, name), struct, to))
        self.body.parts = array_of(body.parts, w.Parts, to)
        self.body.muscles = array_of(body.muscles, w.Muscle, to)
        self.body.soles = wp.array(body.soles, dtype=wp.int32, device=to)
        self.fibers = array_of(simulation.fibers, w.Fiber, to)
        self.rules = array_of(simulation.rules, w.Rules, to)
        model = simulation.walker.model
        self.early = wp.array(_early_sensors(model), dtype=wp.int32, device=to)
        self.rest = wp.array(_at_rest(simulation), dtype=wp.float32, device=to)
        self.last = wp.array([simulation.runs + 1], dtype=wp.int32, device=to)


class WalkWorlds:
    """Worlds of walks that advance together, each with its controller.

    Args:
      controllers: what they share.
      put: the model on the device.
      count: number of worlds.
      like: rows of walks on the host, of which a world has one of each.
      frames: most frames between two readings.
      slippery: whether each world has its friction.
      capacity: numbers of contacts and constraints per world.

    Raises:
      MemoryError: the device has not enough memory.
    """

    def __init__(
        self,
        controllers: Controllers,
        put: Any,
        count: int,
        like: k.Walks,
        frames: int,
        slippery: bool,
        capacity: Capacity,
    ):
        from trueup.gait.walk import warp_kernel as w

        wp, mjw = warp_modules()
        self.shared, self.count, self.capacity = controllers, count, capacity
        self.device, self._graph = controllers.device, None
        self._mujoco = controllers.simulation.walker.model
        self._slippery, self._struct = slippery, w.Disturbance
        rows = friction_rows(self._mujoco, np.ones(count)) if slippery else {}
        with wp.ScopedDevice(self.device.alias), memory_errors():
            self.model, self._rows = with_rows(put, rows)
            self.data = mjw.make_data(
                self._mujoco,
                nworld=count,
                nconmax=capacity.contacts,
                njmax=capacity.constraints,
            )
            self._fields, self._walks = w.Fields(), w.Walks()
            for name in k.Fields._fields:
                if name not in ("warning", "sensordata"):
                    setattr(self._fields, name, numbers_of(getattr(self.data, name)))
            kinds = int(mujoco.mjtWarning.mjNWARNING)
            self._fields.warning = wp.zeros((count, kinds, 2), dtype=wp.int32)
            for name, array in like._asdict().items():
                shape = (count, *array.shape[1:])
                kind = wp.int32 if name == "status" else wp.float32
                if name == "disturbances":
                    kind = w.Disturbance
                if name == "frames":
                    shape = (count, frames, array.shape[2])
                setattr(self._walks, name, wp.zeros(shape, dtype=kind))
            self._failed = wp.zeros((count, 2), dtype=wp.int32)
            self._peaks = wp.zeros(4, dtype=wp.int32)
            self._tick = wp.zeros(1, dtype=wp.int32)
            # MuJoCo Warp clears all sensors before those of a new position
            self._fields.sensordata = wp.zeros_like(self.data.sensordata)
        self._capture()

    def load(
        self,
        walks: k.Walks,
        state: dict[str, np.ndarray],
        ids: np.ndarray,
        tick: int,
        factors: np.ndarray,
    ) -> None:
        """Load walks that continue at a step of the controllers; further worlds rest.

        Args:
          walks: rows of walks.
          state: state of their simulations, see :data:`STATE` and :data:`LAST_STEP`.
          ids: the rows to load.
          tick: number of earlier steps of the controllers.
          factors: factors on the friction of each row.
        """
        from trueup.gait.walk import warp_kernel as w
        from trueup.simulation.warp import _kernels

        wp, _ = warp_modules()
        rows = np.append(ids, np.repeat(ids[:1], self.count - len(ids)))
        resting = np.arange(self.count) >= len(ids)
        with wp.ScopedDevice(self.device.alias):
            for name in _OF_CONTROLLERS:
                fill(getattr(self._walks, name), getattr(walks, name)[rows])
            records = array_of(walks.disturbances[rows], self._struct, self.device.alias)
            wp.copy(self._walks.disturbances, records)
            for name, values in state.items():
                fill(getattr(self.data, name), values[rows])
            if self._slippery:
                for name, values in friction_rows(self._mujoco, factors[rows]).items():
                    self._rows[name].assign(shaped(values, self._rows[name]))
            self._fields.warning.zero_()
            marks = np.zeros((self.count, 2), np.int32)
            marks[resting, 0] = w.AT_REST
            self._failed.assign(marks)
            self._tick.fill_(tick)
            wp.launch(_kernels.check_states, self.count, self._check())
            self._new_position()
        ended = np.where(resting, int(End.stopped), int(End.running))
        self._begin_block(ended)

    def run(self, steps: int, to_end: bool, pause: Callable[[], None]) -> None:
        """Run the controllers for a number of steps, each with the steps of the model.

        Args:
          steps: the number.
          to_end: whether a last sensing and recording ends the walks.
          pause: called between steps, now and then; may raise to stop.
        """
        wp, _ = warp_modules()
        self._begin_block(self._walks.status.numpy()[:, k.Status.ended])
        with wp.ScopedDevice(self.device.alias):
            for number in range(steps):
                if number % 64 == 0:
                    pause()
                if self._graph is None:
                    self._launch()
                else:
                    wp.capture_launch(self._graph)
            if to_end:
                self._control()
            wp.synchronize_device()

    def read(self, walks: k.Walks, state: dict[str, np.ndarray], ids: np.ndarray) -> None:
        """Read the walks of the last steps into the rows ``ids``: new frames, state, ends."""
        count = len(ids)
        status = self._walks.status.numpy()[:count]
        frames = self._walks.frames.numpy()[:count]
        lengths = walks.status[ids, k.Status.length]
        most = min(frames.shape[1], walks.frames.shape[1] - int(lengths.max(initial=0)))
        new = np.arange(most) < status[:, k.Status.length, None]
        rows, places = np.nonzero(new)
        walks.frames[ids[rows], lengths[rows] + places] = frames[rows, places]
        walks.status[ids, k.Status.length] += new.sum(axis=1)
        walks.status[ids, k.Status.ended] = status[:, k.Status.ended]
        for name in _OF_CONTROLLERS:
            getattr(walks, name)[ids] = getattr(self._walks, name).numpy()[:count]
        for name, values in state.items():
            owner = self._fields if name == "sensordata" else self.data
            values[ids] = getattr(owner, name).numpy()[:count].reshape(count, -1)

    def needed(self) -> Capacity | None:
        """A larger capacity, if tables were too small, see :func:`larger_capacity`."""
        return larger_capacity(self._peaks, self.count, self.capacity)

    def _begin_block(self, ended: np.ndarray) -> None:
        status = np.zeros((self.count, len(k.Status)), np.int32)
        status[:, k.Status.ended] = ended
        self._walks.status.assign(status)
        self._peaks.zero_()
        self.data.overflow.zero_()

    def _capture(self) -> None:
        """Compile the kernels, and on a card capture a step as a graph."""
        wp, _ = warp_modules()
        if not self.device.is_card:
            return
        with wp.ScopedDevice(self.device.alias):
            # kernels are compiled and loaded before a capture, which must not allocate
            self._launch()
            with wp.ScopedCapture(device=self.device.alias) as capture:
                self._launch()
            self._graph = capture.graph

    def _launch(self) -> None:
        """A step of the controllers and the steps of the model until the next one."""
        from trueup.simulation.warp import _kernels

        wp, mjw = warp_modules()
        d = self.data
        self._control()
        mjw.step2(self.model, d)
        for _ in range(self.shared.simulation.steps - 1):
            mjw.step(self.model, d)
        wp.launch(_kernels.check_states, self.count, self._check())
        self._new_position()
        numbers = [d.nefc, d.nacon, d.ncollision, d.overflow, self._failed, self._peaks]
        wp.launch(_kernels.count, self.count, numbers)
        wp.launch(_kernels.advance, 1, [self._tick])

    def _control(self) -> None:
        from trueup.gait.walk import warp_kernel as w

        wp, _ = warp_modules()
        s = self.shared
        shared = [s.program, s.body, s.fibers, s.rules]
        own = [self._fields, self._walks, self._tick, s.simulation.runs, self._failed]
        wp.launch(w.control, self.count, [*shared, *own], block_dim=_THREADS)

    def _check(self) -> list[Any]:
        d, s = self.data, self.shared
        state = (d.qpos, d.qvel, d.qacc, d.qacc_warmstart, d.act)
        return [s.last, self.count, self._tick, s.rest, *state, self._failed]

    def _new_position(self) -> None:
        """Fields of a new position, and sensors: those of forces are of the last step."""
        from trueup.gait.walk import warp_kernel as w

        wp, mjw = warp_modules()
        own, early = self._fields.sensordata, self.shared.early
        wp.copy(own, self.data.sensordata)
        mjw.step1(self.model, self.data)
        if len(early):
            wp.launch(w.copy_columns, (self.count, len(early)), [early, self.data.sensordata, own])


def initial_state(batch: Any) -> dict[str, np.ndarray]:
    """State of the simulations of a batch, and what its last step left, ``(n, width)`` each."""
    arrays = {name: np.asarray(batch.bind(name)) for name in (*STATE, *LAST_STEP)}
    return {name: a.reshape(len(a), -1).copy() for name, a in arrays.items() if a.size}


def _early_sensors(model: mujoco.MjModel) -> np.ndarray:
    """Places of the values of sensors that do not depend on forces."""
    early = np.flatnonzero(model.sensor_needstage != mujoco.mjtStage.mjSTAGE_ACC)
    parts = [model.sensor_adr[i] + np.arange(model.sensor_dim[i]) for i in early]
    return np.concatenate(parts) if parts else np.zeros(0, int)


def _at_rest(simulation: Any) -> np.ndarray:
    """A pose without contacts ``(nq,)``, high above the ground, in which ended walks rest."""
    walker = simulation.walker
    pose = walker.model.key_qpos[walker.keyframe(simulation.settings.pose)].copy()
    pose[walker.model.joint(walker.anatomy.root.upward).qposadr[0]] += 100.0
    return pose
