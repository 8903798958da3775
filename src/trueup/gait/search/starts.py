"""Initial values of a search from an earlier result, with notes."""

import dataclasses
import functools
import json
from collections.abc import Mapping

import numpy as np

from trueup.errors import GaitError, ParameterError, listing
from trueup.gait.controller.parameter_vector import ParameterVector
from trueup.gait.search._make_problem import make_problem
from trueup.gait.search._named_entries import moved_entries, named_values, notes_on_names
from trueup.gait.search.configuration import GaitConfiguration, make_configuration
from trueup.gait.search.earlier_runs import (
    best_vector_file,
    former_configuration,
    held_by,
    values_from,
)
from trueup.gait.search.problem import GaitProblem
from trueup.gait.search.shipped_walk import SHIPPED_CONDITION, SHIPPED_WALKS, start_path
from trueup.gait.search.stage_settings import (
    BEGINS_AT,
    FROM_NOMINAL,
    GRADUALLY,
    OTHER_CONDITION,
    Stages,
)
from trueup.gait.walk._cycle_start import CycleStart, cycle_start
from trueup.parameters import Space


def resolved_start(configuration: GaitConfiguration) -> GaitConfiguration:
    """The configuration completed from the earlier result that it starts from.

    Raises:
      GaitError: start_in_cycle without an earlier result, or with one that falls.
    """
    configuration = _with_stages_for_start(configuration)
    if configuration.start_in_cycle:
        if configuration.param_path is None:
            raise GaitError("start_in_cycle requires an earlier walk: set it with --param-path")
        # a resolved configuration contains the earlier result
        speeds = _cycle(configuration).joint_speeds
        if configuration.joint_speeds not in (None, speeds):
            raise GaitError(
                "start_in_cycle determines the joint speeds, but they are given too: remove it, or "
                "joint_speeds"
            )
        configuration = configuration.with_changes({"joint_speeds": speeds})
    return _with_others_held(_with_former_speeds(_with_fixed_exo(configuration)))


def _with_stages_for_start(configuration: GaitConfiguration) -> GaitConfiguration:
    """The configuration without the stages that its initial walk makes unnecessary."""
    stages = configuration.stages
    if stages is None:
        return configuration
    former = _former_conditions(configuration)
    is_other = former not in (None, configuration.conditions)
    other: tuple[bool | str, ...] = (is_other,)
    if former is not None and is_other:
        speeds = [[speed for speed, _ in each] for each in (former, configuration.conditions)]
        other = (True, "speed" if speeds[0] != speeds[1] else "slope")
    here = {FROM_NOMINAL: (configuration.param_path is None,), OTHER_CONDITION: other}
    kept = {
        name: stage
        for name, stage in stages.items()
        if all(stage.get(key, values[0]) in values for key, values in here.items())
    }
    if not kept:
        raise GaitError(
            f"none of the stages ({listing(stages)}) applies to a search that starts from this "
            "walk: select one with stages=NAME, or start with --from nominal"
        )
    kept = _with_beginnings(configuration, kept)
    return configuration if kept == stages else configuration.with_changes({"stages": kept})


def _with_beginnings(configuration: GaitConfiguration, stages: Stages) -> Stages:
    """The stages; the first gradual one with its initial condition, if that is another one."""
    former, here = _former_conditions(configuration), configuration.conditions
    first = next((name for name, stage in stages.items() if GRADUALLY in stage), None)
    if first is None or former is None or not len(former) == len(here) == 1 or former == here:
        return stages
    return {**stages, first: {BEGINS_AT: list(former[0]), **stages[first]}}


def _former_conditions(configuration: GaitConfiguration) -> list[tuple[float, float]] | None:
    """Speeds and slopes of the initial walk of a search; None if unknown."""
    path = configuration.param_path
    if path in SHIPPED_WALKS:
        return [SHIPPED_CONDITION]
    former = None if path is None else former_configuration(start_path(path))
    return None if former is None else former.conditions


