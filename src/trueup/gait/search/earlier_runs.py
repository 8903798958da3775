"""Earlier results: runs of gait optimisations, and files with vectors."""

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import GaitError, RunDirectoryError
from trueup.gait.controller.exoskeleton import FourParameterProfile
from trueup.gait.controller.parameter_vector import ParameterVector
from trueup.gait.search._named_entries import is_of_curve, of_both_legs
from trueup.gait.search.configuration import GaitConfiguration, make_configuration
from trueup.parameters import Space
from trueup.runs.loop._warm_start import WarmStart, warm_start
from trueup.runs.store import provenance
from trueup.runs.store.run_directory import RunDirectory, check_format_version
from trueup.runs.store.yaml_file import read_mapping

KIND = "gait"
"""Kind of the runs in ``experiment.yaml``."""

CONTROLLER = "controller.yaml"
"""Copy of own reflexes in a run directory."""

FORMAT_VERSION = 2
"""Version of ``experiment.yaml``; the configuration is stored as in version 1."""


def configuration_of_run(directory: RunDirectory) -> GaitConfiguration:
    """The resolved configuration of a run.

    Raises:
      RunDirectoryError: the file is missing, damaged, too new, or of another kind of run.
    """
    return _configuration_in(read_mapping(directory.experiment), directory)


def _configuration_in(content: Mapping[str, Any], directory: RunDirectory) -> GaitConfiguration:
    """The resolved configuration in what ``experiment.yaml`` of a run holds."""
    if content.get("kind") != KIND:
        raise RunDirectoryError(f"{directory.path} is not the run of a gait optimisation")
    check_format_version(directory.experiment, content.get("format_version"), FORMAT_VERSION)
    found = make_configuration(
        content.get("configuration"), str(directory.experiment), resolved=True
    )
    return with_stored_controller(found, directory.path)


def with_stored_controller(configuration: GaitConfiguration, folder: Path) -> GaitConfiguration:
    """The configuration of a run with its own copy of own reflexes, whose file may change.

    Raises:
      RunDirectoryError: the copy is not that of the start of the run.
    """
    stored = folder / CONTROLLER
    if configuration.controller is None or not stored.is_file():
        return configuration
    if controller_digest(stored) != provenance.read(folder / "provenance.json").get(CONTROLLER):
        raise RunDirectoryError(f"{stored} has changed: restore it, or repeat the run")
    return configuration.model_copy(update={"controller": str(stored.resolve())})


def controller_digest(path: str | Path) -> str:
    """SHA-256 of a file of reflexes.

    Raises:
      GaitError: the file cannot be read.
    """
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise GaitError(f"cannot read the controller {path}: {error.strerror or error}") from error


def experiment_content(configuration: str) -> dict[str, Any] | None:
    """Content of the ``experiment.yaml`` of a run to repeat; None for any other configuration."""
    path = Path(configuration)
    if path.suffix not in (".yaml", ".yml"):
        return None
    content = read_mapping(path)
    return content if content.get("kind") == KIND else None


def kept_start(start: Any, space: Space) -> Space | None:
    """The space with the initial values saved in a run; None for a run without them.

    Args:
      start: block ``start`` of its ``experiment.yaml``.
      space: the unknowns of the run.

    Raises:
      RunDirectoryError: the saved values do not belong to these unknowns.
    """
    if start is None:
        return None
    known = isinstance(start, dict) and set(start) == set(space.names)
    if not known or not all(isinstance(value, int | float) for value in start.values()):
        raise RunDirectoryError(
            "the block 'start' of experiment.yaml does not contain a number for each of the "
            f"{len(space.names)} unknowns: the file is damaged, or from another version of trueup"
        )
    return dataclasses.replace(space, start=np.array([float(start[n]) for n in space.names]))


def values_from(source: Path, space: Space, parameters: ParameterVector) -> WarmStart:
    """Initial values from an earlier result, including the held ones of a run."""
    of_both = of_both_legs(parameters)
    warm = warm_start(source, space, _layouts(parameters, of_both), of_both)
    held = held_by(source)
    held = {**{name: held[both] for name, both in of_both.items() if both in held}, **held}
    known = [name for name in warm.missing if name in held]
    x = warm.x.copy()
    for name in known:
        x[space.names.index(name)] = held[name]
    missing = tuple(name for name in warm.missing if name not in held)
    # held entries and those without a reflex are expected in a complete vector
    unused = tuple(name for name in warm.unused if name not in parameters.names)
    matched = (*warm.matched, *known)
    return dataclasses.replace(warm, x=x, matched=matched, missing=missing, unused=unused)


def _layouts(parameters: ParameterVector, of_both: Mapping[str, str]) -> list[list[str]]:
    """Names of the entries of vectors without names from which a search can start."""
    names = list(parameters.names)
    bare = [entry.name for entry in parameters.entries if entry.group != "exoskeleton"]
    # a walk without a device can be the start of one with a device
    with_exo = [*bare, *(entry.name for entry in FourParameterProfile().entries)]
    layouts = [names, with_exo, bare]
    shared = [list(dict.fromkeys(of_both.get(n, n) for n in one)) for one in layouts]
    return layouts + shared


def former_configuration(source: Path) -> GaitConfiguration | None:
    """The configuration of an earlier run of a gait optimisation; None for other paths."""
    if not (source / "run.json").is_file():
        return None
    directory = RunDirectory.open(source)
    if not directory.experiment.is_file():
        return None
    content = read_mapping(directory.experiment)
    return _configuration_in(content, directory) if content.get("kind") == KIND else None


def held_by(source: Path) -> dict[str, float]:
    """Entries held in the run of a gait optimisation, which are not in its solution."""
    former = former_configuration(source)
    held = {} if former is None else former.held or {}
    # without an exoskeleton the curve was not used
    off = former is not None and not former.exo
    return {name: value for name, value in held.items() if not (off and is_of_curve(name))}


def best_vector_file(path: Path) -> Path:
    """The file with the best vector of a folder, or the path itself."""
    if path.is_dir() and not (path / "run.json").is_file():
        for ending in ("_Best.txt", "_BestLast.txt"):
            found = sorted(path.glob(f"*{ending}"))
            if found:
                return found[0]
    return path


def vector_file(path: str | Path) -> Path:
    """The file with the best vector of a run or a folder, or the path itself.

    Raises:
      GaitError: the run has not written one yet.
    """
    path = Path(path)
    if not (path / "run.json").is_file():
        return best_vector_file(path)
    found = sorted(path.glob("*_Best.txt"))
    if not found:
        raise GaitError(f"the run {path} has no *_Best.txt: it is not finished")
    return found[0]
