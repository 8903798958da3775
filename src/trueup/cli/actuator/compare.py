"""``trueup actuator compare``: friction models of one servo, and a recommendation."""

import math
from pathlib import Path
from typing import Any

from trueup import runs
from trueup.actuators import ComparisonSpec, ModelChoice, ModelComparison
from trueup.actuators.selection import run
from trueup.actuators.selection.missing_terms import term_findings
from trueup.cli.actuator.fit import show_choice
from trueup.cli.output import Output
from trueup.cli.run_results import DONE, print_outcome
from trueup.runs import Execution, Outcome


def run_compare(
    spec: ComparisonSpec,
    target: Path,
    execution: Execution,
    output: Output,
    *,
    resume: bool,
    overwrite: bool,
    dry_run: bool,
    verbose: bool,
) -> int:
    """Fit the models without a parameter file, compare all; returns the exit code."""
    if dry_run:
        replace = overwrite or resume
        plan = runs.plan(run.plan_comparison, spec, target, overwrite=replace, execution=execution)
        return _show_plan(plan, output)
    outcome = runs.start(
        run.run_comparison,
        spec,
        target,
        resume=resume,
        overwrite=overwrite,
        execution=execution,
        verbose=verbose,
    )
    return print_outcome(outcome, output, show_summary)


def show_summary(outcome: Outcome, output: Output) -> None:
    """Print the outcome of a comparison."""
    found: ModelComparison = outcome.result
    summary = outcome.summary
    output.text("")
    rows = [
        [
            m.label,
            str(m.parameters),
            _milli(m.training),
            _milli(m.held_out),
            _milli(m.held_out_standard_error),
            f"{m.criteria.aic_difference:.1f}",
            f"{m.criteria.bic_difference:.1f}",
            Path(m.origin).name,
        ]
        for m in found.models
    ]
    columns = ["mrad", "parameters", "training", "held out", "+-", "AIC", "BIC", "from"]
    output.table(columns, rows)
    values = [[log.name, "held out" if held else ""] for log, held in found.split()]
    for i, row in enumerate(values):
        row += [_milli(float(m.errors.error(found.kind)[i])) for m in found.models]
    output.table(["log", "", *(m.label for m in found.models)], values)
    if (plain := summary["extended"]) is not None:
        choice = ModelChoice.from_dict(plain)
        show_choice(choice, output)
        output.text(*(f"  ! {message}" for message in term_findings(choice)))
    for message in (*summary["notes"], *summary["skipped"]):
        output.text(f"  ! {message}")
    output.text(summary["message"], *(f"Wrote {file}" for file in summary["files"]))
    output.text("", f"Report: {outcome.report}", f"Files:  {outcome.directory}")


def _show_plan(plan: dict[str, Any], output: Output) -> int:
    output.result(plan)
    fitted = [*plan["fitted"], *(["an extended model"] if plan["extended"] else [])]
    output.text(
        f"{len(plan['given'])} models of parameter files, {len(fitted)} to fit: "
        f"{', '.join(fitted) or 'none'}.",
        f"{len(plan['training_logs'])} training logs, {len(plan['held_out_logs'])} held out.",
        f"It would be written to {plan['directory']}.",
        *(f"  ! {message}" for message in plan["skipped"]),
    )
    return DONE


def _milli(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{1e3 * value:.2f}" if math.isfinite(value) else "diverged"
