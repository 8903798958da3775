"""Network files: safetensors with the description as JSON in the header.

Such a file contains only numbers and text; reading it executes no code
(https://github.com/huggingface/safetensors, format of the file).
"""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup._input_files import check_regular
from trueup._marks import KEY
from trueup._secrets import masked
from trueup.errors import FitError, MissingExtraError, listing, reason
from trueup.networks.base.kinds import base_from_dict
from trueup.networks.data.normalization import Normalization
from trueup.networks.model.network import Network
from trueup.runs.store import atomic
from trueup.runs.store.input_check import mark_of_file

FORMAT = "trueup network"
VERSION = 2
"""Version of the description. In version 1 a positive ``k_spring`` of a base pulls back."""
_KEY = "trueup"


def save_network(network: Network, path: str | os.PathLike[str]) -> Path:
    """Write a network to a file atomically; returns the path.

    Raises:
      MissingExtraError: safetensors is not installed.
    """
    data = _library().save(
        {name: np.ascontiguousarray(value) for name, value in network.weights.items()},
        metadata={_KEY: json.dumps(describe_network(network))},
    )
    atomic.write_bytes(Path(path), data)
    return Path(path)


def load_network(path: str | os.PathLike[str], *, anyway: bool = False) -> Network:
    """Read a network that `save_network` wrote.

    Args:
      path: the file.
      anyway: also accept a network whose recordings have changed since training; its provenance,
        and that of every export, records this.

    Raises:
      RunDirectoryError: the recordings of its run have changed since training.
      FitError: the file is missing or damaged, or has another format or a newer version.
      MissingExtraError: safetensors is not installed.
    """
    network = read_network(path)
    mark = mark_of_file(path, anyway=anyway)
    return (
        network if mark is None else replace(network, provenance={**network.provenance, KEY: mark})
    )


def read_network(path: str | os.PathLike[str]) -> Network:
    """Read a network without a check of its recordings, for callers that check them.

    Raises:
      FitError: the file is missing or damaged, or has another format or a newer version.
      MissingExtraError: safetensors is not installed.
    """
    library = _library()
    from safetensors import SafetensorError, safe_open

    check_regular(Path(path))
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            metadata = file.metadata() or {}
        weights = library.load_file(os.fspath(path))
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise FitError(
            f"{path} cannot be read as a network: {reason(error)}. A network is the file "
            "network.safetensors of a training run"
        ) from error
    try:
        content = json.loads(metadata[_KEY])
    except (KeyError, ValueError) as error:
        raise FitError(
            f"{path} is a safetensors file without the description of a network; its header has "
            f"{listing(metadata)}"
        ) from error
    return network_from_description(content, weights, os.fspath(path))


def network_from_description(
    content: dict[str, Any], weights: dict[str, np.ndarray], source: str
) -> Network:
    """The network from the output of `describe_network`.

    Args:
      content: the description.
      weights: arrays by name.
      source: file of the network, for messages.

    Raises:
      FitError: the description is incomplete, or has another format or a newer version.
    """
    try:
        if content["format"] != FORMAT:
            raise FitError(f"{source} has the format {content['format']!r}; expected {FORMAT!r}")
        if content["version"] > VERSION:
            raise FitError(
                f"{source} has format version {content['version']}; this trueup supports versions "
                f"up to {VERSION}: update trueup"
            )
        return _network(content, weights)
    except (KeyError, TypeError, ValueError) as error:
        raise FitError(
            f"the description of the network in {source} is incomplete: {error!r}"
        ) from error


def describe_network(network: Network) -> dict[str, Any]:
    """Description of a network without its weights, as JSON values with secrets masked."""
    ranges = (network.feature_lowest, network.feature_highest)
    lowest, highest = (None if value is None else np.asarray(value).tolist() for value in ranges)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "family": network.family,
        "normalization": network.normalization.to_dict(),
        "rate": network.rate,
        "base": None if network.base is None else network.base.to_dict(),
        "torque_limit": network.torque_limit,
        "history": network.history,
        "activation": network.activation,
        "feature_lowest": lowest,
        "feature_highest": highest,
        "provenance": network.provenance,
    }
    return masked(content)


def _network(content: dict[str, Any], weights: dict[str, np.ndarray]) -> Network:
    if content["version"] < 2:
        content = {**content, "base": _with_current_spring(content["base"])}
    base, lowest, highest = (content[k] for k in ("base", "feature_lowest", "feature_highest"))
    network = Network(
        family=content["family"],
        normalization=Normalization.from_dict(content["normalization"]),
        weights=weights,
        rate=float(content["rate"]),
        base=base_from_dict(base),
        torque_limit=content["torque_limit"],
        history=int(content["history"]),
        activation=content["activation"],
        provenance=content["provenance"],
    )
    return replace(
        network,
        feature_lowest=None if lowest is None else np.asarray(lowest, dtype=np.float64),
        feature_highest=None if highest is None else np.asarray(highest, dtype=np.float64),
    )


def _with_current_spring(base: dict[str, Any] | None) -> dict[str, Any] | None:
    """Description of a base of version 1, with the sign of the spring of the current version."""
    if base is None or not base.get("k_spring"):
        return base
    return {**base, "k_spring": -base["k_spring"]}


def _library() -> Any:
    try:
        import safetensors.numpy
    except ImportError as error:
        raise MissingExtraError("network files", "network", "safetensors") from error
    return safetensors.numpy
