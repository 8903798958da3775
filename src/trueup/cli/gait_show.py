"""``trueup gait list``, ``evaluate`` and ``import``."""

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from trueup.cli.gait_commands import EvaluateGait, ImportGait, WalkOfTarget
from trueup.cli.gait_options import check_not_empty
from trueup.cli.gait_start import configuration_of_run, of_both_legs, problem_to_look_at
from trueup.cli.output import Output
from trueup.errors import GaitError, listing
from trueup.gait import (
    GaitProblem,
    PerturbationSizes,
    Survival,
    WalkObjective,
    load_configuration,
)
from trueup.gait.search.configuration import (
    GaitConfiguration,
    configuration_names,
    make_configuration,
)
from trueup.gait.search.myoassist_import import (
    import_configuration,
    located,
    missing_paths,
    paths_in,
)
from trueup.studies import RunDirectory, atomic, warm_start

_REFERENCES = [
    Path(folder) / "ref_kinematics_radians.csv"
    for folder in (
        "ref_data",
        "ctrl_optim/optim/ref_data",
        "optim/ref_data",
        "gait_norms/myoassist",
    )
]
_LEVELS = 6

PLAIN = (".txt", ".csv", ".npy")
"""Endings of files that hold the numbers of a vector without their names."""

OF_SEARCHES = (
    "param_path",
    "start_in_cycle",
    "moved",
    "start_values",
    "search",
    "popsize",
    "maxiter",
    "sigma_gain",
    "exo_sigma_gain",
    "cma_options",
    "fresh_perturbations",
    "early_stop",
)
"""Values of a configuration that nothing but a search depends on."""

_REPEATS = {
    "perturbed_repeats",
    "unperturbed_repeat",
    "perturbed_cost",
    "perturbation_seed",
    "perturbation_sizes",
}
"""Options that say which perturbed repeats a vector is walked over."""


def run_gait_list(output: Output) -> int:
    """Run the command; returns the exit code."""
    shipped = {name: load_configuration(name) for name in configuration_names()}
    output.result({"configurations": {name: c.plain() for name, c in shipped.items()}})
    output.table(["configuration", ""], [[name, c.says] for name, c in shipped.items()])
    return 0


def run_gait_import(command: ImportGait, output: Output) -> int:
    """Run the command; returns the exit code."""
    found = located(import_configuration(command.file), command.file)
    target = command.output or Path(f"{command.file.stem}.yaml")
    if target.exists() and not command.overwrite:
        raise GaitError(f"{target} exists: choose another --output, or give --overwrite")
    folder = target.resolve().parent
    paths = {key: os.path.relpath(path, folder) for key, path in paths_in(found).items()}
    configuration = found.model_copy(update=paths)
    missing = missing_paths(command.file)
    atomic.write_text(target, configuration_text(configuration))
    notes = [f"Not there yet: {key} {tried}." for key, tried in missing.items()]
    output.result({"file": str(target), "configuration": configuration.plain(), "notes": notes})
    output.text(f"Configuration: {target}", *notes)
    output.text(f"Run it with  trueup gait optimize {target}")
    return 0


def check_paths(name: str, given: Collection[str]) -> None:
    """Raise GaitError where a file of MyoAssist names a path that is not there.

    Args:
      name: the configuration; only ``.bat`` and ``.sh`` files are looked into.
      given: keys whose paths are replaced.
    """
    if Path(name).suffix not in (".bat", ".sh"):
        return
    for key, tried in missing_paths(name).items():
        if key not in given:
            raise GaitError(f"{key}: {tried}: name another one with --{key.replace('_', '-')}")


def configuration_text(configuration: GaitConfiguration) -> str:
    """A configuration as YAML, without the values that it has by default."""
    default = GaitConfiguration().plain()
    whole = configuration.plain()
    content = {key: value for key, value in whole.items() if value != default[key]}
    if "n_points" in content:  # which alone says something of the other key
        content["use_4param_spline"] = whole["use_4param_spline"]
    return yaml.safe_dump(content, sort_keys=False, width=100)


