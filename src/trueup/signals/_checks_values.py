"""Quality checks of single channels: finite, constant, clipped, coarse."""

import numpy as np

from trueup.signals._finding import Finding
from trueup.signals._samples import Array
from trueup.signals._signal_statistics import is_constant, noise_level, runs

# A run of this many equal samples at the extreme is a plateau.
_PLATEAU = 3
# How far a signal enters or leaves a plateau within as many samples, if it is clipped rather than
# turning around: an arc of a smooth signal that rounds to one level for 3 samples is at most
# 9 levels lower 3 samples earlier.
_TURN_LEVELS = 10.0
_TURN_SHARE = 0.1
_FEW_LEVELS = 50
_MANY_LEVELS = 5000


def check_finite(name: str, values: Array, times: Array) -> list[Finding]:
    """Find values that are NaN or infinite."""
    broken = np.flatnonzero(~np.isfinite(values))
    if broken.size == 0:
        return []
    first = int(broken[0])
    plural = "value is" if broken.size == 1 else "values are"
    return [
        Finding(
            "finite",
            "refuse",
            name,
            f"{name}: {broken.size} of {values.size} {plural} NaN or infinite, the first at index "
            f"{first} ({times[first]:.6g} s): cut them out or fill them.",
            {
                "count": float(broken.size),
                "first_index": float(first),
                "first_time": float(times[first]),
            },
        )
    ]


def check_constant(name: str, values: Array, role: str) -> list[Finding]:
    """Find a channel that never changes."""
    if not is_constant(values):
        return []
    consequence = {
        "control": "it excites nothing",
        "position": "nothing is learnt from this joint",
        "velocity": "nothing is learnt from this joint",
    }.get(role, "it holds no information")
    return [
        Finding(
            "constant",
            "info" if role == "other" else "warning",
            name,
            f"{name} is {values[0] + 0.0:.6g} throughout: {consequence}.",
            {"value": float(values[0] + 0.0)},
        )
    ]


def check_saturation(name: str, values: Array, step: float) -> list[Finding]:
    """Find plateaus at the largest and the smallest value that look like clipping.

    A plateau counts if the signal runs into it or out of it at speed. A signal that turns around,
    or comes to rest, gets there slowly; one that only switches between levels, such as a square
    wave, is not clipped either. Plateaus at the very start and end are rest. ``step`` is the
    resolution of the channel, 0 for a continuous one.
    """
    if values.size < 20 or is_constant(values):
        return []
    low, high = float(values.min()), float(values.max())
    interior = (values > low) & (values < high)
    changes = np.diff(values)
    within = interior[1:] & interior[:-1]
    if np.count_nonzero(within) < 20 or np.mean(changes[within] == 0) > 0.5:
        return []
    approach = np.abs(values[_PLATEAU:] - values[:-_PLATEAU])
    speed = max(
        _TURN_LEVELS * step,
        _TURN_SHARE * float(np.sqrt(np.mean(approach**2))),
        4.0 * noise_level(values),
    )
    findings = []
    for which, extreme in (("maximum", high), ("minimum", low)):
        starts, stops = runs(values == extreme)
        inside = (starts >= _PLATEAU) & (stops <= values.size - _PLATEAU)
        long = (stops - starts >= _PLATEAU) & inside
        starts, stops = starts[long], stops[long]
        entered = np.abs(extreme - values[starts - _PLATEAU])
        left = np.abs(extreme - values[np.minimum(stops + _PLATEAU - 1, values.size - 1)])
        clipped = np.maximum(entered, left) > speed
        starts, stops = starts[clipped], stops[clipped]
        if starts.size == 0:
            continue
        held = int(np.sum(stops - starts))
        share = held / values.size
        findings.append(
            Finding(
                "saturation",
                "warning",
                name,
                f"{name} looks clipped at its {which} {extreme:.6g}: it stays there for "
                f"{100.0 * share:.2g} % of the recording, in {starts.size} "
                f"{'stretch' if starts.size == 1 else 'stretches'} of up to "
                f"{int(np.max(stops - starts))} samples.",
                {
                    "level": extreme,
                    "share": share,
                    "stretches": float(starts.size),
                    "longest": float(np.max(stops - starts)),
                },
            )
        )
    return findings


def check_quantisation(name: str, values: Array, step: float, role: str) -> list[Finding]:
    """Describe the resolution of a channel, and find one that is coarse for its motion."""
    if step <= 0.0 or is_constant(values):
        return []
    levels = float(np.ptp(values) / step)
    if levels > _MANY_LEVELS:
        return []
    used = int(np.unique(values).size)
    if used <= 3:
        # On and off, or three modes: a switch, not a coarse measurement.
        return []
    coarse = levels < _FEW_LEVELS and role != "other"
    advice = "; what it does is hardly resolved" if coarse else ""
    return [
        Finding(
            "quantisation",
            "warning" if coarse else "info",
            name,
            f"{name} is resolved in steps of {step:.4g}, {levels:.0f} over its range{advice}.",
            {"resolution": step, "levels": levels},
        )
    ]
