"""Reduced experiment, with frozen parameters in place of undetermined combinations."""

import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from trueup.errors import listing
from trueup.fitting.judgement.identifiability import Identifiability
from trueup.parameters import Parameter, ParameterDict
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory
from trueup.sysid.experiment.settings import Experiment

REDUCED_FILE = "reduced.yaml"


@dataclass(frozen=True)
class ReducedSet:
    """Selection of the parameters to fit if not all are determined."""

    frozen: tuple[str, ...]
    """Frozen parameters, one for each undetermined combination."""
    left: tuple[str, ...]
    """Elements of vector parameters that would have to be frozen, which is not supported."""


def reduced_set(identifiability: Identifiability, parameters: ParameterDict) -> ReducedSet | None:
    """Select one parameter for each direction that the data do not determine.

    With these frozen at any value, the others are determined and fit as well. Scalar parameters are
    selected before elements of vectors, those with the largest component first.

    Returns:
      The selection; None if the data determine all parameters.
    """
    names = list(identifiability.names)
    owner = {label: p for p in parameters.free for label in p.element_names}
    alone = np.array([_can_be_held(owner[n]) for n in names], bool)
    rows = np.zeros((len(identifiability.directions), len(names)))
    for row, direction in zip(rows, identifiability.directions, strict=True):
        for name, part in direction.coefficients.items():
            row[names.index(name)] = part
    chosen = list(identifiability.no_effect)
    free = np.ones(len(rows), bool)
    for _ in range(len(rows)):
        weight = np.where(free[:, None], np.abs(rows), 0.0)
        usual = weight * alone
        table = usual if usual.max() > 0.1 * weight.max() else weight
        pivot, column = np.unravel_index(int(np.argmax(table)), table.shape)
        chosen.append(names[column])
        free[pivot] = False
        for other in np.flatnonzero(free):
            rows[other] -= rows[other, column] / rows[pivot, column] * rows[pivot]
    if not chosen:
        return None
    whole = [p for p in parameters.free if all(label in chosen for label in p.element_names)]
    held = [p.name for p in whole if not _is_state(p)]
    left = [n for n in chosen if owner[n].name not in held]
    return ReducedSet(tuple(held), tuple(left))


def _can_be_held(param: Parameter) -> bool:
    return param.size == 1 and not _is_state(param)


def _is_state(param: Parameter) -> bool:
    """Whether a parameter is an initial state, which is not in an experiment file."""
    return any(target.startswith("state/") for target in param.targets)


def sentence_of(reduced: ReducedSet, count: int) -> str:
    """Sentence on the file; empty if nothing can be frozen.

    Args:
      reduced: the selection.
      count: number of parameters of the fit.
    """
    if not reduced.frozen:
        return ""
    more = (
        f"; elements of vector parameters {listing(reduced.left, 4)} are undetermined: give a prior"
        if reduced.left
        else ""
    )
    return (
        f"{count - len(reduced.frozen)} of the {count} parameters fit as well with "
        f"{listing(reduced.frozen, 6)} frozen at their values: see {REDUCED_FILE}{more}"
    )


def write_reduced(
    experiment: Experiment,
    reduced: ReducedSet,
    final: ParameterDict,
    folder: Path,
    directory: RunDirectory,
) -> None:
    """Write ``reduced.yaml``: the experiment with the selected parameters frozen.

    Args:
      experiment: the experiment of the fit.
      reduced: which parameters are frozen.
      final: parameters at their estimates.
      folder: folder to which the file names of the experiment are relative.
      directory: the run; file names are written relative to it.

    Raises:
      RunDirectoryError: the file cannot be written.
    """
    content = experiment.model_dump(mode="json", exclude_unset=True)
    content["parameters"] = _one_by_one(content["parameters"], final)
    content["name"] = f"{experiment.name}_reduced"
    content.get("output", {}).pop("directory", None)
    for part in (content["model"], *content.get("variants", {}).values(), *content["recordings"]):
        part["file"] = os.path.relpath(folder / part["file"], directory.path)
    for name in reduced.frozen:
        part = content["parameters"][name]
        part["frozen"] = True
        if "inertia" not in part:
            part["start"] = np.squeeze(final[name].as_vector()).tolist()
    head = "# Parameters that the recordings do not determine are frozen at their estimates.\n"
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
    atomic.write_text(directory.inside(REDUCED_FILE), head + text)


def _one_by_one(written: dict[str, Any], parameters: ParameterDict) -> dict[str, Any]:
    """Entries of parameters, with wildcards expanded to one entry per match."""
    out: dict[str, Any] = {}
    for name, part in written.items():
        if not part.get("each"):
            out[name] = dict(part)
            continue
        rest = {key: value for key, value in part.items() if key != "each"}
        for param in parameters.values():
            target = param.targets[0] if param.targets else ""
            if param.name.startswith(f"{name}_") and fnmatchcase(target, part["target"]):
                out[param.name] = {**rest, "target": target}
    return out
