"""Baselines of a network: a linear function of the last few samples, and its base alone."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.networks.base.kinds import Base
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.normalization import Normalization
from trueup.networks.model.lag_sums import LagSums, response
from trueup.networks.model.network import Network

HISTORIES = (1, 2, 4, 8, 16, 32, 64, 128)
"""History lengths compared by `fit_linear_chosen` [samples]."""

RIDGE = 1e-6
"""Ridge weight relative to the mean square of a normalised input."""

AT_LIMIT = 0.97
"""Fraction of a torque limit above which a measured torque counts as saturated."""

_ROUNDS = 12


def fit_linear(
    training: Sequence[ActuatorSeries],
    features: tuple[str, ...],
    history: int = 2,
    base: Base | None = None,
    ridge: float = RIDGE,
    sample_weights: Sequence[np.ndarray] | None = None,
) -> Network:
    """Fit a linear network by least squares, in closed form.

    ``torque = base + b + sum of w[f, k] feature_f(t - k)``. Samples of a recording whose history
    begins before its start are excluded.

    Args:
        training: recordings or parts of them, of one rate.
        features: features in order.
        history: length of the history [samples].
        base: analytic base that the network corrects.
        ridge: weight of the sum of squared weights, relative to the mean square error of a target
            with unit standard deviation.
        sample_weights: weight of each sample's square, for each recording, shape (n,); None: 1.

    Raises:
        FitError: there are no recordings, their rates differ, or none is longer than the history.
        ColumnError: a feature is not recorded.
    """
    if history < 1 or ridge < 0:
        raise FitError(f"history is {history}, ridge {ridge}; they must be at least 1 and 0")
    rates = {each.rate for each in training}
    if len(rates) != 1:
        raise FitError(f"training requires recordings of one rate; found {sorted(rates)} Hz")
    inputs = [each.features(features) for each in training]
    outputs = [_residual(each, base) for each in training]
    stats = Normalization.of(features, inputs, outputs)
    if sample_weights is None:
        sample_weights = [np.ones(len(each)) for each in training]
    columns = history * len(features)
    sums = LagSums.none(columns)
    for values, output, weights in zip(inputs, outputs, sample_weights, strict=True):
        normalised = (values - stats.input_mean) / stats.input_deviation
        wanted = (output - stats.output_mean) / stats.output_deviation
        sums.add(normalised, wanted, weights, history)
    if sums.weight == 0.0:
        raise FitError(f"no recording is longer than the history of {history} samples")
    # the constant is not penalised: solve about the means of the samples used
    mean, mean_output = sums.values / sums.weight, sums.output / sums.weight
    gram = sums.squares / sums.weight - np.outer(mean, mean) + max(ridge, 1e-12) * np.eye(columns)
    weights = np.linalg.solve(gram, sums.products / sums.weight - mean_output * mean)
    bias = np.array([mean_output - weights @ mean])
    stacked = np.concatenate(inputs)
    return Network(
        family="linear",
        normalization=stats,
        weights={"layers.0.weight": weights[None], "layers.0.bias": bias},
        rate=rates.pop(),
        base=base,
        history=history,
        feature_lowest=stacked.min(axis=0),
        feature_highest=stacked.max(axis=0),
    )


def fit_limited(
    training: Sequence[ActuatorSeries],
    features: tuple[str, ...],
    history: int,
    limit: float,
    base: Base | None = None,
    sample_weights: Sequence[np.ndarray] | None = None,
) -> Network:
    """Fit a linear network with a torque limit, such as that of a motor (censored regression).

    A saturated sample shows only that the unlimited torque exceeds the limit: it is excluded
    where the prediction also exceeds it, and the fit is repeated until the set does not change.

    Args:
        training: recordings or parts of them, of one rate.
        features: features in order.
        history: length of the history [samples].
        limit: bound of the torque's magnitude [N m].
        base: analytic base that the network corrects.
        sample_weights: see :func:`fit_linear`.

    Raises:
        FitError, ColumnError: as for :func:`fit_linear`.
    """
    given = sample_weights or [np.ones(len(each)) for each in training]
    weights, held = list(given), [np.zeros(len(each), bool) for each in training]
    network = fit_linear(training, features, history, base, sample_weights=weights)
    for _ in range(_ROUNDS):
        found = [is_held(_uncut(network, each), each.torque, limit) for each in training]
        if all((a == b).all() for a, b in zip(found, held, strict=True)):
            break
        held = found
        weights = [np.where(h, 0.0, w) for h, w in zip(held, given, strict=True)]
        network = fit_linear(training, features, history, base, sample_weights=weights)
    return replace(network, torque_limit=limit)


def is_held(uncut: Any, torque: Any, limit: float) -> Any:
    """Saturated samples: measured at the torque limit, and predicted beyond it without the limit.

    The arguments are arrays or tensors [N m].
    """
    return (abs(torque) >= AT_LIMIT * limit) & (uncut * (torque / limit) > abs(torque))


def _uncut(network: Network, series: ActuatorSeries) -> np.ndarray:
    """Torque of a linear network without its limit [N m]; zero until its history is filled."""
    stats, history = network.normalization, network.history
    uncut = np.zeros(len(series))
    values = (series.features(network.features) - stats.input_mean) / stats.input_deviation
    if len(values) < history:
        return uncut
    output = response(values, network.weights["layers.0.weight"][0], history)
    output += network.weights["layers.0.bias"][0]
    uncut[history - 1 :] = stats.output_mean + stats.output_deviation * output
    if network.base is not None:
        uncut = uncut + network.base.torque(series.features(network.base.features))
    return uncut


def fit_linear_chosen(
    training: Sequence[ActuatorSeries],
    validation: Sequence[ActuatorSeries],
    features: tuple[str, ...],
    base: Base | None = None,
    histories: Sequence[int] = HISTORIES,
) -> Network:
    """The linear network with the history length of the smallest validation error.

    At a cold start in motion the history contains only the first sample, and the error does not
    depend on its length; the first half second is excluded from the choice. Without a validation
    part the choice uses the training part.

    Raises:
        FitError: no recording is longer than the shortest history.
    """
    from trueup.networks.evaluation.metrics import score

    longest = max((len(each) for each in training), default=0)
    tried = [history for history in histories if history <= longest] or [min(histories)]
    networks = [fit_linear(training, features, history, base) for history in tried]
    judged_on = validation or training
    errors = [score(network, judged_on).settled.rmse for network in networks]
    return networks[int(np.argmin(errors))]


def base_alone(base: Base, rate: float) -> Network:
    """A network of an analytic base alone."""
    features = base.features
    count = len(features)
    return Network(
        family="linear",
        normalization=Normalization(features, np.zeros(count), np.ones(count), 0.0, 1.0),
        weights={"layers.0.weight": np.zeros((1, count)), "layers.0.bias": np.zeros(1)},
        rate=rate,
        base=base,
    )


def constant_network(features: tuple[str, ...], rate: float, torque: float) -> Network:
    """A network of constant torque [N m]."""
    count = len(features)
    return Network(
        family="linear",
        normalization=Normalization(features, np.zeros(count), np.ones(count), 0.0, 1.0),
        weights={"layers.0.weight": np.zeros((1, count)), "layers.0.bias": np.array([torque])},
        rate=rate,
    )


def _residual(series: ActuatorSeries, base: Base | None) -> np.ndarray:
    if base is None:
        return series.torque
    return series.torque - base.torque(series.features(base.features))