def run_gait_evaluate(command: EvaluateGait, output: Output) -> int:
    """Run the command; returns the exit code."""
    check_not_empty("dose", command.dose)
    if command.report is None and (command.dose or command.film or command.norm is not None):
        raise GaitError("--norm, --dose and --film are for a report: name its file with --report")
    if command.perturbations < 0:
        raise GaitError(f"--perturbations is {command.perturbations}; it cannot be below 0")
    configuration, problem, X = walk_of(command)
    answer: dict[str, Any] = {}
    survivals: list[Survival] = []
    if command.report is None:
        failures: dict[int, str] = {}
        cost = float(problem.whole_costs(X[None], failures)[0])
        if failures:
            raise GaitError(f"{command.target}: the walk cannot start: {failures[0]}")
        terms = {name: float(value[0]) for name, value in problem.terms.items()}
        survivals = _survivals(command, configuration, problem, X)
    else:
        from trueup.cli.gait_report import page_of_vector

        survivals = _survivals(command, configuration, problem, X)
        page, look = page_of_vector(command, configuration, problem, X, survivals)
        answer["report"] = str(page.save(command.report))
        cost, terms = float(look.costs[0]), {k: float(v[0]) for k, v in look.terms.items()}
    names = [scenario.name for scenario in problem.scenarios]
    repeats = {name: one.plain() for name, one in zip(names, survivals, strict=False)}
    if repeats:
        answer["survival"] = repeats
    notes = [*trunk_notes(problem), *curve_notes(problem, X)]
    output.result({"scalar": cost, **_answer(terms), "terms": terms, "notes": notes, **answer})
    repeated = 1 if problem.perturbations is None else problem.perturbations.repeats
    output.text(
        how_far_it_walks(cost, terms, len(problem.scenarios) * repeated),
        f"That is {how_it_walks(problem)}.",
        *notes,
        "",
    )
    rows = [[name, f"{value:.6g}" if np.isfinite(value) else "-"] for name, value in terms.items()]
    output.table(["term", "value"], rows)
    if repeats:
        output.text(*survival_lines(repeats))
    shown = "report" in answer
    output.text(f"Report: {answer['report']}" if shown else "Look at it: add --report walk.html")
    return 0


def how_far_it_walks(cost: float, terms: dict[str, float], walks: int) -> str:
    """What a walk costs and how far it goes, in words; of several walks the mean."""
    walked, lasted = terms_of(terms, "walked"), terms_of(terms, "lasted")
    fell = terms_of(terms, "fell")
    if walks == 1:
        end = " and fell." if fell else " without falling."
        return f"Cost {cost:.6g}: walked {walked:.3f} m in {lasted:.2f} s{end}"
    return (
        f"Cost {cost:.6g}: {walks} walks, of {walked:.3f} m in {lasted:.2f} s on average; "
        f"{round(walks * fell)} of them fell."
    )


def how_it_walks(problem: GaitProblem) -> str:
    """Who walks, and how, in words."""
    words = []
    for scenario in problem.scenarios:
        settings, walker = scenario.simulation.settings, scenario.simulation.walker
        delays = "with neural delays" if settings.delayed else "without neural delays"
        ground = f"on a slope of {walker.slope:g} degrees" if walker.slope else "on level ground"
        if walker.stairs is not None:
            rise, depth = walker.stairs.rise, walker.stairs.run
            ground = f"on stairs, {abs(rise):g} m {'up' if rise > 0 else 'down'} every {depth:g} m"
        name = Path(walker.source).name
        words.append(f"{name}, {settings.duration:g} s {delays} {ground}")
    return "; ".join(dict.fromkeys(words))