def start_of(configuration: GaitConfiguration, problem: GaitProblem) -> tuple[Space, list[str]]:
    """The space with its initial values, and notes on their origin.

    Args:
      configuration: result of :func:`resolved_start`.
      problem: problem of the configuration.

    Raises:
      GaitError: the initial pose or the torque curve is impossible.
    """
    space, notes = _start_of(configuration, problem)
    check_start(problem, space)
    return space, notes


def check_start(problem: GaitProblem, space: Space) -> None:
    """Raise GaitError for an initial vector that cannot start a walk."""
    whole = problem.parameters.complete(space.start[None])
    for scenario in problem.scenarios:
        # stopped before the first step: checks only the pose and the torque curve
        records = scenario.simulation.run(
            whole, stop=lambda found: np.ones(len(found.length), bool)
        )
        if records.invalid:
            (reason,) = records.invalid.values()
            raise GaitError(
                f"the initial vector of the search cannot start a walk: {reason}. Change it with "
                "held=NAME:VALUE, start_values=NAME:VALUE or --param-path"
            )


def _start_of(configuration: GaitConfiguration, problem: GaitProblem) -> tuple[Space, list[str]]:
    given = named_values("start_values", configuration, problem.parameters)
    space, notes = _start_from_path(configuration, problem, given)
    start = _started_at(given, problem, space)
    return dataclasses.replace(space, start=start), [*notes, *notes_on_names(configuration)]


def _start_from_path(
    configuration: GaitConfiguration, problem: GaitProblem, given: Mapping[str, float]
) -> tuple[Space, list[str]]:
    space = problem.space
    if configuration.param_path is None:
        if configuration.moved is None:
            return space, ["It starts at the nominal vector; --param-path continues a walk."]
        note = "Fixed entries have their nominal values, as --param-path is not set."
        return space, [note]
    source = best_vector_file(start_path(configuration.param_path))
    own = problem.scenarios[0].simulation.parameters
    # fixed entries are from there too
    every = space if configuration.moved is None else _with_free_entries(problem, own.free)
    warm = values_from(source, every, problem.parameters)
    sentences = []
    if configuration.start_in_cycle:
        start = _cycle(configuration)
        x = warm.x.copy()
        for entry, value in zip(problem.parameters.entries, start.vector, strict=False):
            if entry.group in ("pose", "activation") and entry.name in every.names:
                x[every.names.index(entry.name)] = value
        warm = dataclasses.replace(warm, x=x)
        sentences.append(f"Walks start from the state of that walk at {start.time:.2f} s.")
    if configuration.moved is not None:
        sentences.append(f"{space.size} entries are optimised, the others are fixed.")
    found = dict(zip(every.names, warm.x.tolist(), strict=True))
    at = dict(zip(every.names, every.start.tolist(), strict=True))
    nominal = dict(zip(own.names, own.start.tolist(), strict=True))

    def starting_at(names: tuple[str, ...], values: Mapping[str, float]) -> tuple[str, ...]:
        """Names with these initial values, neither held nor given otherwise."""
        names = tuple(name for name in names if name not in given)
        return tuple(name for name in names if name in space.names or at[name] == values[name])

    warm = dataclasses.replace(
        warm,
        matched=starting_at(warm.matched, found),
        missing=starting_at(warm.missing, nominal),
        clipped=starting_at(warm.clipped, found),
    )
    x = np.array([found[name] for name in space.names])
    return dataclasses.replace(space, start=x), [*warm.sentences, *sentences]


def _with_free_entries(problem: GaitProblem, free: np.ndarray) -> Space:
    """The space of a problem with the given free entries ``(size,)``, held ones at their values."""
    entries = zip(problem.parameters.entries, free.tolist(), strict=True)
    return ParameterVector(
        tuple(dataclasses.replace(entry, free=is_free) for entry, is_free in entries)
    ).space


