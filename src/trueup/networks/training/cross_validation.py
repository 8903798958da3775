"""Leave-one-recording-out cross-validation of a trained network.

Validation intervals within training recordings give optimistic errors. Where there are no others,
the network is retrained without each recording and tested on it from a cold start, as after
deployment, in comparison with the baselines. Further candidates are mixtures of the linear model
and the network (stacking: D. Wolpert, "Stacked generalization", Neural Networks 5, 1992), which are
networks of the same sizes.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.splits import DataSplit, file_of
from trueup.networks.evaluation.metrics import score
from trueup.networks.model.network import SKIP, Network, last_layer
from trueup.networks.training.network_training import with_linear_skip
from trueup.networks.training.simple_networks import ENOUGH, TRAINED, refitted

CROSS_VALIDATION_SHARE = 0.25
"""Fraction of the time for training networks without a recording."""

FEWEST_FILES = 3
MOST_FOLDS = 6

SHARES = (0.25, 0.5, 0.75, 1.0)
"""Fractions of the network in mixtures with the linear model."""

_LEAST_DEVIATION = 0.05
"""Lower bound of the standard deviation that scales the error of a recording, relative to all."""


def folds_of(split: DataSplit) -> list[DataSplit]:
    """One split per held-out recording; empty where validation recordings are whole files.

    Recordings are joined from their intervals; one with a test interval is incomplete.
    """
    if split.validates_whole or not split.validation:
        return []
    whole = _whole_recordings((*split.training, *split.validation))
    if len(whole) < FEWEST_FILES or any(each is None for each in whole.values()):
        return []
    names = list(whole)
    if len(names) > MOST_FOLDS:
        chosen = np.linspace(0, len(names) - 1, MOST_FOLDS).round().astype(int)
        names = [names[index] for index in chosen]
    found = []
    for name in names:
        training = tuple(each for each in split.training if file_of(each) != name)
        validation = tuple(each for each in split.validation if file_of(each) != name)
        test = whole[name]
        assert test is not None
        found.append(DataSplit(name, training, validation, test, tested_by="file"))
    return found


@dataclass(frozen=True)
class HeldOutErrors:
    """Errors of networks on recordings held out in turn."""

    recordings: tuple[str, ...]
    """Names of the recordings."""
    deviations: tuple[float, ...]
    """Standard deviation of the torque of each recording [N m]."""
    rmse: dict[str, list[float]]
    """RMSE on each whole recording [N m], by network, the simplest first."""
    settled: dict[str, list[float]]
    """RMSE without the first half second [N m], by network."""
    pieces: dict[str, list[list[float]]]
    """Sums of squared settled errors over pieces of each recording [N2 m2], by network."""

    def relative(self) -> dict[str, float]:
        """RMS over the recordings of the error in standard deviations of the torque, by network."""
        scale = np.array(self.deviations)
        return {n: float(np.sqrt(np.mean((e / scale) ** 2))) for n, e in self.rmse.items()}


def held_out_errors(
    folds: Sequence[DataSplit],
    trained: Callable[[DataSplit, int], Network],
    simple: dict[str, Network],
    group_weighting: float,
) -> HeldOutErrors:
    """Errors of networks on held-out recordings.

    Args:
        folds: splits from `folds_of`.
        trained: function of a fold and its index that returns its network.
        simple: baselines by name; refitted without the recording.
        group_weighting: see `sample_weights`.
    """
    deviations: list[float] = []
    rmse: dict[str, list[float]] = {}
    settled: dict[str, list[float]] = {}
    pieces: dict[str, list[list[float]]] = {}
    for number, fold in enumerate(folds):
        network = trained(fold, number)
        judged = refitted(simple, fold.training)
        judged |= mixtures(network, fold.training, group_weighting)
        whole = float(np.concatenate([each.torque for each in fold.training]).std())
        own = float(np.concatenate([each.torque for each in fold.test]).std())
        deviations.append(max(own, _LEAST_DEVIATION * whole) or 1.0)
        for name, each in judged.items():
            found = score(each, fold.test)
            rmse.setdefault(name, []).append(found.total.rmse)
            settled.setdefault(name, []).append(found.settled.rmse)
            sums = [piece for own in found.series for piece in own.settled.pieces]
            pieces.setdefault(name, []).append(sums)
    names = tuple(Path(fold.name).stem for fold in folds)
    return HeldOutErrors(names, tuple(deviations), rmse, settled, pieces)


def mixtures(
    network: Network, training: Sequence[ActuatorSeries], group_weighting: float
) -> dict[str, Network]:
    """Mixtures of a network with the linear model of the same inputs, by name."""
    linear = network
    if network.family != "linear":
        linear = with_linear_skip(network, training, group_weighting)
    return {mixture_name(share): mixture(network, linear, share) for share in SHARES}


def mixture_name(share: float) -> str:
    """Name of a mixture with a fraction of the network."""
    return TRAINED if share == 1.0 else f"{TRAINED}, {100 * share:g} % beside a linear model"


def mixture(network: Network, linear: Network, share: float) -> Network:
    """Mixture of a network (weight ``share``) and a linear model as one network.

    Args:
        network: the network.
        linear: the network with a linear skip alone, from `with_linear_skip`; with the same inputs,
            the linear model becomes the linear skip.
        share: weight of the network, 0 to 1.
    """
    if share == 1.0 or network.family == "linear":
        return network
    last = last_layer(network)
    changed = {f"{last}.weight": share * network.weights[f"{last}.weight"]}
    bias = f"{last}.bias"
    changed[bias] = share * network.weights[bias] + (1.0 - share) * linear.weights[bias]
    own = network.weights.get(SKIP, np.zeros_like(linear.weights[SKIP]))
    changed[SKIP] = share * own + (1.0 - share) * linear.weights[SKIP]
    types = {name: value.astype(linear.weights[name].dtype) for name, value in changed.items()}
    return replace(network, weights={**network.weights, **types})


def best_of(errors: dict[str, float]) -> str:
    """Name of the simplest network with an error similar to the best."""
    limit = (1.0 + ENOUGH) * min(errors.values())
    return next(name for name, error in errors.items() if error <= limit)


def _whole_recordings(
    parts: Sequence[ActuatorSeries],
) -> dict[str, tuple[ActuatorSeries, ...] | None]:
    """Recordings of each file, joined from intervals; None where one is missing."""
    files: dict[str, dict[str, list[ActuatorSeries]]] = {}
    for each in parts:
        files.setdefault(file_of(each), {}).setdefault(each.name, []).append(each)
    found: dict[str, tuple[ActuatorSeries, ...] | None] = {}
    for name, members in files.items():
        joined = [_joined(stretches) for stretches in members.values()]
        whole = tuple(each for each in joined if each is not None)
        found[name] = whole if len(whole) == len(joined) else None
    return found


def _joined(stretches: Sequence[ActuatorSeries]) -> ActuatorSeries | None:
    """Consecutive intervals of a recording as one; None where there is a gap."""
    ordered = sorted(stretches, key=lambda each: each.start)
    for former, each in itertools.pairwise(ordered):
        if abs(each.start - former.start - len(former) / former.rate) > 0.5 / former.rate:
            return None
    references = [each.reference_torque for each in ordered]
    known = [reference for reference in references if reference is not None]
    return replace(
        ordered[0],
        channels={
            name: np.concatenate([each.channels[name] for each in ordered])
            for name in ordered[0].channels
        },
        torque=np.concatenate([each.torque for each in ordered]),
        reference_torque=np.concatenate(known) if len(known) == len(ordered) else None,
    )
