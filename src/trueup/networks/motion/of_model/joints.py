"""Joints of a MuJoCo model as a differentiable step, with a torque correction for each joint.

The gradient is the adjoint of the simulation: each sample is linearised by forward differences in
the batch engine, all samples of all windows at once, when the first gradient is computed. The cost
is three simulations of a sample per joint (its angle, its speed, its torque), independent of the
number of weights: with two joints, 2.9 times the window alone. Finite differences of the 1954
weights would cost as many windows, and an evolution strategy one per member.
"""

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch
from mujoco.batch import SimulationError as BatchError
from torch import Tensor, nn

from trueup.errors import RunDirectoryError
from trueup.simulation.engine.segment import INTEGRATION

STEP = 1e-6
"""Step of the forward differences, as in MuJoCo [rad, rad/s, N m]."""
_DRIVEN = mujoco.mjtState.mjSTATE_CTRL | mujoco.mjtState.mjSTATE_QFRC_APPLIED
_MOST_SIMULATIONS = 16384
_WORTH_THREADS = 256


class ModelBase:
    """The unchanged model of an experiment with its actuators: the base of its corrections."""

    kind = "model"
    words = "model"
    joint = None  # it has several joints, none with a servo model file
    gains: Mapping[float, float] = {}

    def __init__(self, model: mujoco.MjModel, file: str):
        self.model, self.file = model, file

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"kind": self.kind, "file": self.file}


