"""Pieces of motion: commands from a row of numbers, starting and ending at rest in one pose.

Three families: Fourier series, chirps and steps. Fourier series and chirps are faded in and out by
the quintic polynomial with zero speed and acceleration at its ends, steps are such polynomials, so
that every piece starts and ends exactly at rest, and pieces can follow in any order.
Commands keep limits of position, speed and acceleration by construction: a shape is scaled to the
largest amplitude that they allow, times a factor of the row.
"""

from dataclasses import dataclass

import numpy as np

HARMONICS = 5
"""Number of terms of a Fourier series, and of levels of steps."""

FAMILIES = ("fourier", "chirp", "steps")

_HIGHEST = 5.0  # highest frequency of the last harmonic [Hz]
_CHIRP = (0.1, 10.0)  # frequencies at start and end [Hz]
_STEP = (0.08, 0.6)  # duration of a step, as a fraction of the time between steps


@dataclass(frozen=True)
class CommandLimits:
    """Limits of commands of the ``n`` moving joints, without the margin."""

    lower: np.ndarray
    """Lowest position ``(n,)`` [rad, m]."""
    upper: np.ndarray
    """Highest position ``(n,)`` [rad, m]."""
    speed: np.ndarray
    """Highest speed ``(n,)`` [rad/s, m/s]."""
    acceleration: np.ndarray
    """Highest acceleration ``(n,)`` [rad/s^2, m/s^2]."""


@dataclass(frozen=True)
class MotionFamily:
    """Family of pieces of motion, each described by a row of numbers.

    A row contains family, tempo, and for each joint: fraction of the largest amplitude, offset
    from the pose in units of the amplitude, and two times :data:`HARMONICS` coefficients.
    """

    pose: np.ndarray
    """Position at both ends ``(n,)`` [rad, m]."""
    limits: CommandLimits
    seconds: float
    """Length of a piece [s]."""
    rate: float
    """Sampling rate of commands [Hz]."""
    fade: float = 0.15
    """Fraction of a piece for fading in, and for fading out."""

    @property
    def joints(self) -> int:
        """Number of joints that move."""
        return len(self.pose)

    @property
    def samples(self) -> int:
        """Number of commands of a piece."""
        return round(self.seconds * self.rate)

    @property
    def size(self) -> int:
        """Size of a row."""
        return 2 + self.joints * (2 + 2 * HARMONICS)

    def names(self) -> list[str]:
        """Name of each number of a row."""
        numbers = ["size", "offset"]
        numbers += [f"{part}{k}" for part in ("cos", "sin") for k in range(1, HARMONICS + 1)]
        return ["family", "tempo", *(f"{j}_{n}" for j in range(self.joints) for n in numbers)]

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of a row ``(size,)``."""
        one_low = [0.0] + [-1.0] * (1 + 2 * HARMONICS)
        low = np.array([0.0, 0.0] + one_low * self.joints)
        high = np.array([len(FAMILIES) - 1.0, 1.0] + [1.0] * (2 + 2 * HARMONICS) * self.joints)
        return low, high

    def rest(self) -> np.ndarray:
        """Row ``(size,)`` of a piece at rest in the pose."""
        return np.zeros(self.size)

    def random(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random rows ``(count, size)``: families in turn, with few or many harmonics."""
        low, high = self.bounds()
        rows = rng.uniform(low, high, (count, self.size))
        # Fourier series, as the richest family, are more frequent
        rows[:, 0] = np.array([0, 0, 1, 0, 2])[np.arange(count) % 5]
        joints = rows[:, 2:].reshape(count, self.joints, -1)
        joints[..., 0] = rng.uniform(0.25, 1.0, joints.shape[:2])
        joints[..., 1] *= rng.uniform(0.0, 1.5, (count, 1)) * (rng.random((count, 1)) < 0.7)
        # spectrum of the harmonics: red, flat or blue
        slope = rng.uniform(-1.5, 1.0, (count, 1, 1))
        tilt = np.arange(1, HARMONICS + 1) ** slope
        tilt = tilt / tilt.max(axis=-1, keepdims=True)
        series = (rows[:, 0] == 0)[:, None, None]
        joints[..., 2:] *= np.where(series, np.concatenate([tilt, tilt], axis=-1), 1.0)
        return np.clip(rows, low, high)

    def still(self, rows: np.ndarray) -> np.ndarray:
        """Whether rows ``(m, size)`` are at rest in the pose ``(m,)``."""
        return np.all(rows[:, 2:] == 0.0, axis=1)

    def commands(self, rows: np.ndarray, envelope: np.ndarray | None = None) -> np.ndarray:
        """Commands ``(m, samples, n)`` [rad, m] of rows ``(m, size)``.

        Args:
          rows: see above.
          envelope: factor on the distance from the pose ``(m, samples)``; None: no envelope.
        """
        rows = np.atleast_2d(rows)
        joints = rows[:, 2:].reshape(len(rows), self.joints, -1)
        shape = np.empty((len(rows), self.samples, self.joints))
        family = np.rint(rows[:, 0]).astype(int)
        makers = (self._fourier, self._chirp, self._steps)
        for number, make in enumerate(makers):
            chosen = np.flatnonzero(family == number)
            if chosen.size:
                shape[chosen] = make(rows[chosen, 1], joints[chosen])
        if envelope is not None:
            shape *= envelope[..., None]
        most = largest_amplitude(shape, self.pose, self.limits, self.rate)
        return self.pose + shape * (most * joints[..., 0])[:, None, :]

    # --- shapes --------------------------------------------------------------------------------

    @property
    def times(self) -> np.ndarray:
        """Time of each command ``(samples,)`` [s]."""
        return np.arange(self.samples) / self.rate

    def _fade(self) -> np.ndarray:
        last = (self.samples - 1) / self.rate
        share = np.minimum(self.times, last - self.times) / (self.fade * last)
        return smooth_step(share)

    def _fourier(self, tempo: np.ndarray, joints: np.ndarray) -> np.ndarray:
        """Fourier series ``(m, samples, n)``; the tempo sets the lowest frequency."""
        slow, fast = 1.0 / self.seconds, max(_HIGHEST / HARMONICS, 1.0 / self.seconds)
        base = slow ** (1 - tempo) * fast**tempo
        order = np.arange(1, HARMONICS + 1)
        phase = 2 * np.pi * base[:, None, None] * self.times[None, :, None] * order
        cosine, sine = joints[..., 2 : 2 + HARMONICS], joints[..., 2 + HARMONICS :]
        value = np.cos(phase) @ cosine.transpose(0, 2, 1) + np.sin(phase) @ sine.transpose(0, 2, 1)
        return self._fade()[:, None] * (value + joints[:, None, :, 1])

    def _chirp(self, tempo: np.ndarray, joints: np.ndarray) -> np.ndarray:
        """Exponential chirps ``(m, samples, n)``, with separate frequencies per joint."""
        low, high = np.log(max(_CHIRP[0], 0.5 / self.seconds)), np.log(_CHIRP[1])
        ends = low + (high - low) * 0.5 * (1 + joints[..., 2:4]) * (
            0.3 + 0.7 * tempo[:, None, None]
        )
        first, last = np.exp(ends[..., 0]), np.exp(ends[..., 1])
        ratio = np.log(last / first)
        ratio = np.where(np.abs(ratio) < 1e-3, 1e-3, ratio)[:, None, :]
        at = (self.times / self.seconds)[None, :, None]
        cycles = first[:, None, :] * self.seconds * (np.exp(ratio * at) - 1) / ratio
        value = np.sin(2 * np.pi * cycles + np.pi * joints[:, None, :, 4])
        return self._fade()[:, None] * (value + joints[:, None, :, 1])

    def _steps(self, tempo: np.ndarray, joints: np.ndarray) -> np.ndarray:
        """Sequence of levels, joined by quintic steps ``(m, samples, n)``."""
        between = self.seconds / (HARMONICS + 2)
        length = between * (_STEP[1] + (_STEP[0] - _STEP[1]) * tempo)
        levels = joints[..., 2 : 2 + HARMONICS] + joints[..., 1:2]
        edges = np.zeros((*levels.shape[:2], 1))
        rises = np.diff(np.concatenate([edges, levels, edges], axis=-1), axis=-1)
        # joints step one after the other, so that each torque is due to one joint
        lag = 0.5 * between * (1 + joints[..., -1]) * (1 - _STEP[1])
        starts = between * np.arange(HARMONICS + 1) + 0.3 * between
        since = self.times[None, :, None, None] - starts - lag[:, None, :, None]
        share = smooth_step(since / length[:, None, None, None])
        return np.einsum("mtjk,mjk->mtj", share, rises)


