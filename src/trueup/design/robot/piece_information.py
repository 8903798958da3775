"""Information of pieces of motion about the unknowns, and their excess over limits.

The sensitivities of a piece are those of a fit: the same problem, simulated under the controller,
with delays, gains and biases of the sensors. With ``J`` the derivatives of the weighted residual
and ``R`` the covariance of its noise, a fit to pieces has the covariance ``B (sum J' R J) B`` with
``B = (sum J' J)^-1``: both sums are additive over pieces, because each starts and ends at rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.design.motion.family import MotionFamily
from trueup.design.motion.problem import motion_problem
from trueup.design.recording_noise import ChannelNoiseModel
from trueup.design.robot.clearance import Clearance
from trueup.design.robot.designed_robot import DesignedRobot
from trueup.fitting.linearisation import difference_jacobian, difference_points
from trueup.fitting.problem import Failures
from trueup.fitting.searches.device_first import STEP
from trueup.simulation.engine.batch import BatchEngine
from trueup.simulation.warp.devices import DeviceChoice

_SIMULATIONS = 250  # simulations per batch
_ON_DEVICE = 16384  # simulations per batch of a device
_MOST_PIECES = 16  # pieces per batch
_DIFFERENCE = 1e-4  # relative step of the sensitivities in double precision
_LOOKS = 20.0  # rate of checks of the distances between bodies [Hz]


@dataclass(frozen=True)
class PieceInformation:
    """Information of a piece."""

    gram: np.ndarray
    """``J' J`` ``(draws, p, p)`` in search coordinates."""
    spread: np.ndarray
    """``J' R J`` ``(draws, p, p)``."""
    excess: float
    """Relative excess over the limits, summed over them; 0 for an admissible piece."""
    reason: str = ""


