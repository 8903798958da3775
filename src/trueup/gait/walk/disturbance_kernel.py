"""Compiled disturbances of a walk: a push against the trunk, and noise of measured signals.

The noise is a function of only a key of the walk and the time, so that walks are independent of
the order of execution. Its bits are those of splitmix64: G. L. Steele, D. Lea and C. H. Flood,
"Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

import numpy as np

from trueup.gait.compiled import compiled
from trueup.gait.controller._registers import Measured, OptionalSignal

DISTURBANCE = np.dtype(
    [
        ("force", np.float64, (2,)),
        ("first", np.int64),
        ("end", np.int64),
        ("noise", np.float64),
        ("key", np.uint64),
    ]
)
"""Disturbance of a walk: force of a push forwards and to the left [N], active from the controller
step ``first`` to before ``end``; standard deviation of the noise, and its key."""

HELD = 0.01
"""Hold time of a noise value [s], independent of the rate of the controller."""

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)

EVEN = 2.0 * 3.0**0.5
"""Width of a uniform distribution, in standard deviations."""

RATE = 10.0
"""Noise of rates and velocities relative to that of angles and positions [1/s]."""

RATES = tuple(
    int(signal)
    for signal in (
        Measured.pitch_rate,
        Measured.roll_rate,
        Measured.hip_rate,
        Measured.knee_rate,
        Measured.pelvis_vx,
        Measured.pelvis_vy,
        Measured.other_foot_vx,
        Measured.other_foot_vy,
    )
)
"""Signals that are rates or velocities."""


@compiled
def push(fields, disturbance, body, tick, i):
    """Apply the push to a body of simulation ``i`` during its interval."""
    if disturbance.first <= tick <= disturbance.end:
        # the last step removes the force
        acts = tick < disturbance.end
        fields.xfrc_applied[i, body, 0] = disturbance.force[0] if acts else 0.0
        fields.xfrc_applied[i, body, 1] = disturbance.force[1] if acts else 0.0


@compiled
def noise_of(key, count):
    """Uniform random number of zero mean and unit deviation: splitmix64, then the upper 53 bits."""
    z = key + count * _STEP
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    z = z ^ (z >> _31)
    return EVEN * (np.float64(z >> _11) * (1.0 / 9007199254740992.0) - 0.5)


@compiled
def disturb_senses(disturbance, threshold, time, optional, measured):
    """Add noise to the measured signals ``(2, signals)`` of a walk, with optional ones from the
    index ``optional`` on; contact follows the noisy load."""
    size = disturbance.noise
    if size == 0.0:
        return
    # the tolerance is above the rounding of a time in single precision
    count = np.uint64(int(time / HELD + 1e-3)) * np.uint64(2 * measured.shape[1])
    for leg in range(2):
        row = measured[leg]
        for s in range(measured.shape[1]):
            count += np.uint64(1)
            if s == Measured.contact:
                continue
            deviation = size
            if s in RATES or s == optional + OptionalSignal.hip_adduction_rate:
                deviation = RATE * size
            row[s] += deviation * noise_of(disturbance.key, count)
        row[Measured.contact] = 1.0 if row[Measured.load] > threshold else 0.0
