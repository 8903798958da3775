"""Published entry: a folder with the result of a run, its verdict, logs and page.

``entry.yaml`` describes it: keys of every entry, and those of its kind of run.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from trueup._input_files import check_regular, read_settings, safe_yaml
from trueup.errors import ParameterError, listing

FILE = "entry.yaml"
FORMAT = "trueup entry"
FORMAT_VERSION = 1

_TEXTS = ("name", "kind", "licence", "grade")


@dataclass(frozen=True)
class PublishedEntry:
    """A published run."""

    folder: Path
    name: str
    kind: str
    """Kind of the run, such as ``servo`` or ``identification``."""
    licence: str
    """Licence of parameters and logs, as an SPDX identifier or in words."""
    grade: str
    """Grade of the verdict."""
    logs: Mapping[str, str]
    """SHA-256 of each log, by its path in the folder."""
    content: Mapping[str, Any] = field(repr=False)
    """Everything in the file, such as ``values``, and what only its kind has."""

    @property
    def log_files(self) -> list[Path]:
        """Logs in the folder; those of which only the hash is published are absent."""
        paths = [self.folder / name for name in self.logs]
        return [path for path in paths if path.exists()]

    def file(self, key: str) -> Path:
        """File that a key of the entry names, such as ``parameters`` or ``experiment``.

        Raises:
          ParameterError: the entry lacks the key or the file, or names one outside the folder.
        """
        name = _inside(self.folder / FILE, self.content.get(key), key)
        path = self.folder / name
        if not path.is_file():
            raise ParameterError(f"{self.folder / FILE}: {key}: {name} is missing in {self.folder}")
        check_regular(path)
        return path


def is_entry(path: Path) -> bool:
    """Whether a path is the folder of an entry."""
    return (path / FILE).is_file()


def read_entry(folder: str | os.PathLike[str]) -> PublishedEntry:
    """Read a published entry.

    Raises:
      ParameterError: the folder holds no entry, or one that is damaged or of a newer version.
    """
    import yaml

    folder = Path(folder)
    path = folder / FILE
    if not path.is_file():
        raise ParameterError(f"{folder} holds no published entry: {FILE} is missing")
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
    logs = data.get("logs")
    wrong = [key for key in _TEXTS if not isinstance(data.get(key), str)]
    wrong += [] if _is_table_of_texts(logs) else ["logs"]
    if wrong:
        raise ParameterError(f"{path}: missing or of another type: {listing(wrong)}")
    for name in data["logs"]:
        _inside(path, name, "logs")
    return PublishedEntry(folder, *(data[key] for key in _TEXTS), logs=data["logs"], content=data)


def _is_table_of_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(k, str) and isinstance(v, str) for k, v in value.items()
    )


def _inside(path: Path, name: Any, key: str) -> str:
    """The name of a file below the folder of the entry, never a path out of it."""
    if isinstance(name, str) and name and "\\" not in name:
        place = PurePosixPath(name)
        if not place.is_absolute() and ".." not in place.parts and str(place) == name:
            return name
    raise ParameterError(f"{path}: {key}: expected the name of a file, found {name!r}")
