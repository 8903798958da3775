"""Recordings: named columns on one or several clocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trueup.errors import ColumnError, RecordingError, did_you_mean, listing
from trueup.signals._interpolation import InterpolationMethod, interpolate
from trueup.signals.clocks.steps import check_rate

# A duration within this fraction of a step below a whole number of steps is that whole number.
_STEP_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Stream:
    """Columns that share one clock.

    The times are kept as recorded: they need not start at zero, and the quality checks report a
    clock that stops or runs backwards. Treat the arrays as read-only.

    Attributes:
        name: Name of the stream; empty for a file with one clock.
        times: Sample times, shape (n,) [s].
        columns: Values by column name, each of shape (n,).
        units: Unit by column name, where the file or a mapping defines it.
        clock_column: Column of the file that gave the times; empty for a clock of the format, or
            a rate.
        clock_unit: Unit in which that column was read.

    Raises:
        RecordingError: No samples, a time that is not finite, or unequal lengths.
    """

    name: str
    times: np.ndarray
    columns: dict[str, np.ndarray]
    units: dict[str, str] = field(default_factory=dict)
    clock_column: str = ""
    clock_unit: str = "s"

    def __post_init__(self):
        label = f"stream {self.name!r}" if self.name else "the recording"
        times = np.asarray(self.times, dtype=np.float64)
        if times.ndim != 1:
            raise RecordingError(f"{label} has times of shape {times.shape}: expected (n,).")
        if times.size == 0:
            raise RecordingError(f"{label} contains no samples.")
        finite = np.isfinite(times)
        if not finite.all():
            row = int(np.argmin(finite))
            raise RecordingError(
                f"{label}: {np.count_nonzero(~finite)} of {times.size} times are NaN or infinite, "
                f"the first in row {row + 1} of the samples: remove those rows, or choose another "
                "time column."
            )
        columns = {}
        for name, values in self.columns.items():
            columns[name] = np.asarray(values, dtype=np.float64)
            if columns[name].shape != times.shape:
                raise RecordingError(
                    f"{label}: column {name!r} has shape {columns[name].shape}, expected "
                    f"({times.size},) as its clock."
                )
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "columns", columns)

    def rows(self, rows: slice | np.ndarray) -> Stream:
        """Some of its samples: a slice, indices, or a mask of shape (n,)."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return replace(self, times=self.times[rows], columns=columns)

    def at(
        self, times: np.ndarray, columns: Sequence[str], method: InterpolationMethod = "linear"
    ) -> np.ndarray:
        """Values of columns at other times, see :meth:`Recording.at`."""
        first = int(np.searchsorted(self.times, times[0])) if len(times) else 0
        rows = slice(first, first + len(times))
        if np.array_equal(self.times[rows], times):
            return np.stack([self.columns[name][rows] for name in columns], axis=1)
        values = np.stack([self.columns[name] for name in columns], axis=1)
        return interpolate(self.times, values, times, method)


