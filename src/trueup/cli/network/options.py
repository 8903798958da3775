"""Data settings and networks that the arguments of ``trueup network`` name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueup.cli.key_values import read_value
from trueup.errors import ExperimentError, FitError, RunDirectoryError, listing
from trueup.networks import DataSettings, Network, load_network
from trueup.networks.runtime.ensemble import MEMBERS, NetworkEnsemble
from trueup.runs.store.yaml_file import read_mapping

NETWORK_FILE = "network.safetensors"
"""File of the best network in a run directory."""

_PROGRAMS = (".pt", ".pt2", ".ckpt", ".pth", ".pkl", ".onnx")
"""Endings of files that are never read here."""


SETTINGS = (".yaml", ".yml")
"""Endings of a file of settings, which recordings do not have."""


def data_values(
    data: Path | None, overrides: Sequence[str], start: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Values of data settings from ``start``, a folder or a YAML file, and ``data.key=value``.

    Raises:
      ExperimentError: a word has another form, or the folder is given twice.
    """
    values: dict[str, Any] = dict(start or {})
    if data is not None and data.suffix.lower() in SETTINGS and not data.is_dir():
        content = read_mapping(data)
        values |= content["data"] if isinstance(content.get("data"), dict) else content
    elif data is not None:
        if any(word.removeprefix("data.").startswith("data_base_dir=") for word in overrides):
            raise ExperimentError("data.data_base_dir is given twice; give it once")
        values["data_base_dir"] = str(data)
    for override in overrides:
        _set(values, override)
    return values


def data_settings(
    data: Path | None, overrides: Sequence[str], start: Mapping[str, Any] | None = None
) -> DataSettings:
    """Data settings from the values of :func:`data_values`.

    Raises:
      ExperimentError: a key is unknown, or no folder is given.
    """
    values = data_values(data, overrides, start)
    if "data_base_dir" not in values:
        raise ExperimentError(
            "no recordings are named: give their folder, or data.data_base_dir=FOLDER"
        )
    return DataSettings.from_dict(values)


def network_file(path: Path) -> Path:
    """The network file that a run directory or a file means.

    Raises:
      RunDirectoryError: there is neither.
    """
    if path.is_dir():
        file = path / NETWORK_FILE
        if not file.is_file():
            found = sorted(str(p.relative_to(path)) for p in path.rglob(NETWORK_FILE))
            more = f" Name one of {listing(found)}" if found else ""
            raise RunDirectoryError(f"{path} holds no {NETWORK_FILE} of a finished training.{more}")
        return file
    if not path.exists():
        raise RunDirectoryError(
            f"there is no run or network {path}; give the folder of a training run, or its network"
        )
    return path


def named_network(path: Path, anyway: bool = False) -> Network:
    """The network of a run directory, or of a ``.safetensors`` or ``.npz`` file.

    Args:
      path: the directory or file.
      anyway: take one of a run whose recordings have changed since too.

    Raises:
      RunDirectoryError: there is neither, or the recordings have changed.
      FitError: the file is damaged or something else; nothing in it is ever run.
    """
    file = network_file(path)
    if file.suffix == ".npz":
        from trueup.networks.runtime.numpy_file import load_numpy_network

        return load_numpy_network(file, anyway=anyway)
    if file.suffix in _PROGRAMS:
        raise FitError(
            f"{file} is a checkpoint or a program of another runtime, which reading could run: "
            f"give the folder of the training run, or its {NETWORK_FILE}"
        )
    return load_network(file, anyway=anyway)


def named_ensemble(path: Path, anyway: bool = False) -> NetworkEnsemble | None:
    """The ensemble of a run directory; None for a file, or a run of one network."""
    if not (path / MEMBERS).is_dir():
        return None
    return NetworkEnsemble.load(path, anyway=anyway)


def settings_of_network(network: Network) -> dict[str, Any]:
    """How the recordings of its training were read, for others of the same kind.

    Where the network does not tell, its features and rate.
    """
    known = network.provenance.get("data")
    values: dict[str, Any] = dict(known) if isinstance(known, dict) else {}
    return {**values, "features": list(network.inputs), "rate": network.rate}


def _set(values: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    path = key.removeprefix("data.").split(".")
    if not equals or not all(path):
        raise ExperimentError(f"{override!r} is not of the form data.key=value")
    value = read_value(text, key)
    place = values
    for name in path[:-1]:
        inner = place.get(name)
        place[name] = dict(inner) if isinstance(inner, Mapping) else {}
        place = place[name]
    place[path[-1]] = value
