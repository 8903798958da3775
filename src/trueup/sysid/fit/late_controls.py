"""Recordings with delayed controls."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueup.signals import TimeSeries
from trueup.simulation.measured.model_sequences import ModelSequences


def late_controls(groups: Sequence[ModelSequences], delay: float) -> list[ModelSequences]:
    """Return the same recordings with all controls delayed.

    A delay of a fraction of a sample averages neighbouring values, so that the effect of a held
    control is continuous in the delay. The first values are those of the lead-in of a sequence;
    before the recording the first value is held.

    Args:
      groups: models with their recordings.
      delay: delay [s].
    """
    out = []
    for group in groups:
        trajectories = []
        for whole in group.measured_rollout:
            known, lead_in = whole.control, whole.lead_in
            if lead_in is not None:
                earlier = lead_in.control.times < known.times[0]
                known = TimeSeries(
                    np.concatenate([lead_in.control.times[earlier], known.times]),
                    np.concatenate([lead_in.control.data[earlier], known.data]),
                )
                lead_in = replace(lead_in, control=_late(lead_in.control, known, delay))
            late = _late(whole.control, known, delay)
            trajectories.append(replace(whole, control=late, lead_in=lead_in))
        out.append(
            ModelSequences.from_trajectories(
                group.name, group.spec, group.sequence_name, trajectories, True
            )
        )
    return out


def _late(control: TimeSeries, known: TimeSeries, delay: float) -> TimeSeries:
    """Controls delayed, at the original times."""
    data = known.interpolate(control.times - delay, "linear")
    return TimeSeries(control.times, data, control.signal_mapping)


def pause_of(groups: Sequence[ModelSequences]) -> float:
    """Longest interval between the controls of any recording [s]."""
    return max(
        float(np.median(np.diff(t.control.times))) for g in groups for t in g.measured_rollout
    )
