"""Held-out ends of the recordings, predicted by a second fit, if no recording is held out."""

from dataclasses import dataclass, replace

import numpy as np

from trueup.fitting.losses import Loss
from trueup.signals import split_by_time
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.assess.assessment import SequenceSignals, sequence_signals
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit._inner_fit import refit
from trueup.sysid.recordings.measured_state import state_columns
from trueup.sysid.recordings.sequence_start import first_part, later_part

SHARE = 0.25
"""Share of each recording held out of the second fit."""

_FEWEST_SAMPLES = 40  # minimum length of a recording; its end then has ten samples


@dataclass(frozen=True)
class UnseenEnds:
    """Ends of the recordings predicted by a fit to the rest."""

    signals: tuple[SequenceSignals, ...]
    """Measured and predicted signals of each end; empty without such a fit."""
    reason: str
    """Meaning of the error on held-out data, or the reason for none."""


def unseen_ends(
    prepared: Prepared,
    x: np.ndarray,
    noise_scale: float = 1.0,
    loss: Loss | None = None,
    time_limit: float = np.inf,
) -> UnseenEnds:
    """Repeat a fit without the last quarter of each recording, and predict these quarters.

    The values of the fit are those of all data, which are the best estimate; the error of a fit to
    less data is an upper estimate of theirs. The second fit starts at the optimum and takes a few
    iterations.

    Args:
        prepared: the experiment, with nothing held out.
        x: optimum of the fit ``(p,)``.
        noise_scale: noise in the unit of the residual, to weight priors.
        loss: robust loss of the fit.
        time_limit: time limit of the second fit [s].
    """
    obstacle = obstacle_to_ends(prepared)
    if obstacle:
        return UnseenEnds((), obstacle)
    loss = loss or Loss()
    beginnings, ends = beginnings_and_ends(prepared)
    problem, unseen = (prepared.problem(sequences=groups) for groups in (beginnings, ends))
    problem.noise_scale = unseen.noise_scale = noise_scale
    fit = refit(problem, x, loss, time_limit)
    if fit is None:
        return UnseenEnds(
            (),
            "the fit without the ends of the recordings did not finish within the time budget; "
            "hold out a recording or a fraction instead",
        )
    signals = sequence_signals(unseen, unseen.space.start, fit.x, held_out=True)
    return UnseenEnds(
        tuple(replace(each, repeats_training=True) for each in signals),
        "No recording is held out: a second fit without the last quarter of each recording "
        "predicts these quarters; the values are those of all data. Whether they hold for "
        "another recording was not tested.",
    )


def beginnings_and_ends(
    prepared: Prepared,
) -> tuple[list[ModelSequences], list[ModelSequences]]:
    """Training recordings without their last quarters, and these quarters."""
    method = prepared.experiment.control
    beginnings, ends = [], []
    for group in prepared.training:
        spans = [split_by_time(t.sensordata.times, held_out=SHARE) for t in group.measured_rollout]
        pairs = list(zip(group.measured_rollout, spans, strict=True))
        beginnings.append(_group(group, [first_part(t, s.training[0], method) for t, s in pairs]))
        ends.append(_group(group, [later_part(t, s.held_out[0], method, t.name) for t, s in pairs]))
    return beginnings, ends


def obstacle_to_ends(prepared: Prepared) -> str:
    """Reason why the ends of the recordings cannot be predicted separately, or an empty string."""
    if prepared.experiment.window > 0 and prepared.experiment.window_states == "estimated":
        return "the states of windows are parameters of the fit, so that no end can be predicted"
    for group in prepared.training:
        for sequence in group.measured_rollout:
            if len(sequence.sensordata.times) < _FEWEST_SAMPLES:
                return f"{sequence.name} is too short to hold out its end"
            columns = state_columns(sequence.model, sequence.sensordata)
            if len(columns.positions) < sequence.model.nq:
                return f"the state in the middle of {sequence.name} was not measured"
    return ""


def _group(group: ModelSequences, parts: list[SystemTrajectory]) -> ModelSequences:
    names = [part.name for part in parts]
    return ModelSequences.from_trajectories(group.name, group.spec, names, parts, True)
