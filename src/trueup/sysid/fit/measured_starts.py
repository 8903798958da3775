"""Measured states at the starts of segments, corrected by the sensor model of each candidate.

A segment in the middle of a recording starts from its measured state. A sensor that is late by a
delay shows that state only later, and one with a gain or a bias shows another value: from the
state as recorded each window would begin off by speed times delay, and a fit would bend all other
parameters to make up for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import mujoco
import numpy as np

from trueup.signals import TimeSeries
from trueup.simulation.engine.segment import Segment
from trueup.simulation.measured.measurement import GainOrBias, MeasurementModel, apply_changes
from trueup.simulation.targets.resolution import FieldWrite
from trueup.sysid.recordings.measured_state import StateColumns, measured_state, state_columns

_FINEST = 64  # most delays at which a state is tabulated


@dataclass(frozen=True)
class _Entries:
    """Entries of the state of one segment whose signals have one delay."""

    write: FieldWrite
    delay: str | None
    """Parameter with the delay; None: there is none."""
    delays: np.ndarray
    """Tabulated delays ``(k,)`` [s], increasing."""
    table: np.ndarray
    """Recorded state at each delay after the start ``(k, entries)``."""
    channels: np.ndarray
    """Channel of the signal of each entry ``(entries,)``."""
    is_slope: np.ndarray
    """Whether an entry is the slope of its signal, which has no bias ``(entries,)``."""


class MeasuredStarts:
    """Starts of the segments of a sequence, for candidates of a sensor model.

    Args:
      model: the model.
      segments: segments that start from a measured state.
      recorded: measured signals, which cover the starts.
      columns: recorded column of each compared channel ``(C,)``.
      measurement: sensor model of the channels.
      delay_range: smallest and largest delay that any candidate may have [s].
      half_width: half width of the local fit of a state [s].
      sensor_lag: lag of the time stamps of sensors [s].
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        segments: Sequence[Segment],
        recorded: TimeSeries,
        columns: Sequence[int],
        measurement: MeasurementModel,
        delay_range: tuple[float, float],
        half_width: float,
        sensor_lag: float,
    ):
        self._changes, self._channels = measurement.changes, len(columns)
        found = state_columns(model, recorded)
        changed = {int(c) for change in measurement.changes for c in change.channels}
        changed |= set(measurement.delays)
        channel_of = {int(column): i for i, column in enumerate(columns)}
        signals = {
            place: (channel, is_slope)
            for place, (column, is_slope) in _signals(model, found).items()
            if (channel := channel_of.get(column, -1)) in changed
        }
        span = np.linspace(*delay_range, _count(recorded, delay_range))
        state = partial(measured_state, model, recorded, found, half_width=half_width)
        self._entries = [
            entries
            for segment in segments
            for name in dict.fromkeys(measurement.delays.get(c) for c, _ in signals.values())
            for entries in _entries(
                model,
                segment,
                name,
                {p: s for p, s in signals.items() if measurement.delays.get(s[0]) == name},
                np.zeros(1) if name is None else span,
                partial(state, base=segment.initial_state, sensor_lag=sensor_lag),
            )
        ]

    def writes(self, values: Mapping[str, np.ndarray]) -> Iterator[tuple[FieldWrite, np.ndarray]]:
        """State fields and their values ``(n, entries)`` for candidates.

        Args:
          values: values ``(n, size)`` of each parameter.
        """
        if not self._entries:
            return
        factor, offset = _true_side(self._changes, values, self._channels)
        for each in self._entries:
            delay = np.zeros(1) if each.delay is None else values[each.delay][:, 0]
            measured = _interpolated(each.delays, each.table, delay)
            bias = np.where(each.is_slope, 0.0, offset[:, each.channels])
            state = measured * factor[:, each.channels] + bias
            yield each.write, np.broadcast_to(state, (_candidates(values), state.shape[1]))


def _candidates(values: Mapping[str, np.ndarray]) -> int:
    return max(len(value) for value in values.values())


def _count(recorded: TimeSeries, delay_range: tuple[float, float]) -> int:
    """Number of tabulated delays: one a sample."""
    low, high = delay_range
    pause = float(np.median(np.diff(recorded.times))) if len(recorded.times) > 1 else np.inf
    return int(np.clip(np.ceil((high - low) / max(pause, 1e-9)) + 1, 1, _FINEST))


def _signals(model: mujoco.MjModel, found: StateColumns) -> dict[int, tuple[int, bool]]:
    """Recorded column of each measured entry of a state, and whether it is the slope of it.

    Joints that follow measured ones have no column of their own and keep the recorded start.
    """
    out = {1 + address: (column, False) for address, column in found.positions.items()}
    for dof, address in found.position_of_velocity.items():
        if address in found.positions:
            out[1 + model.nq + dof] = (found.positions[address], True)
    for dof, column in found.velocities.items():
        out[1 + model.nq + dof] = (column, False)
    return out


def _entries(
    model: mujoco.MjModel,
    segment: Segment,
    name: str | None,
    signals: Mapping[int, tuple[int, bool]],
    delays: np.ndarray,
    state,
) -> Iterator[_Entries]:
    """Positions and velocities of a segment whose signals have the delay of a name."""
    if not signals:
        return
    table = np.stack([state(time=segment.start_time + delay) for delay in delays])
    for field, first, size in (("qpos", 1, model.nq), ("qvel", 1 + model.nq, model.nv)):
        places = np.array([p for p in signals if first <= p < first + size], int)
        if places.size:
            channels, slopes = zip(*(signals[int(p)] for p in places), strict=True)
            yield _Entries(
                FieldWrite(f"state.{field}", places - first, places, sequence=segment.sequence),
                name,
                delays,
                table[:, places],
                np.array(channels),
                np.array(slopes),
            )


def _interpolated(delays: np.ndarray, table: np.ndarray, delay: np.ndarray) -> np.ndarray:
    """Rows of a table ``(k, entries)`` at delays ``(n,)``: ``(n, entries)``."""
    if len(delays) == 1:
        return np.broadcast_to(table, (len(delay), table.shape[1]))
    after = np.clip(np.searchsorted(delays, delay), 1, len(delays) - 1)
    share = (delay - delays[after - 1]) / (delays[after] - delays[after - 1])
    share = np.clip(share, 0.0, 1.0)[:, None]
    return (1 - share) * table[after - 1] + share * table[after]


def _true_side(
    changes: tuple[GainOrBias, ...], values: Mapping[str, np.ndarray], channels: int
) -> tuple[np.ndarray, np.ndarray]:
    """Factor and offset ``(n, C)`` from recorded to true values.

    Gains and biases are affine: their effect on 0 and 1 determines that on all values.
    """
    probe = np.broadcast_to(np.array([0.0, 1.0])[None, :, None], (1, 2, channels))
    (zero, one), (zero_true, one_true) = (
        np.moveaxis(apply_changes(probe, changes, values, side), 1, 0) for side in (False, True)
    )
    slope = one_true - zero_true
    slope = np.where(slope == 0.0, 1.0, slope)  # a sensor that shows nothing
    return (one - zero) / slope, (zero - zero_true) / slope