class ModelJoints(nn.Module):
    """All joints of a model, simulated from sample to sample in a batch.

    Args:
        base: model with hinge and slide joints only.
        substeps: time steps per sample.
        threads: number of threads; 0 uses all cores.
    """

    names: tuple[str, ...] = ()
    gains: tuple[float, ...] = ()

    def __init__(self, base: ModelBase, substeps: int, threads: int = 0):
        super().__init__()
        self.base, self.substeps, self.threads = base, substeps, threads
        self.steps = nn.Parameter(torch.zeros(0, dtype=torch.float64))
        self.gain_steps = nn.Parameter(torch.zeros(0, dtype=torch.float64))
        self._batches: dict[int, Batch] = {}

    @property
    def moved(self) -> list[nn.Parameter]:
        """Trainable parameters in addition to the networks: none."""
        return []

    def trained_base(self) -> ModelBase:
        """The base, unchanged."""
        return self.base

    def read_base(self, content: Mapping[str, Any], where: str) -> ModelBase:
        """The base, checked against that of a checkpoint.

        Raises:
            RunDirectoryError: the checkpoint belongs to another model.
        """
        if dict(content) != self.base.to_dict():
            raise RunDirectoryError(
                f"{where} belongs to the model {content.get('file')!r}, not {self.base.file!r}"
            )
        return self.base

    def advance(
        self, states: np.ndarray, controls: np.ndarray, torques: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """States after a sample, and whether each is valid: a simulation may diverge.

        Args:
            states: complete states, (n, state size) of ``mjSTATE_INTEGRATION``.
            controls: controls of each step of the sample, (n, substeps, nu).
            torques: torques in addition to those of the actuators, (n, nv) [N m].
        """
        count, model = len(states), self.base.model
        batch = self._batches.get(count)
        if batch is None:
            if len(self._batches) > 3:
                self._batches.clear()
            # starting threads takes longer than a few simulations
            threads = self.threads if count * self.substeps >= _WORTH_THREADS else 1
            batch = self._batches[count] = Batch(model, count, threads)
        batch.state[...] = states
        batch.warning[...] = 0
        held = np.broadcast_to(torques[:, None], (count, self.substeps, model.nv))
        driven = np.concatenate([controls, held], axis=2)
        valid = np.ones(count, bool)
        try:
            batch.rollout(self.substeps, driven, control_spec=int(_DRIVEN))
        except BatchError as error:
            valid[[int(sim) for sim in error.ids]] = False
        valid &= ~batch.warning[:, :, 1].any(axis=1)
        return batch.state.copy(), valid

    def slopes(
        self, states: np.ndarray, controls: np.ndarray, torques: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """Derivatives of angles and speeds after samples, (n, 2 nv, 3 nv).

        With respect to the angles, speeds and torques before; ``after``: angles and speeds after
        the samples, (n, 2 nv).
        """
        model = self.base.model
        nv, found = model.nv, []
        chunk = max(1, _MOST_SIMULATIONS // (3 * nv))
        for first in range(0, len(states), chunk):
            part = slice(first, first + chunk)
            rows, count = states[part], len(states[part])
            moved = np.repeat(rows[:, None], 3 * nv, axis=1)
            pushed = np.repeat(torques[part][:, None], 3 * nv, axis=1)
            places = np.arange(nv)
            moved[:, places, self.angles + places] += STEP
            moved[:, nv + places, self.speeds + places] += STEP
            pushed[:, 2 * nv + places, places] += STEP
            driven = np.repeat(controls[part], 3 * nv, axis=0)
            states_after, _ = self.advance(
                moved.reshape(count * 3 * nv, -1), driven, pushed.reshape(-1, nv)
            )
            ends = self.joints_of(states_after).reshape(count, 3 * nv, 2 * nv)
            found.append((ends - after[part][:, None]).transpose(0, 2, 1) / STEP)
        return np.concatenate(found)

    @property
    def angles(self) -> int:
        """Index of the angles in a state, after the time."""
        return 1

    @property
    def speeds(self) -> int:
        """Index of the speeds in a state."""
        return 1 + self.base.model.nq

    def joints_of(self, states: np.ndarray) -> np.ndarray:
        """Angles and speeds of states, (n, 2 nv)."""
        return states[:, self.angles : self.speeds + self.base.model.nv]

    def state_of(self, angles: np.ndarray, speeds: np.ndarray, time: float) -> np.ndarray:
        """Complete state with all entries but angles, speeds and time at rest, (state size,)."""
        model, data = self.base.model, mujoco.MjData(self.base.model)
        data.qpos[:], data.qvel[:], data.time = angles, speeds, time
        state = np.empty(mujoco.mj_stateSize(model, INTEGRATION))
        mujoco.mj_getState(model, data, state, INTEGRATION)
        return state


class ModelWindows:
    """A batch of windows of recordings; rows are the joints, each with all windows.

    Args:
        joints: the simulator.
        position, speed: recorded angle and speed, (samples, nv * windows).
        controls: controls of each step, (samples - 1, windows, substeps, nu).
        command: control of the position servo of each joint, (samples, nv * windows); NaN where
            the joint has none.
        states: complete states at the start, (windows, state size).
        feature_names: names of the inputs of the corrections.
        features: function of names, angle, command and speed that returns the inputs.
    """

    def __init__(
        self,
        joints: ModelJoints,
        position: Tensor,
        speed: Tensor,
        controls: np.ndarray,
        command: Tensor,
        states: np.ndarray,
        feature_names: tuple[str, ...],
        features: Any,
    ):
        self.joints, self.position, self.speed = joints, position, speed
        self.controls, self.command, self.feature_names = controls, command, feature_names
        self._features = features
        self._state = states
        self._tape: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self._slopes: dict[int, Tensor] = {}

    def features(self, step: int, position: Tensor, speed: Tensor) -> Tensor:
        """Inputs of the corrections at a sample, (nv * windows, features)."""
        return self._features(self.feature_names, position, self.command[step], speed)

    def after(
        self, step: int, position: Tensor, speed: Tensor, correction: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Angles and speeds at the next sample; samples are simulated in order."""
        found = _ModelSample.apply(self, step, position, speed, correction)
        return found[0], found[1]

    def advance(self, step: int, torques: np.ndarray, keep: bool) -> np.ndarray:
        """Angles and speeds after a sample, (windows, 2 nv)."""
        before, controls = self._state, self.controls[step]
        self._state, valid = self.joints.advance(before, controls, torques)
        after = self.joints.joints_of(self._state).copy()
        after[~valid] = np.nan
        if keep:
            self._tape[step] = (before, torques, after)
        return after

    def slopes_of(self, step: int) -> Tensor:
        """Derivatives of a sample, (windows, 2 nv, 3 nv); computed for all samples at once."""
        if step not in self._slopes:
            steps = list(self._tape)
            parts = [np.concatenate(each) for each in zip(*self._tape.values(), strict=True)]
            controls = np.concatenate([self.controls[each] for each in steps])
            states, torques, after = parts
            found = self.joints.slopes(states, controls, torques, after)
            blocks = torch.from_numpy(found).reshape(len(steps), -1, *found.shape[1:])
            self._slopes = dict(zip(steps, blocks, strict=True))
            self._tape.clear()
        return self._slopes[step]


class _ModelSample(torch.autograd.Function):
    """A sample of the simulation as an operation of torch."""

    @staticmethod
    def forward(
        ctx: Any,
        windows: ModelWindows,
        step: int,
        position: Tensor,
        speed: Tensor,
        correction: Tensor,
    ) -> tuple[Tensor, Tensor]:
        ctx.windows, ctx.step = windows, step
        nv = windows.joints.base.model.nv
        torques = np.ascontiguousarray(correction.detach().numpy().reshape(nv, -1).T)
        after = torch.from_numpy(windows.advance(step, torques, any(ctx.needs_input_grad)))
        rows = after.T.reshape(2, -1)
        return rows[0].clone(), rows[1].clone()

    @staticmethod
    def backward(ctx: Any, *bars: Tensor) -> tuple[Any, ...]:
        slopes = ctx.windows.slopes_of(ctx.step)
        nv = slopes.shape[1] // 2
        stacked = torch.cat([bar.reshape(nv, -1) for bar in bars]).T
        shares = torch.einsum("wi,wij->jw", stacked, slopes)
        position, speed, torque = (part.reshape(-1) for part in shares.split(nv))
        return None, None, position, speed, torque
