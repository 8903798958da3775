"""Agreement of a device with the CPU, checked once for each set of fields that candidates change.

A feature that MuJoCo Warp reads otherwise, or a constant that it derives once for all worlds, would
be silently wrong. So the first steps of two candidates are simulated by both, and the models that
the device would make of the candidates are compared with the one it has.
"""

from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch
from mujoco.batch import SimulationError as BatchError

from trueup.errors import SimulationError
from trueup.simulation.warp.devices import WarpDevice, warp_modules
from trueup.simulation.warp.world_fields import structural_difference
from trueup.simulation.warp.worlds import in_world_order

_STEPS = 20
"""Steps of the comparison: long enough for velocities, delays and contacts to act, too short for
chaos to separate single from double precision."""

_SHARE, _FLOOR = 0.02, 1e-4  # of the motion in these steps; least difference [rad, m]
_ROUNDING, _SAFETY = 1e-6, 10.0  # relative change of a start, and factor of its consequences
_UNSTABLE = 1e3 * _ROUNDING


def check_structure(
    model: mujoco.MjModel, moved: mujoco.MjModel, rows: set[str], device: WarpDevice
) -> None:
    """Raise SimulationError if a candidate's model differs in what all worlds share."""
    wp, mjw = warp_modules()
    with wp.ScopedDevice(device.alias):
        name = structural_difference(mjw.put_model(model), mjw.put_model(moved), rows)
    if name:
        raise SimulationError(
            f"a parameter changes {name}, which MuJoCo Warp has once for all candidates; device: "
            "cpu simulates it"
        )


class Pilot:
    """First steps of some candidates on the CPU.

    Args:
      engine: the engine.
      batch: its batch, with the models and initial states of the candidates.
      candidates: the candidates to simulate.
    """

    def __init__(self, engine: Any, batch: Batch, candidates: list[int]):
        self.candidates = candidates
        self._model = engine.model
        segments = engine.segments
        count = len(segments)
        self._steps = min(_STEPS, max(s.steps for s in segments))
        ids = np.array([c * count + s for c in candidates for s in range(count)])
        held = [np.minimum(np.arange(self._steps), max(s.steps - 1, 0)) for s in segments]
        controls = np.stack(
            [
                s.controls[h] if s.steps else np.zeros((self._steps, engine.model.nu))
                for s, h in zip(segments, held, strict=True)
            ]
        )
        controls = np.tile(controls, (len(candidates), 1, 1))
        kept = batch.state[ids]
        batch.warning[...] = 0
        found = self._simulated(batch, ids, controls)
        unstable = batch.warning[ids, :, 1].any(axis=1)
        self.contacts = int(found["ncon"].max(initial=0))
        self.constraints = int(found["nefc"].max(initial=0))
        # how far single precision may lead: an unstable candidate multiplies its rounding
        batch.state[ids] = kept
        for name in ("qpos", "qvel"):
            values = batch.bind(name)
            values[ids] += _ROUNDING * (1 + np.abs(values[ids]))
        nudged = self._simulated(batch, ids, controls)
        # warnings of these steps are found again by the device
        batch.warning[...] = 0
        batch.state[ids] = kept
        shape = (len(candidates), count, self._steps, engine.model.nq)
        self._qpos = found["qpos"].reshape(shape)
        with np.errstate(invalid="ignore"):
            self._spread = np.abs(nudged["qpos"] - found["qpos"]).reshape(shape)
        self._spread[unstable.reshape(shape[:2])] = np.inf

    def _simulated(self, batch: Batch, ids: np.ndarray, controls: np.ndarray) -> dict[Any, Any]:
        record = ("qpos", "ncon", "nefc")
        try:
            return batch.rollout(self._steps, controls, record=record, ids=ids)
        except BatchError:
            whole = np.full((len(ids), self._steps, self._model.nq), np.nan)
            return {"qpos": whole, "ncon": np.zeros(1, int), "nefc": np.zeros(1, int)}

    def compare(self, worlds: Any, starts: dict[str, np.ndarray], places: range) -> None:
        """Compare with the device, which simulates the segments ``places``.

        Raises:
          SimulationError: a joint moves differently.
        """
        steps = min(self._steps, worlds.steps)
        worlds.set_state(in_world_order(starts, places))
        worlds.set_progress(0, *worlds.no_progress())
        worlds.run(steps, lambda: None)
        if worlds.needed() is not None:
            return  # tables grow in the run; positions without all contacts mean nothing
        shape = (worlds.segments, worlds.candidates, -1)
        reached = worlds.data.qpos.numpy().astype(float).reshape(shape)[:, self.candidates]
        failed = worlds.failed()[:, self.candidates, 0] > 0
        part = slice(places[0], places[-1] + 1)
        wanted = np.swapaxes(self._qpos[:, part, steps - 1], 0, 1)
        began = np.swapaxes(starts["qpos"][self.candidates][:, part], 0, 1)
        path = np.abs(np.swapaxes(self._qpos[:, part, :steps], 0, 1) - began[:, :, None])
        spread = np.swapaxes(self._spread[:, part, :steps].max(axis=2), 0, 1)
        allowed = _FLOOR + _SHARE * path.max(axis=2, initial=0.0) + _SAFETY * spread
        apart = np.abs(reached - wanted)
        # an unstable candidate says nothing about the model
        stable = (np.isfinite(wanted) & (spread < _UNSTABLE)).all(axis=2)
        usable = stable & ~failed
        over = (apart > allowed) & usable[:, :, None]
        if not over.any():
            return
        column = int(np.argmax(over.any(axis=(0, 1))))
        joint = int(np.searchsorted(self._model.jnt_qposadr, column, side="right")) - 1
        name = self._model.joint(joint).name or f"joint {joint}"
        largest = float(np.where(over, apart, 0.0)[:, :, column].max())
        raise SimulationError(
            f"MuJoCo Warp moves {name!r} differently than MuJoCo: {largest:.2g} apart after "
            f"{steps} steps, more than rounding; device: cpu simulates the model as MuJoCo does"
        )
