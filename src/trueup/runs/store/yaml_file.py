"""Read the YAML files of a run directory."""

from pathlib import Path
from typing import Any

import yaml

from trueup._input_files import read_settings, safe_yaml
from trueup.errors import RunDirectoryError


def read_mapping(path: Path) -> dict[str, Any]:
    """A mapping from a YAML file.

    Raises:
      RunDirectoryError: the file is missing, cannot be read or is not a mapping.
    """
    try:
        content = safe_yaml(read_settings(path))
    except OSError as error:
        raise RunDirectoryError(f"cannot read {path}: {error.strerror or error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise RunDirectoryError(f"{path} is damaged: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise RunDirectoryError(f"{path} is damaged: expected a mapping")
    return content
