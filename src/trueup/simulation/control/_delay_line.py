"""Delay line for control laws, a part of a law's state."""

import math

import numba


def delay_line(steps: int, channels: int | str = "joint") -> tuple[int | str, int]:
    """Shape of a delay line in a law's state.

    Args:
        steps: longest delay, in runs of the law.
        channels: number of delayed signals, or a group such as "joint" or "command".

    Returns:
        The shape ``(channels, steps + 3)``: two counters and ``steps + 1`` values.
    """
    return channels, steps + 3


@numba.njit
def delayed(line, value, delay):
    """Push a value into one channel of a delay line and return the value of ``delay`` runs ago.

    Call it once per run for each channel. The value is interpolated between two runs, so that a
    prediction depends smoothly on the delay. The line is initialised with the first value.

    Args:
        line: one row of the state made with :func:`delay_line`.
        value: the current value.
        delay: the delay [runs of the law].

    Returns:
        The delayed value; NaN for a delay that is negative or longer than the line.
    """
    capacity = len(line) - 2
    if not 0.0 <= delay <= capacity - 1:
        return math.nan
    newest = 0
    if line[0] == 0.0:
        line[0] = 1.0
        line[2:] = value
    else:
        newest = int(line[1]) + 1
        if newest >= capacity:
            newest = 0
    line[1] = newest
    line[2 + newest] = value
    whole = int(delay)
    fraction = delay - whole
    index = newest - whole
    if index < 0:
        index += capacity
    earlier = line[2 + index]
    if fraction == 0.0:
        return earlier
    before = line[2 + (index - 1 if index > 0 else capacity - 1)]
    return earlier + fraction * (before - earlier)
