"""Entry of a published servo: a folder with parameters, provenance, logs and a page.

``entry.yaml`` describes it; the parameter file next to it is named after the friction model, as in
Better Actuator Models (``<motor>/<model>.json``), so that a folder of entries is one of the folders
of :data:`~trueup.actuators.catalogue.parameter_file.FOLDERS_VARIABLE`.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueup._input_files import check_regular, read_settings, safe_yaml
from trueup.errors import ParameterError, listing

FILE = "entry.yaml"
FORMAT = "trueup servo entry"
FORMAT_VERSION = 1
LOGS = "logs"
"""Folder of the logs of an entry."""

_TEXTS = ("name", "servo", "model", "parameters", "licence", "grade")


@dataclass(frozen=True)
class PublishedEntry:
    """A published servo."""

    folder: Path
    name: str
    servo: str
    """Name of the servo in the catalogue."""
    model: str
    """Friction model."""
    parameters: Path
    """Parameter file."""
    catalogue: Path | None
    """YAML file with the servo, if it is not built in."""
    licence: str
    """Licence of parameters and logs, as an SPDX identifier or in words."""
    grade: str
    """Grade of the verdict on the fit."""
    settings: Mapping[str, Any]
    """Settings of the fit, by the names of :class:`trueup.actuators.FitSettings`."""
    logs: Mapping[str, str]
    """SHA-256 of each log, by file name."""

    @property
    def log_files(self) -> list[Path]:
        """Logs in the folder of the entry; those of which only the hash is published are absent."""
        paths = [self.folder / LOGS / name for name in self.logs]
        return [path for path in paths if path.is_file()]


def is_entry(path: Path) -> bool:
    """Whether a path is the folder of an entry."""
    return (path / FILE).is_file()


def read_entry(folder: str | os.PathLike[str]) -> PublishedEntry:
    """Read the entry of a published servo.

    Raises:
      ParameterError: the folder holds no entry, or one that is damaged or of a newer version.
    """
    import yaml

    folder = Path(folder)
    path = folder / FILE
    if not path.is_file():
        raise ParameterError(f"{folder} holds no published servo: {FILE} is missing")
    try:
        data = safe_yaml(read_settings(path))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ParameterError(f"{path}: not readable: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ParameterError(f"{path}: not an entry: the key 'format' must be {FORMAT!r}")
    version = data.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise ParameterError(
            f"{path}: the entry has format version {version!r}; this trueup reads up to "
            f"{FORMAT_VERSION}"
        )
    wrong = [key for key in _TEXTS if not isinstance(data.get(key), str)]
    logs, settings = data.get("logs"), data.get("settings")
    wrong += [] if _is_table_of_texts(logs) else ["logs"]
    wrong += [] if isinstance(settings, dict) else ["settings"]
    if wrong:
        raise ParameterError(f"{path}: missing or of another type: {listing(wrong)}")
    assert isinstance(logs, dict) and isinstance(settings, dict)
    catalogue = data.get("catalogue")
    files = {
        key: _file(folder, value, key)
        for key, value in (("parameters", data["parameters"]), ("catalogue", catalogue))
        if value is not None
    }
    for name in logs:
        _name(path, name, "logs")
    return PublishedEntry(
        folder,
        data["name"],
        data["servo"],
        data["model"],
        files["parameters"],
        files.get("catalogue"),
        data["licence"],
        data["grade"],
        settings,
        logs,
    )


def _is_table_of_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(k, str) and isinstance(v, str) for k, v in value.items()
    )


def _file(folder: Path, name: Any, key: str) -> Path:
    path = folder / _name(folder / FILE, name, key)
    if not path.is_file():
        raise ParameterError(f"{folder / FILE}: {key}: {name} is missing in {folder}")
    check_regular(path)
    return path


def _name(path: Path, name: Any, key: str) -> str:
    """The name of a file in the folder of the entry, never a path out of it."""
    if not isinstance(name, str) or not name or Path(name).name != name:
        raise ParameterError(f"{path}: {key}: expected the name of a file, found {name!r}")
    return name
