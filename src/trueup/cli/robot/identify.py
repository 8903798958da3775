"""``trueup identify``."""

from pathlib import Path
from typing import Any

from trueup import runs
from trueup.cli.output import Output
from trueup.cli.run_results import DONE, print_outcome
from trueup.reports import Steps, cause_sentence, counted, format_number
from trueup.runs import Outcome
from trueup.sysid.experiment.file import load_experiment
from trueup.sysid.experiment.settings import on_device
from trueup.sysid.fit.run import plan_identification, run_identification
from trueup.sysid.fit.spec import IdentificationSpec
from trueup.sysid.report import findings_by_section
from trueup.sysid.results.error_section import channel_errors, parts_of
from trueup.sysid.results.next_steps import next_steps
from trueup.sysid.results.parameter_sections import estimate, link_quantity, remark
from trueup.sysid.results.recording_sections import shortened

_FINDINGS = 5  # maximum number of findings that are printed


def run_identify(
    path: Path,
    seed: int | None,
    device: str | None,
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
    experiment = on_device(experiment, device)
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
    return print_outcome(outcome, output, show_summary)


def show_summary(outcome: Outcome, output: Output) -> None:
    """Print the outcome of an identification, in the order of its report."""
    summary = outcome.summary
    for cause in (summary.get("causes") or ())[:1]:
        output.text(f"  Most likely cause: {cause_sentence(cause)}")
    output.text("")
    for columns, rows in parameter_tables(summary):
        output.table(columns, rows)
    output.table(*error_table(summary))
    found = [f for part in findings_by_section(summary).values() for f in part]
    marks = {"serious": "!", "warning": "-", "info": " ", "good": "+"}
    for finding in found[:_FINDINGS]:
        output.text(f"  {marks[finding.severity]} {finding.sentence}")
    if found[_FINDINGS:]:
        more = counted(len(found) - _FINDINGS, "more finding")
        output.text(f"  {more} in the report.")
    for note in shortened(summary["notes"]):
        output.text(f"  - {note}")
    steps = Steps(next_steps(summary, outcome.directory))
    output.text("", *steps.lines())
    output.text("", f"Report: {outcome.report}", f"Files:  {outcome.directory}")


def parameter_tables(summary: dict[str, Any]) -> list[tuple[list[str], list[list[str]]]]:
    """Columns and rows of the tables of links, joints and other parameters, as in the report."""
    level = f"{100 * summary['level']:.3g} % interval"
    links = summary.get("links") or ()
    of_links = {link["parameter"] for link in links}
    rows = [r for r in summary["parameters"] if r["parameter"] not in of_links]
    tables = []
    if links:
        names = list(dict.fromkeys(q["name"] for link in links for q in link["quantities"]))
        heads, body = [f"link (model), {level}"], []
        for link in links:
            by = {q["name"]: link_quantity(q) for q in link["quantities"]}
            body.append(
                [link["body"], *(f"{by[n][0]} ({by[n][1]})" if n in by else "" for n in names)]
            )
        units = {q["name"]: link_quantity(q)[2] for link in links for q in link["quantities"]}
        heads += [f"{name} [{units[name]}]" for name in names]
        tables.append((heads, body))
    others = [
        [r["name"], estimate(r), r["unit"], format_number(r["start"], 4), remark(r)] for r in rows
    ]
    if others:
        tables.append((["parameter", f"estimate, {level}", "unit", "start", ""], others))
    return tables


def error_table(summary: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Columns, and one row per channel and part of the data; each error appears once."""
    errors = channel_errors(summary)
    rows = [
        [
            channel,
            part,
            format_number(e.identified, 3),
            format_number(e.before, 3),
            format_number(e.baseline, 3),
            f"{e.fit_percent:.2f} %",
            f"worse than {' and '.join(e.better)}" if e.better else "",
        ]
        for part in parts_of(errors)
        for channel, by_part in errors.items()
        if (e := by_part.get(part)) is not None
    ]
    return ["channel", "data", "RMSE", "before", "best baseline", "fit", ""], rows


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
