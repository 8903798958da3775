"""Start of a gait optimisation: its problem with the initial values, and its search."""

import dataclasses
from typing import Any

from trueup.errors import GaitError
from trueup.gait.report.walk_words import trunk_notes
from trueup.gait.search._make_problem import (
    check_chosen_trunk,
    device_notes,
    make_problem,
    without_unfit_norm,
)
from trueup.gait.search.configuration import GaitConfiguration
from trueup.gait.search.earlier_runs import (
    controller_digest,
    former_configuration,
    kept_start,
)
from trueup.gait.search.myoassist.checkout import checkout_notes
from trueup.gait.search.problem import GaitProblem
from trueup.gait.search.searches import make_search
from trueup.gait.search.shipped_walk import start_path
from trueup.gait.search.staged_problem import StagedProblem
from trueup.gait.search.staged_search import StagedSearch, make_staged_search
from trueup.gait.search.starts import check_start, resolved_start, start_of
from trueup.gait.spec import GaitSpec
from trueup.runs import Budget
from trueup.runs.store.input_check import mark_of_file
from trueup.simulation.warp.devices import DeviceChoice

STARTS = {"param_path", "start_in_cycle", "start_values"}
"""Configuration keys of the initial values of a search."""


def start_mark(spec: GaitSpec) -> str | None:
    """Warning of a new search if inputs of its initial walk have changed.

    Raises:
      RunDirectoryError: they have changed, and the spec does not accept such a walk.
    """
    path = spec.configuration.param_path
    if spec.start is not None or path is None:
        return None
    return mark_of_file(start_path(path), anyway=spec.anyway)


def begun_search(spec: GaitSpec) -> tuple[GaitProblem, GaitSpec]:
    """The problem with its initial values, and the spec with these and the notes.

    A resumed search, or one that repeats a run, uses the saved values. A new one resolves its
    configuration and determines them.

    Raises:
      GaitError: the configuration is invalid, or the initial walk cannot start.
      RunDirectoryError: the saved values do not belong to these unknowns.
      SimulationError: the device of the configuration cannot be used.
    """
    device = DeviceChoice(spec.configuration.device)
    problem, spec = _begun(spec)
    problem.device = device
    return problem, spec


def _begun(spec: GaitSpec) -> tuple[GaitProblem, GaitSpec]:
    if spec.start is not None:
        return _kept(spec, spec.start), spec
    repeated = spec.repeated
    if repeated is not None:
        moved = (repeated.get("configuration") or {}).get("moved")
        if moved is not None and (STARTS | {"moved"}) & set(spec.changes):
            raise GaitError(
                f"{spec.source} fixes all parameters that its search did not optimise at their "
                "initial values: to change them use the original configuration"
            )
        if not STARTS & set(spec.changes):
            problem, notes = _repeated(spec, repeated)
            return problem, _with_start(spec, problem, spec.configuration, notes)
    problem, configuration, notes = _new(spec)
    return problem, _with_start(spec, problem, configuration, notes)


def _kept(spec: GaitSpec, start: dict[str, float]) -> GaitProblem:
    """The problem of a resumed search."""
    problem = make_problem(spec.local, spec.threads)
    problem.space = kept_start(start, problem.space) or problem.space
    return problem


def _repeated(spec: GaitSpec, former: dict[str, Any]) -> tuple[GaitProblem, list[str]]:
    """The problem of a repeated run, and the notes on its initial values."""
    problem = make_problem(spec.configuration, spec.threads)
    if set(former.get("start") or {}) != set(problem.space.names):
        raise GaitError(
            f"{spec.source} has initial values for other unknowns: give the initial vector of "
            "this search with --param-path, such as the directory of that run"
        )
    problem.space = kept_start(former.get("start"), problem.space) or problem.space
    check_start(problem, problem.space)
    return problem, list(former.get("notes") or [])


def _new(spec: GaitSpec) -> tuple[GaitProblem, GaitConfiguration, list[str]]:
    """The problem of a new search, its resolved configuration, and notes on its initial values."""
    configuration, unfit = spec.configuration, list[str]()
    if not {"weights", "cost"} & set(spec.changes):
        configuration, unfit = without_unfit_norm(configuration)
    configuration = resolved_start(configuration)
    problem = make_problem(configuration, spec.threads)
    check_chosen_trunk(spec.changes, problem)
    problem.space, notes = start_of(configuration, problem)
    return (
        problem,
        configuration,
        [
            *checkout_notes(configuration),
            *device_notes(configuration),
            *_controller_notes(configuration),
            *unfit,
            *notes,
            *trunk_notes(problem),
        ],
    )


def _controller_notes(configuration: GaitConfiguration) -> list[str]:
    """Note on an initial walk with other reflexes."""
    path = configuration.param_path
    former = None if path is None else former_configuration(start_path(path))
    here = configuration.controller
    there = None if former is None else former.controller
    if former is None or (here is None and there is None):
        return []
    if here and there and controller_digest(here) == controller_digest(there):
        return []
    return [
        f"The walk of {path} has {'own' if there else 'the shipped'} reflexes, this search "
        f"{'other own ones' if here and there else 'own ones' if here else 'the shipped ones'}."
        + (" Keep those with --controller." if there and not here else "")
    ]


def _with_start(
    spec: GaitSpec, problem: GaitProblem, configuration: GaitConfiguration, notes: list[str]
) -> GaitSpec:
    """The spec of a started search."""
    space = problem.space
    start = dict(zip(space.names, space.start.tolist(), strict=True))
    return spec.model_copy(
        update={"configuration": configuration, "start": start, "notes": tuple(notes)}
    )


def search_at_start(problem: GaitProblem, configuration: GaitConfiguration) -> Any:
    """The search of a problem in its initial state.

    Raises:
      GaitError: a key belongs to another search method, or a standard deviation is infinite.
    """
    if isinstance(problem, StagedProblem):
        return make_staged_search(problem, configuration)
    return make_search(configuration, problem.space)


def search_limits(spec: GaitSpec, search: Any) -> Budget:
    """Limits of a search: those of the spec, and the generations of its configuration."""
    generations = spec.limits.max_generations or spec.configuration.maxiter
    if generations is None and isinstance(search, StagedSearch):
        # the progress shows the remaining time
        generations = sum(stage.all_generations for stage in search.stages)
    return dataclasses.replace(spec.limits, max_generations=generations)
