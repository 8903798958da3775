"""``trueup gait list``, ``evaluate`` and ``video``."""

from pathlib import Path
from typing import Any

import numpy as np

from trueup.cli.output import Output
from trueup.cli.run_results import code_of
from trueup.errors import GaitError
from trueup.gait import load_configuration, observe_walks, write_walk_video
from trueup.gait.report.evaluation import WalkEvaluation, evaluate_walk
from trueup.gait.report.walk_words import (
    how_far_it_walks,
    how_it_walks,
    mean_term,
    survival_lines,
)
from trueup.gait.search.configuration_files import configuration_names
from trueup.gait.search.given_walks import GivenWalk


def run_gait_list(output: Output) -> int:
    """Run the command; returns the exit code."""
    shipped = {name: load_configuration(name) for name in configuration_names()}
    output.result({"configurations": {name: c.to_dict() for name, c in shipped.items()}})
    output.table(["configuration", ""], [[name, c.says] for name, c in shipped.items()])
    return 0


def run_gait_evaluate(
    walk: GivenWalk,
    output: Output,
    *,
    report: Path | None = None,
    norm: Path | None = None,
    norm_speed: str = "Free",
    dose: tuple[float, ...] | None = None,
    film: bool = False,
    perturbations: int = 0,
) -> int:
    """Run the command; returns the exit code."""
    found = evaluate_walk(
        walk,
        perturbations=perturbations,
        report=report is not None,
        norm=norm,
        norm_speed=norm_speed,
        max_torques=dose or (),
        film=film,
    )
    answer: dict[str, Any] = {}
    if report is not None and found.page is not None:
        answer["report"] = str(found.page.save(report))
    problem = found.walk.problem
    names = [scenario.name for scenario in problem.scenarios]
    repeats = {name: one.to_dict() for name, one in zip(names, found.survivals, strict=False)}
    if repeats:
        answer["survival"] = repeats
    output.result({**_answer(found), **answer})
    repeated = 1 if problem.perturbations is None else problem.perturbations.repeats
    output.text(
        *found.verdict.lines(),
        how_far_it_walks(found.cost, found.terms, len(problem.scenarios) * repeated),
        f"That is {how_it_walks(problem)}.",
        *found.notes,
        "",
    )
    rows = [
        [name, f"{value:.6g}" if np.isfinite(value) else "-"] for name, value in found.terms.items()
    ]
    output.table(["term", "value"], rows)
    output.text(*survival_lines(repeats))
    shown = answer.get("report")
    output.text("For a report add  --report walk.html" if shown is None else f"Report: {shown}")
    return code_of(found.verdict)


def run_gait_video(
    walk: GivenWalk,
    target: Path,
    output: Output,
    *,
    framerate: int,
    pace: float,
    width: int,
    height: int,
) -> int:
    """Run the command; returns the exit code."""
    problem = walk.problem
    scenario = problem.scenarios[0]
    records, (series,) = observe_walks(scenario.simulation, walk.vector)
    if series is None:
        raise GaitError(f"{walk.target}: the walk cannot start: {records.invalid.get(0, '')}")
    path = write_walk_video(
        target,
        scenario.simulation.walker,
        series,
        framerate=framerate,
        pace=pace,
        width=width,
        height=height,
    )
    lasted = float(series.time[-1])
    output.result({"video": str(path), "lasted_s": lasted, "fell": series.fell})
    others = f" of {scenario.name}, the first of several" if len(problem.scenarios) > 1 else ""
    output.text(f"Film of {lasted:.2f} s{others}: {path}")
    return 0


def _answer(found: WalkEvaluation) -> dict[str, Any]:
    """Object of ``--json``: the most used values, then all terms."""
    terms = found.terms
    kinematic = mean_term(terms, "kinematic")
    if "stage" in terms:  # MyoAssist counts the trunk as kinematics
        kinematic += mean_term(terms, "trunk")
    return {
        "verdict": found.verdict.to_dict(),
        "scalar": found.cost,
        "effort": mean_term(terms, "effort"),
        "velocity": mean_term(terms, "velocity"),
        "kinematic": kinematic,
        "walked_m": mean_term(terms, "walked"),
        "fell": bool(mean_term(terms, "fell")),
        "terms": terms,
        "notes": list(found.notes),
    }