class PieceSimulator:
    """Simulator of pieces of motion over all draws of the robot.

    Args:
      robot: the robot.
      family: family of the pieces.
      noise: noise by channel.
      clearance: distances to keep.
      share: fraction of the samples, from the start, that is used for training.
      device: device of large batches; None: the CPU.

    Raises:
      SimulationError: the requested device cannot simulate the robot.
    """

    def __init__(
        self,
        robot: DesignedRobot,
        family: MotionFamily,
        noise: Mapping[str, ChannelNoiseModel],
        clearance: Clearance,
        share: float = 1.0,
        device: DeviceChoice | None = None,
    ):
        self.share = share
        device = device or DeviceChoice()
        # single precision needs differences over wide steps
        self.on_device = device.for_worlds(_ON_DEVICE) is not None
        """Whether sensitivities are simulated on a device."""
        relative, simulations = (
            (STEP, _ON_DEVICE) if self.on_device else (_DIFFERENCE, _SIMULATIONS)
        )
        self.robot, self.family, self.clearance = robot, family, clearance
        space, draws = robot.space, robot.draws
        self.draws, self.size = len(draws), space.size
        points, self._steps = [], []
        for draw in draws:
            near, steps = difference_points(
                space, draw, relative, self.on_device, np.zeros(space.size, bool)
            )
            points.append(near)
            self._steps.append(steps)
        self._points = np.vstack(points)
        self.batch = int(np.clip(simulations // len(self._points), 1, _MOST_PIECES))
        """Number of pieces per simulation."""
        names = [f"piece{k}" for k in range(self.batch)]
        self.problem = motion_problem(robot, noise, family.samples, family.rate, names, device)
        self._quick = self.problem.quick(len(self._points))
        (sequence, *_) = self.problem.sequences
        self._noise = [noise[c].model for c in sequence.channel_names]
        # residuals are divided by the weights, noise by its standard deviation
        size = [noise[c].deviation for c in sequence.channel_names]
        self._scale = np.array(size) * sequence.weights
        self._shape = (len(sequence.times), len(sequence.channels))
        segments = [w for s in self.problem.sequences for w in s.windows]
        self._engine = BatchEngine(
            self.problem.variants[0].model, segments, ("qpos", "qvel", "actuator_force")
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the device."""
        return self.problem.device_notes

    def information(self, rows: np.ndarray) -> list[PieceInformation]:
        """Information of pieces ``(m, size)``, see :meth:`information_of`."""
        return self.information_of(self.family.commands(rows))

    def information_of(self, commands: np.ndarray) -> list[PieceInformation]:
        """Information of commands ``(m, samples, n)``; zero for those that exceed limits."""
        excess, reasons = self.excess(commands)
        found = [
            PieceInformation(
                np.zeros((self.draws, self.size, self.size)),
                np.zeros((self.draws, self.size, self.size)),
                float(e),
                reason,
            )
            for e, reason in zip(excess, reasons, strict=True)
        ]
        good = np.flatnonzero(excess == 0)
        for first in range(0, len(good), self.batch):
            chosen = good[first : first + self.batch]
            for index, piece in zip(chosen, self._sensitivities(commands[chosen]), strict=True):
                found[index] = piece
        return found

    def excess(self, commands: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """Relative excess of commands over limits ``(m,)`` for the worst draw, and their names."""
        total, words = np.zeros(len(commands)), [""] * len(commands)
        for first in range(0, len(commands), self.batch):
            part = commands[first : first + self.batch]
            found = self._watch(part)
            for k in range(len(part)):
                over = {what: values[k] for what, values in found.items() if values[k] > 0}
                total[first + k] = sum(over.values())
                words[first + k] = ", ".join(over)
        return total, words

    def _watch(self, commands: np.ndarray) -> dict[str, np.ndarray]:
        """Excess of pieces over each limit ``(m,)``, for the worst draw."""
        robot, count = self.robot, len(commands)
        self._engine.set_controls(self._padded(commands))
        failures: Failures = {}
        writes = self.problem.variants[0].field_writes(robot.draws)
        parts = []
        for block in self._engine.run(self.draws, writes, None, failures):
            records = {k: v.copy() for k, v in block.records.items()}
            order = np.argsort(block.segments)
            parts.append({k: v[:, order][:, :count] for k, v in records.items()})
        whole = {k: np.concatenate([p[k] for p in parts], axis=2) for k in parts[0]}
        position = robot.positions(whole["qpos"])
        speed = robot.speeds(whole["qvel"])
        force = whole["actuator_force"][..., list(robot.actuators)]
        position, speed, force = (v.reshape(-1, *v.shape[2:]) for v in (position, speed, force))
        found = robot.limits.excess(position, speed, force, robot.limits.margin)
        worst = {what: v.reshape(self.draws, count).max(axis=0) for what, v in found.items()}
        every = max(round(1.0 / (_LOOKS * robot.model.opt.timestep)), 1)
        # only if no other limit is exceeded: distances cost as much as a simulation
        lack = np.zeros(count)
        for k in np.flatnonzero(sum(worst.values()) == 0):
            lack[k] = self.clearance.lack(whole["qpos"][0, k, ::every])
        worst["distance between bodies"] = lack / max(self.clearance.least, 1e-3)
        if failures:
            worst["a simulation that diverges"] = np.ones(count)
        return worst

    def _sensitivities(self, commands: np.ndarray) -> list[PieceInformation]:
        self.problem.set_controls(self._padded(commands))
        failures: Failures = {}
        values = np.empty((len(self._points), self.problem.residual_size))
        for at, block in self._quick.residual_blocks(self._points, failures):
            values[:, at] = block
        out = []
        length = self._shape[0] * self._shape[1]
        seen = int(np.ceil(self.share * self._shape[0]))
        for k in range(len(commands)):
            part = values[:, k * length : (k + 1) * length]
            gram = np.zeros((self.draws, self.size, self.size))
            spread = np.zeros_like(gram)
            for d in range(self.draws):
                own = np.split(part, self.draws)[d]
                jacobian = difference_jacobian(
                    own, self._steps[d], self.on_device, self.problem.space
                )
                jacobian = jacobian.reshape(self.size, *self._shape)[:, :seen]
                gram[d] = np.einsum("ptc,qtc->pq", jacobian, jacobian, optimize=True)
                spread[d] = self._spread(jacobian)
            reason = next(iter(failures.values()), "")
            out.append(PieceInformation(gram, spread, 1.0 if failures else 0.0, reason))
        return out

    def _spread(self, jacobian: np.ndarray) -> np.ndarray:
        """``J' R J`` ``(p, p)``: by the adjoint (time-reversed) noise filter of each channel."""
        from scipy.signal import lfilter

        total = np.zeros((self.size, self.size))
        for c, model in enumerate(self._noise):
            own: Any = jacobian[:, :, c]
            if model.order:
                own = lfilter([1.0], model.coefficients, own[:, ::-1], axis=1)
            total += model.innovation_variance * self._scale[c] ** 2 * (own @ own.T)
        return total

    def _padded(self, commands: np.ndarray) -> list[np.ndarray]:
        controls = list(self.robot.controls(commands))
        return controls + [controls[-1]] * (self.batch - len(controls))
