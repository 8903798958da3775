"""Baselines of a trained network, compared on the error of the choice."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueup.networks.base.kinds import Base
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.splits import DataSplit
from trueup.networks.evaluation.baseline_networks import (
    HISTORIES,
    base_alone,
    constant_network,
    fit_limited,
    fit_linear,
    fit_linear_chosen,
)
from trueup.networks.evaluation.metrics import NetworkScores, score
from trueup.networks.model.network import Network
from trueup.networks.training.network_training import by_group

TRAINED = "trained"
"""Name of the trained network among the candidates."""
CONSTANT, BASE = "constant", "base by itself"
LINEAR = "linear"
LIMITED = "linear within a limit"

ENOUGH = 0.01
"""Smallest relative improvement for which a network is selected over a simpler one."""

LIMIT_QUANTILES = (1.0, 0.99)
"""Quantiles of the magnitude of the torque that are candidates for its limit."""


def simple_networks(
    split: DataSplit,
    features: tuple[str, ...],
    base: Base | None,
    torque_limit: float | None = None,
) -> dict[str, Network]:
    """Baselines, the simplest first: a constant, the base by itself, linear models.

    Args:
        split: parts for training and validation.
        features: inputs of the linear models.
        base: analytic base, or None.
        torque_limit: bound of the torque of every network [N m]; None: linear models are also
            fitted with limits estimated from the recordings, since the torque of a motor has one.
    """
    mean = float(np.concatenate([each.torque for each in split.training]).mean())
    rate = split.training[0].rate
    found = {CONSTANT: constant_network(features, rate, mean)}
    if base is not None:
        found[BASE] = base_alone(base, rate)
    for over in [None] if base is None else [None, base]:
        words = "" if over is None else " over the base"
        plain = _linear(split, features, over)
        found[LINEAR + words] = plain
        found[LIMITED + words] = _limited(split, features, over, plain.history, torque_limit)
    return {
        name: replace(
            _with_ranges(each, split.training),
            torque_limit=each.torque_limit if torque_limit is None else torque_limit,
        )
        for name, each in found.items()
    }


def refitted(simple: dict[str, Network], training: Sequence[ActuatorSeries]) -> dict[str, Network]:
    """Baselines of the same histories and limits, fitted to other recordings.

    Args:
        simple: baselines from `simple_networks`.
        training: recordings for the fit.
    """
    mean = float(np.concatenate([each.torque for each in training]).mean())
    found = {}
    for name, network in simple.items():
        of = (training, network.features, network.history)
        if name == CONSTANT:
            found[name] = constant_network(network.features, network.rate, mean)
        elif name == BASE:
            found[name] = network
        elif network.torque_limit is None:
            found[name] = fit_linear(*of, network.base)
        else:
            found[name] = fit_limited(*of, network.torque_limit, network.base)
    return found


def linear_baseline(
    split: DataSplit, features: tuple[str, ...], base: Base | None, torque_limit: float | None
) -> Network:
    """The linear network that a trained one is compared with, within the same torque limit.

    Args:
        split: parts for training and validation.
        features: inputs.
        base: analytic base that both correct.
        torque_limit: bound of the torque of the trained network [N m]; None: none.
    """
    plain = fit_linear_chosen(split.training, split.validation, features, base)
    if torque_limit is None:
        return plain
    limited = _limited(split, features, base, plain.history, torque_limit)
    return replace(_with_ranges(limited, split.training), torque_limit=torque_limit)


def start_of(split: DataSplit, simple: dict[str, Network]) -> Network:
    """The initial linear network of a training, with a torque limit where that is better."""
    errors = {n: relative_error(score(simple[n], split.validation), split)
              for n in (LINEAR, LIMITED)}  # fmt: skip
    return simple[LIMITED if errors[LIMITED] < errors[LINEAR] else LINEAR]


def _limited(
    split: DataSplit,
    features: tuple[str, ...],
    base: Base | None,
    history: int,
    limit: float | None,
) -> Network:
    """The linear network with the torque limit of the smallest validation error.

    An unmodelled limit appears as a dependence on a longer history, so shorter histories than that
    of the unlimited linear network are tried too.
    """
    torque = np.abs(np.concatenate([each.torque for each in split.training]))
    limits = [limit] if limit else [float(np.quantile(torque, q)) for q in LIMIT_QUANTILES]
    histories = [h for h in HISTORIES if h <= min(8, history) or h == history]
    fitted = [
        fit_limited(split.training, features, each, bound, base)
        for bound in dict.fromkeys(limits)
        if bound > 0
        for each in histories
    ]
    if not fitted:
        return _linear(split, features, base)
    errors = [relative_error(score(each, split.validation), split) for each in fitted]
    return fitted[int(np.argmin(errors))]


def _linear(split: DataSplit, features: tuple[str, ...], base: Base | None) -> Network:
    """The linear network with the history length of the smallest validation error."""
    if not split.validates_whole:
        return fit_linear_chosen(split.training, split.validation, features, base)
    longest = max(len(each) for each in split.training)
    fitted = [
        fit_linear(split.training, features, history, base)
        for history in HISTORIES
        if history <= longest
    ]
    errors = [relative_error(score(each, split.validation), split) for each in fitted]
    return fitted[int(np.argmin(errors))]


def _with_ranges(network: Network, training: Sequence[ActuatorSeries]) -> Network:
    """The network with the ranges of its features in training, outside which it extrapolates."""
    stacked = np.concatenate([each.features(network.features) for each in training])
    return replace(network, feature_lowest=stacked.min(axis=0), feature_highest=stacked.max(axis=0))


def better_of(
    network: Network, simple: dict[str, Network], split: DataSplit
) -> tuple[str, Network, dict[str, float]]:
    """The network, or a simpler one with a similar validation error.

    Returns:
        Name of the simpler network or `TRAINED`, the network, and the validation errors.
    """
    named = {**simple, TRAINED: network}
    errors = validation_errors(named, split)
    limit = (1.0 + ENOUGH) * min(errors.values())
    name = next(name for name, error in errors.items() if error <= limit)
    return name, named[name], errors


def validation_errors(networks: dict[str, Network], split: DataSplit) -> dict[str, float]:
    """Error of each network on the validation part, see `relative_error`."""
    return {
        name: relative_error(score(each, split.validation), split)
        for name, each in networks.items()
    }


def relative_error(scores: NetworkScores, split: DataSplit) -> float:
    """RMSE relative to the standard deviation of the torque, root mean square over the groups.

    Whole validation recordings count from a cold start, as after deployment; intervals begin in
    motion, and count after settling. The standard deviation is that of the group in training, or
    of all of training for another group.
    """
    torque = by_group(split.training)
    cold = split.validates_whole
    whole = float(np.concatenate(list(torque.values())).std()) or 1.0
    squares = []
    for group in scores.groups:
        of_group = [each for each in scores.series if each.group == group]
        members = [each.scores if cold else each.settled for each in of_group]
        mse = np.average([m.mse for m in members], weights=[m.samples for m in members])
        scale = float(torque[group].std()) if group in torque else whole
        squares.append(float(mse) / (scale or whole) ** 2)
    return float(np.sqrt(np.mean(squares)))
