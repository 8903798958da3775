"""What a recording says against what a simulation gives: channels, clocks, gains and delays.

A :class:`Window` holds the measured rows of one simulated segment. A :class:`WindowReader` takes
the records of a batch block by block and yields predictions at the measured times, for all
candidates at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from trueup.simulation.segment import Segment


@dataclass(frozen=True)
class Channel:
    """One measured column and where the simulation records it."""

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
class GainOrBias:
    """A factor or an offset on channels, given by a parameter."""

    parameter: str
    channels: np.ndarray
    """Indices of the channels."""
    elements: np.ndarray
    """Element of the parameter for each channel."""
    is_gain: bool
    on_predicted: bool
    on_measured: bool


@dataclass(frozen=True)
class MeasurementModel:
    """How sensors turn the true signals into recorded ones: delays, gains and biases."""

    delays: dict[int, str] = field(default_factory=dict)
    """Channel -> parameter with the delay [s] of the recorded signal behind the simulated one."""
    changes: tuple[GainOrBias, ...] = ()
    """Gains, then biases, in the order in which they apply."""

    @property
    def is_plain(self) -> bool:
        """Whether nothing is changed."""
        return not self.delays and not self.changes

    @property
    def changes_measured(self) -> bool:
        """Whether the measured side depends on parameters."""
        return any(c.on_measured for c in self.changes)


@dataclass(frozen=True)
class Window:
    """Measured rows of one simulated segment."""

    segment: Segment
    timestep: float
    """Simulation step [s]."""
    channels: tuple[Channel, ...]
    times: np.ndarray
    """Times of the rows [s], ``(T,)``, increasing."""
    measured: np.ndarray
    """``(T, C)``."""
    delay_range: tuple[float, float] = (0.0, 0.0)
    """Smallest and largest delay that any candidate may have [s]."""


def clock_slack(times: np.ndarray, timestep: float) -> float:
    """How far apart two instants may be by rounding alone [s].

    A millionth of a time step, or some units in the last place of a clock that counts from 1970.
    """
    largest = float(np.abs(times).max(initial=0.0))
    return 1e-6 * timestep + 4 * float(np.spacing(largest))


class WindowReader:
    """Turns the records of a batch into predictions at the measured times of one window.

    Args:
      window: the measured rows.
      delays: channel -> delay of each candidate ``(n,)`` [s].
    """

    def __init__(self, window: Window, delays: dict[int, np.ndarray]):
        self.window = window
        self.delays = delays
        self.row = 0
        self._tails: dict[str, np.ndarray] = {}
        self._tail_start = 0
        # time in steps; rounding of clocks must not turn a sample into an interpolation
        position = (window.times - window.segment.start_time) / window.timestep
        nearest = np.round(position)
        slack = clock_slack(window.times[-1:], window.timestep) / window.timestep
        close = np.abs(position - nearest) < slack
        self._position = np.where(close, nearest, position)
        reach = np.array(window.delay_range) / window.timestep
        self._earliest = self._position - (max(reach[1], 0.0) if delays else 0.0)
        self._latest = self._position - (min(reach[0], 0.0) if delays else 0.0)
        self._by_field: dict[tuple[str, int], list[int]] = {}
        for i, channel in enumerate(window.channels):
            self._by_field.setdefault((channel.field, channel.lag), []).append(i)

    def feed(
        self, first_step: int, records: dict[str, np.ndarray], last: bool
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Take the next steps.

        Args:
          first_step: step of the first record.
          records: field -> ``(n, steps, width)``.
          last: whether the segment ends here.

        Yields:
          At most one pair of rows and predictions ``(n, rows, C)``.
        """
        steps = next(iter(records.values())).shape[1]
        if self._tails:
            records = {k: np.concatenate([self._tails[k], v], axis=1) for k, v in records.items()}
            first_step = self._tail_start
            steps = next(iter(records.values())).shape[1]
        end = first_step + steps  # one past the last recorded step
        lowest_lag = min(lag for _, lag in self._by_field)
        ready = len(self._latest) if last else self._rows_before(end - 1 + lowest_lag)
        if ready > self.row:
            rows = slice(self.row, ready)
            yield rows, self._predict(rows, first_step, records)
            self.row = ready
        if not last:
            highest_lag = max(lag for _, lag in self._by_field)
            need = end if self.row >= len(self._earliest) else int(self._earliest[self.row])
            keep = min(max(need - highest_lag - 1, first_step), end - 1)
            self._tails = {k: v[:, keep - first_step :].copy() for k, v in records.items()}
            self._tail_start = keep

    def _rows_before(self, step: int) -> int:
        """Rows whose neighbours have all been recorded."""
        return int(np.searchsorted(self._latest, step, side="left"))

    def _predict(self, rows: slice, first: int, records: dict[str, np.ndarray]) -> np.ndarray:
        n = next(iter(records.values())).shape[0]
        if len(self._by_field) == 1 and not self.delays:
            # the usual case, without a copy: all channels from one field
            (name, lag), members = next(iter(self._by_field.items()))
            columns = [self.window.channels[i].column for i in members]
            position = self._position[rows] - lag
            return _interpolate_shared(records[name], columns, position, first)
        out = np.empty((n, rows.stop - rows.start, len(self.window.channels)))
        for (name, lag), members in self._by_field.items():
            data = records[name]
            plain = [i for i in members if i not in self.delays]
            if plain:
                columns = [self.window.channels[i].column for i in plain]
                position = self._position[rows] - lag
                out[:, :, plain] = _interpolate_shared(data, columns, position, first)
            for i in members:
                if i in self.delays:
                    column = data[:, :, self.window.channels[i].column]
                    shift = self.delays[i] / self.window.timestep
                    position = self._position[rows] - lag - shift[:, None]
                    out[:, :, i] = _interpolate_each(column, position, first)
        return out


