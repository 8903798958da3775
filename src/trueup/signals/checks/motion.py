"""Quality checks of motion: rest at both ends, excitation, and delay from control to response."""

from collections.abc import Iterator

import numpy as np

from trueup.signals._samples import Array
from trueup.signals.checks.finding import Found, found, refuse, warn
from trueup.signals.checks.recorded import Channel, Recorded
from trueup.signals.delay import DelayEstimate, estimate_delay

# Motion starts where a position has left its place by this share of its range, or a velocity
# exceeds this share of its largest, for a few samples in a row.
_POSITION_SHARE = 0.005
_VELOCITY_SHARE = 0.01
_IN_A_ROW = 3
# Rest shorter than this is not reported.
_REST_WORTH_A_WORD = 0.2
# Rest kept before and after the motion in a suggested interval [s].
_KEPT_REST = 0.1
_LONG_DELAY = 0.1
_MAX_DELAY = 0.5
_MOST_CANDIDATES = 8
# Samples that are compared for a delay: two minutes at 1 kHz.
_MOST_SAMPLES = 120_000


def rest(recorded: Recorded) -> Iterator[Found]:
    """Find the rest at both ends of the recording, and suggest an interval to keep."""
    times = recorded.times
    moving = [c for c in recorded.of_role("position", "velocity") if c.moves]
    moving = moving or [c for c in recorded.of_role("control") if c.moves]
    if not moving:
        return
    first = min(_first_motion(c.values, c) for c in moving)
    last = times.size - 1 - min(_first_motion(c.values[::-1], c) for c in moving)
    if first >= last:
        return
    head, tail = float(times[first] - times[0]), float(times[-1] - times[last])
    duration = float(times[-1] - times[0])
    if max(head, tail) < max(_REST_WORTH_A_WORD, 0.01 * duration):
        return
    start = max(float(times[0]), float(times[first]) - _KEPT_REST)
    end = min(float(times[-1]), float(times[last]) + _KEPT_REST)
    share = (head + tail) / duration
    ends = [
        f"the {place} {rest:.2f} s"
        for place, rest in (("first", head), ("last", tail))
        if rest > 0.05
    ]
    yield found(
        "warning" if share > 0.5 else "info",
        f"Nothing moves for {' and '.join(ends)} ({100.0 * share:.0f} % of the recording): use "
        f"{start:.6g} to {end:.6g} s.",
        head=head,
        tail=tail,
        share=share,
        trim_start=start,
        trim_end=end,
    )


def _first_motion(values: Array, channel: Channel) -> int:
    """Return the index of the first sample that moves, the length where none does."""
    if channel.role == "velocity":
        departure = np.abs(values)
        share = _VELOCITY_SHARE * float(departure.max())
    else:
        departure = np.abs(values - np.median(values[:_IN_A_ROW]))
        share = _POSITION_SHARE * channel.range
    threshold = max(share, 3.0 * channel.resolution, 5.0 * channel.noise)
    beyond = departure > threshold
    lasting = np.lib.stride_tricks.sliding_window_view(beyond, _IN_A_ROW).all(axis=1)
    return int(np.argmax(lasting)) if lasting.any() else values.size


def excitation(recorded: Recorded) -> Iterator[Found]:
    """Find a recording in which no control changes, or nothing responds."""
    controls = recorded.of_role("control")
    responses = recorded.of_role("position", "velocity")
    if controls and all(c.is_constant for c in controls):
        which = "the control is" if len(controls) == 1 else f"all {len(controls)} controls are"
        yield refuse(
            f"No excitation: {which} constant. Record a run in which the command changes, or "
            "accept 'excitation' for a free motion.",
            controls=len(controls),
        )
    if responses and not any(c.moves for c in responses):
        largest = max(c.range for c in responses)
        yield refuse(
            f"No excitation: no position or velocity moves, the largest range is {largest:.3g}, "
            "which is noise or resolution. Record a run that moves.",
            responses=len(responses),
            largest_range=largest,
        )
        return
    for channel in responses:
        if not channel.moves and not channel.is_constant:
            yield warn(
                f"{channel.name} barely moves: its range of {channel.range:.3g} is noise or "
                "resolution, without information about this joint.",
                channel.name,
                range=channel.range,
                resolution=channel.resolution,
            )


def delay(recorded: Recorded) -> Iterator[Found]:
    """Estimate the delay from each control to its response, where the control changes most."""
    times = recorded.times
    compared = min(times.size, _MOST_SAMPLES)
    shortest = float(np.min(times[compared - 1 :] - times[: times.size - compared + 1]))
    max_delay = min(_MAX_DELAY, shortest / 4.0)
    if max_delay < 4.0 * recorded.typical_step:
        return
    for control, candidates in _candidates(recorded):
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
        yield found(
            "warning" if late else "info",
            f"{control.name} to {response.name}: {best.sentence}",
            f"{control.name} / {response.name}",
            delay=best.delay,
            correlation=best.correlation,
            resolution=best.resolution,
            reliable=best.reliable,
        )


def _busiest_part(command: Array) -> slice:
    """Return the window in which a command changes most, long enough to estimate a delay."""
    if command.size <= _MOST_SAMPLES:
        return slice(None)
    travelled = np.concatenate(([0.0], np.cumsum(np.abs(np.diff(command)))))
    start = int(np.argmax(travelled[_MOST_SAMPLES - 1 :] - travelled[: -_MOST_SAMPLES + 1]))
    return slice(start, start + _MOST_SAMPLES)


def _strength(estimate: DelayEstimate) -> tuple[bool, float]:
    return estimate.reliable, abs(estimate.correlation)


def _candidates(recorded: Recorded) -> list[tuple[Channel, list[Channel]]]:
    """Pair every control that changes with its possible responses.

    Without given responses, controls and positions (or velocities) are paired in order where there
    are equally many; otherwise each control is compared with every response, and the most strongly
    related one counts.
    """
    if recorded.responses is not None:
        given = recorded.responses.items()
        chosen = [(recorded.channel(c), recorded.channel(r)) for c, r in given]
        return [(c, [r]) for c, r in chosen if c and r and not c.is_constant and r.moves]
    # A command may be white noise, which is good excitation.
    controls = recorded.of_role("control")
    answers = recorded.of_role("position") or recorded.of_role("velocity")
    if len(controls) == len(answers):
        pairs = [(c, [a]) for c, a in zip(controls, answers) if a.moves]
        return [(c, a) for c, a in pairs if not c.is_constant]
    moving = [a for a in answers if a.moves][:_MOST_CANDIDATES]
    return [(c, moving) for c in controls if not c.is_constant]
