"""The exoskeleton's controller, compiled: the stance clock of a leg and its torque curve.

PCHIP: F. N. Fritsch and J. Butland, "A method for constructing local monotone piecewise cubic
interpolants", SIAM J. Sci. Stat. Comput. 5 (1984), with the three-point ends of scipy.
"""

import numpy as np

from trueup.gait.controller._compiled import compiled

CLOCK = ("in_stance", "time", "duration_0", "duration_1", "duration_2", "count", "mean", "lifted")
"""Values of a leg's stance clock."""

IN_STANCE, TIME, DURATIONS, COUNT, MEAN, LIFTED = 0, 1, 2, 5, 6, 7

FIRST_DURATION = 0.6


@compiled
def start_clock(clock):
    """Begin in swing, with a stance of 0.6 s to be expected."""
    clock[:] = 0.0
    clock[MEAN] = FIRST_DURATION


@compiled
def tick_clock(clock, load, threshold, dt, shortest_swing, shortest_stance):
    """Advance a stance clock; returns the percent of stance, 0 to 100.

    Load that lets up for less than ``shortest_swing`` [s], as where a foot bounces when it touches
    down, does not end a stance; in MyoAssist, with 0, it does. A stance of up to
    ``shortest_stance`` [s], as where toes scuff in swing, counts as none; the last three others
    give the expected duration.
    """
    if load > threshold:
        if clock[IN_STANCE] == 0.0:
            clock[TIME] = 0.0
        clock[TIME] += clock[LIFTED] + dt
        clock[LIFTED] = 0.0
        clock[IN_STANCE] = 1.0
    elif clock[IN_STANCE] == 1.0:
        clock[LIFTED] += dt
        if clock[LIFTED] >= shortest_swing:
            if clock[TIME] > shortest_stance:
                clock[DURATIONS] = clock[DURATIONS + 1]
                clock[DURATIONS + 1] = clock[DURATIONS + 2]
                clock[DURATIONS + 2] = clock[TIME]
                clock[COUNT] = min(clock[COUNT] + 1.0, 3.0)
                if clock[COUNT] == 3.0:
                    total = clock[DURATIONS] + clock[DURATIONS + 1] + clock[DURATIONS + 2]
                    clock[MEAN] = total / 3.0
            clock[IN_STANCE] = 0.0
            clock[LIFTED] = 0.0
    return min(max(clock[TIME] / clock[MEAN] * 100.0, 0.0), 100.0)


@compiled
def _end_slope(h0, h1, d0, d1):
    slope = ((2.0 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
    if np.sign(slope) != np.sign(d0):
        return 0.0
    if np.sign(d0) != np.sign(d1) and abs(slope) > 3.0 * abs(d0):
        return 3.0 * d0
    return slope


@compiled
def pchip_slopes(x, y, slopes):
    """Slopes of a monotone cubic at its knots ``x (k,)``, at least two."""
    n = len(x)
    if n == 2:
        slopes[:] = (y[1] - y[0]) / (x[1] - x[0])
        return
    for k in range(1, n - 1):
        h0, h1 = x[k] - x[k - 1], x[k + 1] - x[k]
        d0, d1 = (y[k] - y[k - 1]) / h0, (y[k + 1] - y[k]) / h1
        if d0 * d1 <= 0.0:
            slopes[k] = 0.0
        else:
            w0, w1 = 2.0 * h1 + h0, h1 + 2.0 * h0
            slopes[k] = (w0 + w1) / (w0 / d0 + w1 / d1)
    h0, h1 = x[1] - x[0], x[2] - x[1]
    slopes[0] = _end_slope(h0, h1, (y[1] - y[0]) / h0, (y[2] - y[1]) / h1)
    h0, h1 = x[n - 1] - x[n - 2], x[n - 2] - x[n - 3]
    d0, d1 = (y[n - 1] - y[n - 2]) / h0, (y[n - 2] - y[n - 3]) / h1
    slopes[n - 1] = _end_slope(h0, h1, d0, d1)


@compiled
def pchip_value(x, y, slopes, at):
    """Value of a monotone cubic at ``at`` within its knots."""
    k = 0
    while k < len(x) - 2 and at >= x[k + 1]:
        k += 1
    h = x[k + 1] - x[k]
    s = (at - x[k]) / h
    d = (y[k + 1] - y[k]) / h
    c2 = (3.0 * d - 2.0 * slopes[k] - slopes[k + 1]) / h
    c3 = (slopes[k] - 2.0 * d + slopes[k + 1]) / (h * h)
    t = s * h
    return y[k] + t * (slopes[k] + t * (c2 + t * c3))
