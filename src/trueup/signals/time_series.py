"""Sampled signals on one clock, with names for their columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trueup.errors import SignalError
from trueup.signals import _time_series_csv, model_signals
from trueup.signals._interpolation import InterpolationMethod, interpolate
from trueup.signals.model_signals import SignalName
from trueup.signals.npz_archive import read_npz
from trueup.signals.signal_type import (
    SignalMapping,
    SignalType,
    decode_signal_mapping,
    encode_signal_mapping,
    unknown_signal,
)

if TYPE_CHECKING:
    import mujoco

# A recorded clock carries rounding: a duration within this fraction of a step above a whole number
# of steps counts as that whole number.
_STEP_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class TimeSeries:
    """Samples over time, and which columns belong to which signal.

    The arrays are shared with the caller, not copied: treat them as read-only.

    Attributes:
        times: strictly increasing sample times, shape (n,) [s].
        data: samples, first axis time, usually of shape (n, channels).
        signal_mapping: ``{name: (SignalType, columns)}``, or None for unnamed columns.

    Raises:
        SignalError: no samples, times not 1-D or not strictly increasing, or unequal lengths.
    """

    times: np.ndarray
    data: np.ndarray
    signal_mapping: SignalMapping | None = None

    def __post_init__(self):
        if not isinstance(self.times, np.ndarray):
            object.__setattr__(self, "times", np.asarray(self.times, dtype=float))
        if not isinstance(self.data, np.ndarray):
            object.__setattr__(self, "data", np.asarray(self.data))
        times, data = self.times, self.data
        if times.size == 0:
            raise SignalError("Empty arrays: a time series needs at least one sample.")
        if times.ndim != 1:
            raise SignalError(f"times must be a 1D array, found shape {times.shape}.")
        length = len(data) if data.ndim else 0
        if length != len(times):
            raise SignalError(
                f"Length of times ({len(times)}) and of data ({length}) differ: "
                "the first axis of data is time."
            )
        rising = times[1:] > times[:-1]
        if not rising.all():
            raise _not_increasing("times", times, rising)

    @staticmethod
    def compute_all_sensor_mapping(model: mujoco.MjModel) -> SignalMapping:
        """Return every sensor of the model with its columns in ``mjData.sensordata``."""
        return model_signals.sensor_mapping(model)

    @staticmethod
    def compute_all_control_mapping(model: mujoco.MjModel) -> SignalMapping:
        """Return every actuator of the model as ``<actuator>_ctrl`` with its control column."""
        return model_signals.control_mapping(model)

    @staticmethod
    def compute_all_state_mappings(
        model: mujoco.MjModel,
    ) -> tuple[SignalMapping, SignalMapping, SignalMapping, SignalMapping]:
        """Return the mappings of positions, velocities, activations and controls.

        Columns of the first three count in ``(qpos, qvel, act)``: a full-physics state without its
        leading time. Free joints are named after their body.
        """
        return model_signals.state_mappings(model)

    @classmethod
    def from_names(
        cls,
        times: np.ndarray,
        data: np.ndarray,
        model: mujoco.MjModel,
        names: Sequence[SignalName] | None = None,
    ) -> TimeSeries:
        """Build observations whose columns are named signals of the model, in the order given.

        Args:
            times: sample times, shape (n,) [s].
            data: samples, shape (n, channels).
            model: the model that has the signals.
            names: sensors, joints, free bodies or actuators with a state, or pairs
                ``(name, SignalType)``; a wide signal takes as many columns as it has components.
                None: all sensors in model order.

        Raises:
            SignalError: unknown, repeated or not allowed name, or a width that does not fit.
        """
        data = _two_axes(data)
        if names is None:
            mapping = model_signals.sensor_mapping(model)
        else:
            mapping = model_signals.resolve_signals(model, names, model_signals.OBSERVATION_TYPES)
        _check_width(mapping, data, "sensors of the model" if names is None else "named signals")
        return cls(times, data, mapping)

    @classmethod
    def from_control_names(
        cls,
        times: np.ndarray,
        data: np.ndarray,
        model: mujoco.MjModel,
        names: Sequence[SignalName] | None = None,
    ) -> TimeSeries:
        """Build controls whose columns are actuators of the model, in the order given.

        Args:
            times: sample times, shape (n,) [s].
            data: controls, shape (n, actuators).
            model: the model that has the actuators.
            names: actuators, one a column, with or without the suffix ``_ctrl``. None: all, in
                model order.

        Raises:
            SignalError: unknown, repeated or not allowed name, or a width that does not fit.
        """
        data = _two_axes(data)
        if names is None:
            mapping = model_signals.control_mapping(model)
        else:
            mapping = model_signals.resolve_signals(model, names, (SignalType.MjCtrl,))
        _check_width(mapping, data, "actuators of the model" if names is None else "named controls")
        return cls(times, data, mapping)

    @classmethod
    def from_custom_map(
        cls,
        times: np.ndarray,
        data: np.ndarray,
        signals: Sequence[str | tuple[str, int, SignalType]],
    ) -> TimeSeries:
        """Build a series of signals that belong to no model.

        Args:
            times: sample times, shape (n,) [s].
            data: samples, shape (n, channels).
            signals: from left to right, a name (one column, custom observation) or a triple
                ``(name, width, SignalType)``.

        Raises:
            SignalError: a width below one, a repeated name, or widths that do not sum to the
                number of columns.
        """
        data = _two_axes(data)
        mapping: SignalMapping = {}
        start = 0
        for item in signals:
            name, width, signal_type = (
                (item, 1, SignalType.CustomObs) if isinstance(item, str) else item
            )
            if width <= 0:
                raise SignalError(f"Signal {name!r} must have a positive width, found {width}.")
            if name in mapping:
                raise SignalError(f"Signal {name!r} is defined twice.")
            mapping[name] = (signal_type, np.arange(start, start + width))
            start += width
        _check_width(mapping, data, "signals")
        return cls(times, data, mapping)

    @classmethod
    def create(
        cls,
        times: np.ndarray,
        data: np.ndarray,
        signal_mapping: Mapping[str, tuple[SignalType, np.ndarray | list[int] | int]],
    ) -> TimeSeries:
        """Build a series from a mapping whose columns may be integers, lists or arrays."""
        mapping = {
            name: (signal_type, np.atleast_1d(columns))
            for name, (signal_type, columns) in signal_mapping.items()
        }
        return cls(times, data, mapping)

    @classmethod
    def slice_by_name(cls, ts: TimeSeries, enabled_sensors: Sequence[str]) -> TimeSeries:
        """Return only the named signals, with columns renumbered from zero.

        Columns keep the order of the source's mapping. A series without names is returned as is.

        Raises:
            SignalError: a name that the series does not have.
        """
        if not ts.signal_mapping:
            return ts
        for name in enabled_sensors:
            if name not in ts.signal_mapping:
                raise unknown_signal(name, ts.signal_mapping, "signal to keep named")
        wanted = set(enabled_sensors)
        kept = dict.fromkeys(
            int(column)
            for name, (_, columns) in ts.signal_mapping.items()
            if name in wanted
            for column in columns
        )
        place = {column: position for position, column in enumerate(kept)}
        mapping: SignalMapping = {}
        for name in enabled_sensors:
            signal_type, columns = ts.signal_mapping[name]
            mapping[name] = (signal_type, np.array([place[int(c)] for c in columns], dtype=int))
        return cls(ts.times, ts.data.take(list(kept), axis=-1), mapping)

    def get_indices(self, obs_name: str) -> tuple[SignalType, np.ndarray]:
        """Return the type and the columns of a signal.

        Raises:
            SignalError: no such signal.
        """
        mapping = self.signal_mapping or {}
        if obs_name not in mapping:
            raise unknown_signal(obs_name, mapping)
        return mapping[obs_name]

    def __len__(self) -> int:
        return len(self.times)

    def interpolate(
        self, t: float | np.ndarray, method: InterpolationMethod = "linear"
    ) -> np.ndarray:
        """Return values at times ``t`` [s], shape (k, ...); end values are held outside.

        Args:
            t: one time or several, in any order.
            method: ``linear``, ``quadratic``, ``cubic``, ``quintic`` (interpolating splines),
                ``zero_order_hold`` or ``zoh``.

        Raises:
            SignalError: unknown method, or too few samples for a spline.
        """
        return interpolate(self.times, self.data, np.atleast_1d(np.asarray(t)), method)

    def get(
        self, t: float | np.ndarray, method: InterpolationMethod = "linear"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ``(t, values)``; a single time gives values without a time axis."""
        query = np.asarray(t)
        values = self.interpolate(query, method)
        return query, values if query.ndim else values[0]

    def resample(
        self,
        new_times: np.ndarray | None = None,
        target_dt: float | None = None,
        method: InterpolationMethod = "linear",
    ) -> TimeSeries:
        """Return the series at other times.

        Args:
            new_times: strictly increasing times [s]; ``target_dt`` is ignored when given.
            target_dt: longest step [s]. The duration is divided into equal steps that reach the
                last sample exactly, so the actual step is at most this long; see
                :meth:`resample_exact` for steps of exactly this length.
            method: see :meth:`interpolate`.

        Raises:
            SignalError: neither is given, the step is not positive, or the times are not a strictly
                increasing 1-D array.
        """
        if new_times is None:
            if target_dt is None:
                raise SignalError("resample needs new_times or target_dt; neither was given.")
            _check_step(target_dt, "target_dt")
            steps = math.ceil((self.times[-1] - self.times[0]) / target_dt)
            query = np.linspace(self.times[0], self.times[-1], steps + 1)
        else:
            query = np.asarray(new_times, dtype=float)
            if query.ndim != 1:
                raise SignalError(f"new_times must be a 1D array, found shape {query.shape}.")
            if query.size == 0:
                raise SignalError("new_times is empty: resample needs at least one time.")
            rising = query[1:] > query[:-1]
            if not rising.all():
                raise _not_increasing("new_times", query, rising)
        return TimeSeries(query, self.interpolate(query, method), self.signal_mapping)

    def resample_exact(self, dt: float, method: InterpolationMethod = "linear") -> TimeSeries:
        """Return the series at ``times[0] + k * dt`` for k = 0 ... ceil(duration / dt).

        A simulation with step ``dt`` that reads one row per step stays on the clock of the
        recording, whatever its duration; the last sample is held past the end. A duration within a
        millionth of a step, or the rounding of the clock, of a whole number of steps counts as
        whole.

        Args:
            dt: step [s].
            method: see :meth:`interpolate`.

        Raises:
            SignalError: the step is not positive.
        """
        _check_step(dt, "dt")
        first, last = float(self.times[0]), float(self.times[-1])
        rounding = max(_STEP_ROUNDING, 4 * math.ulp(max(abs(first), abs(last))) / dt)
        steps = math.ceil((last - first) / dt - rounding)
        new_times = first + dt * np.arange(max(steps, 0) + 1)
        return TimeSeries(new_times, self.interpolate(new_times, method), self.signal_mapping)

    def remove_from_beginning(self, time_to_remove_s: float) -> TimeSeries:
        """Remove the first ``time_to_remove_s`` seconds and shift the clock to start at zero.

        Raises:
            SignalError: a negative time, or one longer than the series.
        """
        if not time_to_remove_s >= 0:
            raise SignalError(f"time_to_remove_s must be non-negative, found {time_to_remove_s}.")
        elapsed = self.times - self.times[0]
        if time_to_remove_s > elapsed[-1]:
            raise SignalError(
                f"time_to_remove_s ({time_to_remove_s} s) is greater than the duration of the time "
                f"series ({elapsed[-1]:.6g} s)."
            )
        first = int(np.searchsorted(elapsed, time_to_remove_s))
        times = self.times[first:] - self.times[first]
        return TimeSeries(times, self.data[first:], self.signal_mapping)

    def dt_statistics(self) -> dict[str, float]:
        """Return mean, median, std, min and max of the time between samples [s].

        Raises:
            SignalError: a single sample.
        """
        if len(self) < 2:
            raise SignalError("dt_statistics needs at least two samples, found one.")
        steps = np.diff(self.times)
        return {
            "mean": float(np.mean(steps)),
            "median": float(np.median(steps)),
            "std": float(np.std(steps)),
            "min": float(np.min(steps)),
            "max": float(np.max(steps)),
        }

    def save_to_disk(self, path: str | Path) -> None:
        """Write an ``.npz`` file; numpy adds the suffix where it is missing."""
        arrays = {"times": self.times, "data": self.data}
        if self.signal_mapping:
            arrays["signal_mapping"] = np.asarray(encode_signal_mapping(self.signal_mapping))
        np.savez(path, **arrays)  # pyright: ignore[reportArgumentType]

    @classmethod
    def load_from_disk(cls, path: str | Path) -> TimeSeries:
        """Read a file of :meth:`save_to_disk`, without unpickling.

        Raises:
            SignalError: no such file, or not a saved time series.
        """
        arrays = read_npz(path)
        missing = [key for key in ("times", "data") if key not in arrays]
        if missing:
            raise SignalError(
                f"{str(path)!r} is not a saved time series: missing {' and '.join(missing)}."
            )
        mapping = None
        if "signal_mapping" in arrays:
            mapping = decode_signal_mapping(str(arrays["signal_mapping"]))
        return cls(arrays["times"], arrays["data"], mapping)

    def save_to_csv(self, path: str | Path, header: bool = False) -> None:
        """Write times and columns as comma-separated text in full precision.

        Args:
            path: the file to write.
            header: write a first line with names and types, which :meth:`load_from_csv` reads.

        Raises:
            SignalError: more than two axes, or with a header a column that two signals share.
        """
        _time_series_csv.write_csv(path, self.times, self.data, self.signal_mapping, header)

    @classmethod
    def load_from_csv(cls, path: str | Path) -> TimeSeries:
        """Read what :meth:`save_to_csv` wrote: first column time [s], others data.

        With a header the signals get their names and types back; a cell without a type becomes a
        custom observation. For CSV files of other programs see the readers of this package.

        Raises:
            SignalError: missing or malformed file.
        """
        return cls(*_time_series_csv.read_csv(path))

    def __repr__(self) -> str:
        first, last = self.times[0], self.times[-1]
        lines = [
            f"samples={len(self)}",
            f"shape={self.data.shape}",
            f"time_range=[{first:.6g}, {last:.6g}] (duration={last - first:.6g})",
        ]
        if len(self) > 1:
            step = self.dt_statistics()
            uniform = step["std"] < 0.01 * step["mean"]
            spread = "uniform" if uniform else f"min={step['min']:.3g}, max={step['max']:.3g}"
            lines.append(f"dt={step['mean']:.6g} ({spread})")
        if self.data.size:
            lines.append(f"data_range=[{np.min(self.data):.3g}, {np.max(self.data):.3g}]")
        lines.append(f"signals={list(self.signal_mapping or ())}")
        return "TimeSeries(\n" + "".join(f"  {line}\n" for line in lines) + ")"


def _two_axes(data: np.ndarray) -> np.ndarray:
    data = np.asarray(data)
    if data.ndim != 2:
        raise SignalError(f"data must be 2-dimensional (time x channels), found {data.shape}.")
    return data


def _check_width(mapping: SignalMapping, data: np.ndarray, what: str) -> None:
    width = sum(len(columns) for _, columns in mapping.values())
    if width != data.shape[1]:
        widths = ", ".join(f"{name} ({len(columns)})" for name, (_, columns) in mapping.items())
        raise SignalError(
            f"data has {data.shape[1]} columns, but the {what} have {width} in total: "
            f"{widths or 'none'}."
        )


def _check_step(step: float, name: str) -> None:
    if not (step > 0 and math.isfinite(step)):
        raise SignalError(f"{name} must be a positive number of seconds, found {step}.")


def _not_increasing(name: str, times: np.ndarray, rising: np.ndarray) -> SignalError:
    where = int(np.argmin(rising))
    return SignalError(
        f"{name} must be strictly increasing, but sample {where + 1} is at {times[where + 1]} s "
        f"after {times[where]} s."
    )
