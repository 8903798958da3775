"""Design of a robot's next recording in a run directory, from experiment to report."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup._rich_display import RichDisplay
from trueup.design.chirp import largest_chirp
from trueup.design.criterion import NORMAL
from trueup.design.motion.family import FAMILIES
from trueup.design.motion.files import read_motion
from trueup.design.next_files import write_motion
from trueup.design.prepared import PreparedDesign, make_search, prepare
from trueup.design.report import design_page
from trueup.design.robot.prediction import predict
from trueup.design.search import IDENTIFIABLE
from trueup.design.search_run import (
    best_pieces,
    has_motion,
    report_of_design,
    search_pieces,
    search_settings,
    search_summary,
)
from trueup.design.spec import DesignSpec
from trueup.design.table import Widths, rows_of, verdict_of
from trueup.design.unknown_reasons import no_effect_of, unknown_reasons
from trueup.fitting.judgement.verdict import Grade
from trueup.fitting.solution import Solution
from trueup.reports import Page
from trueup.runs import Execution, Outcome, Session
from trueup.runs.store.run_directory import RunDirectory


@dataclass
class Design(RichDisplay):
    """A designed recording; files and report are in ``directory``."""

    displayed_by = "trueup.runs.display:of_run"

    joints: tuple[str, ...]
    commands: np.ndarray
    """Commands ``(T, n)`` [rad, m]."""
    rate: float
    """Sampling rate of commands [Hz]."""
    summary: dict[str, Any]
    """Content of ``solution.json``."""
    directory: Path


def run_design(spec: DesignSpec, session: Session) -> Outcome:
    """Design a recording; raises the errors of :func:`trueup.runs.start`."""
    prepared = prepare(spec)
    spec, problem = prepared.spec, prepared.problem
    search = make_search(prepared)
    with session.begin(
        spec,
        prepared.inputs,
        problem=problem,
        folder=spec.folder,
        mark=prepared.mark,
        has_progress=has_motion,
    ) as run:
        solution = search_pieces(
            run,
            problem,
            search,
            search_settings(spec, run.hashes),
            wider=prepared.wider,
            write_motion=lambda x: write_motion(prepared, prepared.commands(x), run.directory),
        )
        return run.finish(
            solution,
            bare=functools.partial(search_summary, spec),
            judge=lambda solution: judged_design(prepared, solution, run.directory.path),
            write=lambda outcome: write_motion(prepared, outcome.result.commands, run.directory),
            page=lambda outcome: page_of_summary(run.directory, outcome.summary),
        )


def plan_design(spec: DesignSpec, execution: Execution) -> dict[str, Any]:
    """Search that a design would run, and the time per piece [s]."""
    prepared = prepare(spec)
    robot, simulator = prepared.robot, prepared.problem.simulator
    draws, p = simulator.draws, simulator.size
    return {
        "parameters": list(robot.space.names),
        "joints": list(robot.joints),
        "signals": list(robot.signals),
        "pieces": prepared.problem.slots,
        "library": prepared.spec.library,
        "simulations_a_piece": draws * (p + 2),
        "seconds_a_piece": prepared.seconds_a_piece,
        "seconds": spec.limits.max_seconds,
        "limits": robot.limits.by_joint(),
        "noise": {c: [n.deviation, n.source] for c, n in prepared.noise.items()},
        "notes": list(prepared.spec.notes),
    }


def judged_design(prepared: PreparedDesign, solution: Solution, directory: Path) -> Outcome:
    """Best design with the predicted intervals of its recording, and the verdict."""
    spec, robot, problem = prepared.spec, prepared.robot, prepared.problem
    part, criterion = spec.experiment.design, problem.criterion
    x = best_pieces(problem, solution, prepared.wider)
    commands = prepared.commands(x)
    answer = problem.answer(x.reshape(1, -1), {})
    intervals = problem.intervals_of(answer)[0]
    predicted = predict(robot, commands, prepared.noise, spec.seed or 0)
    simple = largest_chirp(prepared)
    reasons = unknown_reasons(
        robot.space.names,
        functools.partial(no_effect_of, robot.parameters, robot.joints),
        problem.mean_gram(),
        intervals.mean(axis=0),
        criterion.scale,
        IDENTIFIABLE,
    )
    rows = rows_of(
        robot.space,
        robot.draws[0],
        criterion.scale,
        Widths(
            predicted.half_widths / criterion.scale,
            predicted.together(robot.known, NORMAL) / criterion.scale,
        ),
        intervals,
        None if simple is None else simple[1],
        reasons,
    )
    last_run = prepared.last_run
    summary = {
        **search_summary(spec, solution),
        "verdict": verdict_of(rows, part.target_interval, last_run is not None).to_dict(),
        "level": spec.experiment.confidence.level,
        "parameters": rows,
        "largest": max((r["relative"] for r in rows if not r["unknown"]), default=1.0),
        "target_interval": part.target_interval,
        "joints": list(robot.joints),
        "families": [FAMILIES[round(row[0])] for row in x],
        "limits": robot.limits.by_joint(),
        "reached": reached(prepared, commands),
        "noise": {c: [n.deviation, n.model.order, n.source] for c, n in prepared.noise.items()},
        "method": predicted.method,
        "comparison": prepared.comparison,
        "after": None if spec.after is None else str(spec.after),
        "anyway": spec.anyway
        and last_run is not None
        and last_run.verdict.grade is Grade.DO_NOT_USE,
        "provenance": solution.provenance,
    }
    return Outcome(Design(robot.joints, commands, part.rate, summary, directory), summary)


def reached(prepared: PreparedDesign, commands: np.ndarray) -> list[dict[str, str | float]]:
    """Largest position, speed and acceleration of the commands ``(T, n)`` of each joint."""
    step = 1.0 / prepared.spec.experiment.design.rate
    speed = np.gradient(commands, step, axis=0)
    acceleration = np.gradient(speed, step, axis=0)
    return [
        {
            "joint": joint,
            "low": float(commands[:, i].min()),
            "high": float(commands[:, i].max()),
            "speed": float(np.abs(speed[:, i]).max()),
            "acceleration": float(np.abs(acceleration[:, i]).max()),
        }
        for i, joint in enumerate(prepared.robot.joints)
    ]


def page_of_summary(directory: RunDirectory, summary: dict[str, Any]) -> Page:
    """Report of a design, from its motion and the content of ``solution.json``."""
    return design_page(summary, read_motion(directory))


def report(directory: RunDirectory) -> Page:
    """Report of a finished or running design."""
    return report_of_design(directory, page_of_summary)
