"""Contribution of the noise of measured initial states to the covariance of a fit.

A simulation that starts from the measured state of a recording, or of a window, inherits the noise
of a few samples; see :mod:`trueup.fitting.uncertainty.start_noise` for the method. This module
perturbs the starts of all windows in the same simulations.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.fitting.problem import Failures
from trueup.fitting.uncertainty.start_noise import noise_from_changes, pulls_of_starts
from trueup.parameters import ParameterDict
from trueup.signals import TimeSeries
from trueup.signals.checks.statistics import noise_level
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.experiment.initial_unknowns import add_initial_states, window_starts
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit.compared_channels import channels_of
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.recordings.measured_state import local_fit, state_columns


@dataclass(frozen=True)
class JointStart:
    """A measured start of one joint, as parameters of the problem with free starts."""

    sequence: int
    """Index of the sequence."""
    joint: int
    """Index of the joint among those of this start: equal ones of all starts move together."""
    elements: tuple[int, int]
    """Indices of position and velocity among the starts, -1 for an unmeasured one."""
    columns: tuple[int, int]
    """Columns of the recording that they come from."""
    weights: tuple[np.ndarray, np.ndarray]
    """Weights of the samples in position and velocity ``(k,)``."""

    def covariance(self, noise: np.ndarray) -> np.ndarray:
        """Covariance ``(2, 2)`` of position and velocity.

        Args:
          noise: standard deviation of each column of the recording ``(columns,)``.
        """
        position, velocity = self.weights
        first, second = (noise[column] for column in self.columns)
        # an unmeasured velocity is the slope of the same samples as the position
        shared = position @ velocity * first**2 if self.columns[0] == self.columns[1] else 0.0
        out = np.array([[position @ position * first**2, shared],
                        [shared, velocity @ velocity * second**2]])  # fmt: skip
        unmeasured = np.array(self.elements) < 0
        out[unmeasured, :] = out[:, unmeasured] = 0.0
        return out


@dataclass(frozen=True)
class MeasuredStarts:
    """All measured starts of a problem, and the same problem with them as parameters."""

    free: GrayBoxProblem
    """The problem with the starts as additional parameters, after its own."""
    size: int
    """Number of parameters of the problem itself."""
    starts: tuple[JointStart, ...]
    channel_columns: tuple[tuple[int, ...], ...]
    """Column of the recording of each channel, per sequence."""
    recorded: tuple[TimeSeries, ...]
    """Measured signals of each sequence."""
    remarks: tuple[str, ...] = ()
    """Remarks on noise that is not included."""

    def spread(
        self, x: np.ndarray, residual: np.ndarray, jacobian: np.ndarray, weights: np.ndarray
    ) -> np.ndarray | None:
        """Covariance ``(p, p)`` of the pulls of the starts, in search coordinates.

        Args:
          x: the optimum ``(p,)``.
          residual: at the optimum ``(m,)``.
          jacobian: of the residual ``(m, p)`` in search coordinates.
          weights: weight of each residual in the cost ``(m,)``.

        Returns:
          The covariance; None if a simulation with a perturbed start fails.
        """
        moves = self._moves(residual)
        whole = np.concatenate([x, self.free.space.start[self.size :]])
        X = np.repeat(whole[None, :], 2 * len(moves), axis=0)
        X[: len(moves), self.size :] += moves
        X[len(moves) :, self.size :] -= moves
        failures: Failures = {}
        pulls: dict[int, np.ndarray] = {}
        for rows, values in self.free.residual_blocks(X, failures):
            acting = self.free.acting_on(rows)
            if rows.start >= self.free.data_rows or acting is None:
                continue
            own = np.flatnonzero(acting[self.size :])
            if not own.size:  # a known or fitted start
                continue
            change = 0.5 * (values[: len(moves)] - values[len(moves) :])
            slopes = np.asarray(jacobian[rows])[:, None]
            pull = pulls_of_starts(change[..., None], weights[rows, None], slopes)[0]
            pulls[int(own[0])] = pulls.get(int(own[0]), 0.0) + pull
        if failures:
            return None
        p = self.size
        return np.sum([pull.T @ pull for pull in pulls.values()] or [np.zeros((p, p))], axis=0)

    def _moves(self, residual: np.ndarray) -> np.ndarray:
        """Independent errors of the starts, of one standard deviation ``(k, starts)``."""
        noise = self.noise(residual)
        joints = 1 + max(start.joint for start in self.starts)
        moves = np.zeros((2 * joints, self.free.space.size - self.size))
        for start in self.starts:
            values, vectors = np.linalg.eigh(start.covariance(noise[start.sequence]))
            for k, move in enumerate((vectors * np.sqrt(np.maximum(values, 0.0))).T):
                for element, size in zip(start.elements, move, strict=True):
                    if element >= 0:
                        moves[2 * start.joint + k, element] = size
        return moves

    def noise(self, residual: np.ndarray) -> list[np.ndarray]:
        """Standard deviation of the noise of each column of each recording ``(columns,)``.

        Estimated from differences of consecutive residuals, in which model errors nearly cancel.
        """
        out, first = [], 0
        for number, sequence in enumerate(self.free.sequences):
            last = first + sequence.measured.size
            errors = residual[first:last].reshape(sequence.measured.shape) / sequence.weights
            first = last
            series = self.recorded[number]
            sizes = np.array([noise_level(column) for column in series.data.T])
            windows = [window.first for window in sequence.windows[1:]]
            if len(errors) - 1 - len(windows) > 2:
                columns = list(self.channel_columns[number])
                sizes[columns] = noise_from_changes(errors, windows)
            out.append(sizes)
        return out


def measured_starts(
    prepared: Prepared, sequences: Sequence[ModelSequences], held_out: bool
) -> MeasuredStarts | None:
    """Find the starts that are measured rather than known or fitted; None if there are none.

    Args:
      prepared: the experiment.
      sequences: its training or its held-out sequences.
      held_out: whether they are the held-out sequences, which are fitted separately, with the
        parameters of :meth:`Prepared.held_out_parameters`.
    """
    parameters = prepared.held_out_parameters() if held_out else prepared.parameters.copy()
    size = parameters.space().size
    taken = {t for p in parameters.values() for t in p.targets if t.startswith("state/")}
    found: list[JointStart] = []
    columns, recorded, element, remarks = [], [], 0, []
    for group in sequences:
        model = group.gt_model
        for trajectory in group.measured_rollout:
            measured = trajectory.sensordata
            _, channels, _ = channels_of(model, measured, prepared.settings)
            chosen = _measured(prepared, trajectory, float(model.opt.timestep), held_out)
            fresh = ParameterDict()
            smoothing = prepared.settings.state_smoothing
            add_initial_states(
                fresh, model, measured, trajectory.initial_state, [c[:2] for c in chosen], smoothing
            )
            if chosen:
                remarks += _remarks(model, measured, trajectory.name)
            own = iter(fresh.values())
            for _, time, source in chosen:
                samples = _sample_weights(source, time, smoothing)
                for joint, (place, speed) in enumerate(_joints(model, measured)):
                    elements = []
                    for param in (next(own), next(own)):
                        target = param.targets[0]
                        if taken & {target, target.partition("@")[0]}:
                            elements.append(-1)
                            continue
                        parameters.add(param)
                        elements.append(element)
                        element += 1
                    derived = speed is None
                    found.append(
                        JointStart(
                            len(recorded),
                            joint,
                            (elements[0], elements[1]),
                            (place, place if derived else speed),
                            (samples[0], samples[1] if derived else samples[0]),
                        )
                    )
            columns.append(tuple(channels))
            recorded.append(measured)
    if not element:
        return None
    free = prepared.problem(parameters, list(sequences))
    return MeasuredStarts(
        free, size, tuple(found), tuple(columns), tuple(recorded), tuple(dict.fromkeys(remarks))
    )


def _measured(
    prepared: Prepared, sequence: SystemTrajectory, timestep: float, held_out: bool
) -> list[tuple[str, float, TimeSeries]]:
    """Label and time [s] of each measured start of a sequence, and its source signals."""
    before = sequence.lead_in
    whole, name, later = sequence.sensordata, sequence.name, False
    if before is not None and before.measured is not None:
        whole, name, later = before.measured, before.name, True
    facts = next(r for r in prepared.recordings if r.name == name)
    initial = facts.part.initial
    # explicit start settings do not apply if the beginning is excluded
    measured_first = initial == "measured" or facts.begins_late
    first = later or measured_first or (initial == "estimated" and held_out)
    windows = held_out or prepared.experiment.window_states == "measured"
    starts = window_starts(sequence.sensordata, timestep, prepared.settings.window, sequence.name)
    chosen = [(label, time, whole) for label, time in starts[:1] if first]
    # windows use the samples of their own part only
    return chosen + [(label, time, sequence.sensordata) for label, time in starts[1:] if windows]


def _joints(model: mujoco.MjModel, measured: TimeSeries) -> list[tuple[int, int | None]]:
    """Columns of position and velocity of each joint with a measured position."""
    columns = state_columns(model, measured)
    return [
        (columns.positions[address], columns.velocities.get(dof))
        for dof, address in columns.position_of_velocity.items()
        if address in columns.positions
    ]


def _remarks(model: mujoco.MjModel, measured: TimeSeries, name: str) -> list[str]:
    """Remarks on recorded starts other than positions and velocities of scalar joints."""
    columns = state_columns(model, measured)
    others = set(columns.positions) - set(columns.position_of_velocity.values())
    found = ["the pose of a free or ball joint starts"] if others else []
    found += ["activations start"] if columns.activations else []
    return [
        f"{name}: {what} from the recording; the intervals do not include the noise of that start"
        for what in found
    ]


def _sample_weights(
    source: TimeSeries, time: float, half_width: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the samples near a time in the value and slope of the local fit."""
    first, last = np.searchsorted(source.times, [time - half_width, time + half_width])
    near = slice(max(int(first) - 8, 0), int(last) + 8)
    times = source.times[near]
    return local_fit(times, np.eye(len(times)), time, half_width)
