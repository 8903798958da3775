"""The experiment with fewer unknowns, where recordings leave combinations of them open."""

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
    """Which unknowns to fit where not all can be told apart."""

    frozen: tuple[str, ...]
    """Parameters that are held, one for each combination that is open."""
    left: tuple[str, ...]
    """Elements of parameters with several that would have to be held, and cannot alone."""


def reduced_set(identifiability: Identifiability, parameters: ParameterDict) -> ReducedSet | None:
    """Choose one unknown for each direction that the data do not determine.

    Held at any value, they leave a set of unknowns that the data determine and that fits as well.
    Parameters of one number are taken before elements of larger ones, those with the largest part
    first.

    Returns:
      The choice; None where the data determine everything.
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
    """Whether an unknown is an initial state, which stands in no experiment file."""
    return any(target.startswith("state/") for target in param.targets)


def sentence_of(reduced: ReducedSet, count: int) -> str:
    """What the file holds, in words; empty where nothing can be held.

    Args:
      reduced: the choice.
      count: number of unknowns of the fit.
    """
    if not reduced.frozen:
        return ""
    more = (
        f"; of parameters with several numbers {listing(reduced.left, 4)} stay open: give a prior"
        if reduced.left
        else ""
    )
    return (
        f"{count - len(reduced.frozen)} of the {count} unknowns fit as well with "
        f"{listing(reduced.frozen, 6)} held where they are: {REDUCED_FILE} is that experiment{more}"
    )


def write_reduced(
    experiment: Experiment,
    reduced: ReducedSet,
    final: ParameterDict,
    folder: Path,
    directory: RunDirectory,
) -> None:
    """Write the experiment with the chosen unknowns frozen at the values found: ``reduced.yaml``.

    Args:
      experiment: the experiment of the fit.
      reduced: which parameters are frozen.
      final: parameters at the values found.
      folder: folder that the file names of the experiment refer to.
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
    head = (
        "# Unknowns that the recordings cannot tell from others are frozen at the values found.\n"
    )
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
    atomic.write_text(directory.inside(REDUCED_FILE), head + text)


def _one_by_one(written: dict[str, Any], parameters: ParameterDict) -> dict[str, Any]:
    """Entries of parameters, those for each match of a wildcard taken apart."""
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
