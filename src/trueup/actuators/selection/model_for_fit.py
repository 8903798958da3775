"""Selection of friction model and terms before the searches of a fit or a comparison."""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from trueup.actuators.assess.cross_validation_errors import trivial_error_of_parts
from trueup.actuators.bench.loads import Bench
from trueup.actuators.catalogue.parameter_file import model_to_dict
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.equations.friction_models import FRICTION_MODELS
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.fit_settings import REFINE, FitSettings
from trueup.actuators.search.prepared_fit import free_names, start_model
from trueup.actuators.search.spec import FitSpec
from trueup.actuators.selection._choose_model import choose_model, order_of
from trueup.actuators.selection.candidate_fits import Candidate, CandidateFits
from trueup.actuators.selection.model_choice import ModelChoice, TriedModel
from trueup.actuators.selection.parts import cross_validation_parts, split_quantities
from trueup.actuators.selection.progress import FitCourse, SelectionProgress
from trueup.actuators.selection.suitable_terms import suitable_terms
from trueup.errors import FitError
from trueup.fitting import Grade
from trueup.runs.loop.budget import Budget
from trueup.runs.loop.progress import Progress
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory

CHOICE = "choice.json"
"""File of a run directory with the selection."""

FITS = "choice-fits.json"
"""File of a run directory with the fits of a selection in progress."""

_CHECKPOINT = 2.0  # interval between writes of the fits [s]


def chosen_spec(spec: FitSpec, choice: ModelChoice | None) -> FitSpec:
    """Spec of the fit after a selection: its model and terms, from its optimum.

    Args:
      spec: a fit without a model; returned unchanged without a selection.
      choice: the selection.
    """
    if choice is None:
        return spec
    chosen, settings = choice.chosen, spec.fit_settings
    settings = dataclasses.replace(
        settings,
        terms=chosen.terms,
        method=REFINE if settings.method == "auto" else settings.method,
        trials=max(1, settings.trials - choice.evaluations),
    )
    model = start_model(spec.servo_or_name, chosen.model, settings)
    names = free_names(model, settings)
    if missing := [name for name in names if name not in chosen.values]:
        raise FitError(f"the model selection lacks values of {', '.join(missing)}")
    start = {name: chosen.values[name] for name in names}
    changes = {"model": chosen.model, "settings": settings, "limits": Budget(), "start": start}
    return spec.model_copy(update=changes)


def choice_of_run(spec: FitSpec, directory: RunDirectory) -> ModelChoice | None:
    """Selection of a finished run; None for a fit of a given model."""
    if spec.model is not None:
        return None
    return ModelChoice.from_dict(atomic.read_json(directory.inside(CHOICE)))


def check_choice(spec: FitSpec, logs: list[ServoLog]) -> None:
    """Raise TrueupError if the logs do not support a model selection.

    Args:
      spec: a fit without a model.
      logs: training logs.
    """
    split_quantities(logs, None)
    settings = spec.fit_settings
    for name in settings.models:
        start_model(spec.servo_or_name, name, settings)
    suitable_terms(spec.servo_or_name, logs, settings, settings.try_terms)


def choice_plan(
    servo: str | Servo,
    logs: list[ServoLog],
    settings: FitSettings,
    benches: list[Bench] | None = None,
    seconds: float = 0.0,
) -> dict[str, Any]:
    """Friction models and terms that a selection would try, the parts of the logs it holds out, and
        its estimated time [s].

    Args:
      servo, logs, settings, benches: as for :func:`choice_for_fit`.
      seconds: time of an evaluation of the simplest model on all logs [s].

    Raises:
      RecordingError: all logs have one gain, mass and trajectory.
    """
    models = list(settings.models or FRICTION_MODELS)
    terms = list(suitable_terms(servo, logs, settings, settings.try_terms))
    parts = [part.label for part in cross_validation_parts(logs)]
    held = dict.fromkeys(("validation_kp", "validation_mass", "validation_trajectory"), ())
    fits = CandidateFits(servo, logs, dataclasses.replace(settings, **held), benches=benches)
    sizes = {model: fits.parameters(Candidate(model, settings.terms)) for model in models}
    order, working = order_of(sizes)
    progress = SelectionProgress(
        [sizes[m] for m in reversed(order)], sizes[working], len(terms), len(parts)
    )
    return {
        "models": models,
        "terms": terms,
        "left_out": parts,
        "seconds": progress.expected * seconds,
    }


