"""Comparison of servo models in a run directory, from logs to report."""

from dataclasses import replace
from typing import Any

from trueup._version import __version__
from trueup.actuators.catalogue.parameter_file import load_model
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.report.comparison import comparison_report
from trueup.actuators.selection.fitted_models import FITS, FittedModels, fit_models, in_order
from trueup.actuators.selection.inputs import ComparisonInputs, read_inputs
from trueup.actuators.selection.model_choice import ModelChoice
from trueup.actuators.selection.model_comparison import ModelComparison, compare_models
from trueup.actuators.selection.spec import ComparisonSpec
from trueup.actuators.selection.user_models import mark_of_models
from trueup.errors import FitError, listing
from trueup.reports import Page
from trueup.runs.execution import Execution
from trueup.runs.kinds import read_spec
from trueup.runs.outcome import Outcome
from trueup.runs.session import Session
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution

FORMAT_VERSION = 1
"""Version of the content of ``solution.json`` of a comparison."""


def run_comparison(spec: ComparisonSpec, session: Session) -> Outcome:
    """Compare servo models; raises the errors of :func:`trueup.runs.start`."""
    inputs = read_inputs(spec)
    _check_workers(session.execution)
    with session.begin(
        spec,
        [*spec.params, *inputs.logs.inputs()],
        settings=spec.full_settings.to_dict(),
        mark=mark_of_models(inputs.given),
        has_progress=_has_begun_fit,
        saved=_saved,
    ) as run:
        run.describe()
        fitted = fit_models(spec, inputs, run)

        def judge(fitted: FittedModels) -> Outcome:
            found = _recommended(compared(spec, inputs, fitted.models), fitted)
            return Outcome(found, _summary(spec, inputs, fitted, found, run.directory))

        def write(outcome: Outcome) -> None:
            atomic.write_json(run.directory.inside("comparison.json"), outcome.summary)

        def page(outcome: Outcome) -> Page:
            notes = outcome.summary["notes"]
            made = comparison_report(outcome.result, notes=notes, choice=fitted.choice)
            made.save(run.directory.inside("comparison.html"))
            return made

        return run.finish(
            fitted,
            bare=lambda fitted: _bare_summary(spec, fitted),
            judge=judge,
            write=write,
            page=page,
        )


def plan_comparison(spec: ComparisonSpec, execution: Execution) -> dict[str, Any]:
    """Models to fit and compare."""
    _check_workers(execution)
    inputs = read_inputs(spec)
    known = {model.friction.name for model in inputs.given.values()}
    return {
        "fitted": [name for name in spec.settings.models if name not in known],
        "given": list(inputs.given),
        "extended": inputs.chooses,
        "training_logs": [log.name for log in inputs.training_logs],
        "held_out_logs": [log.name for log in inputs.held_out_logs],
        "skipped": list(inputs.logs.skipped),
    }


def report_of_run(directory: RunDirectory) -> Page:
    """Report of a finished comparison, from its run directory."""
    summary = read_solution(directory)
    spec = read_spec(directory)
    assert isinstance(spec, ComparisonSpec)
    spec.check_report(directory)
    # changes since then are already checked
    inputs = read_inputs(spec.model_copy(update={"anyway": True}))
    models = {
        label: load_model(directory.inside(f"{label}.json"), anyway=True)
        for label in summary["fitted"]
    }
    choice = summary.get("extended")
    return comparison_report(
        compared(spec, inputs, in_order({**models, **inputs.given})),
        notes=summary["notes"],
        choice=None if choice is None else ModelChoice.from_dict(choice),
    )


def compared(
    spec: ComparisonSpec, inputs: ComparisonInputs, models: dict[str, ServoModel]
) -> ModelComparison:
    """Comparison of models on the logs, with the error and simulation settings of the fits."""
    fit = spec.settings.fit
    files = dict(zip(inputs.given, map(str, spec.params), strict=True))
    return compare_models(
        models,
        inputs.training_logs,
        inputs.held_out_logs,
        kind=fit.objective.kind,
        origins={label: files.get(label, "fitted here") for label in models},
        scheme=fit.scheme,
        reset_period=fit.reset_period,
        vin=fit.vin,
    )


def _recommended(found: ModelComparison, fitted: FittedModels) -> ModelComparison:
    """Comparison with the recommended model."""
    choice = fitted.choice
    if choice is None or found.is_held_out.any() or choice.chosen.label not in fitted.models:
        return found
    # its cross-validation errors are the only ones on logs that were not fitted
    reason = f"{choice.rule} {choice.reason}"
    return replace(found, recommended=choice.chosen.label, reason=reason)


def _summary(
    spec: ComparisonSpec,
    inputs: ComparisonInputs,
    fitted: FittedModels,
    found: ModelComparison,
    directory: RunDirectory,
) -> dict[str, Any]:
    """Content of ``solution.json``."""
    chosen = next(m for m in found.models if m.label == found.recommended)
    names = ["comparison.html", "comparison.json"]
    names += [f"{label}.json" for label in fitted.fitted]
    return {
        "format_version": FORMAT_VERSION,
        "trueup": __version__,
        "kind": spec.kind,
        "name": spec.name,
        "status": "finished",
        "message": f"Recommended: {found.recommended}. {found.reason}",
        "cost": chosen.held_out if found.is_held_out.any() else chosen.training,
        "parameters": [
            {
                "name": each.name,
                "value": float(chosen.model.values[each.name]),
                "lower": each.lower,
                "upper": each.upper,
                "unit": each.unit,
            }
            for each in chosen.model.parameters
        ],
        "stats": {"evaluations": fitted.evaluations},
        **found.to_dict(fitted.notes),
        "extended": None if fitted.choice is None else fitted.choice.to_dict(),
        "notes": fitted.notes,
        "skipped": list(inputs.logs.skipped),
        "fitted": fitted.fitted,
        "files": [str(directory.inside(name)) for name in names],
    }


def _bare_summary(spec: ComparisonSpec, fitted: FittedModels) -> dict[str, Any]:
    """Content of ``solution.json`` if the comparison failed."""
    return {
        "kind": spec.kind,
        "name": spec.name,
        "status": "finished",
        "cost": None,
        "parameters": [],
        "notes": fitted.notes,
        "fitted": fitted.fitted,
    }


def _check_workers(execution: Execution) -> None:
    if execution.workers is not None and execution.workers < 1:
        raise FitError(
            "workers is the number of threads of the fits and must be at least 1, got "
            f"{execution.workers}"
        )


def _has_begun_fit(directory: RunDirectory) -> bool:
    return any((directory.path / FITS).glob("*/study.sqlite"))


def _saved(directory: RunDirectory) -> str:
    """Saved parts of a comparison that was stopped."""
    begun = sorted(place.name for place in (directory.path / FITS).glob("*"))
    done = [label for label in begun if directory.inside(f"{label}.json").is_file()]
    return f"stopped; {listing(done, 12)} fitted" if done else "stopped"
