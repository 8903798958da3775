"""Quality checks of single channels: finite, constant, clipped, coarse."""

from collections.abc import Iterator

import numpy as np

from trueup.signals.checks.finding import Found, found, refuse, warn
from trueup.signals.checks.recorded import Channel, Recorded
from trueup.signals.checks.statistics import runs

# A run of this many equal samples at the extreme is a plateau.
_PLATEAU = 3
# How far a signal enters or leaves a plateau within as many samples, if it is clipped rather than
# turning around: an arc of a smooth signal that rounds to one level for 3 samples is at most
# 9 levels lower 3 samples earlier.
_TURN_LEVELS = 10.0
_TURN_SHARE = 0.1
_FEW_LEVELS = 50
_MANY_LEVELS = 5000


def finite(recorded: Recorded) -> Iterator[Found]:
    """Find values that are NaN or infinite."""
    for channel in recorded.columns:
        if channel.is_finite:
            continue
        broken = np.flatnonzero(~np.isfinite(channel.values))
        first = int(broken[0])
        time = recorded.times[first]
        plural = "value is" if broken.size == 1 else "values are"
        yield refuse(
            f"{channel.name}: {broken.size} of {channel.values.size} {plural} NaN or infinite, the "
            f"first at index {first} ({time:.6g} s): repair: true bridges up to 5 in a row "
            "and removes longer stretches.",
            channel.name,
            count=broken.size,
            first_index=first,
            first_time=time,
        )


def constant(recorded: Recorded) -> Iterator[Found]:
    """Find channels that never change."""
    consequences = {
        "control": "it provides no excitation",
        "position": "no information about this joint",
        "velocity": "no information about this joint",
    }
    for channel in recorded.channels:
        if channel.is_constant:
            value = channel.values[0] + 0.0  # -0.0 is shown as 0
            consequence = consequences.get(channel.role, "it contains no information")
            yield found(
                "info" if channel.role == "other" else "warning",
                f"{channel.name} is {value:.6g} throughout: {consequence}.",
                channel.name,
                value=value,
            )


def saturation(recorded: Recorded) -> Iterator[Found]:
    """Find plateaus at the largest and the smallest value that look like clipping.

    A plateau counts if the signal runs into it or out of it at speed. A signal that turns around,
    or comes to rest, gets there slowly; one that only switches between levels, such as a square
    wave, is not clipped either. Plateaus at the very start and end are rest.
    """
    for channel in recorded.channels:
        values = channel.values
        if values.size < 20 or channel.is_constant:
            continue
        low, high = float(values.min()), float(values.max())
        interior = (values > low) & (values < high)
        changes = np.diff(values)
        within = interior[1:] & interior[:-1]
        if np.count_nonzero(within) < 20 or np.mean(changes[within] == 0) > 0.5:
            continue
        approach = np.abs(values[_PLATEAU:] - values[:-_PLATEAU])
        speed = max(
            _TURN_LEVELS * channel.resolution,
            _TURN_SHARE * float(np.sqrt(np.mean(approach**2))),
            4.0 * channel.noise,
        )
        for which, extreme in (("maximum", high), ("minimum", low)):
            yield from _clipped_at(channel, which, extreme, speed)


def _clipped_at(channel: Channel, which: str, extreme: float, speed: float) -> Iterator[Found]:
    """Find stretches at an extreme that the signal enters or leaves faster than ``speed``."""
    values = channel.values
    starts, stops = runs(values == extreme)
    inside = (starts >= _PLATEAU) & (stops <= values.size - _PLATEAU)
    long = (stops - starts >= _PLATEAU) & inside
    starts, stops = starts[long], stops[long]
    entered = np.abs(extreme - values[starts - _PLATEAU])
    left = np.abs(extreme - values[np.minimum(stops + _PLATEAU - 1, values.size - 1)])
    clipped = np.maximum(entered, left) > speed
    starts, stops = starts[clipped], stops[clipped]
    if starts.size == 0:
        return
    longest = int(np.max(stops - starts))
    share = int(np.sum(stops - starts)) / values.size
    yield warn(
        f"{channel.name} looks clipped at its {which} {extreme:.6g}: it stays there for "
        f"{100.0 * share:.2g} % of the recording, in {starts.size} "
        f"{'stretch' if starts.size == 1 else 'stretches'} of up to {longest} samples.",
        channel.name,
        level=extreme,
        share=share,
        stretches=starts.size,
        longest=longest,
    )


def quantisation(recorded: Recorded) -> Iterator[Found]:
    """Describe the resolution of each channel, and find one that is coarse for its motion."""
    for channel in recorded.channels:
        step = channel.resolution
        if step <= 0.0 or channel.is_constant:
            continue
        levels = channel.range / step
        # up to 3 levels: an on-off or mode signal rather than a coarse measurement
        if levels > _MANY_LEVELS or np.unique(channel.values).size <= 3:
            continue
        coarse = levels < _FEW_LEVELS and channel.role != "other"
        advice = "; its motion is barely resolved" if coarse else ""
        yield found(
            "warning" if coarse else "info",
            f"{channel.name} is resolved in steps of {step:.4g}, {levels:.0f} over its "
            f"range{advice}.",
            channel.name,
            resolution=step,
            levels=levels,
        )
