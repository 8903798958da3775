"""Declarative measurement model: delays, gains, biases, weights, enabled sensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from trueup.errors import SignalError, did_you_mean
from trueup.signals.model_signals import state_mappings
from trueup.signals.signal_type import SignalMapping, same_signals, unknown_signal
from trueup.signals.time_series import TimeSeries
from trueup.sysid.signal_modifier import (
    apply_delayed_ts_window,
    apply_resample_and_delay,
    normalize_residual,
    weighted_diff,
)
from trueup.sysid.toolbox.aligned_signals import construct_ts_from_defaults

if TYPE_CHECKING:
    import mujoco

    from trueup.parameters import Parameter, ParameterDict

Target: TypeAlias = Literal["predicted", "measured", "both"]
"""Side of the comparison changed by a gain or bias."""

_TARGETS = ("predicted", "measured", "both")


class DelayRule(NamedTuple):
    """A delay of the signals that match a pattern."""

    pattern: str
    """Pattern of signal names, as in a shell: ``*_pos``."""
    parameter: Parameter
    """Delay [s]; its bounds limit the window of the comparison."""


class ScaleRule(NamedTuple):
    """A gain or a bias of the signals that match a pattern."""

    pattern: str
    """Pattern of signal names, as in a shell: ``*_torque``."""
    parameter: Parameter
    """Factor, or offset in the signal's unit."""
    target: Target
    """Changed side."""


