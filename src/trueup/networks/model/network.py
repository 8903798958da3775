"""A trained network as plain data: output of training and input of every export.

This module does not require torch. The weights are named after the modules of torch:

- ``gru``, ``lstm``: ``rnn.weight_ih_l0`` (3 or 4 hidden, inputs), ``rnn.weight_hh_l0``,
  ``rnn.bias_ih_l0``, ``rnn.bias_hh_l0``, and so on for each layer, gates in torch's order
  (reset, update, new; input, forget, cell, output); ``head.weight`` (1, hidden), ``head.bias``.
- ``mlp``: ``layers.0.weight`` (hidden, history x features), ``layers.0.bias``, ..., the last layer
  with one output. Its input is the history feature by feature, newest first within each: ``[f0(t),
  f0(t-1), ..., f1(t), f1(t-1), ...]``.
- ``linear``: ``layers.0.weight`` (1, history x features), ``layers.0.bias``, input as for ``mlp``.
- an optional linear skip of ``gru``, ``lstm`` or ``mlp``: ``skip.weight`` (1, features), for
  ``mlp`` (1, history x features). It connects the normalised input to the output directly, so
  that the layers learn only what is nonlinear or requires memory.

A cold start assumes that the first sample was constant before, so that a joint at rest away from
zero receives no torque pulse. A history has this sample in all rows; a hidden state results from
:data:`HELD_STEPS` steps with it, starting from zero.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from trueup.errors import FitError, listing
from trueup.networks.base.kinds import Base
from trueup.networks.data.normalization import Normalization

Family = Literal["gru", "lstm", "mlp", "linear"]
Activation = Literal["elu", "relu", "softsign", "tanh"]

FAMILIES: tuple[str, ...] = get_args(Family)
"""Kinds of networks."""
RECURRENT = ("gru", "lstm")
SKIP = "skip.weight"
"""Name of the weight of the linear skip."""


HELD_STEPS = 50
"""Number of steps with the first sample that initialise a hidden state at a cold start."""


@dataclass(frozen=True, eq=False)
class Network:
    """A learned actuator: weights, normalisation, analytic base and limits.

    ``torque = clip(base(features) + output_mean + output_deviation x net(normalised features))``.

    Attributes:
        family: kind of the network.
        normalization: input features by name, and statistics.
        weights: arrays by name, see the module docstring.
        rate: sample rate of its training [Hz]; it must be stepped at this rate.
        base: the analytic base that it corrects, or None.
        torque_limit: bound of the torque's magnitude [N m], or None.
        history: input samples of an ``mlp`` or a ``linear`` network; 1 for the others.
        activation: activation function of the hidden layers of an ``mlp``.
        feature_lowest, feature_highest: range of each feature in training, shape (features,);
            outside it the network extrapolates.
        provenance: versions, seed, hashes of the data, as JSON values.
    """

    family: Family
    normalization: Normalization
    weights: dict[str, np.ndarray]
    rate: float
    base: Base | None = None
    torque_limit: float | None = None
    history: int = 1
    activation: Activation = "elu"
    feature_lowest: np.ndarray | None = None
    feature_highest: np.ndarray | None = None
    provenance: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        if self.family not in FAMILIES:
            raise FitError(
                f"unknown network family {self.family!r}; available: {listing(FAMILIES)}"
            )
        if not self.rate > 0:
            raise FitError(f"the rate of a network is {self.rate} Hz; it must be positive")
        if self.torque_limit is not None and not self.torque_limit > 0:
            raise FitError(f"torque_limit is {self.torque_limit} N m; it must be positive, or None")
        check_weights(self)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the inputs in order."""
        return self.normalization.features

    @property
    def layers(self) -> int:
        """Number of recurrent layers, or of layers of weights."""
        if self.family in RECURRENT:
            return sum(name.startswith("rnn.weight_hh_l") for name in self.weights)
        named = [name for name in self.weights if name.startswith("layers.")]
        return sum(name.endswith(".weight") for name in named)

    @property
    def hidden(self) -> int:
        """Width of the hidden layers; 0 without any."""
        if self.family in RECURRENT:
            return self.weights["rnn.weight_hh_l0"].shape[1]
        return self.weights["layers.0.weight"].shape[0] if self.layers > 1 else 0

    @property
    def has_skip(self) -> bool:
        """Whether the network has a linear skip."""
        return SKIP in self.weights

    @property
    def inputs(self) -> tuple[str, ...]:
        """Features that a caller supplies: those of the network, then those of the base only."""
        extra = () if self.base is None else self.base.features
        return (*self.features, *(name for name in extra if name not in self.features))


def last_layer(network: Network) -> str:
    """Name of the layer that gives the output."""
    return "head" if network.family in RECURRENT else f"layers.{network.layers - 1}"


def expected_shapes(network: Network) -> dict[str, tuple[int, ...]]:
    """Expected shape of each weight for the family, the widths and the features."""
    features = len(network.features)
    if network.family in RECURRENT:
        gates = 3 if network.family == "gru" else 4
        hidden = network.weights["rnn.weight_hh_l0"].shape[-1]
        shapes: dict[str, tuple[int, ...]] = {}
        for layer in range(network.layers):
            inputs = features if layer == 0 else hidden
            shapes[f"rnn.weight_ih_l{layer}"] = (gates * hidden, inputs)
            shapes[f"rnn.weight_hh_l{layer}"] = (gates * hidden, hidden)
            shapes[f"rnn.bias_ih_l{layer}"] = (gates * hidden,)
            shapes[f"rnn.bias_hh_l{layer}"] = (gates * hidden,)
        shapes |= {"head.weight": (1, hidden), "head.bias": (1,)}
        return {**shapes, SKIP: (1, features)} if network.has_skip else shapes
    shapes, inputs = {}, network.history * features
    if network.has_skip:
        shapes[SKIP] = (1, inputs)
    for layer in range(network.layers):
        weight = network.weights[f"layers.{layer}.weight"]
        outputs = 1 if layer == network.layers - 1 else weight.shape[0]
        shapes[f"layers.{layer}.weight"] = (outputs, inputs)
        shapes[f"layers.{layer}.bias"] = (outputs,)
        inputs = outputs
    return shapes


def check_weights(network: Network) -> None:
    """Check that the weights fit the description of the network.

    Raises:
      FitError: a weight is missing, unknown, not finite, or has another shape.
    """
    first = "rnn.weight_hh_l0" if network.family in RECURRENT else "layers.0.weight"
    if first not in network.weights:
        raise FitError(
            f"a {network.family!r} network requires the weight {first!r}; found "
            f"{listing(network.weights)}"
        )
    if network.family == "linear" and network.layers != 1:
        raise FitError(f"a linear network has one layer; found {network.layers}")
    if network.family == "linear" and network.has_skip:
        raise FitError("a linear network cannot have a linear skip; remove skip.weight")
    try:
        shapes = expected_shapes(network)
    except KeyError as error:
        raise FitError(
            f"the weight {error} is missing; found {listing(network.weights)}"
        ) from error
    if set(shapes) != set(network.weights):
        raise FitError(
            f"a {network.family!r} network of this size has the weights {listing(shapes)}; found "
            f"{listing(network.weights)}"
        )
    for name, shape in shapes.items():
        weight = network.weights[name]
        if weight.shape != shape:
            raise FitError(f"the weight {name!r} has shape {weight.shape}; expected {shape}")
        if not np.isfinite(weight).all():
            raise FitError(f"the weight {name!r} contains values that are not finite")
