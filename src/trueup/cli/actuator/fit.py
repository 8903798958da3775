"""``trueup actuator fit``."""

from typing import Any

from trueup import runs
from trueup.actuators import FitSpec, ServoFit
from trueup.actuators.catalogue.parameter_file import beyond_bam
from trueup.actuators.report._servo_fit import servo_steps
from trueup.actuators.report.parameter_section import meanings_of, parameter_rows, remark_of
from trueup.actuators.search import run
from trueup.actuators.search.prepared_fit import start_model
from trueup.actuators.search.target import run_target
from trueup.actuators.selection.model_choice import ModelChoice
from trueup.cli.actuator.evaluate import milli, show_evaluation, trivial_sentence
from trueup.cli.output import Output
from trueup.cli.run_results import DONE, print_outcome
from trueup.errors import FitError
from trueup.reports import Steps, format_estimate
from trueup.runs import Execution, Outcome
from trueup.runs.loop.progress import duration


def run_fit(
    spec: FitSpec,
    execution: Execution,
    output: Output,
    *,
    resume: bool,
    overwrite: bool,
    dry_run: bool,
    verbose: bool,
) -> int:
    """Run the command; returns the exit code."""
    if resume and overwrite:
        raise FitError("--resume continues a fit, --overwrite replaces it: remove one of them")
    replace = resume or overwrite
    target = run_target(spec, replace=replace)
    if dry_run:
        plan = runs.plan(run.plan_fit, spec, target, overwrite=replace, execution=execution)
        return _show_plan(spec, plan, output)
    outcome = runs.start(
        run.run_fit,
        spec,
        target,
        resume=resume,
        overwrite=overwrite,
        execution=execution,
        verbose=verbose,
    )
    return print_outcome(outcome, output, show_summary)


def run_fit_evaluation(spec: FitSpec, output: Output) -> int:
    """Print the errors of the parameter file of a fit; returns the exit code."""
    spec.load_catalogue()
    assert spec.output is not None
    settings = spec.fit_settings
    servo = start_model(spec.servo_or_name, spec.first_model, settings).servo.name
    return show_evaluation(
        spec.output,
        spec.log_paths[0],
        servo,
        spec.model,
        spec.skip_bad_logs,
        {k: getattr(settings, k) for k in ("scheme", "reset_period", "vin")},
        output,
    )


def show_summary(outcome: Outcome, output: Output) -> None:
    """Print the outcome of a servo fit."""
    result: ServoFit = outcome.result
    model, solution = result.model, result.solution
    output.text(
        f"\n{model.servo.name} {model.friction.name}: {solution.status.value}. {solution.message}\n"
    )
    if result.choice is not None:
        show_choice(result.choice, output)
    space = result.problem.space
    units = space.units or ("",) * space.size
    remarks = _remarks(result)
    output.table(
        ["parameter", f"estimate, {100 * result.settings.level:g} % interval", "unit", ""],
        [
            [
                name,
                format_estimate(solution.x[i], *result.assessment.intervals[i]),
                units[i],
                remarks[i],
            ]
            for i, name in enumerate(space.names)
        ],
    )
    rows = [["training", str(len(result.training_logs)), milli(result.training.mae),
             milli(result.training_start.mae), milli(result.training.at_rest)]]  # fmt: skip
    if result.held_out is not None and result.held_out_start is not None:
        rows.append(["held out", str(len(result.held_out_logs)), milli(result.held_out.mae),
                     milli(result.held_out_start.mae), milli(result.held_out.at_rest)])  # fmt: skip
    columns = ["mean absolute error, mrad", "logs", "fitted", "before the fit", "at rest"]
    output.table(columns, rows)
    by_log = [(name, error, "") for name, error in result.training.by_log.items()]
    if result.held_out is not None:
        by_log += [(name, error, "held out") for name, error in result.held_out.by_log.items()]
    output.table(["log", "error, mrad", ""], [[n, milli(e), held] for n, e, held in by_log])
    output.text(trivial_sentence(result.training), "")
    sentences = (*meanings_of(remarks), *result.assessment.sentences)
    output.text(*(f"  - {sentence}" for sentence in sentences))
    output.text(*(f"  ! {message}" for message in (*result.findings, *result.skipped)))
    output.text(*(f"  - {sentence}" for sentence in beyond_bam(model)))
    output.text("", *Steps(servo_steps(result.to_dict())).lines())
    files = [] if result.output is None else [f"Parameters: {result.output}"]
    output.text("", *files, f"Report:     {outcome.report}", f"Run:        {outcome.directory}")


def show_choice(choice: ModelChoice, output: Output) -> None:
    """Print the candidates of a choice of model, the best first."""
    ranked = sorted(choice.tried, key=lambda tried: tried.error)
    chosen = choice.chosen.label
    output.table(
        ["mrad", "parameters", "held out", "fitted", ""],
        [
            [
                tried.label,
                str(tried.parameters),
                milli(tried.error),
                milli(tried.training),
                "chosen" if tried.label == chosen else "",
            ]
            for tried in ranked
        ],
    )
    output.text(f"{choice.rule} {choice.reason}", "")


def _show_plan(spec: FitSpec, plan: dict[str, Any], output: Output) -> int:
    output.result(plan)
    held = len(plan["held_out_logs"])
    model = spec.model or "m1, with which a choice of friction model and terms starts"
    output.text(
        f"{spec.actuator} {model}: {len(plan['parameters'])} parameters from "
        f"{len(plan['training_logs'])} logs, {held} held out, search {plan['method']}.",
        f"An evaluation takes {1e3 * plan['seconds_per_evaluation']:.2g} ms on this machine, with "
        f"{plan['threads']} threads.",
        *_planned_choice(plan["choice"]),
        f"It would be written to {plan['output']} and {plan['directory']}.",
        *plan["notes"],
        *(f"  ! {message}" for message in plan["skipped"]),
    )
    return DONE


def _planned_choice(choice: dict[str, Any] | None) -> list[str]:
    if choice is None:
        return []
    return [
        f"The choice compares the models {', '.join(choice['models'])} and the terms "
        f"{', '.join(choice['terms']) or '(none)'} by cross-validation with "
        f"{len(choice['left_out'])} held-out parts of the logs: {', '.join(choice['left_out'])}. "
        f"It takes about {duration(choice['seconds'])} at the present load of this machine."
    ]


def _remarks(result: ServoFit) -> list[str]:
    """Remark on each parameter in the table, as in the report."""
    rows = {row["name"]: row for row in parameter_rows(result.model, result.to_dict())}
    return [remark_of(rows[name]) for name in result.problem.space.names]