class SignalTransform:
    """Comparison of measured with predicted signals through a measurement model.

    ::

        transform = SignalTransform()
        transform.delay("*_pos", params["delay_pos"])
        transform.gain("*_torque", params["torque_scale"], target="predicted")
        transform.enable_sensors(["joint1_pos", "joint1_torque"])
        residual_fn = build_residual_fn(models_sequences=[...], modify_residual=transform.apply)

    Args:
        normalize: divide each channel by the size of its measurement, see
            :func:`~trueup.sysid.signal_modifier.normalize_residual`.
    """

    def __init__(self, normalize: bool = True):
        self.normalize = normalize
        self._delays: list[DelayRule] = []
        self._gains: list[ScaleRule] = []
        self._biases: list[ScaleRule] = []
        self._enabled_sensors: list[str] | None = None
        self._sensor_weights: dict[str, float] | np.ndarray | None = None

    @property
    def delays(self) -> tuple[DelayRule, ...]:
        """Delays in the order of registration; the last one that matches applies."""
        return tuple(self._delays)

    @property
    def gains(self) -> tuple[ScaleRule, ...]:
        """Gains in the order of registration; all that match are applied."""
        return tuple(self._gains)

    @property
    def biases(self) -> tuple[ScaleRule, ...]:
        """Biases in the order of registration; all that match are applied, after gains."""
        return tuple(self._biases)

    @property
    def enabled_sensors(self) -> list[str] | None:
        """Names of the compared signals, or None for all."""
        return None if self._enabled_sensors is None else list(self._enabled_sensors)

    @property
    def sensor_weights(self) -> dict[str, float] | np.ndarray | None:
        """Weights of the compared signals, or None."""
        weights = self._sensor_weights
        return None if weights is None else weights.copy()

    def delay(self, pattern: str, param: Parameter) -> None:
        """Delay the signals that match ``pattern`` by the parameter's value [s]."""
        self._delays.append(DelayRule(pattern, param))

    def gain(self, pattern: str, param: Parameter, target: Target = "both") -> None:
        """Multiply the signals that match ``pattern`` by the parameter's value.

        Raises:
            SignalError: a target other than ``predicted``, ``measured`` or ``both``.
        """
        self._gains.append(ScaleRule(pattern, param, _checked(target)))

    def bias(self, pattern: str, param: Parameter, target: Target = "both") -> None:
        """Add the parameter's value to the signals that match ``pattern``, after the gains.

        Raises:
            SignalError: a target other than ``predicted``, ``measured`` or ``both``.
        """
        self._biases.append(ScaleRule(pattern, param, _checked(target)))

    def enable_sensors(self, sensor_names: Sequence[str]) -> None:
        """Compare only these signals; the columns of the residual follow their order."""
        if isinstance(sensor_names, str):
            raise SignalError(f"sensor_names must be a list, found the string {sensor_names!r}.")
        self._enabled_sensors = list(sensor_names)

    def set_sensor_weights(self, weights: Mapping[str, float] | np.ndarray) -> None:
        """Set weights by signal name, the others are 1; or one weight per compared column."""
        self._sensor_weights = (
            dict(weights) if isinstance(weights, Mapping) else np.array(weights, dtype=float)
        )

    def resolve_delays(
        self, names: Iterable[str], params: ParameterDict | Mapping[str, Parameter]
    ) -> dict[str, float]:
        """Return the delay [s] of each signal with a matching pattern; the last one applies."""
        names = list(names)
        resolved: dict[str, float] = {}
        for rule in self._delays:
            value = _value(rule.parameter, params)
            if value.size != 1:
                raise SignalError(
                    f"The delay {rule.parameter.name!r} has {value.size} values: expected one, in "
                    "seconds."
                )
            for name in names:
                if fnmatchcase(name, rule.pattern):
                    resolved[name] = float(value.reshape(-1)[0])
        return resolved

    def delay_bounds(self, names: Iterable[str] | None = None) -> tuple[float, float]:
        """Return the smallest and largest delay [s] that the parameters' bounds allow.

        The compared window depends only on these, so its length does not change with a delay.

        Args:
            names: the signals; those that no pattern matches have the delay zero. None: the
                registered parameters only.

        Raises:
            SignalError: a delay without finite bounds.
        """
        bounds: dict[str, tuple[float, float]] = {}
        for rule in self._delays:
            lower = float(np.min(rule.parameter.min_value))
            upper = float(np.max(rule.parameter.max_value))
            if not (math.isfinite(lower) and math.isfinite(upper)):
                raise SignalError(
                    f"The delay {rule.parameter.name!r} requires finite bounds, found {lower} to "
                    f"{upper} s: they determine the window in which signals are compared."
                )
            bounds[rule.parameter.name] = (lower, upper)
        if not bounds:
            return 0.0, 0.0
        lowest = min(lower for lower, _ in bounds.values())
        highest = max(upper for _, upper in bounds.values())
        patterns = [rule.pattern for rule in self._delays]
        if names is not None and not all(
            any(fnmatchcase(name, pattern) for pattern in patterns) for name in names
        ):
            return min(lowest, 0.0), max(highest, 0.0)
        return lowest, highest

    def apply(
        self,
        params: ParameterDict | Mapping[str, Parameter],
        sensordata_predicted: TimeSeries,
        sensordata_measured: TimeSeries,
        model: mujoco.MjModel,
        return_pred_all: bool,
        state: np.ndarray | None = None,
        sensor_weights: Mapping[str, float] | np.ndarray | None = None,
    ) -> tuple[np.ndarray, TimeSeries, TimeSeries]:
        """Return the residual and both compared series.

        In order: match signals by name, cut the measurement to the window that every allowed delay
        covers, sample the prediction at the measured times with its delays, apply gains and then
        biases, take the weighted difference, normalise, keep the enabled signals. The call is that
        of a ``modify_residual`` function.

        Args:
            params: current parameters; a registered parameter that is not among them keeps its
                value.
            sensordata_predicted: predicted sensors with their names.
            sensordata_measured: measured signals.
            model: the model of the prediction.
            return_pred_all: return all signals, not only the enabled ones.
            state: predicted full-physics states, shape (n, state size), required if states were
                measured.
            sensor_weights: weights to use instead of those set here.

        Returns:
            ``(residual, predicted, measured)``: shape (n, columns) and the two series.

        Raises:
            SignalError: signals that cannot be matched, or no common window.
        """
        measured, predicted = _aligned(sensordata_predicted, sensordata_measured, model, state)
        mapping = predicted.signal_mapping or {}
        min_delay, max_delay = self.delay_bounds(mapping)
        measured = apply_delayed_ts_window(measured, predicted, min_delay, max_delay)
        delays = self.resolve_delays(mapping, params)
        predicted = apply_resample_and_delay(predicted, measured.times, 0.0, delays)
        predicted = self.scaled(predicted, "predicted", params)
        measured = self.scaled(measured, "measured", params)
        if sensor_weights is None:
            sensor_weights = self._sensor_weights
        difference = weighted_diff(
            predicted.data, measured.data, model, sensor_weights, signal_mapping=mapping
        )
        if self.normalize:
            difference = normalize_residual(difference, measured.data)
        if not return_pred_all and self._enabled_sensors is not None:
            columns, kept = _selection(mapping, self._enabled_sensors)
            difference = difference.take(columns, axis=1)
            predicted = TimeSeries(predicted.times, predicted.data.take(columns, axis=1), kept)
            measured = TimeSeries(measured.times, measured.data.take(columns, axis=1), kept)
        return difference, predicted, measured

    def scaled(
        self,
        ts: TimeSeries,
        side: Literal["predicted", "measured"],
        params: ParameterDict | Mapping[str, Parameter],
    ) -> TimeSeries:
        """Return one side of the comparison with its gains, then its biases, applied."""
        names = list(ts.signal_mapping or {})
        gains = _matches(self._gains, side, names)
        biases = _matches(self._biases, side, names)
        if not gains and not biases:
            return ts
        data = np.array(ts.data, dtype=np.result_type(ts.data, 0.0))
        for name, parameter in gains:
            data[..., ts.get_indices(name)[1]] *= _value(parameter, params)
        for name, parameter in biases:
            data[..., ts.get_indices(name)[1]] += _value(parameter, params)
        return TimeSeries(ts.times, data, ts.signal_mapping)


