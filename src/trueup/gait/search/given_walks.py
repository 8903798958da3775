"""Walks of given vectors, from a run, or from a file with a configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import GaitError, listing
from trueup.gait.controller.parameter_vector import ParameterVector
from trueup.gait.costs.myoassist import FLAGS
from trueup.gait.search._make_problem import check_chosen_trunk, make_problem
from trueup.gait.search._named_entries import of_both_legs
from trueup.gait.search.configuration import (
    OF_SEARCHES,
    GaitConfiguration,
    make_configuration,
)
from trueup.gait.search.configuration_files import MYOASSIST_FILES, check_paths, load_configuration
from trueup.gait.search.earlier_runs import configuration_of_run
from trueup.gait.search.fresh_perturbations import evaluation_repeats, is_reevaluated
from trueup.gait.search.myoassist.checkout import reference_near
from trueup.gait.search.problem import GaitProblem
from trueup.runs.loop._warm_start import warm_start
from trueup.runs.store.input_check import mark_of_file
from trueup.runs.store.run_directory import RunDirectory

_REPEATS = {
    "perturbed_repeats",
    "unperturbed_repeat",
    "perturbed_cost",
    "perturbation_seed",
    "perturbation_sizes",
}
"""Keys of the perturbed repeats."""

PLAIN = (".txt", ".csv", ".npy")
"""Suffixes of files with the numbers of a vector without names."""

_WITH_CURVE = (81, 101)
"""Sizes of planar and 3D vectors that include the torque curve of an exoskeleton."""


@dataclass(frozen=True)
class GivenWalk:
    """A walk given by its vector.

    Attributes:
      target: run directory, or file with a vector.
      configuration: configuration of the walk.
      problem: problem of the configuration.
      vector: complete vector ``(size,)``.
      mark: warning for everything derived from it, where inputs of its run have changed.
    """

    target: Path
    configuration: GaitConfiguration
    problem: GaitProblem
    vector: np.ndarray
    mark: str | None = None


def given_walk(
    target: str | Path,
    configuration: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    threads: int = 0,
    *,
    anyway: bool = False,
) -> GivenWalk:
    """The best walk of a run, or the walk of a vector.

    The walk of a run has the conditions of its search, in the last of its stages. That of a vector
    has those of its configuration, such as a ``.bat`` or ``.sh`` file of MyoAssist; by default no
    neural delays, an exoskeleton of 100 N m if the vector has its entries, and the reference
    kinematics of MyoAssist if they are near the model or the vector.

    Args:
      target: run directory, or file with a vector.
      configuration: configuration of the vector, by name or file.
      changes: other values of the configuration, by key.
      threads: number of simulation threads; 0 uses all cores.
      anyway: also accept a run with changed inputs; everything derived from it records this.

    Raises:
      RunDirectoryError: the model or a reference of the run has changed.
      GaitError: no such run or file, an invalid configuration, a changed key that affects only
        a search, or a vector with other entries.
    """
    target, changes = Path(target), dict(changes or {})
    if aimless := [name for name in OF_SEARCHES if changes.get(name)]:
        raise GaitError(
            f"{listing(aimless)} only applies to a search, and this evaluates one vector: remove it"
        )
    mark = mark_of_file(target, anyway=anyway)
    found = _configuration(target, configuration, changes)
    # keys of the search of a run must not prevent its evaluation under other conditions
    own = not _REPEATS & set(changes)
    fresh = found.fresh_perturbations and own
    found = found.with_changes({"fresh_perturbations": fresh, "moved": None, **changes})
    _, found = found.staged[-1]
    problem = problem_to_look_at(found, threads) if own else make_problem(found, threads)
    check_chosen_trunk(changes, problem)
    return GivenWalk(target, found, problem, _vector(target, problem), mark)


def problem_to_look_at(configuration: GaitConfiguration, threads: int = 0) -> GaitProblem:
    """The problem of a configuration for the evaluation of walks.

    For a search over perturbed repeats the perturbations are replaced by unseen
    ones.
    """
    problem = make_problem(configuration, threads)
    if is_reevaluated(problem, configuration.search):
        assert problem.perturbations is not None
        problem.perturbations = evaluation_repeats(problem.perturbations)
    return problem


def _configuration(
    target: Path, configuration: str | Path | None, changes: Mapping[str, Any]
) -> GaitConfiguration:
    if not target.exists():
        raise GaitError(f"no run directory or file {target}")
    if (target / "run.json").is_file():
        return configuration_of_run(RunDirectory.open(target))
    if configuration is not None:
        check_paths(configuration, {*OF_SEARCHES, *changes})
        found = load_configuration(configuration)
        if Path(configuration).suffix in MYOASSIST_FILES and f"-{found.cost}" in FLAGS:
            return found.with_changes({"compat": "myoassist"})
        return found
    reference = changes.get("reference")
    if reference is None:
        near = reference_near(changes.get("model_file"), target)
        reference = None if near is None else (str(near),)
    content = {
        "cost": "kine" if reference else "eff",
        "delayed": False,
        "ExoOn": _has_curve(target),
        "max_torque": 100.0,
        "reference": reference,
    }
    return make_configuration(content, "the configuration")


def _has_curve(target: Path) -> bool:
    """Whether a file without names contains the entries of an exoskeleton."""
    if target.suffix not in PLAIN or not target.is_file():
        return False
    return _numbers(target).size in _WITH_CURVE


def _vector(target: Path, problem: GaitProblem) -> np.ndarray:
    """The complete vector of a run or a file."""
    parameters: ParameterVector = problem.parameters
    if target.suffix in PLAIN and target.is_file():
        return parameters.check_given(_numbers(target), str(target))
    # every entry as given, for the same check as for a vector without names
    whole = {"free": True, "lower": -np.inf, "upper": np.inf}
    every = parameters.with_entries(dict.fromkeys(parameters.names, whole))
    found = warm_start(target, every.space, [parameters.names], of_both_legs(parameters))
    free = [entry.name for entry in parameters.entries if entry.free]
    missing = [name for name in found.missing if name in free]
    if missing or found.unused:
        lacks = f"missing {listing(missing)}" if missing else ""
        has = f"unknown {listing(found.unused)}" if found.unused else ""
        raise GaitError(
            f"the entries of {target} are not those of this walk: "
            f"{', '.join(filter(None, (lacks, has)))}. They depend on ExoOn, n_points, "
            "reflex_mode and the model"
        )
    return parameters.check_given(found.x, str(target))


def _numbers(target: Path) -> np.ndarray:
    """Numbers of a file without names ``(lines, numbers per line)``; arrays of NumPy unchanged."""
    try:
        if target.suffix == ".npy":
            values = np.load(target, allow_pickle=False)
            if values.dtype.kind not in "iuf":
                raise ValueError(f"expected real numbers, found {values.dtype}")
            return values.astype(float)
        lines = target.read_text(encoding="utf-8").replace(",", " ").splitlines()
        words = [found for line in lines if (found := line.partition("#")[0].split())]
        sizes = sorted({len(line) for line in words})
        if len(sizes) > 1:
            raise ValueError(f"expected one number per line, found {sizes[0]} to {sizes[-1]}")
        return np.array([[float(word) for word in line] for line in words])
    except (ValueError, EOFError) as error:
        raise GaitError(f"{target} does not contain a vector of numbers: {error}") from error
    except OSError as error:
        raise GaitError(f"cannot read {target}: {error.strerror or error}") from error
