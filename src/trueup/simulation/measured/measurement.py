"""Measurement model: delays, gains and biases between simulated and recorded signals.

``MeasurementRules`` name signals by patterns; called with the signals of a sequence they
return its ``MeasurementModel``, which refers to channels by index.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np

from trueup.errors import SignalError


@dataclass(frozen=True)
class GainOrBias:
    """Gain or bias of channels, given by a parameter."""

    parameter: str
    """Name of the parameter."""
    channels: np.ndarray
    """Indices of the channels ``(k,)``."""
    elements: np.ndarray
    """Element of the parameter for each channel ``(k,)``."""
    is_gain: bool
    """Whether it is a gain; otherwise a bias in the unit of the signal."""
    on_predicted: bool
    """Whether it changes the predicted side."""
    on_measured: bool
    """Whether it changes the measured side."""


@dataclass(frozen=True)
class MeasurementModel:
    """Sensor model from true to recorded signals: delays, gains and biases."""

    delays: dict[int, str] = field(default_factory=dict)
    """Channel -> parameter with the delay [s] of the recorded signal behind the simulated one."""
    changes: tuple[GainOrBias, ...] = ()
    """Gains, then biases, in the order in which they apply."""

    @property
    def is_plain(self) -> bool:
        """Whether the model is the identity."""
        return not self.delays and not self.changes

    @property
    def changes_measured(self) -> bool:
        """Whether the measured side depends on parameters."""
        return any(c.on_measured for c in self.changes)


@dataclass(frozen=True)
class DelayRule:
    """The delay of the signals that match a pattern."""

    pattern: str
    """Pattern of signal names, as in a shell: ``*_pos``."""
    parameter: str
    """Parameter with the delay [s]."""


@dataclass(frozen=True)
class ScaleRule:
    """A gain or bias of the signals that match a pattern."""

    pattern: str
    """Pattern of signal names, as in a shell: ``*_torque``."""
    parameter: str
    """Parameter with the factor, or with the offset in the signal's unit."""
    is_gain: bool
    """Whether it is a gain; otherwise a bias."""
    target: str
    """Changed side: ``predicted``, ``measured`` or ``both``."""


@dataclass(frozen=True)
class MeasurementRules:
    """Delays, gains and biases by patterns of signal names.

    A parameter of a gain or bias has one element for all channels, or one for each channel: of all
    matched signals together, or of each matched signal (``each_signal``).
    """

    sizes: Mapping[str, int]
    """Number of elements of each parameter."""
    delays: tuple[DelayRule, ...] = ()
    """Delays; the last one that matches a signal applies."""
    scales: tuple[ScaleRule, ...] = ()
    """Gains and biases; all that match are applied."""
    each_signal: bool = False
    """Whether the elements of a parameter run over the channels of each signal."""

    @property
    def delay_parameters(self) -> tuple[str, ...]:
        """Parameters whose bounds set the compared rows."""
        return tuple(dict.fromkeys(rule.parameter for rule in self.delays))

    def __call__(self, signal_names: Sequence[str]) -> MeasurementModel:
        """Return the measurement model of channels, given the signal of each.

        Raises:
          SignalError: a parameter with another number of elements than there are channels.
        """
        delays = {
            channel: rule.parameter
            for rule in self.delays
            for channel, signal in enumerate(signal_names)
            if fnmatchcase(signal, rule.pattern)
        }
        # A gain is the slope of the sensor and a bias its reading at zero, independent of the order
        # of the rules.
        ordered = sorted(self.scales, key=lambda rule: not rule.is_gain)
        changes = [
            self._change(rule, channels)
            for rule in ordered
            for channels in self._spans(rule.pattern, signal_names)
        ]
        return MeasurementModel(delays, tuple(changes))

    def _spans(self, pattern: str, signal_names: Sequence[str]) -> list[np.ndarray]:
        """Channels that the elements of a parameter apply to; none if nothing matches."""
        matched = [i for i, name in enumerate(signal_names) if fnmatchcase(name, pattern)]
        if not self.each_signal:
            return [np.array(matched)] if matched else []
        signals = dict.fromkeys(signal_names[i] for i in matched)
        return [np.array([i for i in matched if signal_names[i] == s]) for s in signals]

    def _change(self, rule: ScaleRule, channels: np.ndarray) -> GainOrBias:
        size, count = self.sizes[rule.parameter], len(channels)
        if size not in (1, count):
            spanned = "a signal" if self.each_signal else "the signals"
            raise SignalError(
                f"the {'gain' if rule.is_gain else 'bias'} {rule.parameter!r} has {size} elements, "
                f"{spanned} that {rule.pattern!r} matches {count} channels: give it one element, "
                f"or {count}"
            )
        elements = np.zeros(count, int) if size == 1 else np.arange(count)
        return GainOrBias(
            rule.parameter,
            channels,
            elements,
            rule.is_gain,
            on_predicted=rule.target in ("predicted", "both"),
            on_measured=rule.target in ("measured", "both"),
        )


def apply_changes(
    values: np.ndarray,
    changes: tuple[GainOrBias, ...],
    table: Mapping[str, np.ndarray],
    predicted: bool,
) -> np.ndarray:
    """Apply the gains and biases of one side: ``gain * value + bias``.

    Args:
      values: ``(n, T, C)``, or ``(1, T, C)`` if the same for every candidate.
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
        amount = table[change.parameter][:, change.elements][:, None, :]
        if change.is_gain:
            values[:, :, change.channels] *= amount
        else:
            values[:, :, change.channels] += amount
    return values
