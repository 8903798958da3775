"""Recordings cut to their beginnings, for what need not simulate all of them."""

from collections.abc import Sequence

import numpy as np

from trueup.signals import InterpolationMethod
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.recordings.sequence_start import first_part


def simulated_steps(groups: Sequence[ModelSequences]) -> float:
    """Time steps of one simulation of all recordings."""
    return sum(
        float(np.ptp(t.sensordata.times)) / float(group.gt_model.opt.timestep)
        for group in groups
        for t in group.measured_rollout
    )


def beginnings(
    groups: Sequence[ModelSequences], share: float, method: InterpolationMethod, fewest: int = 2
) -> list[ModelSequences]:
    """The first part of each recording, at most all of it.

    Args:
      groups: the recordings, by model.
      share: part of the length of each.
      method: interpolation of controls.
      fewest: minimum number of samples of a part; a shorter recording is kept whole.
    """
    if share >= 1.0:
        return list(groups)
    out = []
    for group in groups:
        parts = []
        for whole in group.measured_rollout:
            times = whole.sensordata.times
            start, end = float(times[0]), float(times[-1])
            at_least = float(times[min(fewest, len(times)) - 1])
            span = (start, max(start + share * (end - start), at_least))
            parts.append(first_part(whole, span, method))
        out.append(
            ModelSequences.from_trajectories(
                group.name, group.spec, group.sequence_name, parts, group.allow_missing_sensors
            )
        )
    return out
