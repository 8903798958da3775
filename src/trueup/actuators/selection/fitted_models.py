"""Models of a comparison: those of parameter files, and those fitted in its run."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from trueup.actuators.catalogue.parameter_file import save_model
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.search.fit_settings import FitSettings
from trueup.actuators.search.logs_spec import fields_of_servo
from trueup.actuators.search.servo_fit import ServoFit
from trueup.actuators.search.spec import FitSpec
from trueup.actuators.search.staged_problem import default_threads
from trueup.actuators.search.without_run import fit_in_folder
from trueup.actuators.selection._choose_model import TooFewTrialsError
from trueup.actuators.selection.inputs import ComparisonInputs
from trueup.actuators.selection.model_choice import ModelChoice
from trueup.actuators.selection.model_for_fit import choice_for_fit
from trueup.actuators.selection.spec import ComparisonSpec
from trueup.runs.session import Run
from trueup.runs.store.run_directory import RunDirectory

FITS = "fits"
"""Folder of the searches of the fits."""


@dataclass(frozen=True)
class FittedModels:
    """Models of a comparison, fitted and given."""

    models: dict[str, ServoModel]
    """Models by label, in the order of the tables."""
    fitted: list[str]
    """Labels of the models fitted in this run."""
    choice: ModelChoice | None
    """Selection of the extended model."""
    notes: list[str]
    """Findings, such as a fit that has not converged."""
    evaluations: int
    """Evaluations of all fits."""


def fit_models(spec: ComparisonSpec, inputs: ComparisonInputs, run: Run) -> FittedModels:
    """Select the extended model, and fit models without a parameter file."""
    given = inputs.given
    choice, reasons = _choice(spec, inputs, run) if inputs.chooses else (None, inputs.notes)
    known = {model.friction.name for model in given.values()}
    wanted: dict[str, tuple[str, tuple[str, ...]]] = {
        name: (name, ()) for name in spec.settings.models if name not in known
    }
    if choice is not None and choice.chosen.label not in {*wanted, *given}:
        wanted[choice.chosen.label] = (choice.chosen.model, choice.chosen.terms)
    fitted: dict[str, ServoModel] = {}
    notes, evaluations = [], 0
    for label, (model, terms) in wanted.items():
        result = _fit(spec, inputs, run, label, model, terms)
        fitted[label] = result.model
        save_model(result.model, run.directory.inside(f"{label}.json"))
        evaluations += int(result.solution.stats.get("evaluations", 0))
        if not result.reached_its_end:
            status = result.solution.status.value
            notes.append(f"the fit of {label} has not converged ({status}): increase --evaluations")
        _show(run, f"fitted {label}: {1e3 * result.training.mae:.2f} mrad")
    return FittedModels(
        in_order({**fitted, **given}),
        list(fitted),
        choice,
        [*notes, *reasons, *inputs.seen_before()],
        evaluations,
    )


def in_order(models: Mapping[str, ServoModel]) -> dict[str, ServoModel]:
    """Models in the order of the tables: by friction model, then by number of terms."""

    def key(item: tuple[str, ServoModel]) -> tuple[str, int, str]:
        label, model = item
        return model.friction.name, len(model.terms), label

    return dict(sorted(models.items(), key=key))


def _choice(
    spec: ComparisonSpec, inputs: ComparisonInputs, run: Run
) -> tuple[ModelChoice | None, tuple[str, ...]]:
    """Selection of friction model and terms; read from the run if it exists.

    None, and the reason, if there are too few trials for it and it was not requested.
    """
    settings = spec.settings
    try:
        choice = choice_for_fit(
            inputs.servo,
            inputs.training_logs,
            replace(_fit_settings(spec), models=settings.models, try_terms=settings.try_terms),
            by=settings.split_by,
            workers=run.session.execution.workers or default_threads(),
            directory=run.directory.path,
            verbose=run.verbose,
        )
    except TooFewTrialsError as error:
        if settings.extended:
            raise
        return None, (f"only friction models are compared: {error}",)
    return choice, ()


def _fit_settings(spec: ComparisonSpec, terms: tuple[str, ...] = ()) -> FitSettings:
    """Settings of a fit to the training logs, without further held-out logs."""
    nothing: dict[str, Any] = dict.fromkeys(
        ("validation_kp", "validation_mass", "validation_trajectory"), ()
    )
    fit = spec.fit_settings
    return replace(fit, **nothing, terms=(*fit.terms, *terms))


def _fit(
    spec: ComparisonSpec,
    inputs: ComparisonInputs,
    run: Run,
    label: str,
    model: str,
    terms: tuple[str, ...],
) -> ServoFit:
    """Fit with its search stored in a folder of the run."""
    one = FitSpec(
        name=label,
        seed=spec.seed,
        model=model,
        settings=_fit_settings(spec, terms),
        **fields_of_servo(inputs.servo),
    )
    place = run.directory.inside(f"{FITS}/{label}")
    begun = (place / "run.json").is_file()
    return fit_in_folder(
        one,
        inputs.logs.part(inputs.training_logs),
        RunDirectory.open(place) if begun else RunDirectory.create(place),
        workers=run.session.execution.workers,
        resume=begun,
        verbose=run.verbose,
    )


def _show(run: Run, words: str) -> None:
    if run.verbose:
        print(words, file=sys.stderr)
