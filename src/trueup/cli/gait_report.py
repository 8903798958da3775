"""Reports of walks: of a vector that is evaluated, and of a run with its search."""

import tempfile
from pathlib import Path

import numpy as np

from trueup.cli.gait_commands import EvaluateGait
from trueup.errors import TrueupError
from trueup.gait import (
    GaitConfiguration,
    GaitNorm,
    GaitProblem,
    WalkLook,
    look_at,
    read_norm,
    walk_report,
    write_walk_video,
)
from trueup.gait.report import progress_section
from trueup.gait.run_files import read_terms
from trueup.reports import Finding, Findings, Page, StudyRecord, read_study, study_report
from trueup.reports.study_report import study_sections
from trueup.studies import RunDirectory

DOSES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Parts of the largest torque that the report of a run shows the walk with."""


def page_of_vector(
    command: EvaluateGait, configuration: GaitConfiguration, problem: GaitProblem, X: np.ndarray
) -> tuple[Page, WalkLook]:
    """The report of a vector beside the nominal one, and the walk."""
    nominal = problem.parameters.start
    look = look_at(problem, X, None if np.array_equal(nominal, X) else nominal)
    norm = _norm(configuration)
    if command.norm is not None:
        norm = read_norm(command.norm, command.norm_speed)
    page = walk_report(
        look,
        f"Walk of {command.target.name}",
        _subtitle(problem),
        norm=norm,
        start_name="nominal vector",
        max_torques=command.dose or (),
        provenance={"target": str(command.target), "configuration": configuration.plain()},
        video=_film(look) if command.film else None,
    )
    return page, look


def page_of_run(
    directory: RunDirectory, configuration: GaitConfiguration, problem: GaitProblem
) -> Page:
    """The report of a run, which may be in progress: its best walk, then its search.

    Where the best walk cannot be simulated, as when the model's file is gone, the report says so.
    """
    record = read_study(directory)
    rows = {row["name"]: row for row in record.parameters}
    names = problem.space.names
    if any(name not in rows for name in names):
        return study_report(record)
    best, start = (
        problem.parameters.complete(np.array([[rows[name].get(key) or 0.0 for name in names]]))[0]
        for key in ("value", "start")
    )
    known = all(rows[name].get("start") is not None for name in names)
    look = look_at(problem, best, start if known and not np.array_equal(best, start) else None)
    largest = configuration.max_torque
    doses = [part * largest for part in DOSES] if configuration.exo and largest > 0.0 else []
    page = walk_report(
        look,
        record.name,
        f"{record.status}: {record.message}" if record.status else "not finished",
        norm=_norm(configuration),
        max_torques=doses,
        provenance=record.provenance,
    )
    page.add(Findings([Finding("info", f"{_subtitle(problem)}.")]))
    progress = _progress(directory, record)
    return page.add(*([] if progress is None else [progress]), *study_sections(record))


def page_without_walk(directory: RunDirectory, error: TrueupError) -> Page:
    """The report of a run whose best walk cannot be simulated."""
    page = study_report(read_study(directory))
    return page.add(Findings([Finding("serious", f"The walk is not shown: {error}")]))


def _progress(directory: RunDirectory, record: StudyRecord):
    path = directory.path / "terms.jsonl"
    return progress_section(record, read_terms(path) if path.is_file() else {})


def _norm(configuration: GaitConfiguration) -> GaitNorm | None:
    """What a configuration tracks."""
    return None if configuration.reference is None else read_norm(configuration.reference)


def _subtitle(problem: GaitProblem) -> str:
    """Who walks, and how."""
    words = []
    for scenario in problem.scenarios:
        settings, walker = scenario.simulation.settings, scenario.simulation.walker
        delays = "with neural delays" if settings.delayed else "without neural delays"
        slope = f"on a slope of {walker.slope:g} degrees" if walker.slope else "on level ground"
        name = Path(walker.source).name
        words.append(f"{name}, {settings.duration:g} s {delays} {slope}")
    return "; ".join(dict.fromkeys(words))


def _film(look: WalkLook) -> bytes:
    """A film of the walk in the first scenario."""
    series = look.series[0][0]
    assert series is not None  # look_at has raised
    with tempfile.TemporaryDirectory(prefix="trueup-film-") as folder:
        walker = look.problem.scenarios[0].simulation.walker
        return write_walk_video(Path(folder) / "walk.mp4", walker, series).read_bytes()
