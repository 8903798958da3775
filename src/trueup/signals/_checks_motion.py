"""Quality checks of motion: rest at both ends, excitation, and delay from control to response."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.signals._finding import Finding
from trueup.signals._samples import Array
from trueup.signals._signal_statistics import is_constant, moves, noise_level
from trueup.signals.delay import DelayEstimate, estimate_delay

# Motion starts where a position has left its place by this share of its range, or a velocity
# exceeds this share of its largest, for a few samples in a row.
_POSITION_SHARE = 0.005
_VELOCITY_SHARE = 0.01
_IN_A_ROW = 3
# Rest shorter than this is not worth a word.
_REST_WORTH_A_WORD = 0.2
# What a suggested interval keeps of the rest before and after the motion [s].
_KEPT_REST = 0.1
_LONG_DELAY = 0.1
_MAX_DELAY = 0.5
_MOST_CANDIDATES = 8
# Samples that are compared for a delay: two minutes at 1 kHz.
_MOST_SAMPLES = 120_000


@dataclass(frozen=True)
class Channel:
    """A channel that passed the checks of its single values.

    Attributes:
        name: Its name.
        values: Samples (n,), all finite.
        role: ``control``, ``position``, ``velocity`` or ``other``.
        resolution: Step of which all values are multiples, 0 where there is none.
    """

    name: str
    values: Array
    role: str
    resolution: float

    @property
    def moves(self) -> bool:
        """Whether the channel does more than flicker."""
        return moves(self.values, self.resolution)


def check_rest(
    times: Array, channels: Sequence[Channel]
) -> tuple[list[Finding], tuple[float, float]]:
    """Find how long nothing moves at the start and at the end, and suggest what to keep.

    Returns:
        The findings, and the interval (start, end) [s] to keep: all of it where nothing rests.
    """
    whole = (float(times[0]), float(times[-1]))
    moving = [c for c in channels if c.role in ("position", "velocity") and c.moves]
    moving = moving or [c for c in channels if c.role == "control" and c.moves]
    if not moving:
        return [], whole
    first = min(_first_motion(c.values, c) for c in moving)
    last = times.size - 1 - min(_first_motion(c.values[::-1], c) for c in moving)
    if first >= last:
        return [], whole
    head, tail = float(times[first] - times[0]), float(times[-1] - times[last])
    duration = whole[1] - whole[0]
    if max(head, tail) < max(_REST_WORTH_A_WORD, 0.01 * duration):
        return [], whole
    trim = (
        max(whole[0], float(times[first]) - _KEPT_REST),
        min(whole[1], float(times[last]) + _KEPT_REST),
    )
    share = (head + tail) / duration
    ends = [
        f"the {end} {rest:.2f} s" for end, rest in (("first", head), ("last", tail)) if rest > 0.05
    ]
    return [
        Finding(
            "rest",
            "warning" if share > 0.5 else "info",
            "",
            f"Nothing moves for {' and '.join(ends)} ({100.0 * share:.0f} % of the recording): "
            f"use {trim[0]:.6g} to {trim[1]:.6g} s.",
            {
                "head": head,
                "tail": tail,
                "share": share,
                "trim_start": trim[0],
                "trim_end": trim[1],
            },
        )
    ], trim


def _first_motion(values: Array, channel: Channel) -> int:
    """Return the index of the first sample that moves, the length where none does."""
    if channel.role == "velocity":
        departure = np.abs(values)
        share = _VELOCITY_SHARE * float(departure.max())
    else:
        departure = np.abs(values - np.median(values[:_IN_A_ROW]))
        share = _POSITION_SHARE * float(np.ptp(values))
    threshold = max(share, 3.0 * channel.resolution, 5.0 * noise_level(values))
    beyond = departure > threshold
    lasting = np.lib.stride_tricks.sliding_window_view(beyond, _IN_A_ROW).all(axis=1)
    return int(np.argmax(lasting)) if lasting.any() else values.size


def check_excitation(channels: Sequence[Channel]) -> list[Finding]:
    """Find a recording in which no control changes, or nothing responds."""
    controls = [c for c in channels if c.role == "control"]
    responses = [c for c in channels if c.role in ("position", "velocity")]
    findings = []
    if controls and all(is_constant(c.values) for c in controls):
        which = "the control is" if len(controls) == 1 else f"all {len(controls)} controls are"
        findings.append(
            Finding(
                "excitation",
                "refuse",
                "",
                f"No excitation: {which} constant. Record a run in which the command changes, or "
                "accept 'excitation' for a free motion.",
                {"controls": float(len(controls))},
            )
        )
    if responses and not any(c.moves for c in responses):
        largest = max(float(np.ptp(c.values)) for c in responses)
        findings.append(
            Finding(
                "excitation",
                "refuse",
                "",
                f"No excitation: no position or velocity moves, the largest range is "
                f"{largest:.3g}, which is noise or resolution. Record a run that moves.",
                {"responses": float(len(responses)), "largest_range": largest},
            )
        )
        return findings
    for channel in responses:
        if not channel.moves and not is_constant(channel.values):
            reach = float(np.ptp(channel.values))
            findings.append(
                Finding(
                    "excitation",
                    "warning",
                    channel.name,
                    f"{channel.name} hardly moves: its range of {reach:.3g} is noise or "
                    "resolution, nothing is learnt from this joint.",
                    {"range": reach, "resolution": channel.resolution},
                )
            )
    return findings


def check_delay(
    times: Array, channels: Sequence[Channel], responses: Mapping[str, str] | None
) -> list[Finding]:
    """Estimate the delay from each control to its response, where the control changes most.

    Args:
        times: Sample times (n,) [s], increasing.
        channels: The usable channels.
        responses: Which response answers which control, by name. None pairs controls and positions
            (or velocities) in order where there are equally many; otherwise each control is
            compared with every response, and the most strongly related one counts.
    """
    step = float(np.median(np.diff(times)))
    compared = min(times.size, _MOST_SAMPLES)
    shortest = float(np.min(times[compared - 1 :] - times[: times.size - compared + 1]))
    max_delay = min(_MAX_DELAY, shortest / 4.0)
    if max_delay < 4.0 * step:
        return []
    findings = []
    for control, candidates in _candidates(channels, responses):
        part = _busiest_part(control.values)
        estimates = [
            (
                response,
                estimate_delay(times[part], control.values[part], response.values[part], max_delay),
            )
            for response in candidates
        ]
        if not estimates:
            continue
        response, best = max(estimates, key=lambda item: _strength(item[1]))
        late = best.reliable and (best.delay > _LONG_DELAY or best.delay < -best.resolution)
        findings.append(
            Finding(
                "delay",
                "warning" if late else "info",
                f"{control.name} / {response.name}",
                f"{control.name} to {response.name}: {best.sentence}",
                {
                    "delay": best.delay,
                    "correlation": best.correlation,
                    "resolution": best.resolution,
                    "reliable": float(best.reliable),
                },
            )
        )
    return findings


def _busiest_part(command: Array) -> slice:
    """Return where a command changes most, of a length that suffices to time a delay."""
    if command.size <= _MOST_SAMPLES:
        return slice(None)
    travelled = np.concatenate(([0.0], np.cumsum(np.abs(np.diff(command)))))
    start = int(np.argmax(travelled[_MOST_SAMPLES - 1 :] - travelled[: -_MOST_SAMPLES + 1]))
    return slice(start, start + _MOST_SAMPLES)


def _strength(estimate: DelayEstimate) -> tuple[bool, float]:
    return estimate.reliable, abs(estimate.correlation)


def _candidates(
    channels: Sequence[Channel], responses: Mapping[str, str] | None
) -> list[tuple[Channel, list[Channel]]]:
    """Pair every control that changes with the responses that may answer it."""
    named = {c.name: c for c in channels}
    if responses is not None:
        chosen = [(named.get(c), named.get(r)) for c, r in responses.items()]
        return [(c, [r]) for c, r in chosen if c and r and not is_constant(c.values) and r.moves]
    # A command may well look like noise: white noise is good excitation.
    controls = [c for c in channels if c.role == "control"]
    answers = [c for c in channels if c.role == "position"]
    answers = answers or [c for c in channels if c.role == "velocity"]
    if len(controls) == len(answers):
        pairs = [(c, [a]) for c, a in zip(controls, answers) if a.moves]
        return [(c, a) for c, a in pairs if not is_constant(c.values)]
    moving = [a for a in answers if a.moves][:_MOST_CANDIDATES]
    return [(c, moving) for c in controls if not is_constant(c.values)]
