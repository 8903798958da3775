"""Trajectories designed to excite one effect each: multisine, chirp, staircase, ramp, releases."""

import numpy as np

from trueup.actuators.logs.servo_log import Array
from trueup.actuators.record.trajectory import Keyframe, Trajectory, cubic
from trueup.errors import RecordingError

_FADE = 0.5  # time in which periodic trajectories fade in from rest and out again [s]


def multisine(
    amplitude: float = 0.7,
    lowest: float = 0.2,
    highest: float = 3.0,
    duration: float = 10.0,
    name: str = "multisine",
) -> Trajectory:
    """Sum of sines with equal speed amplitudes at all multiples of 1 / duration within a band.

    The phases are those of Schroeder, "Synthesis of low-peak-factor signals and binary sequences
    with low autocorrelation", IEEE Transactions on Information Theory 16 (1970), for a flat
    spectrum, here of the speed: ``-pi k (k - 1) / n`` for sine k of n. They give a low peak speed
    for its power (low crest factor).

    Args:
        amplitude: largest angle [rad].
        lowest: lowest frequency [Hz].
        highest: highest frequency [Hz].
        duration: duration and period [s].
        name: name of the trajectory.

    Raises:
        RecordingError: no multiple of 1 / duration lies between the frequencies.
    """
    first, last = int(np.ceil(lowest * duration - 1e-9)), int(highest * duration + 1e-9)
    if not (duration > 2 * _FADE and 1 <= first <= last):
        raise RecordingError(
            f"a multisine of {duration} s has no frequency between {lowest} and {highest} Hz: "
            f"its frequencies are the multiples of {1 / duration:.3g} Hz"
        )
    omega = 2 * np.pi * np.arange(first, last + 1) / duration
    sine = np.arange(1, omega.size + 1)
    phases = -np.pi * sine * (sine - 1) / omega.size

    def swing(times: Array) -> Array:
        return np.cos(np.multiply.outer(times, omega) + phases) @ (1 / omega)

    grid = np.linspace(0.0, duration, 4096)
    peak = float(np.abs(_fade(grid, duration) * swing(grid)).max())
    return Trajectory(
        name,
        duration,
        "Armature, viscous friction and torque constant at once, with equal power over the band: a "
        "balanced test for comparing models.",
        lambda t: amplitude / peak * _fade(t, duration) * swing(t),
    )


def chirp(
    amplitude: float = 0.8,
    lowest: float = 0.1,
    highest: float = 4.0,
    speed: float = 8.0,
    duration: float = 10.0,
    name: str = "chirp",
) -> Trajectory:
    """Sine of exponentially growing frequency and limited speed.

    Args:
        amplitude: angle at low frequencies [rad].
        lowest: frequency at the start [Hz].
        highest: frequency at the end [Hz].
        speed: highest speed [rad/s]; the amplitude decreases where it would be exceeded.
        duration: duration [s].
        name: name of the trajectory.

    Raises:
        RecordingError: the frequencies are not increasing, or the duration is too short.
    """
    if not (0 < lowest < highest and duration > 2 * _FADE):
        raise RecordingError(
            f"a chirp requires increasing positive frequencies and more than {2 * _FADE} s, got "
            f"{lowest} to {highest} Hz in {duration} s"
        )
    growth = np.log(highest / lowest) / duration

    def angle(times: Array) -> Array:
        frequency = 2 * np.pi * lowest * np.exp(growth * times)
        phase = (frequency - 2 * np.pi * lowest) / growth
        return (
            _fade(times, duration) * np.minimum(amplitude, 0.9 * speed / frequency) * np.sin(phase)
        )

    return Trajectory(
        name,
        duration,
        "Armature and delay: the phase lag over frequency, through the resonance of the pendulum.",
        angle,
    )


def staircase(
    highest: float = 1.4,
    steps: int = 5,
    move: float = 0.4,
    hold: float = 0.8,
    name: str = "staircase",
) -> Trajectory:
    """Smooth moves separated by holds, up and down through the same angles.

    Args:
        highest: angle of the uppermost hold [rad].
        steps: number of holds on the way up.
        move: duration of a move [s].
        hold: duration of a hold [s].
        name: name of the trajectory.
    """
    ways = [*range(steps + 1), *range(steps - 1, -1, -1)]
    keyframes: list[Keyframe] = []
    for index, step in enumerate(ways):
        start = index * (move + hold)
        keyframes += [(start, highest * step / steps), (start + hold, highest * step / steps)]
    return Trajectory(
        name,
        keyframes[-1][0],
        "Stiction: at each angle the servo comes to rest from below and from above; half of the "
        "difference, times the gain, is the torque that friction can hold at that load.",
        cubic(keyframes),
    )


def slow_ramp(
    highest: float = 1.5, speed: float = 0.25, rest: float = 0.5, name: str = "slow_ramp"
) -> Trajectory:
    """Slow motion at constant speed up, to the other side, and back.

    Args:
        highest: angle on both sides [rad].
        speed: speed [rad/s].
        rest: time at rest at the ends [s].
        name: name of the trajectory.
    """
    way = highest / speed
    at = np.cumsum([0.0, rest, way, rest, 2 * way, rest, way, rest])
    angles = np.array([0, 0, 1, 1, -1, -1, 0, 0]) * highest
    return Trajectory(
        name,
        float(at[-1]),
        "Coulomb friction and its load dependence: at low speed, the motor torque minus gravity "
        "is friction, at every load, in both directions.",
        lambda t: np.interp(t, at, angles),
    )


def releases(
    angles: tuple[float, ...] = (1.5, -0.8), fall: float = 2.5, name: str = "releases"
) -> Trajectory:
    """Lift the pendulum, release it, catch it at rest, and repeat from another angle.

    Args:
        angles: release angles [rad].
        fall: time with the torque off after each lift [s].
        name: name of the trajectory.
    """
    lift, hold, catch = 1.5, 0.3, 0.7
    keyframes: list[Keyframe] = [(0.0, 0.0)]
    limp: list[tuple[float, float]] = []
    for angle in angles:
        start = keyframes[-1][0] + lift
        drop = start + hold
        limp.append((drop, drop + fall))
        # The goal returns to rest before the torque is enabled, so that the servo does not jump.
        keyframes += [(start, angle), (drop, angle), (drop + 0.1, 0.0), (drop + fall + catch, 0.0)]
    return Trajectory(
        name,
        keyframes[-1][0],
        "Friction without the motor: each fall loses energy to friction only, at two loads; it "
        "also shows whether the bridge brakes while the torque is off.",
        cubic(keyframes),
        limp=tuple(limp),
    )


def _fade(times: Array, duration: float) -> Array:
    """Window that is 0 at both ends and 1 between, with a continuous slope."""
    share = np.clip(np.minimum(times, duration - times) / _FADE, 0.0, 1.0)
    return share**2 * (3 - 2 * share)


DESIGNED = (multisine(), chirp(), staircase(), slow_ramp(), releases())
"""The designed trajectories with their default settings."""
