"""Quality checks of units and signs: ranges, the clock's unit, position against velocity."""

import math
from collections.abc import Mapping

import numpy as np

from trueup.signals._checks_motion import Channel
from trueup.signals._finding import Finding
from trueup.signals._samples import GAP_STEPS, Array

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
# What a ratio of velocity to the derivative of position gives away, when both are said to be SI.
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
_RELATED = 0.8

# A joint beyond two turns is worth a word; beyond four turns, it is degrees or a wheel.
_SUSPECT_TURNS = 4.0 * math.pi
_IMPLAUSIBLE_TURNS = 8.0 * math.pi
_SUSPECT_METRES = 100.0
# Recordings of machines are not sampled more slowly than twice a second.
_SLOWEST_STEP = 0.5


def check_position_velocity(
    times: Array, position: Channel, velocity: Channel, units: Mapping[str, str]
) -> tuple[list[Finding], float | None]:
    """Compare a velocity with the derivative of its position: unit, sign, and whether they match.

    Both are averaged over the same sliding window: the position's change over it, and the mean of
    the velocity. That needs no regular clock, and the window grows until the change is large
    against the resolution of the position.

    Returns:
        The findings, and the ratio of velocity to derivative (both in SI as declared), or None
        where the two are not related.
    """
    if not (position.moves and velocity.moves):
        return [], None
    steps = np.diff(times)
    typical = float(np.median(steps))
    place = position.values
    if _whole_turns(position, units):
        place = np.unwrap(place, period=_turn(position, units))
    place = place * _factor(position, units)
    rate = velocity.values * _factor(velocity, units)
    travelled = np.concatenate(([0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]) * steps)))
    whole = np.concatenate(([0], np.cumsum(steps > GAP_STEPS * typical)))

    window = max(5, math.ceil(0.1 / typical))
    coarse = 10.0 * position.resolution * _factor(position, units)
    while window < times.size // 20 and _rms(place[window:] - place[:-window]) < coarse:
        window *= 2
    if times.size < 3 * window:
        window = max(1, times.size // 3)
    unbroken = whole[window:] == whole[:-window]
    lengths = (times[window:] - times[:-window])[unbroken]
    derivative = (place[window:] - place[:-window])[unbroken] / lengths
    mean_rate = (travelled[window:] - travelled[:-window])[unbroken] / lengths
    if derivative.size < 3 or np.ptp(derivative) == 0 or np.ptp(mean_rate) == 0:
        return [], None

    correlation = float(np.corrcoef(derivative, mean_rate)[0, 1])
    # Both hold noise, so neither is regressed on the other: the ratio of their sizes is unbiased
    # where the two are equally noisy.
    ratio = math.copysign(float(np.std(mean_rate) / np.std(derivative)), correlation)
    return [_judge_ratio(position.name, velocity.name, ratio, correlation, units)], (
        ratio if abs(correlation) >= _RELATED else None
    )


def _judge_ratio(
    position: str, velocity: str, ratio: float, correlation: float, units: Mapping[str, str]
) -> Finding:
    """Say what the ratio of a velocity to the derivative of its position means."""
    pair = f"{velocity} against the derivative of {position}"
    measured = f"ratio {ratio:.4g}, correlation {correlation:.3f}"
    inverted = " and its sign is inverted" if ratio < 0 else ""
    if abs(correlation) < _RELATED:
        severity = "warning"
        sentence = f"{pair}: they hardly follow each other ({measured}); do they belong together?"
    elif abs(abs(ratio) - 1.0) < 0.1 and ratio > 0:
        severity = "info"
        sentence = f"{pair}: they agree ({measured})."
    elif abs(abs(ratio) - 1.0) < 0.1:
        severity = "refuse"
        sentence = f"{pair}: the sign of one of them is inverted ({measured})."
    else:
        value, text = min(_RATIOS, key=lambda known: abs(math.log(abs(ratio) / known[0])))
        declared = [f"{n} is declared as {units[n]}" for n in (position, velocity) if units.get(n)]
        says = f"; {' and '.join(declared)}" if declared else ""
        if _near(abs(ratio), value):
            severity = "refuse"
            sentence = f"{pair}: the {text}{inverted} ({measured}{says})."
        else:
            severity = "warning"
            sentence = (
                f"{pair}: the velocity is {abs(ratio):.3g} times as large{inverted} "
                f"({measured}{says}): a gear ratio, a unit, or a strong filter?"
            )
    return Finding(
        "position-velocity",
        severity,
        f"{position} / {velocity}",
        sentence,
        {"ratio": ratio, "correlation": correlation},
    )


def check_time_unit(times: Array, ratios: list[float]) -> list[Finding]:
    """Find a clock that seems not to be in seconds.

    A velocity that agrees with the derivative of its position proves the clock right.
    """
    typical = float(np.median(np.diff(times)))
    if typical < _SLOWEST_STEP or any(0.5 < abs(ratio) < 2.0 for ratio in ratios):
        return []
    unit = "ms" if typical < 1e3 else "microseconds" if typical < 1e6 else "nanoseconds"
    scale = {"ms": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}[unit]
    return [
        Finding(
            "units",
            "refuse",
            "",
            f"The times look like {unit}, not seconds: a median step of {typical:.4g} s would be "
            f"{1.0 / typical:.3g} Hz, as {unit} it is {scale / typical:.4g} Hz. Declare the unit, "
            "or accept 'units'.",
            {"median_step": typical, "assumed_factor": 1.0 / scale},
        )
    ]


def check_range(channel: Channel, units: Mapping[str, str]) -> list[Finding]:
    """Find a position whose size does not fit its unit, such as a joint at 180 rad."""
    unit = units.get(channel.name, "")
    largest = float(np.max(np.abs(channel.values)))
    if channel.role != "position" and unit not in ("rad", "m"):
        return []
    if unit == "m" and largest > _SUSPECT_METRES:
        severity, guess = "refuse", "mm"
    elif unit in ("", "rad") and largest > _SUSPECT_TURNS:
        # A wheel turns one way: it ends far from where it began. A joint comes back.
        net = abs(float(channel.values[-1] - channel.values[0]))
        wheel = net > 0.7 * float(np.ptp(channel.values)) and net > _SUSPECT_TURNS
        implausible = largest > _IMPLAUSIBLE_TURNS and not wheel
        severity, guess = ("refuse" if implausible else "warning"), "deg"
    else:
        return []
    said = unit or "rad"
    turns = f", {largest / (2.0 * math.pi):.0f} turns" if said == "rad" else ""
    return [
        Finding(
            "units",
            severity,
            channel.name,
            f"{channel.name} reaches {largest:.4g} {said}{turns}: is it in {guess}? Declare its "
            "unit, or accept 'units'.",
            {"largest": largest},
        )
    ]


def check_wrapping(channel: Channel, units: Mapping[str, str]) -> list[Finding]:
    """Find a position that jumps by a whole turn."""
    if channel.role != "position":
        return []
    jumps = _whole_turns(channel, units)
    if jumps == 0:
        return []
    return [
        Finding(
            "wrapping",
            "warning",
            channel.name,
            f"{channel.name} jumps by a whole turn {'once' if jumps == 1 else f'{jumps} times'}: "
            "unwrap it before a fit.",
            {"jumps": float(jumps)},
        )
    ]


def _whole_turns(position: Channel, units: Mapping[str, str]) -> int:
    """Count the jumps by a whole turn of a position that stays within one turn."""
    if units.get(position.name, "rad") not in ("rad", "deg"):
        return 0
    turn = _turn(position, units)
    if np.ptp(position.values) > 1.1 * turn:
        return 0
    return int(np.count_nonzero(_near(np.abs(np.diff(position.values)), turn, 0.05)))


def _turn(position: Channel, units: Mapping[str, str]) -> float:
    return 360.0 if units.get(position.name) == "deg" else 2.0 * math.pi


def _factor(channel: Channel, units: Mapping[str, str]) -> float:
    return _TO_SI.get(units.get(channel.name, ""), 1.0)


def _near(found, value: float, tolerance: float = _RATIO_TOLERANCE):
    return np.abs(found - value) < tolerance * value


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
