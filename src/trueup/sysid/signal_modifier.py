"""Building blocks of a residual: gains, biases, delays, windows, weights and normalisation.

Every function returns new data and does not change its input. A parameter is any object with a
``value`` array, usually a :class:`trueup.parameters.Parameter`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from trueup.errors import SignalError, did_you_mean, listing
from trueup.signals.model_signals import sensor_mapping
from trueup.signals.signal_type import SignalMapping
from trueup.signals.time_series import TimeSeries

if TYPE_CHECKING:
    import mujoco


class HasValue(Protocol):
    """Interface of a parameter for signal modifiers."""

    @property
    def value(self) -> np.ndarray:
        """Current value, one element or one per column of the signal."""
        ...


def get_sensor_indices(
    model: mujoco.MjModel, sensor_name: str | Sequence[str], sort: bool = False
) -> list[int]:
    """Return the columns of one or several sensors in ``mjData.sensordata``.

    Args:
        model: the model that has the sensors.
        sensor_name: a name, or names in the order of the returned columns.
        sort: return the columns of several sensors in increasing order instead.

    Raises:
        SignalError: a sensor that the model does not have.
    """
    layout = sensor_mapping(model)
    names = [sensor_name] if isinstance(sensor_name, str) else list(sensor_name)
    columns: list[int] = []
    for name in names:
        if name not in layout:
            raise SignalError(
                f"The model has no sensor {name!r}.{did_you_mean(name, layout)} "
                f"Available sensors: {listing(layout)}."
            )
        columns.extend(layout[name][1].tolist())
    return sorted(columns) if sort else columns


def apply_bias(ts: TimeSeries, sensor_name: str, bias: HasValue) -> TimeSeries:
    """Return the series with ``bias.value`` added to one signal, in the signal's unit."""
    columns = ts.get_indices(sensor_name)[1]
    data = _as_floats(ts)
    data[..., columns] += bias.value
    return TimeSeries(ts.times, data, ts.signal_mapping)


def apply_gain(ts: TimeSeries, sensor_name: str, gain: HasValue) -> TimeSeries:
    """Return the series with one signal multiplied by ``gain.value``."""
    columns = ts.get_indices(sensor_name)[1]
    data = _as_floats(ts)
    data[..., columns] *= gain.value
    return TimeSeries(ts.times, data, ts.signal_mapping)


def apply_delay(ts: TimeSeries, sensor_name: str, delay: HasValue) -> TimeSeries:
    """Return the series with one signal delayed by ``delay.value`` [s], at the same times.

    The signal is interpolated linearly and held at its first value (for a negative delay, its last)
    where nothing was recorded.
    """
    columns = ts.get_indices(sensor_name)[1]
    data = _as_floats(ts)
    signal = TimeSeries(ts.times, ts.data[:, columns])
    data[:, columns] = signal.interpolate(ts.times - _scalar(delay.value))
    return TimeSeries(ts.times, data, ts.signal_mapping)


def apply_time_window(ts: TimeSeries, min_t: float, max_t: float) -> TimeSeries:
    """Return the samples from ``min_t`` to ``max_t`` [s], both included.

    Raises:
        SignalError: no sample is in the window.
    """
    first = int(np.searchsorted(ts.times, min_t, side="left"))
    last = int(np.searchsorted(ts.times, max_t, side="right"))
    if last <= first:
        raise SignalError(
            f"No sample is in the window from {min_t:.9g} to {max_t:.9g} s: the series is from "
            f"{ts.times[0]:.9g} to {ts.times[-1]:.9g} s. Check that both have the same clock and "
            "that "
            "delay bounds are shorter than the recording."
        )
    return TimeSeries(ts.times[first:last], ts.data[first:last], ts.signal_mapping)


def apply_delayed_ts_window(
    ts: TimeSeries, ts_delayed: TimeSeries, min_delay: float, max_delay: float
) -> TimeSeries:
    """Return the samples at which another series is known for all delays within bounds.

    A series delayed by d is known from its first time + d to its last time + d; the window is the
    intersection over all delays of the interval, extended by the rounding of the clock.

    Args:
        ts: the series to cut.
        ts_delayed: the series that will be sampled with a delay.
        min_delay: smallest delay [s]; may be negative.
        max_delay: largest delay [s].

    Raises:
        SignalError: bounds in the wrong order, or no sample left.
    """
    if not min_delay <= max_delay:
        raise SignalError(
            f"min_delay must be less than or equal to max_delay, found {min_delay} and {max_delay}."
        )
    first, last = float(ts_delayed.times[0]), float(ts_delayed.times[-1])
    step = (last - first) / max(len(ts_delayed) - 1, 1)
    rounding = max(1e-6 * step, 4 * math.ulp(max(abs(first), abs(last))))
    return apply_time_window(ts, first + max_delay - rounding, last + min_delay + rounding)


