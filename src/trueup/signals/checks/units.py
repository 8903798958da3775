"""Quality checks of units and signs: ranges, the clock's unit, position against velocity."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trueup.signals._samples import GAP_STEPS, Array
from trueup.signals.checks.clock import FEWEST_SAMPLES
from trueup.signals.checks.finding import Found, found, note, refuse, warn
from trueup.signals.checks.recorded import Channel, Recorded
from trueup.signals.checks.statistics import turns_one_way
from trueup.signals.wrapping import TURN, Wraps, found_wraps, turns_of, unwrapped

# Units in which a channel may be declared, as factors to SI.
_TO_SI = {
    "deg": math.pi / 180.0,
    "deg/s": math.pi / 180.0,
    "rpm": 2.0 * math.pi / 60.0,
    "rev": 2.0 * math.pi,
    "rev/s": 2.0 * math.pi,
    "mrad": 1e-3,
    "mrad/s": 1e-3,
    "cm": 1e-2,
    "cm/s": 1e-2,
    "mm": 1e-3,
    "mm/s": 1e-3,
}
# Unit errors by the ratio of velocity to the derivative of position, both declared as SI.
_RATIOS = (
    (180.0 / math.pi, "velocity looks like deg/s where the position is in rad"),
    (math.pi / 180.0, "position looks like deg where the velocity is in rad/s"),
    (60.0 / (2.0 * math.pi), "velocity looks like rpm where the position is in rad"),
    (1.0 / 6.0, "velocity looks like rpm where the position is in deg"),
    (1.0 / (2.0 * math.pi), "velocity looks like turns/s where the position is in rad"),
    (2.0 * math.pi, "position looks like turns where the velocity is in rad/s"),
    (1e3, "velocity looks a thousand times too large (mm/s or mrad/s), or the times are in ms"),
    (1e-3, "position looks a thousand times too large (mm or mrad)"),
    (1e6, "times look like microseconds"),
    (1e9, "times look like nanoseconds"),
)
_RATIO_TOLERANCE = 0.04

RELATED = 0.8
"""Minimum correlation of a velocity with the derivative of its position."""

# A joint angle beyond two turns is suspicious; beyond four turns it is in degrees or a wheel.
_SUSPECT_TURNS = 4.0 * math.pi
_IMPLAUSIBLE_TURNS = 8.0 * math.pi
_SUSPECT_METRES = 100.0
# Recordings of machines are sampled at 2 Hz or faster.
_SLOWEST_STEP = 0.5


@dataclass(frozen=True)
class SpeedRatio:
    """Ratio of a velocity to the derivative of its position, both in SI as declared."""

    ratio: float
    """Size of the velocity over that of the derivative; negative for opposite signs."""
    correlation: float

    @property
    def related(self) -> bool:
        """Whether the two follow each other."""
        return abs(self.correlation) >= RELATED


def units(recorded: Recorded) -> Iterator[Found]:
    """Find positions whose size does not fit their unit, and a clock that is not in seconds."""
    for channel in recorded.channels:
        yield from _range(channel)
    if recorded.clock_increases and recorded.times.size >= FEWEST_SAMPLES:
        yield from _time_unit(recorded)


def position_velocity(recorded: Recorded) -> Iterator[Found]:
    """Compare each velocity with the derivative of its position: unit, sign, relation."""
    for position, velocity in _pairs(recorded):
        speed = speed_ratio(recorded.times, position, velocity)
        if speed is not None:
            yield _judge_ratio(position, velocity, speed)


def wrapping(recorded: Recorded) -> Iterator[Found]:
    """Find a position that jumps by a whole turn."""
    for channel in recorded.of_role("position"):
        found = _wraps(channel)
        if found is None:
            continue
        turns = found.period / _turn(channel)
        what = "a whole turn" if turns == 1 else f"{turns:g} turns"
        key = "true" if turns == 1 else f"{found.period:.6g}"
        times = "once" if found.jumps == 1 else f"{found.jumps} times"
        continues = (
            f"unwrap: {key} in its column continues it."
            if found.sure
            else "the joint moves too far between samples to continue it. Record it at a higher "
            "rate, or use a part without jumps (trim)."
        )
        yield refuse(
            f"{channel.name} jumps by {what} {times}, as the sensor starts again: {continues}",
            channel.name,
            jumps=found.jumps,
            period=found.period,
        )


def speed_ratio(times: Array, position: Channel, velocity: Channel) -> SpeedRatio | None:
    """Compare a velocity with the derivative of its position; None where one barely moves.

    Both are averaged over the same sliding window: the position's change over it, and the mean of
    the velocity. That needs no regular clock, and the window grows until the change is large
    against the resolution of the position.
    """
    if not (position.moves and velocity.moves):
        return None
    # in-place operations and early deletion save memory on long recordings
    steps = np.diff(times)
    typical = float(np.median(steps))
    place = position.values
    wraps = _wraps(position)
    if wraps is not None:
        place = unwrapped(place, wraps.period)
    place = place * _factor(position)
    rate = velocity.values * (0.5 * _factor(velocity))
    travelled = np.zeros_like(rate)
    np.cumsum((rate[1:] + rate[:-1]) * steps, out=travelled[1:])
    del rate
    gaps_before = np.zeros(times.size, np.int32)
    np.cumsum(steps > GAP_STEPS * typical, out=gaps_before[1:])
    del steps

    window = max(5, math.ceil(0.1 / typical))
    coarse = 10.0 * position.resolution * _factor(position)
    while window < times.size // 20 and _rms(place[window:] - place[:-window]) < coarse:
        window *= 2
    if times.size < 3 * window:
        window = max(1, times.size // 3)
    unbroken = gaps_before[window:] == gaps_before[:-window]
    del gaps_before
    lengths = (times[window:] - times[:-window])[unbroken]
    derivative = (place[window:] - place[:-window])[unbroken]
    del place
    derivative /= lengths
    mean_rate = (travelled[window:] - travelled[:-window])[unbroken]
    del travelled
    mean_rate /= lengths
    del lengths, unbroken
    if derivative.size < 3 or np.ptp(derivative) == 0 or np.ptp(mean_rate) == 0:
        return None
    derivative -= derivative.mean()
    mean_rate -= mean_rate.mean()
    sizes = float(np.linalg.norm(derivative)), float(np.linalg.norm(mean_rate))
    correlation = float(derivative @ mean_rate) / (sizes[0] * sizes[1])
    # Both hold noise, so neither is regressed on the other: the ratio of their sizes is unbiased
    # where the two are equally noisy.
    ratio = sizes[1] / sizes[0]
    return SpeedRatio(math.copysign(ratio, correlation), correlation)


def _pairs(recorded: Recorded) -> Iterator[tuple[Channel, Channel]]:
    for names in recorded.pairs:
        position, velocity = (recorded.channel(name) for name in names)
        if position is not None and velocity is not None:
            yield position, velocity


def _judge_ratio(position: Channel, velocity: Channel, speed: SpeedRatio) -> Found:
    """Return the finding for a ratio of a velocity to the derivative of its position."""
    ratio, correlation = speed.ratio, speed.correlation
    pair = f"{velocity.name} against the derivative of {position.name}"
    measured = f"ratio {ratio:.4g}, correlation {correlation:.3f}"
    inverted = " and its sign is inverted" if ratio < 0 else ""
    channel = f"{position.name} / {velocity.name}"
    figures = {"ratio": ratio, "correlation": correlation}
    if not speed.related:
        return warn(
            f"{pair}: weakly correlated ({measured}); check that they belong to the same joint.",
            channel,
            **figures,
        )
    if abs(abs(ratio) - 1.0) < 0.1:
        if ratio > 0:
            return note(f"{pair}: they agree ({measured}).", channel, **figures)
        return refuse(
            f"{pair}: the sign of one of them is inverted ({measured}).", channel, **figures
        )
    value, text = min(_RATIOS, key=lambda known: abs(math.log(abs(ratio) / known[0])))
    declared = [f"{c.name} is declared as {c.unit}" for c in (position, velocity) if c.unit]
    says = f"; {' and '.join(declared)}" if declared else ""
    if _near(abs(ratio), value):
        return refuse(f"{pair}: the {text}{inverted} ({measured}{says}).", channel, **figures)
    return warn(
        f"{pair}: the velocity is {abs(ratio):.3g} times as large{inverted} ({measured}{says}): a "
        "gear ratio, a unit, or a strong filter, or a time axis that is as many times too long. "
        f"Give scale: {1.0 / ratio:.4g} in its column, or time_scale: {1.0 / abs(ratio):.4g}.",
        channel,
        **figures,
    ).because(f"a time axis that is {abs(ratio):.3g} times too long, or a unit")


def _time_unit(recorded: Recorded) -> Iterator[Found]:
    """Find a clock that seems not to be in seconds.

    A velocity that agrees with the derivative of its position proves the clock right.
    """
    typical = recorded.typical_step
    if typical < _SLOWEST_STEP:
        return
    speeds = [speed_ratio(recorded.times, *pair) for pair in _pairs(recorded)]
    if any(speed and speed.related and 0.5 < abs(speed.ratio) < 2.0 for speed in speeds):
        return
    unit = "ms" if typical < 1e3 else "microseconds" if typical < 1e6 else "nanoseconds"
    scale = {"ms": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}[unit]
    yield refuse(
        f"The times look like {unit}, not seconds: a median step of {typical:.4g} s would be "
        f"{1.0 / typical:.3g} Hz, as {unit} it is {scale / typical:.4g} Hz. Declare the unit, or "
        "accept 'units'.",
        median_step=typical,
        assumed_factor=1.0 / scale,
    )


def _range(channel: Channel) -> Iterator[Found]:
    """Find a position whose size does not fit its unit, such as a joint at 180 rad."""
    values, unit = channel.values, channel.unit or ""
    largest = float(np.max(np.abs(values)))
    if channel.role != "position" and unit not in ("rad", "m"):
        return
    if unit == "m" and largest > _SUSPECT_METRES:
        severity, guess = "refuse", "mm"
    elif unit in ("", "rad") and largest > _SUSPECT_TURNS:
        implausible = largest > _IMPLAUSIBLE_TURNS and not turns_one_way(values, _SUSPECT_TURNS)
        severity, guess = ("refuse" if implausible else "warning"), "deg"
    else:
        return
    said = unit or "rad"
    turns = f", {largest / (2.0 * math.pi):.0f} turns" if said == "rad" else ""
    yield found(
        severity,
        f"{channel.name} reaches {largest:.4g} {said}{turns}: is it in {guess}? Declare its unit, "
        "or accept 'units'.",
        channel.name,
        largest=largest,
    )


def _wraps(position: Channel) -> Wraps | None:
    """Jumps of an angle by a turn or some turns."""
    periods = turns_of(position.unit)
    return found_wraps(position.values, periods) if periods else None


def _turn(position: Channel) -> float:
    return turns_of(position.unit)[0] if position.unit else TURN


def _factor(channel: Channel) -> float:
    return _TO_SI.get(channel.unit or "", 1.0)


def _near(value, known: float, tolerance: float = _RATIO_TOLERANCE):
    return np.abs(value - known) < tolerance * known


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
