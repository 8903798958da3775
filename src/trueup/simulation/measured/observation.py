"""Compared rows: those of a recorded sequence, and those of its simulation.

An :class:`ObservedSequence` contains the rows once. Each of its windows is a simulated segment with
the range of rows that it predicts.
"""

from dataclasses import dataclass, replace

import numpy as np

from trueup.simulation.engine.segment import Segment


@dataclass(frozen=True)
class Channel:
    """One measured column and its field in the simulation."""

    name: str
    """Name of the signal, with an index where the signal has several columns."""
    field: str
    """Field of MjData."""
    column: int
    """Column of the field."""
    lag: int
    """Steps after the start of the first sample recorded: 1 for states, which are recorded after
    the step; 0 for sensors, which MuJoCo computes before it (1 by the toolbox's convention)."""


@dataclass(frozen=True)
class ObservedSequence:
    """Recorded rows of one sequence for the comparison with the simulation."""

    name: str
    channels: tuple[Channel, ...]
    """Compared columns ``(C,)``."""
    signal_names: tuple[str, ...]
    """Signal of each channel ``(C,)``."""
    timestep: float
    """Simulation step [s]."""
    times: np.ndarray
    """Times of the rows [s], ``(T,)``, increasing."""
    measured: np.ndarray
    """``(T, C)``."""
    weights: np.ndarray
    """Factor on the residual of each channel ``(C,)``."""
    segments: tuple[Segment, ...]
    """Segments of the run in time order, including those before the sequence and those without
    measured rows: later ones continue from earlier ones."""
    normalisation: str = "none"
    """Kind of normalisation, for weights where parameters change the measured side, see
    :func:`normalisers`."""
    delay_range: tuple[float, float] = (0.0, 0.0)
    """Smallest and largest delay that any candidate may have [s]."""

    @property
    def windows(self) -> tuple[Segment, ...]:
        """Segments that predict rows, in time order; their rows are consecutive."""
        return tuple(s for s in self.segments if s.end > s.first)

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Name of each channel ``(C,)``."""
        return tuple(channel.name for channel in self.channels)

    def weights_for(self, measured: np.ndarray) -> np.ndarray:
        """Weights ``(n, C)`` where parameters change the measured side to ``measured (n, T, C)``.

        A given noise level scales with the signal.
        """
        own = normalisers(self.measured, self.normalisation)
        return self.weights * own / np.stack([normalisers(m, self.normalisation) for m in measured])

    def weights_after(self, factor: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Weights for a measured side of ``factor * measured + offset``, without computing it.

        The mean of the changed side is ``factor * mean + offset`` and its spread
        ``|factor| * spread``; its norm over ``T`` rows follows from both.

        Args:
          factor: ``(n, C)``.
          offset: ``(n, C)``.

        Returns:
          ``(n, C)``.
        """
        if self.normalisation == "none":
            return np.broadcast_to(self.weights, factor.shape)
        mean, spread = self.measured.mean(axis=0), self.measured.std(axis=0)
        if self.normalisation == "toolbox":
            size = np.hypot(factor * spread, factor * mean + offset)
            size *= np.sqrt(len(self.measured) / 2)
        else:
            size = np.abs(factor) * spread
        own = normalisers(self.measured, self.normalisation)
        return self.weights * own / np.where(size > 0, size, 1.0)


def first_share(sequence: ObservedSequence, share: float) -> ObservedSequence | None:
    """A sequence simulated and compared only up to a share of its steps, with all its weights.

    None for one of several segments, and where no row would be compared.
    """
    if len(sequence.segments) != 1:
        return None
    (whole,) = sequence.segments
    steps = int(np.ceil(share * whole.steps))
    # a negative delay reads the simulation ahead of the row
    ahead = max(-sequence.delay_range[0], 0.0)
    last = whole.start_time + (steps - 1) * sequence.timestep - ahead
    slack = clock_slack(sequence.times[-1:], sequence.timestep)
    rows = int(np.searchsorted(sequence.times[whole.rows], last + slack, side="right"))
    if rows == 0:
        return None
    window = replace(whole, controls=whole.controls[:steps], end=whole.first + rows)
    return replace(sequence, segments=(window,))


def normalisers(measured: np.ndarray, kind: str) -> np.ndarray:
    """Divisor of each channel's residual ``(T, C) -> (C,)``; 1 for a channel without signal.

    Args:
      measured: ``(T, C)``.
      kind: ``toolbox`` for the Euclidean norm over sqrt 2, as MuJoCo's toolbox has it; ``spread``
        for the standard deviation; ``none`` for 1.
    """
    if kind == "none":
        return np.ones(measured.shape[1])
    if kind == "toolbox":
        size = np.linalg.norm(measured, axis=0) / np.sqrt(2)
    else:
        size = np.std(measured, axis=0)
        # the standard deviation of a constant with an offset is rounding, about 1e-16 of the offset
        size = np.where(size > 1e-12 * np.abs(measured).max(axis=0, initial=0.0), size, 0.0)
    return np.where(size > 0, size, 1.0)


def clock_slack(times: np.ndarray, timestep: float) -> float:
    """Largest difference of two equal times by rounding [s].

    A millionth of a time step, or a few units in the last place of a clock that counts from 1970.
    """
    largest = float(np.abs(times).max(initial=0.0))
    return 1e-6 * timestep + 4 * float(np.spacing(largest))