def apply_resample_and_delay(
    ts: TimeSeries,
    times: np.ndarray,
    default_delay: float,
    sensor_delays: Mapping[str, float] | None = None,
    predicted_data: bool = True,
) -> TimeSeries:
    """Return the series at other times, each signal with its own delay.

    Columns of equal delay are interpolated together, bitwise identical to one by one.

    Args:
        ts: the series to sample.
        times: strictly increasing times of the result [s].
        default_delay: delay of all other signals [s].
        sensor_delays: delay of some signals [s].
        predicted_data: sample at ``times - delay``, to delay a prediction like a sensor; otherwise
            at ``times + delay``, to remove the delay from a measurement.

    Raises:
        SignalError: a delay for a signal that the series does not have.
    """
    times = np.asarray(times, dtype=float)
    delays = np.full(ts.data.shape[1], float(default_delay))
    for name, delay in (sensor_delays or {}).items():
        delays[ts.get_indices(name)[1]] = _scalar(delay)
    shifts = -delays if predicted_data else delays
    different = np.unique(shifts)
    if len(different) == 1:
        return TimeSeries(times, ts.interpolate(times + different[0]), ts.signal_mapping)
    data = np.empty((len(times), ts.data.shape[1]))
    for shift in different:
        columns = np.flatnonzero(shifts == shift)
        group = TimeSeries(ts.times, ts.data[:, columns])
        data[:, columns] = group.interpolate(times + shift)
    return TimeSeries(times, data, ts.signal_mapping)


def prepare_sensor_weights(
    sensor_weights: Mapping[str, float] | np.ndarray,
    n_sensors: int,
    model: mujoco.MjModel | None = None,
    signal_mapping: SignalMapping | None = None,
) -> np.ndarray:
    """Return one weight per column, shape (n_sensors,).

    Args:
        sensor_weights: weights of some signals by name, the others are 1; or an array with one
            weight per column.
        n_sensors: number of columns.
        model: model with the sensor layout if ``signal_mapping`` is None.
        signal_mapping: the columns of the signals. A weight for a sensor of the model that is not
            among them is ignored.

    Raises:
        SignalError: an unknown signal, a weight that is negative or not finite, an array of another
            length, or columns that no layout describes.
    """
    if not isinstance(sensor_weights, Mapping):
        weights = np.asarray(sensor_weights, dtype=float)
        if weights.shape != (n_sensors,):
            raise SignalError(
                f"Expected sensor_weights to be an array of shape ({n_sensors},), found "
                f"{weights.shape}."
            )
        _check_weights(weights.tolist())
        return weights
    _check_weights(sensor_weights.values())
    known = sensor_mapping(model) if model is not None else {}
    if signal_mapping is None:
        if model is None:
            raise SignalError("model or signal_mapping is required for sensor_weights by name.")
        if model.nsensordata != n_sensors:
            raise SignalError(
                f"The data has {n_sensors} columns and the model {model.nsensordata} sensor "
                "columns: pass signal_mapping with the names of the columns."
            )
        signal_mapping = known
    weights = np.ones(n_sensors)
    for name, weight in sensor_weights.items():
        if name in signal_mapping:
            weights[signal_mapping[name][1]] = weight
        elif name not in known:
            names = [*signal_mapping, *(other for other in known if other not in signal_mapping)]
            raise SignalError(
                f"A weight is given for an unknown signal {name!r}.{did_you_mean(name, names)} "
                f"Available names: {listing(names)}."
            )
    return weights


def weighted_diff(
    predicted_data: np.ndarray,
    measured_data: np.ndarray,
    model: mujoco.MjModel | None = None,
    sensor_weights: Mapping[str, float] | np.ndarray | None = None,
    signal_mapping: SignalMapping | None = None,
) -> np.ndarray:
    """Return ``weight * (measured - predicted)``, shape (n, columns).

    Args:
        predicted_data: predicted values, shape (n, columns).
        measured_data: measured values, same shape.
        model: see :func:`prepare_sensor_weights`.
        sensor_weights: see :func:`prepare_sensor_weights`; None for no weights.
        signal_mapping: the columns, if they are not all sensors in the model's order.

    Raises:
        SignalError: data of different shapes, or see :func:`prepare_sensor_weights`.
    """
    if np.shape(predicted_data) != np.shape(measured_data):
        raise SignalError(
            f"Predicted data has shape {np.shape(predicted_data)}, measured data "
            f"{np.shape(measured_data)}: resample and select the same signals first."
        )
    difference = measured_data - predicted_data
    if sensor_weights is None:
        return difference
    weights = prepare_sensor_weights(sensor_weights, difference.shape[-1], model, signal_mapping)
    return difference * weights


def normalize_residual(residual: np.ndarray, measured_data: np.ndarray) -> np.ndarray:
    """Divide each column by the size of its measurement, ``norm(measured) / sqrt(2)`` over time.

    A prediction of zero then has a cost of 1 per column, ``sum(r**2) / 2 = 1``. The size of an
    all-zero column is 1, in the signal's unit.

    Args:
        residual: shape (n, columns).
        measured_data: shape (n, columns).
    """
    return residual / residual_scale(measured_data)


def residual_scale(measured_data: np.ndarray) -> np.ndarray:
    """Return the divisor of :func:`normalize_residual` for each column, shape (columns,)."""
    scale = np.linalg.norm(measured_data, axis=0) / np.sqrt(2)
    return np.where(scale > 0, scale, 1.0)


def _as_floats(ts: TimeSeries) -> np.ndarray:
    return np.array(ts.data, dtype=np.result_type(ts.data, 0.0))


def _scalar(value: np.ndarray | float) -> float:
    array = np.asarray(value, dtype=float)
    if array.size != 1:
        raise SignalError(
            f"A delay must be one number of seconds, found {array.size} values: {array}."
        )
    return float(array.reshape(-1)[0])


def _check_weights(weights: Iterable[float]) -> None:
    for weight in weights:
        if not (np.isfinite(weight) and weight >= 0):
            raise SignalError(f"A weight must be finite and non-negative, found {weight}.")