def trunk_notes(problem: GaitProblem) -> list[str]:
    """A sentence where the trunk is weighed and the gait that is tracked has none."""
    objectives = [s.objective for s in problem.scenarios if isinstance(s.objective, WalkObjective)]
    if not any(one.weights.get("trunk", 0.0) > 0.0 and _lacks_trunk(one) for one in objectives):
        return []
    return ["The trunk is compared with upright: the reference has none."]


def _lacks_trunk(objective: WalkObjective) -> bool:
    """Whether the trunk is compared with upright only because the reference has none."""
    fell_back = objective.trunk is None and objective.trunk_kind == "zero_diff"
    return fell_back and objective.reference is not None


def check_chosen_trunk(changes: Mapping[str, Any], problem: GaitProblem) -> None:
    """Raise GaitError where options ask for a comparison with a trunk that no reference has.

    A configuration cannot tell: it says ``ref_diff`` where nobody has chosen.
    """
    if changes.get("trunk_err_type") == "ref_diff":
        for scenario in problem.scenarios:
            if isinstance(scenario.objective, WalkObjective):
                replace(scenario.objective, trunk="ref_diff")  # raises


def curve_notes(problem: GaitProblem, vector: np.ndarray) -> list[str]:
    """What of a torque curve is not as the vector ``(size,)`` says, in sentences."""
    knots = problem.scenarios[0].simulation.knots(vector[None])
    told = {} if knots is None else knots.clipped
    return [f"The exoskeleton does what it can: {words}." for words in told.values()]


def survival_lines(repeats: dict[str, dict[str, Any]]) -> list[str]:
    """How a walk goes under perturbations, a sentence for each scenario."""
    return [
        f"Under {found['perturbations']} perturbations{f' at {name}' if name else ''}: "
        f"{found['survived']} stay up; on average it goes {found['mean_walked_m']:.2f} m in "
        f"{found['mean_lasted_s']:.2f} s of {found['duration_s']:g} s"
        for name, found in repeats.items()
    ]


def _survivals(
    command: EvaluateGait, configuration: GaitConfiguration, problem: GaitProblem, X: np.ndarray
) -> list[Survival]:
    """How the walk goes under perturbations in each scenario; none where none are asked for."""
    if not command.perturbations:
        return []
    from trueup.cli.gait_report import survivals_of

    sizes = PerturbationSizes(**(configuration.perturbation_sizes or {}))
    return survivals_of(problem, X, command.perturbations, sizes)


def walk_of(command: WalkOfTarget) -> tuple[GaitConfiguration, GaitProblem, np.ndarray]:
    """Configuration, problem and whole vector of the walk that a command means."""
    if aimless := [name for name in OF_SEARCHES if command.changes.get(name)]:
        options = listing(f"--{name.replace('_', '-')}" for name in aimless)
        raise GaitError(f"{options} is for a search, and this walks one vector: leave it out")
    configuration = _configuration(command)
    # what a run was searched by must not stand in the way of walking it otherwise
    as_searched = not _REPEATS & set(command.changes)
    fresh = configuration.fresh_perturbations and as_searched
    changes = {"fresh_perturbations": fresh, "moved": None, **command.changes}
    configuration = configuration.with_changes(changes)
    problem = problem_to_look_at(configuration, command.threads)
    check_chosen_trunk(command.changes, problem)
    return configuration, problem, _vector(command.target, problem)


def terms_of(terms: dict[str, float], name: str) -> float:
    """A term; of several scenarios, its mean."""
    found = [value for key, value in terms.items() if key.rpartition(".")[2] == name]
    return float(np.mean(found)) if found else float("nan")


def _answer(terms: dict[str, float]) -> dict[str, Any]:
    """The keys that programs look for."""
    kinematic = terms_of(terms, "kinematic")
    if "stage" in terms:  # MyoAssist counts the trunk as kinematics
        kinematic += terms_of(terms, "trunk")
    return {
        "effort": terms_of(terms, "effort"),
        "velocity": terms_of(terms, "velocity"),
        "kinematic": kinematic,
        "walked_m": terms_of(terms, "walked"),
        "fell": bool(terms_of(terms, "fell")),
    }