def _checked(target: Target) -> Target:
    if target not in _TARGETS:
        raise SignalError(
            f"target must be 'predicted', 'measured' or 'both', found {target!r}."
            f"{did_you_mean(str(target), _TARGETS)}"
        )
    return target


def _value(parameter: Parameter, params: ParameterDict | Mapping[str, Parameter]) -> np.ndarray:
    if parameter.name in params:
        parameter = params[parameter.name]
    return np.asarray(parameter.value, dtype=float)


def _matches(rules: list[ScaleRule], side: str, names: list[str]) -> list[tuple[str, Parameter]]:
    return [
        (name, rule.parameter)
        for rule in rules
        if rule.target in (side, "both")
        for name in names
        if fnmatchcase(name, rule.pattern)
    ]


def _aligned(
    predicted: TimeSeries,
    measured: TimeSeries,
    model: mujoco.MjModel,
    state: np.ndarray | None,
) -> tuple[TimeSeries, TimeSeries]:
    """Return measured and predicted with the same signals in the same columns."""
    if same_signals(predicted.signal_mapping, measured.signal_mapping):
        return measured, predicted
    states = None
    if state is not None:
        qpos, qvel, act, _ = state_mappings(model)
        states = TimeSeries(predicted.times, state[:, 1:], qpos | qvel | act)
    return construct_ts_from_defaults(states, predicted, measured)


def _selection(mapping: SignalMapping, names: list[str]) -> tuple[list[int], SignalMapping]:
    """Return the columns of the named signals, in that order, and their mapping after selection."""
    columns: list[int] = []
    kept: SignalMapping = {}
    for name in names:
        if name not in mapping:
            raise unknown_signal(name, mapping, "compared signal named")
        signal_type, places = mapping[name]
        kept[name] = (signal_type, np.arange(len(columns), len(columns) + len(places)))
        columns.extend(np.asarray(places).tolist())
    return columns, kept
