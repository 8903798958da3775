"""Measurement model of an experiment file: delays, gains, biases, weights."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from trueup.errors import ExperimentError, did_you_mean, listing
from trueup.parameters import ParameterDict
from trueup.simulation.measured.measurement import DelayRule, MeasurementRules, ScaleRule
from trueup.sysid.experiment.settings import Experiment, GainPart, MeasurementPart
from trueup.sysid.fit.observation_settings import ObservationSettings


def measurement_rules(part: MeasurementPart, parameters: ParameterDict) -> MeasurementRules:
    """Delays, gains and biases by patterns of signal names.

    Raises:
      ExperimentError: a rule refers to an unknown parameter.
    """
    gains = {pattern: _gain(rule) for pattern, rule in part.gains.items()}
    biases = {pattern: _gain(rule) for pattern, rule in part.biases.items()}
    for kind, used in (
        ("delays", part.delays.values()),
        ("gains", [rule.parameter for rule in gains.values()]),
        ("biases", [rule.parameter for rule in biases.values()]),
    ):
        for name in used:
            if name not in parameters:
                raise ExperimentError(
                    f"measurement.{kind} refers to an unknown parameter {name!r}; available: "
                    f"{listing(parameters)}.{did_you_mean(name, parameters)}"
                )
    return MeasurementRules(
        sizes={name: parameter.size for name, parameter in parameters.items()},
        delays=tuple(DelayRule(pattern, name) for pattern, name in part.delays.items()),
        scales=tuple(
            ScaleRule(pattern, rule.parameter, is_gain, rule.target)
            for is_gain, rules in ((True, gains), (False, biases))
            for pattern, rule in rules.items()
        ),
    )


def check_patterns(part: MeasurementPart, signals: list[str]) -> None:
    """Raise ExperimentError for a pattern that matches no recorded signal."""
    for kind in ("signals", "delays", "gains", "biases"):
        for pattern in getattr(part, kind):
            if not any(fnmatchcase(s, pattern) for s in signals):
                raise ExperimentError(
                    f"measurement.{kind}: {pattern!r} matches no recorded signal; available: "
                    f"{listing(signals)}.{did_you_mean(pattern, signals)}"
                )


def observation_settings(
    experiment: Experiment, signals: Iterable[str], state_smoothing: float
) -> ObservationSettings:
    """Observation settings of an experiment: compared signals and weights.

    Args:
      experiment: the experiment.
      signals: recorded signals.
      state_smoothing: half width of the local state fit [s].
    """
    weights: dict[str, float] = {}
    noise: dict[str, float] = {}
    for pattern, part in experiment.measurement.signals.items():
        for signal in signals:
            if fnmatchcase(signal, pattern):
                weights[signal] = part.weight
                if part.noise is not None:
                    noise[signal] = part.noise
    return ObservationSettings(
        weights=weights,
        noise=noise,
        normalise="spread",
        control=experiment.control,
        exact_sensor_times=True,
        window=experiment.window,
        state_smoothing=state_smoothing,
    )


def _gain(rule: GainPart | str) -> GainPart:
    return GainPart(parameter=rule) if isinstance(rule, str) else rule
