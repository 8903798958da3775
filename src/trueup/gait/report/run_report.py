"""Reports of walks: of a vector that is evaluated, and of a run with its search."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trueup.cli.gait_commands import EvaluateGait
from trueup.cli.gait_show import how_it_walks, trunk_notes
from trueup.errors import TrueupError
from trueup.gait import (
    GaitConfiguration,
    GaitNorm,
    GaitProblem,
    PerturbationSizes,
    Survival,
    WalkLook,
    look_at,
    read_norm,
    survival,
    walk_report,
    write_walk_video,
)
from trueup.gait.report._survival import REPEATS
from trueup.gait.report.walk_report import progress_section
from trueup.gait.search.run_files import read_terms
from trueup.reports import Finding, Findings, Page, StudyRecord, read_study, study_report
from trueup.reports.study_report import study_sections
from trueup.studies import RunDirectory, atomic

DOSES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Parts of the largest torque that the report of a run shows the walk with."""


def page_of_vector(
    command: EvaluateGait,
    configuration: GaitConfiguration,
    problem: GaitProblem,
    X: np.ndarray,
    survivals: Sequence[Survival] = (),
) -> tuple[Page, WalkLook]:
    """The report of a vector beside the nominal one, and the walk."""
    nominal = problem.parameters.start
    look = look_at(problem, X, None if np.array_equal(nominal, X) else nominal)
    norm = _norms(configuration)
    if command.norm is not None:
        norm = read_norm(command.norm, command.norm_speed)
    page = walk_report(
        look,
        f"Walk of {command.target.name}",
        how_it_walks(problem),
        norm=norm,
        start_name="nominal vector",
        max_torques=command.dose or (),
        survivals=survivals,
        provenance={"target": str(command.target), "configuration": configuration.plain()},
        video=_film(look) if command.film else None,
    )
    return page, look


def page_of_run(
    directory: RunDirectory,
    configuration: GaitConfiguration,
    problem: GaitProblem,
    start: np.ndarray | None = None,
    survivals: Sequence[Survival] | None = None,
) -> Page:
    """The report of a run, which may be in progress: its best walk, then its search.

    Args:
      directory: the run.
      configuration: its configuration.
      problem: its problem.
      start: free entries of the vector that it started from, where they are known.
      survivals: how its best walk goes under perturbations in each scenario, where that is known;
        else it is found out, if candidates are judged by perturbed repeats.

    Raises:
      GaitError: the best walk cannot be simulated.
    """
    record = read_study(directory)
    rows = {row["name"]: row for row in record.parameters}
    names = problem.space.names
    if any(name not in rows for name in names):
        return study_report(record)
    free = [np.array([rows[name]["value"] for name in names])]
    if start is not None and not np.array_equal(start, free[0]):
        free.append(start)
    look = look_at(problem, *problem.parameters.complete(np.array(free)))
    if survivals is None:
        survivals = survivals_of(problem, look.vector) if problem.perturbations else ()
    largest = configuration.max_torque
    doses = [part * largest for part in DOSES] if configuration.exo and largest > 0.0 else []
    page = walk_report(
        look,
        record.name,
        f"{record.status}: {record.message}" if record.status else "not finished",
        norm=_norms(configuration),
        max_torques=doses,
        survivals=survivals,
        provenance=record.provenance,
    )
    words = [f"{how_it_walks(problem)}.", *trunk_notes(problem)]
    told = _told_cost(directory) if configuration.fresh_perturbations else _least_cost(record)
    changed = _changed(told, float(look.costs[0]))
    page.add(Findings([*(Finding("info", one) for one in words), *changed]))
    progress = _progress(directory, record)
    return page.add(*([] if progress is None else [progress]), *study_sections(record))


def survivals_of(
    problem: GaitProblem,
    vector: np.ndarray,
    n: int = REPEATS,
    sizes: PerturbationSizes | None = None,
) -> list[Survival]:
    """How a walk goes in each scenario under perturbations that no search scores by.

    Args:
      problem: the problem.
      vector: whole vector ``(size,)``.
      n: how many repeats.
      sizes: how large they are; those that candidates are judged by where absent.
    """
    if sizes is None and problem.perturbations is not None:
        sizes = problem.perturbations.sizes
    return [survival(one.simulation, vector, n, sizes=sizes) for one in problem.scenarios]


def page_without_walk(directory: RunDirectory, error: TrueupError) -> Page:
    """The report of a run whose best walk cannot be simulated."""
    page = study_report(read_study(directory))
    return page.add(Findings([Finding("serious", f"The walk is not shown: {error}")]))


def _least_cost(record: StudyRecord) -> float:
    return float(record.history.costs[record.valid(), 0].min())


def _told_cost(directory: RunDirectory) -> float | None:
    """What a search over fresh perturbations came to; None before its end.

    The costs of its candidates are each over other perturbations.
    """
    if not directory.solution.is_file():
        return None
    return float(atomic.read_json(directory.solution)["cost"])


def _changed(then: float | None, now: float) -> list[Finding]:
    """Whether the best walk costs what it cost in the search."""
    if then is None or abs(now - then) <= 1e-6 * max(abs(then), 1.0):
        return []
    words = f"The best walk cost {then:.6g} in the search and costs {now:.6g} here"
    return [Finding("serious", f"{words}: the model, trueup or MuJoCo has changed since.")]


def _progress(directory: RunDirectory, record: StudyRecord):
    path = directory.path / "terms.jsonl"
    return progress_section(record, read_terms(path) if path.is_file() else {})


def _norms(configuration: GaitConfiguration) -> list[GaitNorm] | None:
    """What a configuration tracks in each scenario."""
    return [read_norm(*reference) for reference in configuration.references] or None


def _film(look: WalkLook) -> bytes:
    """A film of the walk in the first scenario."""
    series = look.series[0][0]
    assert series is not None  # look_at has raised
    with tempfile.TemporaryDirectory(prefix="trueup-film-") as folder:
        walker = look.problem.scenarios[0].simulation.walker
        return write_walk_video(Path(folder) / "walk.mp4", walker, series).read_bytes()
