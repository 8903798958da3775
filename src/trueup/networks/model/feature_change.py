"""An equivalent network with other inputs that are a linear transformation of the original ones.

Of target angle, angle and angle error two are independent, ``error = target - angle``: a network
trained on two of them becomes, with transformed weights of its first layer, a network on another
two. A network on angle and target angle that depends only on their difference becomes one on the
error.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueup.errors import FitError, listing
from trueup.networks.data.features import ANGLE, ANGLE_ERROR, TARGET_ANGLE
from trueup.networks.data.normalization import Normalization
from trueup.networks.model.network import RECURRENT, SKIP, Network, last_layer

_ROUNDING = 1e-6
"""Weight relative to the largest one below which a dependence counts as rounding error."""


def derived(sources: Sequence[str], wanted: Sequence[str]) -> np.ndarray | None:
    """Matrix from sources to wanted signals, shape (sources, wanted); None if there is none."""
    coordinates = [*sources, *wanted]
    known, asked = _directions(sources, coordinates), _directions(wanted, coordinates)
    matrix = np.linalg.lstsq(known.T, asked.T, rcond=None)[0]
    matrix = np.where(np.abs(matrix) < 1e-9, 0.0, matrix)
    return matrix if np.allclose(known.T @ matrix, asked.T, atol=1e-9) else None


def independent(names: Sequence[str]) -> tuple[str, ...]:
    """Independent names from which all others can be derived."""
    chosen: list[str] = []
    for name in names:
        if derived(chosen, [name]) is None:
            chosen.append(name)
    return tuple(chosen)


def with_features(network: Network, features: tuple[str, ...]) -> Network:
    """An equivalent network with other inputs.

    Args:
        network: the trained network.
        features: names of the new inputs, in order, without those that only the base uses.

    Raises:
        FitError: an input of the network cannot be derived from these.
    """
    if features == network.features:
        return network
    first = "rnn.weight_ih_l0" if network.family in RECURRENT else "layers.0.weight"
    first_bias = first.replace("weight", "bias")
    stats, old = network.normalization, network.features
    # (rows, old features, history): the history of each feature is contiguous
    rows_of = [first, SKIP] if network.has_skip else [first]
    weight = np.concatenate([np.asarray(network.weights[n], dtype=np.float64) for n in rows_of])
    weight = weight.reshape(len(weight), len(old), network.history)
    raw = weight / stats.input_deviation[:, None]
    names = [*old, *features]
    before, after = _directions(old, names), _directions(features, names)
    effect = np.einsum("rfk,fc->crk", raw, before).reshape(before.shape[1], -1)
    solved, *_ = np.linalg.lstsq(after.T, effect, rcond=None)
    if np.abs(after.T @ solved - effect).max() > _ROUNDING * np.abs(effect).max():
        raise FitError(
            f"the network depends on {listing(old)}, which cannot be derived from "
            f"{listing(features)}"
        )
    mean = after @ np.linalg.lstsq(before, stats.input_mean, rcond=None)[0]
    deviation = np.array([_deviation(name, stats) for name in features])
    new_raw = solved.reshape(len(features), len(weight), network.history).transpose(1, 0, 2)
    shift = new_raw.sum(axis=2) @ mean - raw.sum(axis=2) @ stats.input_mean
    new_weight = (new_raw * deviation[:, None]).reshape(len(weight), -1)
    rows = len(network.weights[first])
    weights = {**network.weights, first: new_weight[:rows]}
    weights[first_bias] = np.asarray(weights[first_bias], dtype=np.float64) + shift[:rows]
    if network.has_skip:
        last_bias = f"{last_layer(network)}.bias"
        weights[SKIP] = new_weight[rows:]
        weights[last_bias] = np.asarray(weights[last_bias], dtype=np.float64) + shift[rows:]
    normalization = Normalization(
        features, mean, deviation, stats.output_mean, stats.output_deviation
    )
    return replace(
        network,
        normalization=normalization,
        weights=weights,
        feature_lowest=_kept(network.feature_lowest, old, features),
        feature_highest=_kept(network.feature_highest, old, features),
    )


def _directions(names: Sequence[str], coordinates: Sequence[str]) -> np.ndarray:
    """Each signal as a combination of independent ones, shape (names, coordinates)."""
    independent = [ANGLE, ANGLE_ERROR]
    independent += [n for n in dict.fromkeys(coordinates) if n not in (*independent, TARGET_ANGLE)]
    directions = np.zeros((len(names), len(independent)))
    for row, name in zip(directions, names, strict=True):
        for part in (ANGLE, ANGLE_ERROR) if name == TARGET_ANGLE else (name,):
            row[independent.index(part)] = 1.0
    return directions


def _deviation(name: str, stats: Normalization) -> float:
    """Scale of a new input: any is exact; one of its magnitude keeps the weights well scaled."""
    for near in (name, TARGET_ANGLE, ANGLE_ERROR, ANGLE):
        if near in stats.features:
            return float(stats.input_deviation[stats.features.index(near)])
    return 1.0


def _kept(
    limits: np.ndarray | None, old: tuple[str, ...], new: tuple[str, ...]
) -> np.ndarray | None:
    if limits is None or not set(new) <= set(old):
        return None
    return np.asarray(limits)[[old.index(name) for name in new]]
