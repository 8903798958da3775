"""What disturbs a walk, compiled: a push against the trunk, and noise on what is sensed.

The noise is a function of a number of the walk and of time alone, so that no walk depends on what
ran before it. Its bits are those of splitmix64: G. L. Steele, D. Lea and C. H. Flood, "Fast
splittable pseudorandom number generators", OOPSLA 2014.
"""

import numpy as np

from trueup.gait.controller import _registers as r
from trueup.gait.controller._compiled import compiled

DISTURBANCE = np.dtype(
    [
        ("force", np.float64, (2,)),
        ("first", np.int64),
        ("end", np.int64),
        ("noise", np.float64),
        ("key", np.uint64),
    ]
)
"""Of a walk: a push forwards and to the left [N] from a run of the controller to before another
one, noise of what is sensed, and the number that it is made of."""

HELD = 0.01
"""How long a value of the noise is held, whatever the controller's rate [s]."""

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)

EVEN = 2.0 * 3.0**0.5
"""Width of an even distribution, in standard deviations."""

RATE = 10.0
"""Noise of rates and velocities, beside that of angles and places [1/s]."""

_RATES = (
    r.M_PITCH_RATE,
    r.M_ROLL_RATE,
    r.M_HIP_RATE,
    r.M_KNEE_RATE,
    r.M_PELVIS_VX,
    r.M_PELVIS_VY,
    r.M_FOOT_VX,
    r.M_FOOT_VY,
)


@compiled
def push(fields, disturbance, body, tick, i):
    """Push a body of simulation ``i`` while its push lasts."""
    if disturbance.first <= tick <= disturbance.end:
        acts = tick < disturbance.end
        place = fields.xfrc_applied + 6 * body
        fields.state[i, place] = disturbance.force[0] if acts else 0.0
        fields.state[i, place + 1] = disturbance.force[1] if acts else 0.0


@compiled
def noise_of(key, count):
    """A number of zero mean and unit deviation, drawn evenly."""
    z = key + count * _STEP
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    z = z ^ (z >> _31)
    return EVEN * (np.float64(z >> _11) * (1.0 / 9007199254740992.0) - 0.5)


@compiled
def disturb_senses(disturbance, threshold, time, measured):
    """Add noise to the signals ``(2, signals)`` of a walk."""
    size = disturbance.noise
    if size == 0.0:
        return
    count = np.uint64(int(time / HELD + 1e-6)) * np.uint64(2 * measured.shape[1])
    for leg in range(2):
        row = measured[leg]
        for s in range(measured.shape[1]):
            count += np.uint64(1)
            if s == r.M_CONTACT:
                continue
            deviation = size
            if s in _RATES:
                deviation = RATE * size
            row[s] += deviation * noise_of(disturbance.key, count)
        row[r.M_CONTACT] = 1.0 if row[r.M_LOAD] > threshold else 0.0
