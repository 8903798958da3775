"""Recordings whose controls act later than they were recorded."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueup.signals import TimeSeries
from trueup.simulation.model_sequences import ModelSequences


def late_controls(groups: Sequence[ModelSequences], delay: float) -> list[ModelSequences]:
    """The same recordings with all controls later by a delay.

    A delay of a part of a sample mixes neighbouring values: the effect of a held control is then
    continuous in the delay. The first value is held before the first sample.

    Args:
      groups: models with their recordings.
      delay: delay [s].
    """
    out = []
    for group in groups:
        trajectories = []
        for whole in group.measured_rollout:
            control = whole.control
            data = control.interpolate(control.times - delay, "linear")
            late = TimeSeries(control.times, data, control.signal_mapping)
            trajectories.append(replace(whole, control=late))
        out.append(
            ModelSequences.from_trajectories(
                group.name, group.spec, group.sequence_name, trajectories, True
            )
        )
    return out


def pause_of(groups: Sequence[ModelSequences]) -> float:
    """Longest pause between the controls of any recording [s]."""
    return max(
        float(np.median(np.diff(t.control.times))) for g in groups for t in g.measured_rollout
    )
