"""Conversion of a :class:`SignalTransform` to measurement rules of the batched problem."""

import numpy as np

from trueup.errors import SignalError
from trueup.parameters import Parameter, ParameterDict
from trueup.simulation.measured.measurement import DelayRule, MeasurementRules, ScaleRule
from trueup.sysid.toolbox.signal_transform import SignalTransform


def transform_rules(transform: SignalTransform, parameters: ParameterDict) -> MeasurementRules:
    """Return the delays, gains and biases of a transform.

    Args:
      transform: delays, gains and biases by pattern; the last matching delay applies.
      parameters: the parameters that give the values.

    Raises:
      SignalError: a delay that is not one number, or has no finite bounds.
    """
    for rule in transform.delays:
        size = parameters[rule.parameter.name].size
        if size != 1:
            raise SignalError(
                f"the delay {rule.parameter.name!r} has {size} values: expected one, in seconds"
            )
    transform.delay_bounds()  # raises: a delay without finite bounds has no compared rows
    return MeasurementRules(
        sizes={name: parameter.size for name, parameter in parameters.items()},
        delays=tuple(DelayRule(r.pattern, r.parameter.name) for r in transform.delays),
        scales=tuple(
            ScaleRule(rule.pattern, rule.parameter.name, is_gain, rule.target)
            for is_gain, rules in ((True, transform.gains), (False, transform.biases))
            for rule in rules
        ),
        each_signal=True,
    )


def with_registered(parameters: ParameterDict, transform: SignalTransform) -> ParameterDict:
    """Return the parameters together with those of the transform only, which are frozen."""
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
    """Hashable key of everything that a transform's residual depends on."""
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