def smooth_step(share: np.ndarray) -> np.ndarray:
    """Quintic step from 0 to 1 with zero speed and acceleration at both ends, held outside."""
    share = np.clip(share, 0.0, 1.0)
    return share**3 * (10 + share * (6 * share - 15))


def chirp(pose: np.ndarray, limits: CommandLimits, seconds: float, rate: float) -> np.ndarray:
    """Chirp of all joints together, 0.1 to 10 Hz, as large as the limits allow ``(T, n)`` [rad, m].

    The usual excitation without a design.
    """
    times = np.arange(round(seconds * rate)) / rate
    low, high = _CHIRP
    ratio = np.log(high / low)
    shape = np.sin(2 * np.pi * low * seconds / ratio * (np.exp(ratio * times / seconds) - 1))
    shape *= smooth_step(np.minimum(times, times[-1] - times) / 0.5)
    shape = np.repeat(shape[None, :, None], len(pose), axis=2)
    return (pose + shape * largest_amplitude(shape, pose, limits, rate)[:, None, :])[0]


def largest_amplitude(
    shape: np.ndarray, pose: np.ndarray, limits: CommandLimits, rate: float
) -> np.ndarray:
    """Largest amplitude ``(m, n)`` of shapes ``(m, T, n)`` within limits; 0 for one at rest."""
    speed = np.gradient(shape, 1.0 / rate, axis=1)
    acceleration = np.gradient(speed, 1.0 / rate, axis=1)
    most = [
        (limits.upper - pose) / _positive(shape.max(axis=1)),
        (pose - limits.lower) / _positive((-shape).max(axis=1)),
        limits.speed / _positive(np.abs(speed).max(axis=1)),
        limits.acceleration / _positive(np.abs(acceleration).max(axis=1)),
    ]
    allowed = np.min(most, axis=0)
    moves = np.isfinite(allowed) & (allowed < 1e8)
    return np.where(moves, np.maximum(allowed, 0.0), 0.0)


def _positive(value: np.ndarray) -> np.ndarray:
    return np.where(value > 1e-12, value, 1e-12)
