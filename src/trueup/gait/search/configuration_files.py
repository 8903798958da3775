"""Files of configurations: shipped ones, YAML files, and those of MyoAssist."""

import os
from collections.abc import Collection
from pathlib import Path

import yaml

from trueup._input_files import read_settings, safe_yaml
from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.search.configuration import PATHS, GaitConfiguration, make_configuration
from trueup.gait.search.myoassist.checkout import with_files_near
from trueup.gait.search.myoassist.reader import (
    import_configuration,
    located,
    missing_paths,
    paths_in,
)
from trueup.gait.search.path_words import path_or_word
from trueup.runs.store import atomic

MYOASSIST_FILES = (".bat", ".sh")
"""Suffixes of MyoAssist configurations."""

CONFIGURATIONS = Path(__file__).with_name("configurations")


def configuration_names() -> list[str]:
    """Names of the shipped configurations."""
    return sorted(path.stem for path in CONFIGURATIONS.glob("*.yaml"))


def load_configuration(name: str | Path) -> GaitConfiguration:
    """A configuration by its name, or from a YAML file; paths are relative to the file.

    Paths in a ``.bat`` or ``.sh`` file of MyoAssist are relative to its folder, or to the parent
    folder if they exist only there; model and reference default to those of its checkout. The
    ``experiment.yaml`` of a run contains
    its resolved configuration.

    Raises:
      GaitError: no such configuration or file, or an invalid one.
    """
    path = Path(name)
    if path.suffix in MYOASSIST_FILES:
        return with_files_near(located(import_configuration(path), path), path)
    if path.suffix not in (".yaml", ".yml"):
        names = configuration_names()
        if str(name) not in names:
            raise GaitError(
                f"unknown configuration {str(name)!r}; available: {listing(names, 60)}, or "
                f"the path of a YAML file.{did_you_mean(str(name), names)}"
            )
        path = CONFIGURATIONS / f"{name}.yaml"
    try:
        content = safe_yaml(read_settings(path))
    except OSError as error:
        raise GaitError(
            f"cannot read {path}: {error.strerror or error}; shipped configurations: "
            f"{listing(configuration_names(), 60)}"
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise GaitError(f"{path} is not a YAML file: {error}") from error
    resolved = isinstance(content, dict) and content.get("kind") == "gait"
    if resolved:
        content = content.get("configuration")
    configuration = make_configuration(content, str(path), resolved=resolved)
    return with_absolute_paths(configuration, path.parent)


def with_absolute_paths(configuration: GaitConfiguration, folder: Path) -> GaitConfiguration:
    """The configuration with its paths made absolute, relative to a folder."""
    changes = {}
    for key in PATHS:
        value = getattr(configuration, key)
        if value is None:
            continue
        paths = [value] if isinstance(value, str) else value
        absolute = tuple(path_or_word(path, folder) for path in paths)
        changes[key] = absolute[0] if isinstance(value, str) else absolute
    return configuration.model_copy(update=changes) if changes else configuration


def configuration_text(configuration: GaitConfiguration) -> str:
    """A configuration as YAML, without default values."""
    default = GaitConfiguration().to_dict()
    whole = configuration.to_dict()
    content = {key: value for key, value in whole.items() if value != default[key]}
    if "n_points" in content:  # alone it would also select the kind of curve
        content["use_4param_spline"] = whole["use_4param_spline"]
    return yaml.safe_dump(content, sort_keys=False, width=100)


def check_paths(name: str | Path, given: Collection[str]) -> None:
    """Check that the files named in a ``.bat`` or ``.sh`` file of MyoAssist exist.

    Args:
      name: configuration; other kinds of files are not checked.
      given: keys with replaced paths.

    Raises:
      GaitError: a path does not exist.
    """
    if Path(name).suffix not in MYOASSIST_FILES:
        return
    for key, tried in missing_paths(name).items():
        if key not in given:
            raise GaitError(f"{key}: {tried}: set another one with {key}=PATH")


def write_imported(
    path: str | Path, target: str | Path | None = None, *, overwrite: bool = False
) -> tuple[Path, GaitConfiguration, list[str]]:
    """Write the configuration of a ``.bat`` or ``.sh`` file of MyoAssist as YAML.

    Args:
      path: file of MyoAssist.
      target: YAML file; by default in the current folder, with the name of ``path``.
      overwrite: replace a file that exists.

    Returns:
      The YAML file, its configuration, and a note for each missing path.

    Raises:
      GaitError: the file is missing or does not start a training, or the target exists.
    """
    target = Path(f"{Path(path).stem}.yaml") if target is None else Path(target)
    found = located(import_configuration(path), path)
    if target.exists() and not overwrite:
        raise GaitError(f"{target} exists: choose another --output, or use --overwrite")
    folder = target.resolve().parent
    paths = {key: os.path.relpath(value, folder) for key, value in paths_in(found).items()}
    configuration = found.model_copy(update=paths)
    missing = missing_paths(path)
    atomic.write_text(target, configuration_text(configuration))
    return target, configuration, [f"Missing: {k} {tried}." for k, tried in missing.items()]