def _configuration(command: WalkOfTarget) -> GaitConfiguration:
    """The configuration of a target."""
    if not command.target.exists():
        raise GaitError(f"there is no run and no file {command.target}")
    if (command.target / "run.json").is_file():
        return configuration_of_run(RunDirectory.open(command.target))
    if command.config is not None:
        check_paths(command.config, {*OF_SEARCHES, *command.changes})
        return load_configuration(command.config)
    near = None if command.reference else _reference_near(command)
    reference = [str(path) for path in command.reference or ([] if near is None else [near])]
    content = {
        "cost": "kine" if reference else "eff",
        "delayed": False,
        "ExoOn": _has_exo(command),
        "max_torque": 100.0,
        "reference": reference or None,
    }
    return make_configuration(content, "the configuration")


def _reference_near(command: WalkOfTarget) -> Path | None:
    """MyoAssist's reference kinematics, where they lie above the model or the vector."""
    starts = [path.resolve() for path in (command.model_file, command.target) if path is not None]
    for start in starts:
        for folder in list(start.parents)[:_LEVELS]:
            for place in _REFERENCES:
                if (folder / place).is_file():
                    return folder / place
    return None


def _has_exo(command: WalkOfTarget) -> bool:
    """Whether a bare file holds the entries of an exoskeleton: the vector is longer with them."""
    if command.target.suffix not in PLAIN or not command.target.is_file():
        return False
    return _numbers(command.target).size in (81, 101)


def _vector(target: Path, problem: GaitProblem) -> np.ndarray:
    """The whole vector of a run or a file.

    Raises:
      GaitError: it holds other entries than the walk takes, or values that cannot be.
    """
    parameters = problem.parameters
    if target.suffix in PLAIN and target.is_file():
        return parameters.check_given(_numbers(target), str(target))
    # all entries as they are given, for the same check as that of a plain vector
    whole = {"free": True, "lower": -np.inf, "upper": np.inf}
    every = parameters.with_entries(dict.fromkeys(parameters.names, whole))
    found = warm_start(target, every.space, [parameters.names], of_both_legs(parameters))
    free = [entry.name for entry in parameters.entries if entry.free]
    missing = [name for name in found.missing if name in free]
    if missing or found.unused:
        lacks = f"lacks {listing(missing)}" if missing else ""
        has = f"has {listing(found.unused)}, which it does not take" if found.unused else ""
        raise GaitError(
            f"{target} holds another vector than this walk takes: it "
            f"{' and '.join(filter(None, (lacks, has)))}. --ExoOn, --n-points, --reflex-mode and "
            "the model say which entries there are"
        )
    return parameters.check_given(found.x, str(target))


def _numbers(target: Path) -> np.ndarray:
    """The numbers in a file without names: ``(lines, numbers of a line)``, of NumPy as it is."""
    try:
        if target.suffix == ".npy":
            values = np.load(target, allow_pickle=False)
            if values.dtype.kind not in "iuf":
                raise ValueError(f"it holds {values.dtype}, expected real numbers")
            return values.astype(float)
        lines = target.read_text(encoding="utf-8").replace(",", " ").splitlines()
        words = [found for line in lines if (found := line.partition("#")[0].split())]
        sizes = sorted({len(line) for line in words})
        if len(sizes) > 1:
            raise ValueError(f"its lines hold {sizes[0]} to {sizes[-1]} numbers, expected one")
        return np.array([[float(word) for word in line] for line in words])
    except (ValueError, EOFError) as error:
        raise GaitError(f"{target} holds no vector of numbers: {error}") from error
    except OSError as error:
        raise GaitError(f"cannot read {target}: {error.strerror or error}") from error
