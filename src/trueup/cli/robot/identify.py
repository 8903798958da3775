"""``trueup identify``."""

from pathlib import Path
from typing import Any

import numpy as np

from trueup import runs
from trueup.cli.output import Output, interval_text
from trueup.cli.run_results import DONE, print_outcome
from trueup.runs import Outcome
from trueup.sysid.experiment.file import load_experiment
from trueup.sysid.fit.run import plan_identification, run_identification
from trueup.sysid.fit.spec import IdentificationSpec
from trueup.sysid.results.horizon_section import horizon_label
from trueup.sysid.results.recording_sections import shortened


def run_identify(
    path: Path,
    seed: int | None,
    target: Path | None,
    resume: bool,
    overwrite: bool,
    dry_run: bool,
    verbose: bool,
    output: Output,
) -> int:
    """Run the command; returns the exit code."""
    experiment = load_experiment(path)
    if seed is not None:
        experiment = experiment.model_copy(update={"seed": seed})
    spec = IdentificationSpec.of(experiment, path.parent)
    directory = spec.run_directory(target)
    if dry_run:
        # the run itself checks for files to overwrite
        plan = runs.plan(plan_identification, spec, directory, overwrite=True)
        return _show_plan(spec.name, plan, output)
    outcome = runs.start(
        run_identification,
        spec,
        directory,
        resume=resume,
        overwrite=overwrite,
        verbose=verbose,
    )
    return print_outcome(outcome, output, lambda o, where: show_summary(o, where, path))


def show_summary(outcome: Outcome, output: Output, path: Path | None = None) -> None:
    """Print the outcome of an identification of an experiment file."""
    summary = outcome.summary
    level = f"{100 * summary['level']:.3g} % interval"
    output.text(f"\n{summary['name']}: {summary['status']}. {summary['message']}\n")
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
    if summary["horizons"]:
        output.table(*horizon_table(summary["horizons"]))
    if summary["torque"] is not None:
        output.table(*torque_table(summary["torque"]))
    for insight in summary["insights"]:
        mark = {"problem": "!", "warning": "-", "good": "+"}[insight["severity"]]
        output.text(f"  {mark} {insight['sentence']}")
    for note in shortened(summary["notes"]):
        output.text(f"  - {note}")
    for step in summary.get("next", ()):
        output.text("", f"Next: {_command(step['command'], outcome, path)}", f"  {step['why']}")
    output.text("", f"Report: {outcome.report}", f"Files:  {outcome.directory}")


def _command(name: str, outcome: Outcome, path: Path | None) -> str:
    """Command line of a next step."""
    experiment = "EXPERIMENT" if path is None else path
    return f"trueup {name} {outcome.directory if name == 'design' else experiment}"


def _remark(row: dict[str, Any]) -> str:
    if row["at_bound"]:
        return "on a bound"
    return "" if row["determined"] or np.isnan(row["low"]) else "not determined"


def score_table(scores: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Columns, and one row per channel and data set, of identified, initial and trivial scores.

    Trivial predictors require no model; the best of them is shown.
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


def horizon_table(rows: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Columns, and one row per channel with the error at each horizon and the best trivial
    error."""
    horizons = list(dict.fromkeys(r["horizon"] for r in rows))
    table = []
    for channel in dict.fromkeys(r["channel"] for r in rows):
        by = {r["horizon"]: r for r in rows if r["channel"] == channel}
        cells = []
        for horizon in horizons:
            r = by.get(horizon)
            trivial = np.inf if r is None else min(r["state_held"], r["velocity_held"])
            cells.append("" if r is None else f"{r['identified']:.3g} ({trivial:.3g})")
        table.append([channel, *cells])
    heads = [f"error, {horizon_label(h)}" for h in horizons]
    return [f"channel, {rows[0]['part']} (state or velocity held)", *heads], table


def torque_table(torque: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Columns, and one row per joint with the errors of the inverse-dynamics torque."""
    rows = torque["errors"]
    keys = ("identified", "initial", "torque_fit", "plain_least_squares")
    table = [[r["channel"], *(f"{r[key]:.3g}" for key in keys)] for r in rows]
    columns = f"least squares, {rows[0]['columns']} columns"
    return [f"joint, {rows[0]['part']}", "identified", "before", "torque fit", columns], table


def _show_plan(name: str, plan: dict[str, Any], output: Output) -> int:
    seconds = plan["seconds_per_iteration"]
    output.result(plan)
    output.text(
        f"{name}: {len(plan['parameters'])} unknowns, {len(plan['sequences'])} sequences, "
        f"{plan['residuals']} residuals.",
        f"An iteration takes about {seconds:.2g} s; a fit usually needs 5 to 30. Intervals, "
        f"held-out checks and the report take about {plan['seconds_after_fit']:.2g} s more.",
        f"It would be written to {plan['directory']}.",
        *shortened(plan["notes"]),
    )
    return DONE
