"""Agreement of recorded torques with inverse dynamics under an interpretation of the columns."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import mujoco
import numpy as np

from trueup.sysid.importing.evidence.reading import JointSeries, Reading, values_of
from trueup.sysid.torque.link_regressor import link_regressor, parameters_of

CLEARLY = 0.8  # torque error ratio of another interpretation below which it is preferred
TELLS = 1.05  # the same ratio above which the given interpretation is confirmed
WEIGHT = "by the weight of the links"
_SAMPLES = 300  # compared samples of motion and torque
_AT_ONCE = 16  # interpretations whose torques are computed together, in bounded memory


class TorqueAgreement:
    """Torques of inverse dynamics under an interpretation, compared with recorded ones."""

    def __init__(self, model: mujoco.MjModel, readings: Sequence[Reading], series: JointSeries):
        assert series.effort is not None
        self.model = model
        count = len(series.times)
        wide = 2 * max(1, count // 600) + 1
        edge = max(2 * wide, count // 50)
        self.rows = slice(edge, max(count - edge, edge + 1), max(1, count // _SAMPLES))
        self.position = series.position[self.rows]
        speed = np.stack(
            [
                np.gradient(values_of(r, series.position[:, k]), series.times)
                for k, r in enumerate(readings)
            ],
            axis=1,
        )
        kernel = np.ones(wide) / wide
        speed = np.stack([np.convolve(c, kernel, "same") for c in speed.T], axis=1)
        self.speed = speed[self.rows]
        self.acceleration = np.gradient(speed, series.times, axis=0)[self.rows]
        self.effort = series.effort[self.rows]
        self.signs = np.array([np.sign(r.scale) for r in readings])
        self.parameters = parameters_of(model)

    def error(self, readings: Sequence[Reading], order: Sequence[int] | None = None) -> float:
        """Relative error of all torques after the best gain, friction and armature of each joint.

        The torque of a mirrored joint is mirrored too.

        Args:
          readings: interpretation of the columns.
          order: index of the reading with the columns of each joint; None: its own.
        """
        return self.errors([readings], [order])[0]

    def errors(
        self,
        candidates: Sequence[Sequence[Reading]],
        orders: Sequence[Sequence[int] | None] | None = None,
    ) -> list[float]:
        """The error of each of several interpretations, see :meth:`error`."""
        orders = [None] * len(candidates) if orders is None else orders
        out = []
        for parts in self._parts(candidates, orders):
            total = 0.0
            for rest, load, spread in parts:
                # the gain of the torque is positive: the torque of the links must not be inverted
                size = float(load @ load)
                gain = max(float(load @ rest) / size, 0.0) if size > 1e-12 else 0.0
                left = rest - gain * load
                total += float(left @ left) / spread if spread > 0 else 0.0
            out.append(float(np.sqrt(total / len(parts))) + 1e-9)
        return out

    def gains(self, readings: Sequence[Reading]) -> list[tuple[float, float]]:
        """Recorded effort per torque of the links for each joint, and its standard error.

        The torque of armature, friction and an offset is removed first, so that only weight and
        inertia that they do not explain count.
        """
        out = []
        for rest, load, _ in next(self._parts([readings], [None])):
            size = float(load @ load)
            if size < 1e-12:
                out.append((0.0, np.inf))
                continue
            gain = float(load @ rest) / size
            left = rest - gain * load
            out.append((gain, float(np.std(left)) / np.sqrt(size) + 1e-12))
        return out

    def _parts(
        self,
        candidates: Sequence[Sequence[Reading]],
        orders: Sequence[Sequence[int] | None],
    ) -> Iterator[list[tuple[np.ndarray, np.ndarray, float]]]:
        """Effort, torque of the links without friction and size of the effort, by joint."""
        for first in range(0, len(candidates), _AT_ONCE):
            placed, states = [], []
            for given, order in zip(
                candidates[first : first + _AT_ONCE], orders[first : first + _AT_ONCE], strict=True
            ):
                taken = list(range(len(given))) if order is None else list(order)
                readings = [
                    replace(given[t], joint=r.joint) for r, t in zip(given, taken, strict=True)
                ]
                placed.append((taken, readings))
                states.append(self._states(taken, readings))
            qpos, qvel, qacc = (np.concatenate(part) for part in zip(*states, strict=True))
            needed = link_regressor(self.model, qpos, qvel, qacc) @ self.parameters
            for (taken, readings), (_, speed, bend), own in zip(
                placed, states, np.split(needed, len(placed)), strict=True
            ):
                yield self._loads(taken, readings, speed, bend, own)

    def _states(
        self, taken: Sequence[int], readings: Sequence[Reading]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, velocities and accelerations of the model under an interpretation."""
        model = self.model
        flips = np.array([np.sign(r.scale) for r in readings]) * self.signs[list(taken)]
        qpos = np.tile(model.qpos0, (len(self.position), 1))
        qvel, qacc = np.zeros((len(qpos), model.nv)), np.zeros((len(qpos), model.nv))
        for i, (k, reading) in enumerate(zip(taken, readings, strict=True)):
            joint = reading.joint
            qpos[:, model.jnt_qposadr[joint]] = values_of(reading, self.position[:, k])
            qvel[:, model.jnt_dofadr[joint]] = flips[i] * self.speed[:, k]
            qacc[:, model.jnt_dofadr[joint]] = flips[i] * self.acceleration[:, k]
        return qpos, qvel, qacc

    def _loads(
        self,
        taken: Sequence[int],
        readings: Sequence[Reading],
        qvel: np.ndarray,
        qacc: np.ndarray,
        needed: np.ndarray,
    ) -> list[tuple[np.ndarray, np.ndarray, float]]:
        out = []
        for k, reading in zip(taken, readings, strict=True):
            dof = int(self.model.jnt_dofadr[reading.joint])
            effort = self.effort[:, k] * np.sign(reading.scale)
            friction = [
                qvel[:, dof],
                np.tanh(qvel[:, dof] / 0.02),
                qacc[:, dof],
                np.ones(len(qvel)),
            ]
            basis = np.column_stack(friction)
            rest = effort - basis @ np.linalg.lstsq(basis, effort, rcond=None)[0]
            load = needed[:, dof] - basis @ np.linalg.lstsq(basis, needed[:, dof], rcond=None)[0]
            out.append((rest, load, float(np.sum((effort - effort.mean()) ** 2))))
        return out