def choice_for_fit(
    servo: str | Servo,
    logs: list[ServoLog],
    settings: FitSettings,
    *,
    by: str | None = None,
    benches: list[Bench] | None = None,
    workers: int = 1,
    directory: Path | None = None,
    output: Path | None = None,
    origin: dict[str, Any] | None = None,
    verbose: bool = False,
    course: FitCourse | None = None,
) -> ModelChoice:
    """Select friction model and terms, with checkpoints.

    Args:
      servo: servo, or its name in the catalogue.
      logs: training logs.
      settings: settings of the fit, with models and terms to choose from.
      by: quantity that logs are held out by: ``"kp"``, ``"mass"`` or ``"trajectory"``; all that
        vary where None.
      benches: load of each log.
      workers: number of threads.
      directory: run directory, for checkpoints; an existing selection is read.
      output: parameter file; contains the best model so far.
      origin: provenance of that file.
      verbose: show progress on the error stream.
      course: course of the fit, whose remaining time is shown; of the selection alone by default.

    Raises:
      RecordingError: all logs have one gain, mass and trajectory.
      KeyboardInterrupt: Ctrl-C; finished fits are saved.
    """
    held = dict.fromkeys(("validation_kp", "validation_mass", "validation_trajectory"), ())
    inner = dataclasses.replace(settings, **held)
    place, fits = (None, None) if directory is None else (directory / CHOICE, directory / FITS)
    if place is not None and place.is_file():
        return ModelChoice.from_dict(atomic.read_json(place))
    known = atomic.read_json(fits) if fits is not None and fits.is_file() else None
    trivial = trivial_error_of_parts(logs, split_quantities(logs, by))
    with Progress(verbose) as progress:
        keep, flush = _checkpoints(fits)
        best: list[TriedModel] = []

        def show_tried(tried: TriedModel) -> None:
            progress.message(
                f"{tried.label}: {1e3 * tried.error:.2f} mrad in cross-validation, "
                f"{1e3 * tried.training:.2f} mrad on the training logs"
            )
            if not best or tried.error < best[0].error:
                best[:] = [tried]
                if output is not None:
                    write_live(output, servo, inner, tried, origin or {}, trivial)

        def shown(words: str, share: float) -> None:
            progress.update(words, share)
            if course is not None:
                course.chosen = share

        try:
            choice = choose_model(
                servo,
                logs,
                settings=inner,
                models=settings.models or tuple(FRICTION_MODELS),
                try_terms=settings.try_terms,
                by=by,
                on_tried=show_tried,
                on_progress=shown,
                benches=benches,
                workers=workers,
                limit=settings.trials,
                known=known,
                on_fit=keep,
                intervals=0 if course is None else course.intervals,
            )
        finally:
            flush()
        if course is not None:
            course.since = progress.since
    if place is not None and fits is not None:
        atomic.write_json(place, choice.to_dict())
        fits.unlink(missing_ok=True)
    return choice


def write_live(
    output: Path,
    servo: str | Servo,
    settings: FitSettings,
    tried: TriedModel,
    origin: dict,
    trivial: float = np.inf,
) -> None:
    """Write the parameter file of the best model so far, with its grade so far.

    Args:
      output: the file.
      servo, settings: of the selection.
      tried: the model.
      origin: provenance of the file.
      trivial: error of the best trivial prediction on the same parts of the logs [rad].
    """
    begun = dataclasses.replace(settings, terms=tried.terms)
    model = start_model(servo, tried.model, begun).with_values(**tried.values)
    content = model_to_dict(model)
    content["provenance"] = {
        **origin,
        "status": "in progress",
        "objective": {"kind": settings.objective.kind, "value": tried.training},
        # not judged yet: never better than "look"
        "grade": (Grade.LOOK if tried.error < trivial else Grade.DO_NOT_USE).value,
        "mae": {"left_out": tried.error, "unit": "rad"},
    }
    output.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_json(output, content)


def _checkpoints(
    path: Path | None,
) -> tuple[Callable[[dict[str, Any]], None], Callable[[], None]]:
    """Functions that store the fits so far, and that write them to the file."""
    state: dict[str, Any] = {"written": time.monotonic(), "latest": None}

    def flush() -> None:
        if path is not None and state["latest"] is not None:
            atomic.write_json(path, state["latest"])
            state["latest"], state["written"] = None, time.monotonic()

    def keep(fits: dict[str, Any]) -> None:
        state["latest"] = fits
        if time.monotonic() - state["written"] > _CHECKPOINT:
            flush()

    return keep, flush
