"""``trueup gait list``, ``evaluate`` and ``import``."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from trueup.cli.gait_commands import EvaluateGait, ImportGait, WalkOfTarget
from trueup.cli.gait_start import configuration_of_run, of_both_legs
from trueup.cli.output import Output
from trueup.errors import GaitError, listing
from trueup.gait import (
    GaitProblem,
    ParameterVector,
    PerturbationSizes,
    Survival,
    load_configuration,
    make_problem,
)
from trueup.gait.configuration import (
    GaitConfiguration,
    configuration_names,
    make_configuration,
)
from trueup.gait.myoassist_import import import_configuration
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


def run_gait_list(output: Output) -> int:
    """Run the command; returns the exit code."""
    shipped = {name: load_configuration(name) for name in configuration_names()}
    output.result({"configurations": {name: c.plain() for name, c in shipped.items()}})
    output.table(["configuration", ""], [[name, c.says] for name, c in shipped.items()])
    return 0


def run_gait_import(command: ImportGait, output: Output) -> int:
    """Run the command; returns the exit code."""
    configuration = import_configuration(command.file)
    target = command.output or Path(f"{command.file.stem}.yaml")
    if target.exists() and not command.overwrite:
        raise GaitError(f"{target} exists: choose another --output, or give --overwrite")
    atomic.write_text(target, configuration_text(configuration))
    output.result({"file": str(target), "configuration": configuration.plain()})
    output.text(f"Configuration: {target}", f"Run it with  trueup gait optimize {target}")
    return 0


def configuration_text(configuration: GaitConfiguration) -> str:
    """A configuration as YAML, without the values that it has by default."""
    content = {key: value for key, value in configuration.plain().items() if value is not None}
    return yaml.safe_dump(content, sort_keys=False, width=100)


def run_gait_evaluate(command: EvaluateGait, output: Output) -> int:
    """Run the command; returns the exit code."""
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
    output.result({"scalar": cost, **_answer(terms), "terms": terms, **answer})
    repeated = 1 if problem.perturbations is None else problem.perturbations.repeats
    output.text(
        how_far_it_walks(cost, terms, len(problem.scenarios) * repeated),
        f"That is {how_it_walks(problem)}.",
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
    # what a run was searched by must not stand in the way of walking it otherwise
    changes = {"fresh_perturbations": False, "moved": None, **command.changes}
    configuration = _configuration(command).with_changes(changes)
    problem = make_problem(configuration, command.threads)
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
    if command.target.suffix not in (".txt", ".csv"):
        return False
    return _numbers(command.target).size in (81, 101)


def _vector(target: Path, problem: GaitProblem) -> np.ndarray:
    """The whole vector of a run or a file.

    Raises:
      GaitError: it holds other entries than the walk takes, or values that cannot be.
    """
    parameters = problem.parameters
    if target.suffix in (".txt", ".npy", ".csv") and target.is_file():
        values = _numbers(target)
        return parameters.check_given(values, str(target))
    every = ParameterVector(tuple(replace(entry, free=True) for entry in parameters.entries))
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
    if found.clipped:
        raise GaitError(f"{target} holds values outside of their bounds: {listing(found.clipped)}")
    return found.x


def _numbers(target: Path) -> np.ndarray:
    """The numbers in a file without names ``(n,)``."""
    try:
        if target.suffix == ".npy":
            values = np.load(target, allow_pickle=False)
            if values.dtype.kind not in "iuf":
                raise ValueError(f"it holds {values.dtype}, expected real numbers")
            return values.astype(float).reshape(-1)
        lines = target.read_text(encoding="utf-8").replace(",", " ").splitlines()
        return np.array([float(word) for line in lines for word in line.partition("#")[0].split()])
    except (ValueError, EOFError) as error:
        raise GaitError(f"{target} holds no vector of numbers: {error}") from error
    except OSError as error:
        raise GaitError(f"cannot read {target}: {error.strerror or error}") from error
