"""``trueup actuator compare``: friction models of one servo, and which of them to take."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trueup.actuators import (
    ModelChoice,
    ModelComparison,
    Objective,
    ServoLog,
    ServoModel,
    TriedModel,
    choose_model,
    compare,
    comparison_image,
    comparison_report,
    friction_model,
    read_logs,
    save_model,
    split_logs,
)
from trueup.actuators.search._fit import fit
from trueup.actuators.search.fit_settings import DEFAULT_TRIALS, FitSettings
from trueup.cli.actuator_show import given_models
from trueup.cli.actuator_show_commands import CompareServoModels
from trueup.cli.output import Output
from trueup.errors import FitError, ParameterError, ReportError, listing
from trueup.fitting.solution import Status
from trueup.studies import atomic


def run_compare(arguments: CompareServoModels, output: Output) -> int:
    """Fit what is missing, compare the models; returns the exit code."""
    if arguments.given_only and not arguments.params:
        raise ParameterError("--given-only compares parameter files: give them with --params")
    if arguments.terms is not None and not arguments.extended:
        raise FitError("--terms says what --extended may take: give --extended too")
    if arguments.extended and arguments.given_only:
        raise FitError("--given-only fits nothing, --extended fits: give one of them")
    names = [] if arguments.given_only else _model_names(arguments.models)
    skipped: list[str] = []
    logs = read_logs(
        arguments.logdir,
        uniform=True,
        skip_bad=arguments.skip_bad_logs,
        on_skip=skipped.append,
    )
    given = given_models(arguments.params, arguments.catalogue, arguments.actuator, logs)
    missing = [n for n in names if all(m.friction.name != n for m in given.values())]
    training, held_out = split_logs(
        logs,
        kp=tuple(kp for kp in arguments.validation_kp if kp != 0),
        mass=arguments.validation_mass,
        trajectory=arguments.validation_trajectory,
    )
    servo = _servo(arguments, given, training)
    choice = _choose(servo, training, arguments, output) if arguments.extended else None
    chosen = None if choice is None else choice.chosen
    wanted: dict[str, tuple[str, tuple[str, ...]]] = {name: (name, ()) for name in missing}
    if chosen is not None and chosen.label not in {*wanted, *given}:
        wanted[chosen.label] = (chosen.model, chosen.terms)
    fitted, notes = _fit_missing(servo, wanted, training, arguments, output)
    models = dict(sorted({**fitted, **given}.items(), key=lambda item: _order(*item)))
    paths = dict.fromkeys(file for files in arguments.params for file in files)
    files = {label: str(path) for label, path in zip(given, paths, strict=True)}
    origins = {label: files.get(label, "fitted here") for label in models}
    found = compare(
        models,
        training,
        held_out,
        kind=arguments.error,
        origins=origins,
        scheme=arguments.scheme,
        reset_period=arguments.reset_period,
        vin=arguments.vin,
    )
    notes += [note for label in given for note in _seen_before(label, given[label], held_out)]
    page = comparison_report(found, notes=notes, choice=choice)
    written = [page.save(arguments.output / "comparison.html")]
    written += [arguments.output / f"{label}.json" for label in fitted]
    extended = None if choice is None else choice.to_dict()
    content = {**found.to_dict(notes), "extended": extended, "notes": notes, "skipped": skipped}
    written.append(atomic.write_json(arguments.output / "comparison.json", content))
    if arguments.png:
        written.append(comparison_image(found, arguments.output / "comparison.png"))
    output.text(*found.verdict(notes).lines(), "")
    _print_comparison(found, output)
    for message in (*notes, *skipped):
        output.text(f"  ! {message}")
    output.text(f"Take {found.recommended}. {found.reason}", *(f"Wrote {f}" for f in written))
    output.result({**content, "files": [str(file) for file in written]})
    return 0


def _model_names(text: str) -> list[str]:
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    if not names:
        raise FitError("no model is named: --models m1,m3, or --given-only for parameter files")
    return [friction_model(name).name for name in dict.fromkeys(names)]


def _servo(
    arguments: CompareServoModels, given: dict[str, ServoModel], training: list[ServoLog]
) -> Any:
    """The servo to fit: that of --actuator, of the parameter files, or of the logs."""
    servos = {m.servo.name: m.servo for m in given.values()}
    if arguments.actuator is not None:
        return arguments.actuator
    if len(servos) > 1 and not arguments.given_only:
        raise ParameterError(
            f"the parameter files are of several servos, {listing(servos)}: name one, --actuator"
        )
    return next(iter(servos.values()), training[0].motor)


def _settings(arguments: CompareServoModels, terms: tuple[str, ...] = ()) -> FitSettings:
    return FitSettings(
        method=arguments.method,
        trials=DEFAULT_TRIALS if arguments.trials is None else arguments.trials,
        seed=arguments.seed,
        objective=Objective(arguments.error),
        scheme=arguments.scheme,
        reset_period=arguments.reset_period,
        vin=arguments.vin,
        terms=terms,
    )


def _choose(
    servo: Any, training: list[ServoLog], arguments: CompareServoModels, output: Output
) -> ModelChoice:
    """Friction model and extended terms that do best in the inner split."""

    def told(tried: TriedModel) -> None:
        output.text(f"tried {tried.label}: {_milli(tried.error)} mrad in the inner split")

    return choose_model(
        servo,
        training,
        settings=_settings(arguments),
        models=_model_names(arguments.models),
        terms=None if arguments.terms is None else _terms(arguments.terms),
        by=arguments.split_by,
        on_tried=told,
    )


def _terms(text: str) -> list[str]:
    terms = [term.strip() for term in text.split(",") if term.strip()]
    if not terms:
        raise FitError("--terms names no term; trueup actuator list shows them")
    return terms


def _fit_missing(
    servo: Any,
    wanted: dict[str, tuple[str, tuple[str, ...]]],
    training: list[ServoLog],
    arguments: CompareServoModels,
    output: Output,
) -> tuple[dict[str, ServoModel], list[str]]:
    """Fit models to the training logs, and save each; with notes.

    ``wanted`` holds friction model and extended terms of each label.
    """
    if not wanted:
        return {}, []
    _check_place(arguments.output)  # before time is spent
    fitted, notes = {}, []
    for name, (model, terms) in wanted.items():
        result = fit(servo, model, training, settings=_settings(arguments, terms))
        if result.solution.status is Status.INTERRUPTED:
            done = f"; {listing(fitted)} in {arguments.output} are done" if fitted else ""
            raise KeyboardInterrupt(f"interrupted while {name} was fitted{done}")
        fitted[name] = result.model
        arguments.output.mkdir(parents=True, exist_ok=True)
        save_model(result.model, arguments.output / f"{name}.json")
        if not result.reached_its_end:
            status = result.solution.status.value
            notes.append(f"the fit of {name} has not converged ({status}): raise --trials")
        output.text(f"fitted {name} to {len(training)} logs: {_milli(result.training.mae)} mrad")
    return fitted, notes


def _check_place(folder: Path) -> None:
    """Refuse an output folder that cannot be made, or not be written."""
    found = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not found.is_dir():
        raise ReportError(f"{found} is a file: choose another --output")
    if not os.access(found, os.W_OK):
        raise ReportError(f"{found} cannot be written: choose another --output")


def _order(label: str, model: ServoModel) -> tuple[str, int, str]:
    return model.friction.name, len(model.terms), label


def _seen_before(label: str, model: ServoModel, held_out: Sequence[ServoLog]) -> list[str]:
    """A warning where a file says that it was fitted to logs that are held out here."""
    fitted_to = model.provenance.get("training_logs") or {}
    seen = [log.name for log in held_out if log.name in fitted_to]
    if not seen:
        return []
    return [
        f"{label} was fitted to {listing(seen, 3)}, held out here: its held-out error is too good"
    ]


def _print_comparison(found: ModelComparison, output: Output) -> None:
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


def _milli(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{1e3 * value:.2f}" if math.isfinite(value) else "diverged"
