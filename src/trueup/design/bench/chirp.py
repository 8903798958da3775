"""Conventional chirps, for comparison with designed logs."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from trueup.actuators.record.designed_trajectories import chirp
from trueup.design.bench.conditions import usual_condition
from trueup.design.bench.pieces import planned_log
from trueup.design.bench.prediction import predict_logs
from trueup.design.bench.prepared import PreparedBenchDesign
from trueup.design.table import Widths

_CHIRP = (0.1, 10.0)  # frequencies at start and end [Hz]
_SHRINK = (1.0, 0.8, 0.6, 0.45, 0.35, 0.25, 0.17, 0.1)


def largest_chirps(prepared: PreparedBenchDesign) -> tuple[dict[str, Any], Widths] | None:
    """Chirps of the number and duration of the logs of a design, at the usual load and gain.

    From 0.1 to 10 Hz, as large as the same limits allow; the amplitude decreases where the
    frequency would exceed the speed.

    Returns:
      Load, gain and angle, and intervals; None if even a small one exceeds the limits.
    """
    spec, pieces = prepared.spec, prepared.pieces
    usual = usual_condition(prepared.source.prepared.training_logs)
    limits, motion = spec.motion_limits, prepared.family.motion
    for share in _SHRINK:
        amplitude = share * (1 - limits.margin) * limits.reach
        shape = chirp(amplitude, *_CHIRP, speed=limits.speed, duration=motion.seconds)
        log = planned_log(
            pieces.template, usual, "chirp", motion.rate, np.stack(shape(motion.times))
        )
        if all(values[0] == 0 for values in pieces.excess([log]).values()):
            logs = [replace(log, name=f"chirp_{k}") for k in range(spec.choices.logs)]
            scale = prepared.problem.criterion.scale
            widths = predict_logs(pieces, logs, scale, spec.seed)
            return {**asdict(usual), "amplitude": amplitude}, widths
    return None
