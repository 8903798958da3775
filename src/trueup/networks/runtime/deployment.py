"""Content of an exported graph, and its metadata."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup._version import __version__
from trueup.errors import FitError
from trueup.networks.data.features import FEATURES
from trueup.networks.model.feature_change import derived, independent
from trueup.networks.model.network import HELD_STEPS, RECURRENT, Network


@dataclass(frozen=True)
class Deployment:
    """A network and the additional parts of an exported graph.

    With all parts, the graph maps raw features to the torque. Without ``normalization`` it maps
    normalised features to the normalised output, and the caller does the rest. The limit applies to
    the sum of base and network: without ``base`` the graph has no limit.
    """

    network: Network
    normalization: bool = True
    """Whether the graph normalises features and output."""
    base: bool = True
    """Whether the graph adds the torque of the analytic base."""
    limits: bool = True
    """Whether the graph applies the torque limit."""

    def __post_init__(self):
        if not self.normalization and (self._has_base or self._has_limit):
            raise FitError(
                "base and limits act on torques in N m and require the normalisation: also exclude "
                "base and limits"
            )
        if self.network.base is not None and not self.base and self._has_limit:
            raise FitError(
                "the torque limit applies to the sum of base and network: a graph without its base "
                "would limit the network alone and change the torque. Also exclude the limits "
                "(--without base limits), and limit the sum to "
                f"{self.network.torque_limit:g} N m where the base is added"
            )

    @property
    def _has_base(self) -> bool:
        return self.base and self.network.base is not None

    @property
    def _has_limit(self) -> bool:
        return self.limits and self.network.torque_limit is not None

    @property
    def limit_of_sum(self) -> float | None:
        """Torque limit of network plus excluded base [N m]; not part of the graph."""
        excluded = self.network.base is not None and not self.base
        return self.network.torque_limit if excluded else None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Input features of the graph, in order."""
        needed = base_inputs(self.network) if self._has_base else ()
        return independent((*self.network.features, *needed))

    @property
    def base_matrix(self) -> np.ndarray | None:
        """Matrix from inputs to angle, angle error, velocity and target velocity, (inputs, 4)."""
        return base_matrix(self.network, self.inputs) if self._has_base else None

    @property
    def torque_limit(self) -> float | None:
        """Torque limit applied by the graph [N m]."""
        return self.network.torque_limit if self._has_limit else None

    @property
    def state_shape(self) -> tuple[int, str, int]:
        """Shape of ``h``; zero is a cold start. A history has an extra row, 1 once it is filled."""
        network = self.network
        if network.family in RECURRENT:
            rows = network.layers * (2 if network.family == "lstm" else 1)
            return rows, "batch", network.hidden
        return network.history + 1, "batch", len(network.features)


def held_steps(network: Network) -> int:
    """Number of steps with the first sample that initialise a traced graph."""
    return HELD_STEPS if network.family in RECURRENT else 0


def base_inputs(network: Network) -> tuple[str, ...]:
    """Signals that the torque of the base depends on; the angle only where it does."""
    base = network.base
    if base is None:
        return ()
    return base.features if base.reads_angle else base.features[1:]


def base_matrix(network: Network, inputs: tuple[str, ...]) -> np.ndarray:
    """Matrix from inputs to angle, angle error, velocity and target velocity, (inputs, 4).

    Raises:
        FitError: the base requires a signal that cannot be derived from the inputs.
    """
    base = network.base
    if base is None:
        raise FitError("the network has no analytic base")
    needed = base_inputs(network)
    matrix = derived(inputs, needed)
    if matrix is None:
        raise FitError(
            f"the analytic base requires {', '.join(needed)}, which cannot be derived "
            f"from {', '.join(inputs)}"
        )
    full = np.zeros((len(inputs), 4))
    for column, name in enumerate(base.features):
        if name in needed:
            full[:, column] = matrix[:, needed.index(name)]
    return full


def metadata(deployment: Deployment) -> dict[str, Any]:
    """Description of an exported file as JSON values: features, units, rate, limits."""
    network, stats = deployment.network, deployment.network.normalization
    lowest, highest = network.feature_lowest, network.feature_highest
    content: dict[str, Any] = {
        "producer": f"trueup {__version__}",
        "family": network.family,
        "linear_skip": network.has_skip,
        "inputs": list(deployment.inputs),
        "input_units": [FEATURES[name].unit for name in deployment.inputs],
        "output": "torque" if deployment.normalization else "normalised torque",
        "output_unit": "N m" if deployment.normalization else "",
        "rate_hz": network.rate,
        "state_shape": list(deployment.state_shape),
        "torque_limit_nm": network.torque_limit,
        "base": None if network.base is None else network.base.to_dict(),
        "inside": {
            "normalization": deployment.normalization,
            "base": deployment.base and network.base is not None,
            "limits": deployment.torque_limit is not None,
        },
        "normalization": stats.to_dict(),
        "feature_lowest": None if lowest is None else np.asarray(lowest).tolist(),
        "feature_highest": None if highest is None else np.asarray(highest).tolist(),
        "provenance": network.provenance,
    }
    return content


def metadata_text(deployment: Deployment, **entries: Any) -> str:
    """`metadata` and further entries as JSON text."""
    return json.dumps({**metadata(deployment), **entries})
