"""Compiled controller of the exoskeleton: stance clock and torque curve of a leg.

PCHIP: F. N. Fritsch and J. Butland, "A method for constructing local monotone piecewise cubic
interpolants", SIAM J. Sci. Stat. Comput. 5 (1984), with the three-point ends of scipy.
"""

from enum import IntEnum

import numpy as np

from trueup.gait.compiled import compiled


class Clock(IntEnum):
    """State of the stance clock of a leg: times [s], and the number of counted stances."""

    in_stance = 0
    time = 1
    oldest = 2
    middle = 3
    newest = 4
    count = 5
    expected = 6
    lifted = 7


class Curve(IntEnum):
    """Rows of a torque curve: percent of stance, torque [N m], slope [N m/%]."""

    percent = 0
    torque = 1
    slope = 2


FIRST_DURATION = 0.6
"""Assumed duration of stance until three stances are counted [s]."""


@compiled
def start_clock(clock):
    """Initialise the clock in swing."""
    clock[:] = 0.0
    clock[Clock.expected] = FIRST_DURATION


@compiled
def tick_clock(clock, load, threshold, dt, shortest_swing, shortest_stance):
    """Advance a stance clock by a step; returns the percent of stance [0, 100].

    It is causal, unlike ``strides_of``, which uses the whole duration of a load;
    both count the same stances. MyoAssist ends a stance as soon as the load is removed
    (``shortest_swing`` 0) and counts shorter ones.

    Args:
      clock: state of the clock, modified.
      load: load on the foot [body weights].
      threshold: load above which the foot is on the ground [body weights].
      dt: time step [s].
      shortest_swing: an unloaded time below this does not end a stance, such as a bounce of the
        foot [s].
      shortest_stance: a stance of up to this is not counted, such as a toe scuff in swing [s].
    """
    if load > threshold:
        if clock[Clock.in_stance] == 0.0:
            clock[Clock.time] = 0.0
        # at the first step of a stance one time step has passed; a lift below shortest_swing is
        # part of the stance
        clock[Clock.time] += clock[Clock.lifted] + dt
        clock[Clock.lifted] = 0.0
        clock[Clock.in_stance] = 1.0
    elif clock[Clock.in_stance] == 1.0:
        # the stance ends only after shortest_swing; until then its clock is halted
        clock[Clock.lifted] += dt
        if clock[Clock.lifted] >= shortest_swing:
            if clock[Clock.time] > shortest_stance:
                clock[Clock.oldest] = clock[Clock.middle]
                clock[Clock.middle] = clock[Clock.newest]
                clock[Clock.newest] = clock[Clock.time]
                clock[Clock.count] = min(clock[Clock.count] + 1.0, 3.0)
                # as in MyoAssist the mean of the last three stances predicts the next one
                if clock[Clock.count] == 3.0:
                    total = clock[Clock.oldest] + clock[Clock.middle] + clock[Clock.newest]
                    clock[Clock.expected] = total / 3.0
            clock[Clock.in_stance] = 0.0
            clock[Clock.lifted] = 0.0
    # a stance longer than predicted remains at 100 %
    return min(max(clock[Clock.time] / clock[Clock.expected] * 100.0, 0.0), 100.0)


@compiled
def _end_slope(h0, h1, d0, d1):
    """Slope at an end: of the parabola through three knots, limited to keep it monotone."""
    # one-sided three-point derivative, as in scipy.interpolate.PchipInterpolator; the curve is
    # monotone if the slope has the sign of the secant d0 and at most three times its size
    # (F. N. Fritsch and R. E. Carlson, SIAM J. Numer. Anal. 17, 1980)
    slope = ((2.0 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
    if np.sign(slope) != np.sign(d0):
        return 0.0
    if np.sign(d0) != np.sign(d1) and abs(slope) > 3.0 * abs(d0):
        return 3.0 * d0
    return slope


@compiled
def pchip_slopes(x, y, slopes):
    """Slopes of a monotone cubic at its knots ``x (k,)``, at least two.

    At inner knots: weighted harmonic mean of both secants, 0 at an extremum (Fritsch & Butland).
    """
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
            # weights of unequal intervals, 3 (h0 + h1) alpha in Fritsch and Butland: the secant of
            # the shorter interval has the larger weight
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
    # cubic Hermite interpolant in powers of the distance t from the knot, by Horner's rule
    c2 = (3.0 * d - 2.0 * slopes[k] - slopes[k + 1]) / h
    c3 = (slopes[k] - 2.0 * d + slopes[k + 1]) / (h * h)
    t = s * h
    return y[k] + t * (slopes[k] + t * (c2 + t * c3))
