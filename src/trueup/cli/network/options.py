"""Data settings and networks from the arguments of ``trueup network``."""

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
"""Suffixes of files that may contain code, and are never read."""

SETTINGS = (".yaml", ".yml")
"""Suffixes of a file of settings, which recordings do not have."""


def data_values(
    data: Path | None, overrides: Sequence[str], start: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Values of data settings, from ``start``, a folder or a YAML file, and ``data.key=value``.

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
            "the recordings are missing: give their folder, or data.data_base_dir=FOLDER"
        )
    return DataSettings.from_dict(values)


def network_file(path: Path) -> Path:
    """Network file of a run directory, or the path itself if it is a file.

    Raises:
      RunDirectoryError: the path does not exist, or the directory contains no network.
    """
    if path.is_dir():
        file = path / NETWORK_FILE
        if not file.is_file():
            found = sorted(str(p.relative_to(path)) for p in path.rglob(NETWORK_FILE))
            advice = f" Give one of {listing(found)}" if found else ""
            raise RunDirectoryError(
                f"{path} contains no {NETWORK_FILE} of a finished training.{advice}"
            )
        return file
    if not path.exists():
        raise RunDirectoryError(
            f"no run directory or network file {path}: give the run directory of a training, or "
            "its network file"
        )
    return path


def named_network(path: Path, anyway: bool = False) -> Network:
    """The network of a run directory, or of a ``.safetensors`` or ``.npz`` file.

    Args:
      path: the directory or file.
      anyway: accept a network of a run with changed recordings.

    Raises:
      RunDirectoryError: the path contains no network, or the recordings have changed.
      FitError: the file is damaged or not a network; no code in it is ever executed.
    """
    file = network_file(path)
    if file.suffix == ".npz":
        from trueup.networks.runtime.numpy_file import load_numpy_network

        return load_numpy_network(file, anyway=anyway)
    if file.suffix in _PROGRAMS:
        raise FitError(
            f"{file} is a checkpoint or a program of another runtime, which may execute code when "
            f"it is read: give the run directory of the training, or its {NETWORK_FILE}"
        )
    return load_network(file, anyway=anyway)


def named_ensemble(path: Path, anyway: bool = False) -> NetworkEnsemble | None:
    """The ensemble of a run directory; None for a file, or a run with one network."""
    if not (path / MEMBERS).is_dir():
        return None
    return NetworkEnsemble.load(path, anyway=anyway)


def settings_of_network(network: Network) -> dict[str, Any]:
    """Data settings of the training of a network, by name.

    A network without them gives its features and rate only.
    """
    known = network.provenance.get("data")
    values: dict[str, Any] = dict(known) if isinstance(known, dict) else {}
    return {**values, "features": list(network.inputs), "rate": network.rate}


def _set(values: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    path = key.removeprefix("data.").split(".")
    if not equals or not all(path):
        raise ExperimentError(f"{override!r}: expected the form data.key=value")
    value = read_value(text, key)
    place = values
    for name in path[:-1]:
        inner = place.get(name)
        place[name] = dict(inner) if isinstance(inner, Mapping) else {}
        place = place[name]
    place[path[-1]] = value