def _neighbours(
    position: np.ndarray, first: int, steps: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Records before and after each position, and how far it is between them; the ends are held.

    The fraction is that of the position in the whole segment, so that it does not depend on where
    blocks of time begin.
    """
    last = first + steps - 1
    position = np.clip(position, first, last)
    low = position.astype(np.intp)
    return low - first, np.minimum(low + 1, last) - first, position - low


def _interpolate_shared(
    data: np.ndarray, columns: list[int], position: np.ndarray, first: int
) -> np.ndarray:
    """Linear interpolation of ``(n, steps, width)`` at the same positions for all candidates."""
    low, high, fraction = _neighbours(position, first, data.shape[1])
    contiguous = columns == list(range(columns[0], columns[0] + len(columns)))
    chosen = (
        data[:, :, columns[0] : columns[0] + len(columns)] if contiguous else data[:, :, columns]
    )
    if not fraction.any():
        if len(low) and low[-1] - low[0] == len(low) - 1 and (np.diff(low) == 1).all():
            return chosen[:, low[0] : low[-1] + 1]
        return chosen[:, low]
    weight = fraction[None, :, None]
    return chosen[:, low] * (1 - weight) + chosen[:, high] * weight


def _interpolate_each(data: np.ndarray, position: np.ndarray, first: int) -> np.ndarray:
    """Linear interpolation of ``(n, steps)`` at positions ``(n, T)`` of each candidate."""
    low, high, fraction = _neighbours(position, first, data.shape[1])
    left = np.take_along_axis(data, low, axis=1)
    return left + fraction * (np.take_along_axis(data, high, axis=1) - left)


def apply_changes(
    values: np.ndarray,
    changes: tuple[GainOrBias, ...],
    table: dict[str, np.ndarray],
    predicted: bool,
) -> np.ndarray:
    """Gains and biases of one side.

    Args:
      values: ``(n, T, C)``, or ``(1, T, C)`` for what is the same for every candidate.
      changes: gains and biases in their order.
      table: values ``(n, size)`` of each parameter.
      predicted: the side.

    Returns:
      ``(n, T, C)``; ``values`` itself where nothing changes.
    """
    chosen = [c for c in changes if (c.on_predicted if predicted else c.on_measured)]
    if not chosen:
        return values
    count = max(len(values), *(len(table[c.parameter]) for c in chosen))
    values = np.array(np.broadcast_to(values, (count, *values.shape[1:])))
    for change in chosen:
        factor = table[change.parameter][:, change.elements][:, None, :]
        if change.is_gain:
            values[:, :, change.channels] *= factor
        else:
            values[:, :, change.channels] += factor
    return values
