"""Predicted signals in the layout of the measured ones, matched by name."""

from collections.abc import Sequence

import numpy as np

from trueup.errors import SignalError, listing
from trueup.signals.signal_type import SignalMapping, SignalType, unknown_signal
from trueup.signals.time_series import TimeSeries

_STATE_TYPES = (SignalType.MjStateQPos, SignalType.MjStateQVel, SignalType.MjStateAct)


def locate_observations(
    observed: SignalMapping, sensors: SignalMapping, states: SignalMapping
) -> tuple[np.ndarray, np.ndarray]:
    """Return the predicted column of each observed column.

    Args:
        observed: the observed signals and their columns, together ``0 ... n - 1``.
        sensors: the columns of the predicted sensors.
        states: the columns of the predicted states.

    Returns:
        ``(is_sensor, column)``, both of shape (n,): whether the column is one of the sensors or of
        the states, and its index.

    Raises:
        SignalError: a signal that is not predicted, of another width, or one that only a custom
            residual function can predict.
    """
    width = sum(len(columns) for _, columns in observed.values())
    is_sensor = np.zeros(width, dtype=bool)
    source = np.zeros(width, dtype=int)
    for name, (signal_type, columns) in observed.items():
        if signal_type is SignalType.MjSensor:
            predicted = sensors
        elif signal_type in _STATE_TYPES:
            predicted = states
        else:
            raise SignalError(
                f"{name!r} is of type {signal_type.name}, which a model does not predict: select "
                "other signals with enabled_observations, or give a modify_residual function."
            )
        if name not in predicted:
            raise unknown_signal(name, predicted, f"prediction of type {signal_type.name} named")
        places = predicted[name][1]
        if len(places) != len(columns):
            raise SignalError(
                f"{name!r} was measured with {len(columns)} columns and is predicted with "
                f"{len(places)}."
            )
        is_sensor[columns] = signal_type is SignalType.MjSensor
        source[columns] = places
    return is_sensor, source


def construct_ts_from_defaults(
    state_ts: TimeSeries | None,
    pred_sensordata: TimeSeries,
    measured_sensordata: TimeSeries,
    enabled_observations: Sequence[tuple[str, SignalType] | str] | None = None,
) -> tuple[TimeSeries, TimeSeries]:
    """Select the signals to compare and reorder the prediction to the measurement's layout.

    Signals are matched by name, so measured columns may be in any order and may be a subset of the
    predicted signals.

    Args:
        state_ts: predicted states, with their mapping; None if no states were measured.
        pred_sensordata: predicted sensors, with their mapping.
        measured_sensordata: measured signals. Without a mapping the columns must be all predicted
            sensors, in order.
        enabled_observations: signals to compare, by name or as (name, type); all when None or
            empty.

    Returns:
        ``(measured, predicted)`` with the same signals in the same columns.

    Raises:
        SignalError: a signal that was not measured or is not predicted, or a type that differs.
    """
    sensors = pred_sensordata.signal_mapping or {}
    states = (state_ts.signal_mapping or {}) if state_ts is not None else {}
    measured = _with_names(measured_sensordata, pred_sensordata)
    measured = TimeSeries.slice_by_name(measured, _enabled(measured, enabled_observations))
    mapping = measured.signal_mapping or {}
    is_sensor, source = locate_observations(mapping, sensors, states)
    data = np.empty((*pred_sensordata.data.shape[:-1], len(source)))
    data[..., is_sensor] = pred_sensordata.data[..., source[is_sensor]]
    if state_ts is not None:
        data[..., ~is_sensor] = state_ts.data[..., source[~is_sensor]]
    return measured, TimeSeries(pred_sensordata.times, data, mapping)


def _with_names(measured: TimeSeries, predicted: TimeSeries) -> TimeSeries:
    if measured.signal_mapping:
        return measured
    if not predicted.signal_mapping or measured.data.shape[-1] != predicted.data.shape[-1]:
        raise SignalError(
            f"The measured data has {measured.data.shape[-1]} columns without names and the "
            f"prediction {predicted.data.shape[-1]}: name the columns with TimeSeries.from_names."
        )
    return TimeSeries(measured.times, measured.data, predicted.signal_mapping)


def _enabled(
    measured: TimeSeries, enabled_observations: Sequence[tuple[str, SignalType] | str] | None
) -> list[str]:
    mapping = measured.signal_mapping or {}
    if not enabled_observations:
        return list(mapping)
    names: list[str] = []
    for item in enabled_observations:
        name, declared = (item, None) if isinstance(item, str) else item
        if name not in mapping:
            raise unknown_signal(name, mapping, "measured signal named")
        signal_type = mapping[name][0]
        if declared is not None and signal_type is not declared:
            raise SignalError(
                f"{name!r} was measured as {signal_type.name} but enabled as {declared.name}: the "
                "types must agree."
            )
        if name in names:
            raise SignalError(f"{name!r} is enabled twice, in {listing(names)}.")
        names.append(name)
    return names
