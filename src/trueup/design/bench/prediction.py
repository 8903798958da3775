"""Predicted intervals of a fit of designed logs, before they are recorded.

The logs are simulated with noise as in the residuals of the former ones, and assessed by the
function that assesses a fit, at the true values of the simulation.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueup.actuators.assess.fit_assessment import assess
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.problem import ServoProblem
from trueup.design.bench.pieces import BenchPieces
from trueup.design.criterion import NORMAL
from trueup.design.recording_noise import ChannelNoiseModel
from trueup.design.robot.prediction import Prediction
from trueup.design.table import Widths
from trueup.fitting.uncertainty.autoregressive import fit_autoregressive

_DRAWS = 5  # draws of the noise: a fit estimates its correlation from one, which scatters


def former_noise(pieces: BenchPieces) -> ChannelNoiseModel:
    """Noise of the angle [rad], from the residuals of the longest former log."""
    prepared = pieces.source.prepared
    motion = prepared.simulator(prepared.training_logs).simulate(pieces.source.fit[None, :])
    errors = [
        log.position - position[0]
        for log, position in zip(prepared.training_logs, motion.position, strict=True)
    ]
    longest = max(errors, key=len)
    deviation = float(np.sqrt(np.mean(np.concatenate(errors) ** 2)))
    size = max(float(longest.std()), 1e-12)
    return ChannelNoiseModel(deviation, fit_autoregressive(longest / size), "former logs")


def predict_logs(
    pieces: BenchPieces, logs: Sequence[ServoLog], scale: np.ndarray, seed: int
) -> Widths:
    """Predict the intervals of a fit of planned logs.

    Args:
      pieces: information of the fit.
      logs: planned logs.
      scale: half of the prior range ``(p,)``, in search coordinates.
      seed: seed of the noise.
    """
    source, rng = pieces.source, np.random.default_rng([seed, 2])
    noise = former_noise(pieces)
    motion = pieces.simulator(logs).simulate(source.fit[None, :])
    alone, together = [], []
    for _ in range(_DRAWS):
        made = [
            replace(
                log,
                position=motion.position[k][0] + noise.draw(len(log), rng),
                speed=motion.speed[k][0].copy(),
                load=motion.duty[k][0].copy(),
            )
            for k, log in enumerate(logs)
        ]
        problem = ServoProblem(pieces.simulator(made), source.prepared.settings.objective)
        found = assess(problem, source.fit, made, converged=True)
        estimate = found.covariance
        half = np.where(estimate.undetermined, np.inf, estimate.half_widths)
        predicted = Prediction(half, found.known.precision, estimate.reason)
        alone.append(half / scale)
        together.append(predicted.together(source.belief.precision, NORMAL) / scale)
    return Widths(np.mean(alone, axis=0), np.mean(together, axis=0))
