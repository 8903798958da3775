"""Baselines beside a network: a linear function of the last few samples, its base alone."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.networks.base.kinds import Base
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.normalization import Normalization
from trueup.networks.model.network import Network

HISTORIES = (1, 2, 4, 8, 16, 32, 64, 128)
"""Lengths of the history that `fit_linear_chosen` tries [samples]."""

RIDGE = 1e-6
"""Weight of the ridge beside the mean square of a normalised input."""

AT_LIMIT = 0.97
"""Share of a torque limit from which a measured torque counts as held by it."""

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
    reaches before its start are left out.

    Args:
        training: recordings or parts of them, of one rate.
        features: features in order.
        history: samples that the network sees.
        base: analytic torque that it corrects.
        ridge: weight of the sum of squared weights, beside the mean square error of a target of
            unit deviation.
        sample_weights: weight of each sample's square, for each recording, shape (n,); None: 1.

    Raises:
        FitError: there are no recordings, their rates differ, or none is longer than the history.
        ColumnError: a recording lacks a feature.
    """
    if history < 1 or ridge < 0:
        raise FitError(f"history is {history} and ridge {ridge}: at least 1 and 0")
    rates = {each.rate for each in training}
    if len(rates) != 1:
        raise FitError(f"a network is trained at one rate; the recordings have {sorted(rates)} Hz")
    inputs = [each.features(features) for each in training]
    outputs = [_residual(each, base) for each in training]
    stats = Normalization.of(features, inputs, outputs)
    if sample_weights is None:
        sample_weights = [np.ones(len(each)) for each in training]
    columns = history * len(features)
    gram, moment, total, count = np.zeros((columns, columns)), np.zeros(columns), 0.0, 0.0
    sums = np.zeros(columns)
    for values, output, weights in zip(inputs, outputs, sample_weights, strict=True):
        if len(values) < history:
            continue
        lags = _lags((values - stats.input_mean) / stats.input_deviation, history)
        wanted = (output[history - 1 :] - stats.output_mean) / stats.output_deviation
        weighed = lags * weights[history - 1 :, None]
        gram += weighed.T @ lags
        moment += weighed.T @ wanted
        sums += weighed.sum(axis=0)
        total += weights[history - 1 :] @ wanted
        count += weights[history - 1 :].sum()
    if count == 0.0:
        raise FitError(f"no recording is longer than the history of {history} samples")
    # the constant carries no ridge: solve about the means of the samples used
    mean, mean_output = sums / count, total / count
    gram = gram / count - np.outer(mean, mean) + max(ridge, 1e-12) * np.eye(columns)
    weights = np.linalg.solve(gram, moment / count - mean_output * mean)
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
    """Fit a linear network whose torque is cut at a limit, as that of a motor is.

    A sample that the limit holds says no more than that the uncut torque is beyond it: it is left
    out where the fit says so too, and the fit repeated until none changes.

    Args:
        training: recordings or parts of them, of one rate.
        features: features in order.
        history: samples that the network sees.
        limit: bound of the torque's magnitude [N m].
        base: analytic torque that it corrects.
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
    """Samples that a torque limit holds: measured at it, and beyond it without the limit.

    Of arrays, or of tensors.
    """
    return (abs(torque) >= AT_LIMIT * limit) & (uncut * (torque / limit) > abs(torque))


def _uncut(network: Network, series: ActuatorSeries) -> np.ndarray:
    """Torque of a linear network without its limit; zero where its history is not filled."""
    stats, history = network.normalization, network.history
    uncut = np.zeros(len(series))
    values = (series.features(network.features) - stats.input_mean) / stats.input_deviation
    if len(values) < history:
        return uncut
    output = _lags(values, history) @ network.weights["layers.0.weight"][0]
    output = output + network.weights["layers.0.bias"][0]
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
    """The linear network whose history serves the validation part best, once it is filled.

    At a cold start in full motion a history of the first sample gives an error that says nothing of
    the history's use, so the first half second is left out of the choice. Without a validation
    part the training part is judged on.

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
    """A network that gives the torque of an analytic base and nothing else."""
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
    """A network that gives one torque [N m] whatever its features are."""
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


def _lags(values: np.ndarray, history: int) -> np.ndarray:
    """History of each sample from ``history - 1`` on, feature by feature, newest first.

    Shape (n - history + 1, features x history).
    """
    windows = np.lib.stride_tricks.sliding_window_view(values, history, axis=0)[:, :, ::-1]
    return windows.reshape(len(windows), -1)