def _cycle(configuration: GaitConfiguration) -> CycleStart:
    """The state of the earlier walk from which walks start; it has the conditions of its run."""
    former = former_configuration(start_path(configuration.param_path or ""))
    device = ("exo", "model", "use_4param_spline", "n_points", "max_torque", "fixed_exo")
    keys = (*device, "controller")
    values = GaitConfiguration(model="baseline") if former is None else former
    walked = configuration.model_copy(
        update={
            **{key: getattr(values, key) for key in keys},
            "held": None,
            "moved": None,
            "start_values": None,
            "joint_speeds": values.joint_speeds,
            "start_in_cycle": False,
        }
    )
    return _cycle_of(json.dumps(walked.to_dict()))


@functools.lru_cache(maxsize=1)
def _cycle_of(configuration: str) -> CycleStart:
    """The initial state from a walk; cached, as it takes seconds and is used repeatedly."""
    walked = make_configuration(json.loads(configuration), "the configuration", resolved=True)
    problem = make_problem(walked)
    space, _ = _start_of(walked, problem)
    vector = problem.parameters.complete(space.start[None])[0]
    return cycle_start(problem.scenarios[0].simulation, vector)


def _with_fixed_exo(configuration: GaitConfiguration) -> GaitConfiguration:
    """The configuration with a fixed exoskeleton held at the values of the initial vector."""
    if not (configuration.exo and configuration.fixed_exo and configuration.param_path):
        return configuration
    source = best_vector_file(start_path(configuration.param_path))
    parameters = make_problem(configuration).parameters
    exo = tuple(entry for entry in parameters.entries if entry.group == "exoskeleton")
    space = ParameterVector(tuple(dataclasses.replace(entry, free=True) for entry in exo)).space
    try:
        warm = values_from(source, space, parameters)
        values = {name: float(warm.x[space.names.index(name)]) for name in warm.matched}
    except ParameterError:  # no curve in it; other errors are reported when the start is read
        values = {name: at for name, at in held_by(source).items() if name in space.names}
    return configuration.with_changes({"held": {**values, **(configuration.held or {})}})


def _with_former_speeds(configuration: GaitConfiguration) -> GaitConfiguration:
    """The configuration with the initial joint speeds of the earlier run."""
    if configuration.param_path is None or configuration.joint_speeds is not None:
        return configuration
    former = former_configuration(start_path(configuration.param_path))
    if former is None or former.joint_speeds is None or former.pose_key != configuration.pose_key:
        return configuration
    return configuration.with_changes({"joint_speeds": former.joint_speeds})


def _with_others_held(configuration: GaitConfiguration) -> GaitConfiguration:
    """The configuration with fixed entries held at the initial values of the search."""
    if configuration.moved is None:
        return configuration
    make_problem(configuration)  # raises for entries that are both moved and held
    whole = configuration.model_copy(update={"moved": None})
    problem = make_problem(whole)
    space, _ = _start_of(whole, problem)
    start = dict(zip(space.names, space.start.tolist(), strict=True))
    moves = moved_entries(configuration, problem.parameters)
    others = {name: value for name, value in start.items() if name not in moves}
    return configuration.with_changes({"held": {**others, **(configuration.held or {})}})


def _started_at(given: Mapping[str, float], problem: GaitProblem, space: Space) -> np.ndarray:
    """The initial values of a space ``(p,)`` with given values by name."""
    x = space.start.copy()
    own = problem.scenarios[0].simulation.parameters
    for name, value in given.items():
        if name in space.names:
            x[space.names.index(name)] = value
            continue
        place = problem.parameters.index(name)
        at = problem.parameters.entries[place].start
        if at != value:
            why = f"it is held at {at:g}: remove one of the two values"
            if not own.free[place]:
                why = "it is not used here: remove it"
            raise GaitError(
                f"start_values: the entry {name!r} has the initial value {value:g}, but {why}"
            )
    return x