@dataclass(frozen=True, eq=False)
class Recording:
    """One recording, such as a file or an episode: one stream for each clock.

    Attributes:
        name: Name in tables and figures.
        streams: The streams; a column name occurs in one of them only.
        source: File or folder it was read from, or empty.
        sha256: Hash of that file, or empty.
        metadata: Scalars and texts of the file, and the columns that the reader skipped.
        notes: Changes made to the samples since they were read, in sentences.
    """

    name: str
    streams: tuple[Stream, ...]
    source: str = ""
    sha256: str = ""
    metadata: dict[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "streams", tuple(self.streams))
        names = [name for stream in self.streams for name in stream.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise RecordingError(
                f"recording {self.name!r} has several columns named {listing(twice)}: a column "
                "name may occur once."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns, stream after stream."""
        return tuple(name for stream in self.streams for name in stream.columns)

    @property
    def units(self) -> dict[str, str]:
        """Unit by column, where known."""
        return {name: unit for stream in self.streams for name, unit in stream.units.items()}

    @property
    def start(self) -> float:
        """Earliest time of any stream [s]."""
        return min(float(stream.times.min()) for stream in self.streams)

    @property
    def end(self) -> float:
        """Latest time of any stream [s]."""
        return max(float(stream.times.max()) for stream in self.streams)

    @property
    def stream(self) -> Stream:
        """The only stream.

        Raises:
            RecordingError: There are several: the columns have several clocks.
        """
        if len(self.streams) != 1:
            raise RecordingError(
                f"{self._label()} has {len(self.streams)} clocks: put its columns on one with "
                "Recording.merged."
            )
        return self.streams[0]

    def noted(self, note: str, **changes: Any) -> Recording:
        """A copy with changed fields and a note that describes the change."""
        return replace(self, notes=(*self.notes, note), **changes)

    def with_columns(self, columns: Mapping[str, np.ndarray]) -> Recording:
        """A copy of a recording with one clock whose columns are replaced or added to."""
        stream = self.stream
        return replace(self, streams=(replace(stream, columns={**stream.columns, **columns}),))

    def column(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return times (n,) [s] and values (n,) of a column; a leading ``/`` is optional.

        Raises:
            ColumnError: There is no such column; the message names near ones.
        """
        stream, found = self.find(name)
        return stream.times, stream.columns[found]

    def find(self, name: str) -> tuple[Stream, str]:
        """Return the stream that holds a column, and the column's name as spelled there.

        Raises:
            ColumnError: There is no such column; the message names near ones.
        """
        for spelling in (name, name.lstrip("/"), f"/{name}"):
            for stream in self.streams:
                if spelling in stream.columns:
                    return stream, spelling
        left_out = self.metadata.get("left_out")
        reason = left_out.get(name) if isinstance(left_out, Mapping) else None
        if reason:
            raise ColumnError(f"Column {name!r} of {self._label()} cannot be used: {reason}.")
        raise ColumnError(
            f"{self._label()} has no column {name!r}.{did_you_mean(name, self.columns)} "
            f"Its columns: {listing(self.columns)}."
        )

    def slice(self, t0: float | None = None, t1: float | None = None) -> Recording:
        """Keep the samples with t0 <= time <= t1 [s]; None for an open end.

        Raises:
            RecordingError: A stream has no sample in that interval.
        """
        low = -np.inf if t0 is None else t0
        high = np.inf if t1 is None else t1
        kept = []
        for stream in self.streams:
            inside = (stream.times >= low) & (stream.times <= high)
            if not inside.any():
                stream_label = f" of stream {stream.name!r}" if stream.name else ""
                raise RecordingError(
                    f"{self._label()} has no sample{stream_label} from {low:g} to {high:g} s: it "
                    f"lasts from {stream.times.min():.10g} to {stream.times.max():.10g} s."
                )
            kept.append(stream.rows(inside))
        return replace(self, streams=tuple(kept))

    def shifted_to_zero(self) -> Recording:
        """Shift all clocks by the same time, so that the earliest sample is at 0 s.

        The shift [s] is added to ``metadata["time_shift"]``: add it to get recorded times.
        """
        start = self.start
        earlier = self.metadata.get("time_shift", 0.0)
        shift = start + (earlier if isinstance(earlier, float) else 0.0)
        return replace(
            self,
            streams=tuple(replace(stream, times=stream.times - start) for stream in self.streams),
            metadata={**self.metadata, "time_shift": shift},
        )

    def at(
        self, times: np.ndarray, columns: Sequence[str], method: InterpolationMethod = "linear"
    ) -> np.ndarray:
        """Values of columns at other times, shape (k, columns).

        Before the first and after the last sample the end values are held. NaN is kept, unlike in
        :meth:`merged`, so that the quality checks report it.

        Args:
            times: Increasing times, shape (k,) [s].
            columns: Names of columns, on clocks that increase.
            method: See :data:`InterpolationMethod`.

        Raises:
            ColumnError: There is no such column.
            SignalError: Unknown method.
        """
        found = [self.find(name) for name in columns]
        values = np.empty((len(times), len(found)))
        for stream in self.streams:
            places = [k for k, (owner, _) in enumerate(found) if owner is stream]
            names = [found[k][1] for k in places]
            if len(names) == len(found):
                return stream.at(times, names, method)
            if names:
                values[:, places] = stream.at(times, names, method)
        return values

    def merged(
        self,
        times: np.ndarray | None = None,
        rate: float | None = None,
        method: str | Mapping[str, str] = "linear",
    ) -> Recording:
        """Put all columns on one clock, over the interval that all of them cover.

        A value that is NaN is bridged from its neighbours; ``metadata["bridged"]`` counts them by
        column. Check the quality of a recording before it is merged.

        Args:
            times: The new clock, strictly increasing, shape (k,) [s].
            rate: Samples a second of a new regular clock. Without times and rate the clock of the
                stream with most samples in that interval is used.
            method: ``linear``, ``zoh`` (commands that are held) or another method of
                :class:`TimeSeries`; or one by column, linear where a column is not named. A method
                given to :func:`select` for a column takes precedence over a single one for all.

        Raises:
            RecordingError: The streams do not overlap, a clock does not increase, a column contains
                no number, or ``times`` exceed the interval.
        """
        if times is not None and rate is not None:
            raise RecordingError("Give times or rate to merge a recording, not both.")
        if not self.columns:
            raise RecordingError(f"{self._label()} has no column to merge.")
        finite = {}
        bridged = {}
        for stream in self.streams:
            self._check_increasing(stream)
            for name, values in stream.columns.items():
                good = np.isfinite(values)
                if not good.any():
                    raise RecordingError(
                        f"Column {name!r} of {self._label()} contains no finite value: omit it."
                    )
                if good.all():
                    finite[name] = (stream.times, values)
                else:
                    finite[name] = (stream.times[good], values[good])
                    bridged[name] = int(np.count_nonzero(~good))
        clock = self._common_clock(finite, times, rate)
        methods = self._methods(method)
        columns = {
            name: values
            if column_times is clock or np.array_equal(column_times, clock)
            else interpolate(column_times, values, clock, methods[name])  # type: ignore[arg-type]
            for name, (column_times, values) in finite.items()
        }
        metadata = {**self.metadata, **({"bridged": bridged} if bridged else {})}
        stream = Stream("", clock, columns, self.units)
        return replace(self, streams=(stream,), metadata=metadata)

    def _common_clock(
        self,
        finite: dict[str, tuple[np.ndarray, np.ndarray]],
        times: np.ndarray | None,
        rate: float | None,
    ) -> np.ndarray:
        late = max(finite, key=lambda name: finite[name][0][0])
        early = min(finite, key=lambda name: finite[name][0][-1])
        start, end = float(finite[late][0][0]), float(finite[early][0][-1])
        if start > end:
            raise RecordingError(
                f"{self._label()} has no interval that all columns cover: {late!r} begins at "
                f"{start:.10g} s, {early!r} ends at {end:.10g} s. Omit one of them, or check "
                "whether their clocks have the same origin."
            )
        if times is not None:
            clock = np.asarray(times, dtype=np.float64)
            if clock.ndim != 1 or clock.size == 0 or np.any(np.diff(clock) <= 0):
                raise RecordingError(
                    "times to merge at must have shape (k,) and be strictly increasing."
                )
            if clock[0] < start or clock[-1] > end:
                raise RecordingError(
                    f"The times to merge at, {clock[0]:.10g} to {clock[-1]:.10g} s, exceed the "
                    f"interval {start:.10g} to {end:.10g} s that all columns of {self._label()} "
                    "cover."
                )
            return clock
        if rate is not None:
            check_rate(rate, "rate to merge at")
            steps = int(np.floor((end - start) * rate + _STEP_ROUNDING))
            return start + np.arange(steps + 1) / rate
        inside = [
            stream.times[(stream.times >= start) & (stream.times <= end)]
            for stream in self.streams
            if stream.columns
        ]
        clock = max(inside, key=len)
        if clock.size == 0:
            raise RecordingError(
                f"{self._label()} has no sample in the interval {start:.10g} to {end:.10g} s that "
                "all columns cover: give rate."
            )
        return clock

    def _methods(self, method: str | Mapping[str, str]) -> dict[str, str]:
        own = self.metadata.get("interpolation")
        chosen = dict.fromkeys(self.columns, method if isinstance(method, str) else "linear")
        if isinstance(own, Mapping):
            chosen |= {name: str(value) for name, value in own.items() if name in chosen}
        if not isinstance(method, str):
            for name, value in method.items():
                chosen[self.find(name)[1]] = value
        return chosen

    def _check_increasing(self, stream: Stream) -> None:
        steps = np.diff(stream.times)
        if np.all(steps > 0):
            return
        row = int(np.argmax(steps <= 0))
        label = f"stream {stream.name!r} of {self._label()}" if stream.name else self._label()
        raise RecordingError(
            f"The clock of {label} does not increase: {stream.times[row]:.10g} s is followed by "
            f"{stream.times[row + 1]:.10g} s (sample {row + 2}). Sort the rows and drop duplicates "
            "before the recording is merged."
        )

    def _label(self) -> str:
        return f"recording {self.name!r}" if self.name else "the recording"
