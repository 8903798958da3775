"""Selection of the corner frequency of the filter by the error on held-out torques."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trueup.errors import SignalError
from trueup.fitting.judgement.paired_errors import block_sums, is_clearly_worse
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.torque.block_factors import minimum_norm
from trueup.sysid.torque.data import (
    RecalledRecordings,
    TorqueData,
    rest_speeds,
    sliding,
    slowest_speeds,
    torque_data,
)
from trueup.sysid.torque.joint_motion import check_length
from trueup.sysid.torque.known_errors import OwnErrors
from trueup.sysid.torque.linear_fit import (
    design,
    errors,
    errors_of,
    linear_columns,
    plain_least_squares,
    stacked,
    torque_of,
)
from trueup.sysid.torque.link_regressor import parameters_of

CORNERS = (2.0, 5.0, 10.0, 20.0, 40.0)
"""Candidate corner frequencies [Hz], limited to a fifth of the sampling rate."""

_BETTER = 0.99  # maximum error ratio of a higher to a lower corner to select the higher one
_NOISY = 0.7  # relative error of a corner above which torques are mostly noise
_BLOCKS = 8  # parts of time in which the errors of two corners are compared
_HELD = 0.9  # error ratio of held to sampled controls below which they are held
_SAMPLED = 0.998  # error ratio of sampled to held controls below which they are sampled
_SHARES = (0.0, 0.1, 0.2, 0.4, 0.7)
"""Velocities below which samples of a joint may not count, relative to its root mean square."""
_NEAR = 1.15  # error ratio up to which more samples are preferred
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
    rest: np.ndarray | None = None
    """Velocity of each joint below which its samples do not count ``(nv,)``; None: all count."""
    held: bool = False
    """Whether controls are held from their sample to the next, rather than sampled."""
    recalled: RecalledRecordings | None = field(default=None, repr=False, compare=False)
    """Recordings with this filter that were computed already."""

    def torque_data(
        self,
        groups: Sequence[ModelSequences],
        driven: dict[str, set[int]] | None = None,
        own_errors: OwnErrors | None = None,
    ) -> list[TorqueData]:
        """Torque and regressors of recordings; see :func:`trueup.sysid.torque.data.torque_data`."""
        return torque_data(
            groups,
            self.corner,
            self.slowest,
            driven,
            own_errors,
            self.rest,
            self.held,
            self.recalled,
        )


def choose_bandwidth(
    training: Sequence[ModelSequences],
    held_out: Sequence[ModelSequences] = (),
    driven: dict[str, set[int]] | None = None,
    held: bool = False,
) -> ChosenBandwidth:
    """Select the corner frequency with the smallest held-out error of plain least squares.

    Held out is the last quarter of each recording of the fit. The recordings held out of the fit
    are not used for the selection, as their error is reported.

    Args:
      training: recordings of the fit.
      held_out: recordings held out of the fit, which must be long enough for the filter.
      driven: see :func:`trueup.sysid.torque.data.torque_data`.
      held: whether controls are said to be held; those that clearly are not are found.

    Raises:
      SignalError: recordings too short for every corner.
    """
    trajectories = [t for group in training for t in group.measured_rollout]
    unseen = [t for group in held_out for t in group.measured_rollout]
    tried: list[tuple[float, float]] = []
    best: tuple[float, ChosenBandwidth, np.ndarray] | None = None
    short: SignalError | None = None
    for corner in _corners(trajectories):
        try:
            for trajectory in (*trajectories, *unseen):
                check_length(trajectory, corner)
            recalled = RecalledRecordings([*trajectories, *unseen], corner)
            slowest = slowest_speeds(trajectories, corner, recalled)
            rest = rest_speeds(slowest, _SHARES[1])
            tested = ChosenBandwidth(corner, (), slowest, rest, held, recalled)
            error, squares = _unseen_error(tested.torque_data(training, driven))
        except SignalError as problem:  # recordings too short for a low corner
            short = problem
            continue
        tried.append((corner, error))
        if best is None or (
            error < _BETTER * best[0]
            # of torques that are mostly noise, what vibrates explains some by chance
            and (error < _NOISY or _is_clearly_worse(best[2], squares))
        ):
            best = (error, tested, squares)
    if best is None:
        assert short is not None
        raise short
    chosen = replace(best[1], tried=tuple(tried))
    late, same, early = _left_by_timing(chosen, training, driven)
    # what is best earlier still is not sampled, but late
    if held and same < _SAMPLED * late and same < early:
        chosen = replace(chosen, held=False)
    elif not held and late < _HELD * same:
        chosen = replace(chosen, held=True)
    return replace(chosen, rest=supported_rest(chosen, training, driven))


def _left_by_timing(
    chosen: ChosenBandwidth,
    training: Sequence[ModelSequences],
    driven: dict[str, set[int]] | None,
) -> tuple[float, float, float]:
    """Errors that plain least squares leaves with controls half a sample late, as they are, and
    half a sample early."""
    plain = _of_first(replace(chosen, held=False).torque_data(training, driven))
    late = [replace(own, motion=own.motion.centred()) for own in plain]
    early = [
        replace(
            own, motion=replace(own.motion, controls=2 * own.motion.controls - held.motion.controls)
        )
        for own, held in zip(plain, late, strict=True)
    ]
    columns = linear_columns(plain)
    # the motion, and with it the design, is that of all three
    parts = [
        (
            design(same, columns) * same.counts[:, :, None],
            np.stack([torque_of(part) * same.counts for part in timings], axis=-1),
        )
        for same, *timings in zip(plain, late, plain, early, strict=True)
    ]
    values = minimum_norm(*stacked(parts)).values
    squares = sum(np.square(b - A @ values).sum(axis=0) for A, b in parts)
    number = np.maximum(sum(part.counts.sum(axis=0) for part in plain), 1.0)
    spread = np.stack([_spread(data) for data in (late, plain, early)], axis=-1)
    found = np.sqrt(np.mean(squares / number[:, None] / spread**2, axis=0))
    return float(found[0]), float(found[1]), float(found[2])


def supported_rest(
    chosen: ChosenBandwidth,
    training: Sequence[ModelSequences],
    driven: dict[str, set[int]] | None,
    own_errors: OwnErrors | None = None,
) -> np.ndarray:
    """Velocity of each joint below which its samples do not count ``(nv,)``.

    It is the one at which plain least squares determines friction best: each joint that turns
    round adds an error if its friction at rest is neither small nor modelled by the own errors, and
    each sample left out takes information.
    """
    rests = [rest_speeds(chosen.slowest, share) for share in _SHARES]
    data = _of_first(replace(chosen, rest=None).torque_data(training, driven, own_errors))
    columns = linear_columns(data)
    parts = [(design(p, columns), torque_of(p)) for p in data]
    spreads = []
    for rest in rests:
        counts = [sliding(p.motion, p.sources.dofs, rest, chosen.corner) for p in data]
        own = [(A * c[:, :, None], b * c) for (A, b), c in zip(parts, counts, strict=True)]
        spreads.append(_spread_of_friction(own, counts))
    table = np.array(spreads)
    first = np.argmax(table <= _NEAR * table.min(axis=0), axis=0)
    out = np.zeros_like(chosen.slowest)
    for k, dof in enumerate(columns.dofs):
        out[dof] = rests[first[k]][dof]
    return out


def _spread_of_friction(
    parts: Sequence[tuple[np.ndarray, np.ndarray]], counts: Sequence[np.ndarray]
) -> np.ndarray:
    """Standard error of the friction of each joint by plain least squares ``(dofs,)``.

    Args:
      parts: design ``(T, dofs, k)`` and torque ``(T, dofs)`` of each recording, zero at samples
        that do not count.
      counts: samples that count ``(T, dofs)`` bool.
    """
    fit = minimum_norm(*stacked(parts))
    squares = sum(np.square(b - A @ fit.values).sum(axis=0) for A, b in parts)
    number = np.sum([c.sum(axis=0) for c in counts], axis=0)
    # noise of the torques over the error that is left
    free = int(number.sum()) - fit.rank
    if free <= 0:
        return np.full(len(number), np.inf)
    noise = np.sqrt(squares / np.maximum(number, 1) * number.sum() / free)
    out = np.zeros(len(number))
    for k in range(len(number)):
        own = np.concatenate([A[:, k, 4 * k : 4 * k + 4] for A, _ in parts])
        out[k] = noise[k] * np.sqrt(np.linalg.pinv(own.T @ own)[2, 2])
    return out


def _spread(data: Sequence[TorqueData]) -> np.ndarray:
    """Standard deviation of the torque of each joint; infinite where it is constant."""
    spread = np.std(np.concatenate([torque_of(d, raw=True) for d in data]), axis=0)
    return np.where(spread > 0, spread, np.inf)


def _unseen_error(data: Sequence[TorqueData]) -> tuple[float, np.ndarray]:
    """Error of plain least squares on the last quarters of recordings, relative to their spread.

    Returns:
      The error, and its mean squares over joints ``(T,)``.
    """
    seen, unseen = halves(same_columns(data, data[0]))
    columns = linear_columns(seen)
    values = plain_least_squares(seen, columns)
    spread = np.std(np.concatenate([torque_of(d, raw=True) for d in unseen]), axis=0)
    moved = spread > 0  # the torque of an undriven elastic joint is always zero
    off = errors(unseen, columns, values)[moved] / spread[moved]
    squares = np.concatenate([errors_of(d, columns, values)[:, moved] ** 2 for d in unseen])
    squares = (squares / spread[moved] ** 2).mean(axis=1)
    return float(np.sqrt(np.mean(np.square(off)))), squares


def _is_clearly_worse(own: np.ndarray, other: np.ndarray) -> bool:
    """Whether squared errors are clearly larger than others at other samples of the same time."""
    count = min(_BLOCKS, len(own), len(other))
    means = [block_sums(each, count) * count / len(each) for each in (own, other)]
    return is_clearly_worse(means[0], means[1])


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
        if d.sources.acting == first.sources.acting
        and np.array_equal(parameters_of(d.model), links)
    ]


def _of_first(data: Sequence[TorqueData]) -> list[TorqueData]:
    return same_columns(data, data[0])


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
    slides = None if data.slides is None else data.slides[rows]
    motion = replace(data.motion, **arrays)
    shares = None if data.shares is None else data.shares[rows]
    return replace(
        data,
        motion=motion,
        links=data.links[rows],
        own_error=own,
        slides=slides,
        shares=shares,
    )
