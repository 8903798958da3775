"""Quality check of the delay between the channels of one joint."""

from collections.abc import Iterator

import numpy as np

from trueup.signals._samples import GAP_STEPS, Array
from trueup.signals.checks.finding import Found, warn
from trueup.signals.checks.recorded import Channel, Recorded
from trueup.signals.checks.units import speed_ratio

# A velocity counts as late from this share of a step, this many standard deviations, and this share
# of its acceleration's effect on it.
_STEPS = 0.75
_SURE = 6.0
_BLOCKS = 10
_WINDOW = 5
_MATTERS = 0.02
_LONGEST = 0.2  # [s]
# Share of a velocity that its position explains, without which the two are not compared.
_EXPLAINED = 0.9
_SAME_SIZE = 0.1


def lags(recorded: Recorded) -> Iterator[Found]:
    """Find velocities that lag, or lead, the derivative of their position."""
    for names in recorded.pairs:
        position, velocity = (recorded.channel(name) for name in names)
        if position is None or velocity is None:
            continue
        found = velocity_lag(recorded.times, position, velocity)
        if found == 0.0:
            continue
        side = "lags" if found > 0 else "leads"
        yield warn(
            f"{velocity.name} {side} the derivative of {position.name} by {1e3 * abs(found):.3g} "
            f"ms, as a filter or another clock does: late: {found:.3g} in its column corrects it.",
            f"{position.name} / {velocity.name}",
            lag=found,
        ).because("a late velocity")


def velocity_lag(times: Array, position: Channel, velocity: Channel) -> float:
    """Time by which a velocity lags the derivative of its position [s]; 0 where none is sure.

    Over a window, the mean of a velocity that is late by ``lag`` is the change of the position less
    ``lag`` times the mean acceleration. The lag is that of least squares; its standard deviation
    is that of its values in ten blocks of the recording.

    Args:
        times: Increasing times (n,) [s].
        position: Position of a joint, in SI.
        velocity: Its velocity, in SI.
    """
    speed = speed_ratio(times, position, velocity)
    if speed is None or speed.correlation < _EXPLAINED or abs(speed.ratio - 1.0) > _SAME_SIZE:
        return 0.0
    steps = np.diff(times)
    step = float(np.median(steps))
    place, rate = position.values, velocity.values
    travelled = np.concatenate(([0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]) * steps)))
    lasts = times[_WINDOW:] - times[:-_WINDOW]
    whole = lasts < GAP_STEPS * _WINDOW * step
    change, mean, acceleration = (
        ((values[_WINDOW:] - values[:-_WINDOW]) / lasts)[whole]
        for values in (place, travelled, rate)
    )
    if change.size < 20 * _BLOCKS:
        return 0.0
    blocks = []
    for rows in np.array_split(np.arange(change.size), _BLOCKS):
        basis = np.column_stack([change[rows], -acceleration[rows], np.ones(rows.size)])
        if np.linalg.matrix_rank(basis) < basis.shape[1]:
            continue
        blocks.append(np.linalg.lstsq(basis, mean[rows], rcond=None)[0][1])
    if len(blocks) < _BLOCKS // 2:
        return 0.0
    lag = float(np.median(blocks))
    spread = float(1.4826 * np.median(np.abs(np.array(blocks) - lag)) / np.sqrt(len(blocks)))
    matters = abs(lag) * float(np.std(acceleration)) > _MATTERS * float(np.std(rate))
    sure = _STEPS * step < abs(lag) < _LONGEST and abs(lag) > _SURE * spread
    return lag if sure and matters else 0.0
