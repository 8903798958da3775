"""``trueup identify``."""

import time
from typing import Any

import numpy as np

from trueup.cli.commands import Identify
from trueup.cli.output import Output
from trueup.errors import ExperimentError
from trueup.fitting.verdict import Verdict
from trueup.sysid.experiment.experiment_file import load_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.experiment.settings import Experiment
from trueup.sysid.fit.identification import (
    Identification,
    check_search,
    check_start,
    identify,
    output_folder,
)

DONE, NOT_CONVERGED = 0, 3


def run_identify(command: Identify, output: Output) -> int:
    """Run the command; returns the exit code."""
    experiment = load_experiment(command.experiment)
    if command.seed is not None:
        if command.seed < 0:
            raise ExperimentError(f"--seed has to be 0 or larger, got {command.seed}")
        experiment = experiment.model_copy(update={"seed": command.seed})
    if command.resume and command.overwrite:
        raise ExperimentError("--resume continues a run, --overwrite replaces it: give one of them")
    folder = command.experiment.parent
    if command.dry_run:
        return _dry_run(experiment, command, output)
    result = identify(
        experiment,
        folder,
        output=command.output,
        resume=command.resume,
        overwrite=command.overwrite,
        verbose=not (command.quiet or output.json),
    )
    return report_identification(result, output)


def report_identification(result: Identification, output: Output) -> int:
    """Print a finished identification; returns the exit code."""
    summary = {**result.summary, "directory": str(result.directory), "report": str(result.report)}
    output.result(summary)
    show_summary(summary, output)
    return DONE if result.solution.success else NOT_CONVERGED


def show_summary(summary: dict[str, Any], output: Output) -> None:
    """Print an identification for people."""
    level = f"{100 * summary['level']:.3g} % interval"
    output.text(f"\n{summary['name']}: {summary['status']}. {summary['message']}\n")
    if summary.get("verdict"):  # of runs that were judged
        output.text(*Verdict.from_plain(summary["verdict"]).lines(), "")
    rows = [
        [
            r["name"],
            f"{r['value']:.6g}",
            r["unit"],
            interval_text(r["low"], r["high"]),
            f"{r['start']:.6g}",
            _remark(r),
        ]
        for r in summary["parameters"]
    ]
    output.table(["parameter", "identified", "unit", level, "start", ""], rows)
    output.table(*score_table(summary["scores"]))
    for insight in summary["insights"]:
        mark = {"problem": "!", "warning": "-", "good": "+"}[insight["severity"]]
        output.text(f"  {mark} {insight['sentence']}")
    for note in summary["notes"]:
        output.text(f"  - {note}")
    output.text("", f"Report: {summary['report']}", f"Files:  {summary['directory']}")


def _remark(row: dict[str, Any]) -> str:
    if row["at_bound"]:
        return "on a bound"
    return "" if row["determined"] or np.isnan(row["low"]) else "not determined"


def score_table(scores: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """One row a channel and set of data: the identified model, the initial one, the best trivial.

    Trivial predictors know nothing of the model; what they reach needs no model.
    """
    rows = []
    for part, channel in dict.fromkeys((s["part"], s["channel"]) for s in scores):
        found = {s["predictor"]: s for s in scores if (s["part"], s["channel"]) == (part, channel)}
        trivial = max(
            (s["fit_percent"] for p, s in found.items() if p not in ("identified", "initial")),
            default=float("nan"),
        )
        rows.append(
            [
                channel,
                part,
                f"{found['identified']['rmse']:.4g}",
                f"{found['identified']['fit_percent']:.2f} %",
                f"{found['initial']['fit_percent']:.1f} %",
                f"{trivial:.1f} %",
            ]
        )
    return ["channel", "data", "RMSE", "fit", "fit before", "fit without a model"], rows


def interval_text(low: float, high: float) -> str:
    """An interval for a table."""
    if np.isinf(low) and np.isinf(high):
        return "anything"
    if np.isnan(low):
        return "none: no optimum"
    return f"{low:.5g} to {high:.5g}"


def _dry_run(experiment: Experiment, command: Identify, output: Output) -> int:
    check_search(experiment.search)
    prepared = prepare(experiment, command.experiment.parent)
    problem = prepared.problem()
    check_start(problem)
    start = time.perf_counter()
    problem.costs(np.tile(problem.space.start, (problem.space.size + 1, 1)))
    batch = time.perf_counter() - start
    target = output_folder(experiment, command.experiment.parent, command.output)
    result = {
        "directory": str(target),
        "parameters": list(problem.space.names),
        "sequences": [s.name for s in problem.sequences],
        "residuals": problem.residual_size,
        "seconds_per_iteration": 1.5 * batch,
        "notes": prepared.notes,
    }
    output.result(result)
    output.text(
        f"{experiment.name}: {problem.space.size} unknowns, {len(problem.sequences)} sequences, "
        f"{problem.residual_size} residuals.",
        f"An iteration takes about {1.5 * batch:.2g} s; a fit usually needs 5 to 30.",
        f"It would be written to {target}.",
        *prepared.notes,
    )
    return DONE
