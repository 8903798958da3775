"""Predicted intervals of an identification, before the recording.

The motion is simulated with the noise of the sensors and processed like a recording: it is
prepared and split as by ``trueup identify``, and the same function computes the intervals from
its residuals and their derivatives, at the true values of the simulation.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trueup.design.motion.problem import motion_problem
from trueup.design.recording_noise import ChannelNoiseModel
from trueup.design.robot.designed_robot import DesignedRobot
from trueup.design.robot.start_states import is_start, start_of
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import Loss
from trueup.fitting.uncertainty import CovarianceEstimate
from trueup.fitting.uncertainty.gaussian import gaussian_of_fit
from trueup.signals import Recording
from trueup.signals.recording import Stream
from trueup.sysid.assess.fit_covariance import residual_covariance, with_start_noise
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.experiment.settings import HeldOut, RecordingPart
from trueup.sysid.fit.start_noise import measured_starts

_FILE = "designed motion.csv"


@dataclass(frozen=True)
class Prediction:
    """Predicted intervals of the unknowns."""

    half_widths: np.ndarray
    """Half-widths of the 95 % intervals ``(p,)`` in search coordinates; infinite if
    undetermined."""
    precision: np.ndarray
    """Inverse of the covariance ``(p, p)``."""
    method: str
    """Noise treatment of the prediction."""

    def together(self, known: np.ndarray, quantile: float) -> np.ndarray:
        """Half-widths ``(p,)`` with prior knowledge ``(p, p)``, in search coordinates."""
        total = self.precision + known
        scale = np.sqrt(np.maximum(np.diag(total), 1e-300))
        values, axes = np.linalg.eigh(total / np.outer(scale, scale))
        inverse = (axes / np.maximum(values, 1e-12)) @ axes.T
        return quantile * np.sqrt(np.diag(inverse)) / scale


def simulated_signals(
    robot: DesignedRobot,
    commands: np.ndarray,
    noise: Mapping[str, ChannelNoiseModel],
    x: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Times and noisy signals by channel for commands ``(T, n)`` and values ``x (p,)``."""
    rate = robot.experiment.design.rate
    problem = motion_problem(robot, noise, len(commands), rate, ["motion"])
    problem.set_controls(list(robot.controls(commands[None])))
    ((_, predicted),) = problem.predictions(x[None, :])
    (sequence,) = problem.sequences
    signals = {
        channel: predicted[0, :, c] + noise[channel].draw(predicted.shape[1], rng)
        for c, channel in enumerate(sequence.channel_names)
    }
    return sequence.times, signals


def predict(
    robot: DesignedRobot,
    commands: np.ndarray,
    noise: Mapping[str, ChannelNoiseModel],
    seed: int = 0,
) -> Prediction:
    """Predict the intervals of an identification of a motion.

    Args:
      robot: the robot; its values are those of the first draw.
      commands: commands of the whole recording ``(T, n)`` [rad, m].
      noise: noise by channel.
      seed: seed of the noise.

    Raises:
      RecordingError: the recording would be rejected.
    """
    experiment, x = robot.experiment, robot.draws[0]
    times, signals = simulated_signals(robot, commands, noise, x, np.random.default_rng(seed))
    part = experiment.recordings[0]
    initial, unknown = start_of(robot, "designed")
    own = {name: p for name, p in experiment.parameters.items() if not is_start(p)}
    names = {s: [c for c in signals if c == s or c.startswith(f"{s}[")] for s in robot.signals}
    actuators = [robot.model.actuator(i).name for i in robot.actuators]
    recorded = RecordingPart(
        file=_FILE,
        name="designed",
        signals={s: c[0] if len(c) == 1 else c for s, c in names.items()},
        controls={a: f"command of {a}" for a in actuators},
        initial=initial,
        accept=part.accept,
    )
    grid = np.arange(len(commands)) / experiment.design.rate
    driven = commands * robot.gears
    streams = (
        Stream("signals", times, signals),
        Stream(
            "commands", grid, {f"command of {a}": driven[:, i] for i, a in enumerate(actuators)}
        ),
    )
    held_out = HeldOut(fraction=experiment.held_out.fraction)
    changes = {"recordings": [recorded], "held_out": held_out, "parameters": {**own, **unknown}}
    planned = experiment.model_copy(update=changes)
    opened = {(robot.folder / _FILE).resolve(): Recording("designed", streams)}
    prepared = prepare(planned, robot.folder, opened)
    problem = prepared.motion_problem()
    values = dict(zip(robot.space.names, x, strict=True))
    at = np.array(
        [values.get(n, s) for n, s in zip(problem.space.names, problem.space.start, strict=True)]
    )
    residual, jacobian, _ = final_jacobian(problem, at, central=False)
    states = np.array([name not in values for name in problem.space.names])
    if states.any():
        # a fit moves the start states to those of the true motion
        own = jacobian[:, states]
        z = problem.space.to_search(at)
        z[states] -= np.linalg.lstsq(own, residual, rcond=None)[0]
        at = problem.space.from_search(z)
        residual = problem.residuals(at[None, :])[0]
    loss, free = Loss(), np.zeros(problem.space.size, bool)
    level = experiment.confidence.level
    estimate = residual_covariance(
        problem, residual, jacobian, free, experiment.confidence.noise_method, 1 - level, loss, seed
    )
    starts = measured_starts(prepared, prepared.training, False)
    (estimate,), _ = with_start_noise([estimate], starts, at, residual, jacobian, loss)
    known = gaussian_of_fit(
        problem.space.names,
        problem.space.to_search(at),
        free,
        jacobian.T @ jacobian,
        np.asarray(jacobian.T @ residual),
        estimate,
    )
    order = [problem.space.names.index(name) for name in robot.space.names]
    return Prediction(
        _half_widths(estimate)[order], known.marginal(order).precision, estimate.reason
    )


def _half_widths(estimate: CovarianceEstimate) -> np.ndarray:
    return np.where(estimate.undetermined, np.inf, estimate.half_widths)
