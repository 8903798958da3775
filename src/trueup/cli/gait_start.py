"""What a gait optimisation begins with, and what it takes over from an earlier result."""

import dataclasses
import functools
import json
from pathlib import Path

from trueup.errors import GaitError, ParameterError, RunDirectoryError
from trueup.gait import (
    CycleStart,
    FourParameterProfile,
    GaitConfiguration,
    GaitProblem,
    ParameterVector,
    cycle_start,
    make_problem,
)
from trueup.gait.configuration import make_configuration
from trueup.parameters import Space
from trueup.studies import RunDirectory, WarmStart, warm_start
from trueup.studies.run_directory import check_format_version
from trueup.studies.yaml_file import read_mapping

KIND = "gait"
FORMAT_VERSION = 1


def configuration_of_run(directory: RunDirectory) -> GaitConfiguration:
    """The resolved configuration of a run.

    Raises:
      RunDirectoryError: the file is missing, damaged, of another kind of run or too new.
    """
    content = read_mapping(directory.experiment)
    if content.get("kind") != KIND:
        raise RunDirectoryError(f"{directory.path} is not the run of a gait optimisation")
    check_format_version(directory.experiment, content.get("format_version"), FORMAT_VERSION)
    return make_configuration(content.get("configuration"), str(directory.experiment))


def resolved_start(configuration: GaitConfiguration) -> GaitConfiguration:
    """The configuration with what it takes over from the earlier result that it starts from.

    Raises:
      GaitError: a start in the cycle of a walk without an earlier result, or of one that falls.
    """
    if configuration.start_in_cycle:
        if configuration.param_path is None:
            raise GaitError(
                "start_in_cycle starts in the middle of an earlier walk: name it with --param-path"
            )
        # a resolved configuration holds what was found before
        speeds = _cycle(configuration).joint_speeds
        if configuration.joint_speeds not in (None, speeds):
            raise GaitError(
                "start_in_cycle finds the speeds of the joints, and others are given: leave it, or "
                "joint_speeds"
            )
        configuration = configuration.with_changes({"joint_speeds": speeds})
    configuration = _with_fixed_exo(configuration)
    if configuration.param_path is None or configuration.joint_speeds is not None:
        return configuration
    former = _former(Path(configuration.param_path))
    if former is None or former.joint_speeds is None or former.pose_key != configuration.pose_key:
        return configuration
    return configuration.with_changes({"joint_speeds": former.joint_speeds})


def start_of(configuration: GaitConfiguration, problem: GaitProblem) -> tuple[Space, list[str]]:
    """The space with its start values, and what was done about them.

    Args:
      configuration: what :func:`resolved_start` made.
      problem: its problem.
    """
    space = problem.space
    if configuration.param_path is None:
        return space, []
    source = best_vector_file(Path(configuration.param_path))
    warm = _values_from(source, space, problem.parameters)
    sentences = list(warm.sentences)
    if configuration.start_in_cycle:
        start = _cycle(configuration)
        x = warm.x.copy()
        for entry, value in zip(problem.parameters.entries, start.vector, strict=False):
            if entry.group in ("pose", "activation") and entry.name in space.names:
                x[space.names.index(entry.name)] = value
        warm = dataclasses.replace(warm, x=x)
        sentences.append(
            f"Walks start in the middle of that walk, as it was at {start.time:.2f} s."
        )
    return warm.space(space), sentences


def _cycle(configuration: GaitConfiguration) -> CycleStart:
    """The moment of the earlier walk that walks start from; it walks as in its run, or bare."""
    former = _former(Path(configuration.param_path or ""))
    device = ("exo", "model", "use_4param_spline", "n_points", "max_torque", "fixed_exo")
    values = GaitConfiguration(model="baseline") if former is None else former
    walked = configuration.model_copy(
        update={
            **{key: getattr(values, key) for key in device},
            "held": None,
            "joint_speeds": values.joint_speeds,
            "start_in_cycle": False,
        }
    )
    return _cycle_of(json.dumps(walked.plain()))


@functools.lru_cache(maxsize=1)
def _cycle_of(configuration: str) -> CycleStart:
    """A walk's start, which takes seconds and is asked for more than once."""
    walked = make_configuration(json.loads(configuration), "the configuration")
    problem = make_problem(walked)
    space, _ = start_of(walked, problem)
    vector = problem.parameters.complete(space.start[None])[0]
    return cycle_start(problem.scenarios[0].simulation, vector)


def _values_from(source: Path, space: Space, parameters: ParameterVector) -> WarmStart:
    """Start values from an earlier result; what a run held counts as what it found."""
    without_exo = [e.name for e in parameters.entries if e.group != "exoskeleton"]
    # a walk with a device may start one without
    with_exo = [*without_exo, *(entry.name for entry in FourParameterProfile().entries)]
    layouts = {len(names): names for names in (with_exo, parameters.names, without_exo)}
    warm = warm_start(source, space, list(layouts.values()))
    held = _held_by(source)
    known = [name for name in warm.missing if name in held]
    x = warm.x.copy()
    for name in known:
        x[space.names.index(name)] = held[name]
    missing = tuple(name for name in warm.missing if name not in held)
    return dataclasses.replace(warm, x=x, matched=(*warm.matched, *known), missing=missing)


def _former(source: Path) -> GaitConfiguration | None:
    """The configuration of an earlier run of a gait optimisation; None for what is none."""
    if not (source / "run.json").is_file():
        return None
    directory = RunDirectory.open(source)
    if not directory.experiment.is_file() or read_mapping(directory.experiment).get("kind") != KIND:
        return None
    return configuration_of_run(directory)


def _held_by(source: Path) -> dict[str, float]:
    """Entries that the run of a gait optimisation held, which are not among what it found."""
    former = _former(source)
    return {} if former is None else former.held or {}


def _with_fixed_exo(configuration: GaitConfiguration) -> GaitConfiguration:
    """The configuration with a fixed exoskeleton held at what the vector to start from says."""
    if not (configuration.exo and configuration.fixed_exo and configuration.param_path):
        return configuration
    source = best_vector_file(Path(configuration.param_path))
    parameters = make_problem(configuration).parameters
    exo = tuple(entry for entry in parameters.entries if entry.group == "exoskeleton")
    space = ParameterVector(tuple(dataclasses.replace(entry, free=True) for entry in exo)).space
    try:
        warm = _values_from(source, space, parameters)
        values = {name: float(warm.x[space.names.index(name)]) for name in warm.matched}
    except ParameterError:  # no curve in it; what else is wrong is said as the start is read
        values = {name: at for name, at in _held_by(source).items() if name in space.names}
    return configuration.with_changes({"held": {**values, **(configuration.held or {})}})


def best_vector_file(path: Path) -> Path:
    """The file that a folder's best vector is in, or the path itself."""
    if path.is_dir() and not (path / "run.json").is_file():
        for ending in ("_Best.txt", "_BestLast.txt"):
            found = sorted(path.glob(f"*{ending}"))
            if found:
                return found[0]
    return path
