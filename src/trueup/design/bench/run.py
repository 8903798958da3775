"""Design of a servo's next logs in a run directory, from fit to report."""

import functools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup._rich_display import RichDisplay
from trueup.actuators.bench.simulator import Rollouts
from trueup.actuators.logs.servo_log import ServoLog
from trueup.design.bench.chirp import largest_chirps
from trueup.design.bench.files import read_plan, record_command, write_plan
from trueup.design.bench.limits import torque_share
from trueup.design.bench.prediction import predict_logs
from trueup.design.bench.prepared import PreparedBenchDesign, make_search, prepare
from trueup.design.bench.report import bench_page
from trueup.design.bench.spec import BenchDesignSpec
from trueup.design.motion.family import FAMILIES
from trueup.design.search import IDENTIFIABLE
from trueup.design.search_run import (
    best_pieces,
    has_motion,
    report_of_design,
    search_pieces,
    search_settings,
    search_summary,
)
from trueup.design.table import rows_of, verdict_of
from trueup.design.unknown_reasons import unknown_reasons
from trueup.fitting.judgement.verdict import Grade
from trueup.fitting.solution import Solution
from trueup.reports import Page
from trueup.runs import Execution, Outcome, Session
from trueup.runs.store.run_directory import RunDirectory

_NO_EFFECT = "no tested load, gain or motion changes the recorded angle"


@dataclass
class BenchDesign(RichDisplay):
    """Designed logs of a servo; files and report are in ``directory``."""

    displayed_by = "trueup.runs.display:of_run"

    logs: tuple[ServoLog, ...]
    """Logs to record, simulated with the fitted servo."""
    summary: dict[str, Any]
    """Content of ``solution.json``."""
    directory: Path


def run_bench_design(spec: BenchDesignSpec, session: Session) -> Outcome:
    """Design logs; raises the errors of :func:`trueup.runs.start`."""
    prepared = prepare(spec)
    problem = prepared.problem
    search = make_search(prepared)
    with session.begin(
        spec,
        [prepared.source.directory.solution],
        problem=problem,
        folder=spec.after.parent,
        mark=prepared.mark,
        has_progress=has_motion,
    ) as run:

        def write_motion(x: np.ndarray) -> None:
            write_plan(run.directory, *prepared.simulated(prepared.ordered(x)))

        def write(outcome: Outcome) -> None:
            logs = outcome.result.logs
            motion = prepared.pieces.simulator(logs).simulate(prepared.source.fit[None, :])
            write_plan(run.directory, logs, motion)

        solution = search_pieces(
            run,
            problem,
            search,
            search_settings(spec, run.hashes),
            wider=prepared.wider,
            write_motion=write_motion,
        )
        return run.finish(
            solution,
            bare=functools.partial(search_summary, spec),
            judge=lambda solution: judged_design(prepared, solution, run.directory.path),
            write=write,
            page=lambda outcome: page_of_summary(run.directory, outcome.summary),
        )


def plan_bench_design(spec: BenchDesignSpec, execution: Execution) -> dict[str, Any]:
    """Search that a design of logs would run."""
    prepared = prepare(spec)
    choices = spec.choices
    return {
        "servo": prepared.source.model.servo.name,
        "parameters": list(prepared.source.space.names),
        "logs": choices.logs,
        "seconds_a_log": choices.seconds / choices.logs,
        "conditions": [asdict(each) for each in prepared.family.conditions],
        "library": spec.library,
        "designs": spec.library + spec.polish * spec.turns * choices.logs,
        "simulations_a_log": prepared.pieces.draws,
        "seconds": spec.limits.max_seconds,
        "limits": spec.motion_limits.to_dict(),
    }


def judged_design(prepared: PreparedBenchDesign, solution: Solution, directory: Path) -> Outcome:
    """Best logs with the predicted intervals of their fit, and the verdict."""
    spec, source, problem = prepared.spec, prepared.source, prepared.problem
    x = prepared.ordered(best_pieces(problem, solution, prepared.wider))
    gram, spread, _ = problem.totals(x.reshape(1, -1))
    intervals = problem.criterion.intervals(gram, spread)[0]
    logs, motion = prepared.simulated(x)
    simple = largest_chirps(prepared)
    reasons = unknown_reasons(
        source.space.names,
        lambda _: _NO_EFFECT,
        problem.mean_gram(),
        intervals.mean(axis=0),
        problem.criterion.scale,
        IDENTIFIABLE,
    )
    rows = rows_of(
        source.space,
        source.fit,
        problem.criterion.scale,
        predict_logs(prepared.pieces, logs, problem.criterion.scale, spec.seed),
        intervals,
        None if simple is None else simple[1],
        reasons,
    )
    counted = [r for r in rows if not r["unknown"]]
    summary = {
        **search_summary(spec, solution),
        "verdict": verdict_of(rows, spec.target, True).to_dict(),
        "level": 0.95,
        "parameters": rows,
        "largest": max((r["with_known"] for r in counted), default=1.0),
        "target_interval": spec.target,
        "servo": source.model.servo.name,
        "logs": log_rows(prepared, x, logs, motion),
        "chirp": None if simple is None else simple[0],
        "limits": spec.motion_limits.to_dict(),
        "method": "Noise as in the residuals of the former logs, mean over draws.",
        "comparison": prepared.comparison,
        "after": str(spec.after),
        "anyway": spec.anyway and source.verdict.grade is Grade.DO_NOT_USE,
        "provenance": solution.provenance,
    }
    return Outcome(BenchDesign(tuple(logs), summary, directory), summary)


def log_rows(
    prepared: PreparedBenchDesign, x: np.ndarray, logs: Sequence[ServoLog], motion: Rollouts
) -> list[dict[str, Any]]:
    """A record per log: condition, family, peak values, and the command that records it."""
    model, vin = prepared.source.model, prepared.pieces.vin
    return [
        {
            **asdict(prepared.family.condition(row)),
            "family": FAMILIES[round(float(row[1]))],
            "seconds": log.duration,
            "limp": float(np.mean(~log.torque_enable) * log.duration),
            "angle": float(np.abs(motion.position[k][0]).max()),
            "speed": float(np.abs(motion.speed[k][0]).max()),
            "torque": torque_share(model, log, motion, k, vin=vin),
            "file": f"{log.name}.csv",
            "command": record_command(log),
        }
        for k, (row, log) in enumerate(zip(x, logs, strict=True))
    ]


def page_of_summary(directory: RunDirectory, summary: dict[str, Any]) -> Page:
    """Report of designed logs, from their motion and the content of ``solution.json``."""
    return bench_page(summary, read_plan(directory))


def report(directory: RunDirectory) -> Page:
    """Report of a finished or running design."""
    return report_of_design(directory, page_of_summary)
