"""Predictions at the recorded times of a window, read block by block from recorded steps."""

from collections.abc import Iterator, Mapping

import numpy as np

from trueup.simulation.engine.segment import Segment
from trueup.simulation.measured.observation import ObservedSequence, clock_slack


class WindowReader:
    """Predictions of the rows of one window from the records of a batch.

    Predictions are interpolated linearly between records. A sample recorded with a delay ``d`` is
    predicted by the record at ``t - d``.

    Args:
      sequence: the recorded rows.
      window: simulated segment that predicts some of these rows.
      delays: channel -> delay of each candidate ``(n,)`` [s].
    """

    def __init__(
        self, sequence: ObservedSequence, window: Segment, delays: Mapping[int, np.ndarray]
    ):
        self.channels = sequence.channels
        self.timestep = sequence.timestep
        self.delays = delays
        self._next_row = 0
        self._kept: dict[str, np.ndarray] = {}
        self._first_kept = 0
        times = sequence.times[window.rows]
        # time in steps; rounding of clocks must not cause an interpolation
        position = (times - window.start_time) / self.timestep
        nearest = np.round(position)
        slack = clock_slack(times[-1:], self.timestep) / self.timestep
        close = np.abs(position - nearest) < slack
        self._position = np.where(close, nearest, position)
        shortest, longest = np.array(sequence.delay_range) / self.timestep
        # channels without a delay are read at the position itself, whatever the range of delays
        self._earliest = self._position - (max(longest, 0.0) if delays else 0.0)
        self._latest = self._position - (min(shortest, 0.0) if delays else 0.0)
        self._channels_of: dict[tuple[str, int], list[int]] = {}
        for index, channel in enumerate(self.channels):
            self._channels_of.setdefault((channel.field, channel.lag), []).append(index)
        lags = [lag for _, lag in self._channels_of]
        self._lowest_lag, self._highest_lag = min(lags), max(lags)

    def feed(
        self, first_step: int, records: dict[str, np.ndarray], last: bool
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Take the next steps.

        Args:
          first_step: step of the first record.
          records: field -> ``(n, steps, width)``.
          last: whether the segment ends here.

        Yields:
          At most one pair of rows of the window and predictions ``(n, rows, C)``.
        """
        if self._kept:
            records = {k: np.concatenate([self._kept[k], v], axis=1) for k, v in records.items()}
            first_step = self._first_kept
        end_step = first_step + next(iter(records.values())).shape[1]
        # A record of lag l is at step + l. The last one of the lowest lag bounds the interpolation:
        # later rows wait for the next block, and only the end is held.
        recorded = end_step - 1 + self._lowest_lag
        ready = len(self._latest) if last else int(np.searchsorted(self._latest, recorded))
        if ready > self._next_row:
            rows = slice(self._next_row, ready)
            yield rows, self._predict(rows, first_step, records)
            self._next_row = ready
        if not last:
            self._keep(first_step, end_step, records)

    def _keep(self, first_step: int, end_step: int, records: dict[str, np.ndarray]) -> None:
        """Keep the records that the next row needs: its left neighbour at the longest delay."""
        waits = self._next_row < len(self._earliest)
        needed = int(self._earliest[self._next_row]) if waits else end_step
        # one step more, since int() rounds a negative position up; at least one record is kept, so
        # that the next block continues from it
        first = min(max(needed - self._highest_lag - 1, first_step), end_step - 1)
        self._kept = {k: v[:, first - first_step :].copy() for k, v in records.items()}
        self._first_kept = first

    def _predict(self, rows: slice, first: int, records: dict[str, np.ndarray]) -> np.ndarray:
        position = self._position[rows]
        if len(self._channels_of) == 1 and not self.delays:
            # the usual case, without a copy: all channels from one field
            ((field, lag),) = self._channels_of
            columns = [channel.column for channel in self.channels]
            return _interpolate_shared(records[field], columns, position - lag, first)
        n = next(iter(records.values())).shape[0]
        out = np.empty((n, len(position), len(self.channels)))
        for (field, lag), members in self._channels_of.items():
            data = records[field]
            undelayed = [i for i in members if i not in self.delays]
            if undelayed:
                columns = [self.channels[i].column for i in undelayed]
                out[:, :, undelayed] = _interpolate_shared(data, columns, position - lag, first)
            for i in members:
                if i in self.delays:
                    late = self.delays[i][:, None] / self.timestep
                    values = data[:, :, self.channels[i].column]
                    out[:, :, i] = _interpolate_each(values, position - lag - late, first)
        return out


def _neighbours(
    position: np.ndarray, first: int, steps: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Records before and after each position, and its fraction between them; the ends are held.

    The fraction is computed in the whole segment, so that it does not depend on the block
    boundaries.
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
        # every sample coincides with a record, in order: a view, no copy
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
