"""A :class:`SignalTransform` as the batched problem understands it."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from trueup.errors import SignalError
from trueup.parameters import Parameter, ParameterDict
from trueup.simulation.observation import GainOrBias, MeasurementModel
from trueup.sysid.toolbox.signal_transform import ScaleRule, SignalTransform


class TransformMeasurement:
    """The measurement model of each sequence, resolved from the patterns of a transform.

    Args:
      transform: delays, gains and biases by pattern; of the delays that match, the last one holds.
      parameters: the parameters that give the values.
    """

    def __init__(self, transform: SignalTransform, parameters: ParameterDict):
        self.transform = transform
        self.parameters = parameters
        self.delay_parameters = tuple(dict.fromkeys(r.parameter.name for r in transform.delays))
        """Names of the parameters whose bounds set the compared window."""
        for name in self.delay_parameters:
            if parameters[name].size != 1:
                raise SignalError(
                    f"the delay {name!r} has {parameters[name].size} values: a delay is one number "
                    f"of seconds"
                )
        transform.delay_bounds()  # a delay without finite bounds has no window

    def __call__(self, signal_names: Sequence[str]) -> MeasurementModel:
        """Return the measurement model of channels, given the signal of each."""
        signals = list(dict.fromkeys(signal_names))
        channels = {s: np.flatnonzero([n == s for n in signal_names]) for s in signals}
        delays: dict[int, str] = {}
        for rule in self.transform.delays:
            for signal in signals:
                if fnmatchcase(signal, rule.pattern):
                    delays.update(dict.fromkeys(channels[signal].tolist(), rule.parameter.name))
        changes: list[GainOrBias] = []
        for is_gain, rules in ((True, self.transform.gains), (False, self.transform.biases)):
            for rule in rules:
                for signal in signals:
                    if fnmatchcase(signal, rule.pattern):
                        changes.append(self._change(rule, signal, channels[signal], is_gain))
        return MeasurementModel(delays, tuple(changes))

    def _change(
        self, rule: ScaleRule, signal: str, channels: np.ndarray, is_gain: bool
    ) -> GainOrBias:
        name = rule.parameter.name
        size = self.parameters[name].size
        if size not in (1, len(channels)):
            raise SignalError(
                f"the {'gain' if is_gain else 'bias'} {name!r} has {size} values, the signal "
                f"{signal!r} has {len(channels)} columns: give one value, or one a column"
            )
        elements = np.arange(size) if size == len(channels) else np.zeros(len(channels), int)
        return GainOrBias(
            name,
            channels,
            elements,
            is_gain,
            on_predicted=rule.target in ("predicted", "both"),
            on_measured=rule.target in ("measured", "both"),
        )


def with_registered(parameters: ParameterDict, transform: SignalTransform) -> ParameterDict:
    """Return the parameters together with those that only the transform knows, held fixed."""
    known = parameters.copy()
    for rule in (*transform.delays, *transform.gains, *transform.biases):
        registered: Parameter = rule.parameter
        if registered.name not in known:
            fixed = Parameter(
                registered.name,
                registered.value,
                np.minimum(registered.min_value, registered.value),
                np.maximum(registered.max_value, registered.value),
                frozen=True,
            )
            known.add(fixed)
    return known


def rules_key(transform: SignalTransform, parameters: ParameterDict) -> tuple:
    """Everything that a transform's residual depends on, as a key of a dictionary."""
    weights = transform.sensor_weights
    if weights is not None:
        weights = tuple(weights.items()) if isinstance(weights, dict) else weights.tobytes()
    rules = [
        (
            kind,
            rule.pattern,
            rule.parameter.name,
            rule.parameter.min_value.tobytes(),
            rule.parameter.max_value.tobytes(),
            getattr(rule, "target", ""),
            b"" if rule.parameter.name in parameters else rule.parameter.value.tobytes(),
        )
        for kind, group in enumerate((transform.delays, transform.gains, transform.biases))
        for rule in group
    ]
    enabled = transform.enabled_sensors
    return (
        transform.normalize,
        weights,
        None if enabled is None else tuple(enabled),
        tuple(rules),
    )
