"""Selection of the corner frequency of the filter by the error on held-out torques."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueup.errors import SignalError
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.torque.data import TorqueData, slowest_speeds, torque_data
from trueup.sysid.torque.joint_motion import smooth_motion
from trueup.sysid.torque.linear_fit import (
    errors,
    linear_columns,
    plain_least_squares,
    torque_of,
)
from trueup.sysid.torque.link_regressor import parameters_of

CORNERS = (2.0, 5.0, 10.0, 20.0, 40.0)
"""Candidate corner frequencies [Hz], limited to a fifth of the sampling rate."""

_BETTER = 0.99  # maximum error ratio of a higher to a lower corner to select the higher one
_LAST = 0.25  # last part of each recording, held out to compare corners


@dataclass(frozen=True)
class ChosenBandwidth:
    """The filter of inverse dynamics."""

    corner: float
    """Corner frequency [Hz]."""
    tried: tuple[tuple[float, float], ...]
    """Corner [Hz] and error on the last quarters of recordings, relative to the torque's spread."""
    slowest: np.ndarray
    """Minimum velocity of each joint for a known direction ``(nv,)``."""


def choose_bandwidth(
    training: Sequence[ModelSequences],
    held_out: Sequence[ModelSequences] = (),
    driven: dict[str, set[int]] | None = None,
) -> ChosenBandwidth:
    """Select the corner frequency with the smallest held-out error of plain least squares.

    Held out is the last quarter of each recording of the fit. The recordings held out of the fit
    are not used for the selection, as their error is reported.

    Args:
      training: recordings of the fit.
      held_out: recordings held out of the fit, which must be long enough for the filter.
      driven: see :func:`trueup.sysid.torque.data.torque_data`.

    Raises:
      SignalError: recordings too short for every corner.
    """
    trajectories = [t for group in training for t in group.measured_rollout]
    tried: list[tuple[float, float]] = []
    best: tuple[float, float, np.ndarray] | None = None
    short: SignalError | None = None
    for corner in _corners(trajectories):
        try:
            slowest = slowest_speeds(trajectories, corner)
            error = _unseen_error(training, corner, slowest, driven)
            for group in held_out:
                for trajectory in group.measured_rollout:
                    smooth_motion(trajectory, corner, slowest)
        except SignalError as problem:  # recordings too short for a low corner
            short = problem
            continue
        tried.append((corner, error))
        if best is None or error < _BETTER * best[0]:
            best = (error, corner, slowest)
    if best is None:
        assert short is not None
        raise short
    return ChosenBandwidth(best[1], tuple(tried), best[2])


def _unseen_error(
    training: Sequence[ModelSequences],
    corner: float,
    slowest: np.ndarray,
    driven: dict[str, set[int]] | None,
) -> float:
    """Error of plain least squares on the last quarters of recordings, relative to their spread."""
    data = torque_data(training, corner, slowest, driven)
    seen, unseen = halves(same_columns(data, data[0]))
    columns = linear_columns(seen)
    off = errors(unseen, columns, plain_least_squares(seen, columns))
    spread = np.std(np.concatenate([torque_of(d, raw=True) for d in unseen]), axis=0)
    moved = spread > 0  # the torque of an undriven elastic joint is always zero
    return float(np.sqrt(np.mean(np.square(off[moved] / spread[moved]))))


def _corners(trajectories: Sequence[SystemTrajectory]) -> list[float]:
    steps = [float(np.median(np.diff(t.sensordata.times))) for t in trajectories]
    highest = 0.2 / max(steps)
    fitting = [c for c in CORNERS if c <= highest]
    return fitting or [highest]


def same_columns(data: Sequence[TorqueData], first: TorqueData) -> list[TorqueData]:
    """Recordings with the model and the joints of the first, as a variant has other links."""
    links = parameters_of(first.model)
    return [
        d
        for d in data
        if d.sources.dofs == first.sources.dofs and np.array_equal(parameters_of(d.model), links)
    ]


def halves(data: Sequence[TorqueData]) -> tuple[list[TorqueData], list[TorqueData]]:
    """The beginnings and the last quarters of recordings."""
    return [_cut(d, False) for d in data], [_cut(d, True) for d in data]


def last_quarter(values: np.ndarray, axis: int) -> np.ndarray:
    """The rows of a series in the last part of :func:`halves`.

    Args:
      values: a series.
      axis: its axis of time.
    """
    count = values.shape[axis]
    return np.take(values, np.arange(int((1 - _LAST) * count), count), axis=axis)


def _cut(data: TorqueData, last: bool) -> TorqueData:
    """The beginning or the last quarter of a recording."""
    count = len(data.motion.times)
    edge = int((1 - _LAST) * count)
    rows = slice(edge, count) if last else slice(0, edge)
    arrays = {
        name: value[rows]
        for name, value in vars(data.motion).items()
        if isinstance(value, np.ndarray)
    }
    own = None if data.own_error is None else data.own_error[rows]
    motion = replace(data.motion, **arrays)
    return replace(data, motion=motion, links=data.links[rows], own_error=own)
