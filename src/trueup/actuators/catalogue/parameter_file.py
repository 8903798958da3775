"""Parameter files of identified servos: the flat JSON of Better Actuator Models and a provenance.

A file holds ``model`` (``m1`` to ``m6``), ``actuator`` (a servo of the catalogue) and a number
for each parameter, in SI units. trueup adds a number for each extended term, the form of the
quadratic term if it is not the default, ``not_in_bam`` if the model has parts that Better
Actuator Models does not support, ``units`` and ``provenance``. Files without these load too, and
that project ignores them.
"""

import importlib.util
import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trueup._input_files import read_settings
from trueup._marks import KEY, joined
from trueup.actuators.catalogue.entries import find_servo, load_catalogue, servos
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.extended_terms import EXTENDED_TERMS
from trueup.actuators.equations.friction_models import PUBLISHED_MODELS, friction_model
from trueup.errors import FitError, ParameterError, did_you_mean, listing
from trueup.runs.store.input_check import mark_of_file
from trueup.runs.store.published_entry import is_entry, read_entry

FOLDERS_VARIABLE = "TRUEUP_SERVO_MODELS"
"""Environment variable that lists folders of parameter files ``<motor>/<model>.json``."""

_BEYOND_BAM = "not_in_bam"
_NOT_VALUES = ("model", "actuator", "quadratic", "units", "provenance", _BEYOND_BAM, KEY)


def load_model(
    path: str | os.PathLike[str] | None = None,
    *,
    motor_name: str | None = None,
    model: str | None = None,
    servo: str | None = None,
    anyway: bool = False,
) -> ServoModel:
    """Read an identified servo model; imports numpy, but no simulator.

    Give either ``path``, or ``motor_name`` and ``model`` of a file ``<motor>/<model>.json`` in a
    folder of the environment variable ``TRUEUP_SERVO_MODELS`` or in the installed package
    ``better-actuator-models``.

    Args:
      path: the file, or the folder of a published entry, whose servo is registered if unknown.
      motor_name: folder of the motor.
      model: friction model, ``m1`` to ``m6``. With ``path``: the model that the file must hold.
      servo: servo that the file must belong to.
      anyway: accept the file of a fit with logs that have changed since; the provenance of the
        model and of its exports records this.

    Raises:
      ParameterError: the file cannot be read, belongs to another model or servo, or lacks a value
        of a parameter.
      RunDirectoryError: the file lies in its run directory, and the run's logs have changed since.
      FitError: unknown servo, model or term; no file for that motor and model.
    """
    if path is None:
        if motor_name is None or model is None:
            raise FitError("load_model requires a path, or both motor_name and model")
        path = _published_file(motor_name, model)
    elif motor_name is not None:
        raise FitError("load_model accepts a path or a motor_name, not both")
    path = Path(path)
    if is_entry(path):
        entry = read_entry(path)
        if entry.kind != "servo":
            raise ParameterError(f"{path} is the entry of a run of the kind {entry.kind}, no servo")
        known = entry.content.get("servo") in servos()
        if entry.content.get("catalogue") is not None and not known:
            load_catalogue(entry.file("catalogue"))
        path = entry.file("parameters")
    try:
        data = json.loads(read_settings(path))
    except OSError as error:
        raise ParameterError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{path}: not a parameter file (invalid JSON: {error})") from error
    found = model_from_dict(data, str(path))
    if model is not None and found.friction.name != str(model).lower():
        raise ParameterError(
            f"{path}: the file has parameters of the friction model {found.friction.name!r}, "
            f"expected {model!r}"
        )
    if servo is not None and found.servo.name != servo:
        raise ParameterError(
            f"{path}: the file has parameters of the servo {found.servo.name!r}, expected {servo!r}"
        )
    mark = joined(found.provenance.get(KEY), mark_of_file(path, anyway=anyway))
    return found if mark is None else replace(found, provenance={**found.provenance, KEY: mark})


def load_models(
    paths: Sequence[str | os.PathLike[str]], *, servo: str | None = None, anyway: bool = False
) -> dict[str, ServoModel]:
    """Read parameter files, labelled by stem and as many parent folders as make labels unique.

    Args:
      paths: the files; duplicates are read once.
      servo: servo that all files must belong to.
      anyway: accept files of fits with changed logs.

    Raises:
      ParameterError: a file cannot be used, or belongs to another servo.
      FitError: unknown servo, model or term.
    """
    files = list(dict.fromkeys(Path(path) for path in paths))
    labels = path_labels(files)
    models = (load_model(file, servo=servo, anyway=anyway) for file in files)
    return dict(zip(labels, models, strict=True))


def path_labels(files: Sequence[Path]) -> list[str]:
    """Shortest unique ending of each path, without suffix."""
    parts = [(*file.absolute().parent.parts[1:], file.stem) for file in files]
    labels = []
    for own in parts:
        others = [other for other in parts if other is not own]
        depth = 1
        while depth < len(own) and any(other[-depth:] == own[-depth:] for other in others):
            depth += 1
        labels.append("/".join(own[-depth:]))
    return labels


def model_from_dict(data: Any, source: str = "parameters") -> ServoModel:
    """Servo model from the content of a parameter file.

    A value outside the catalogue's bounds is kept, with a note. A missing motor parameter gets the
    catalogue's start value and a missing angle offset gets 0, each with a note.

    Args:
      data: content of the file.
      source: name of the file in errors.

    Raises:
      ParameterError: a value is missing, not finite, negative without a physical meaning, or
        belongs to another model.
      FitError: unknown servo, model or term.
    """
    if not isinstance(data, dict):
        raise ParameterError(f"{source}: expected names and values, found {type(data).__name__}")
    for key in ("model", "actuator"):
        if not isinstance(data.get(key), str):
            raise ParameterError(
                f"{source}: the key {key!r} is missing: not the parameter file of a servo"
            )
    try:
        servo, friction = find_servo(data["actuator"]), friction_model(data["model"])
    except FitError as error:
        raise FitError(f"{source}: {error}") from error
    own = {p.name for p in servo.parameters}
    terms = tuple(name for name in EXTENDED_TERMS if name in data and name not in own)
    try:
        parameters = {p.name: p for p in servo.model_parameters(friction, terms)}
    except FitError as error:
        raise FitError(f"{source}: {error}") from error
    for name in data:
        if name not in parameters and name not in _NOT_VALUES:
            raise ParameterError(
                f"{source}: {name!r} is not a parameter of {servo.name!r} with {friction.name}: is "
                f"this the file of another model? Parameters: {listing(parameters, 40)}."
                f"{did_you_mean(name, parameters)}"
            )
    values, notes = {}, []
    for name, parameter in parameters.items():
        if name in data:
            values[name] = _number(data[name], name, source)
            if values[name] < 0 <= parameter.lower:
                raise ParameterError(
                    f"{source}: {name} is {values[name]:g}, which must not be negative; a fit "
                    f"searches between {parameter.lower:g} and {parameter.upper:g}"
                )
            if parameter.outside(values[name]):
                notes.append(
                    f"{name} = {values[name]:.6g} is outside the bounds {parameter.lower:g} to "
                    f"{parameter.upper:g} of a fit"
                )
        elif name in own or name == "q_offset":
            values[name] = parameter.initial
            notes.append(f"{name} is missing in the file: default {parameter.initial:g}")
        else:
            raise ParameterError(
                f"{source}: {name!r} is missing, which {friction.name} requires: is this the file "
                "of another model?"
            )
    provenance = data.get("provenance", {})
    if not isinstance(provenance, dict):
        raise ParameterError(f"{source}: provenance: expected names and values")
    if isinstance(data.get(KEY), str):  # as written by the writer of parameter files
        provenance = {**provenance, KEY: joined(provenance.get(KEY), data[KEY])}
    quadratic = data.get("quadratic", "gated")
    return ServoModel(servo, friction, values, terms, quadratic, tuple(notes), provenance)


def model_to_dict(model: ServoModel) -> dict[str, Any]:
    """Content of the parameter file of a model: flat values, then units and provenance."""
    content: dict[str, Any] = {"model": model.friction.name, "actuator": model.servo.name}
    content.update((name, float(model.values[name])) for name in model.names)
    if model.quadratic != "gated":
        content["quadratic"] = model.quadratic
    if beyond := beyond_bam(model):
        content[_BEYOND_BAM] = beyond[0]
    content["units"] = {p.name: p.unit for p in model.parameters}
    content["provenance"] = dict(model.provenance)
    return content


def beyond_bam(model: ServoModel) -> list[str]:
    """Features of a model that Better Actuator Models does not support, as phrases."""
    parts = [name.replace("_", " ") for name in model.terms]
    if model.friction.name not in PUBLISHED_MODELS:
        parts.append(f"the friction model {model.friction.name!r}")
    if model.quadratic != "gated":
        parts.append(f"the {model.quadratic} quadratic term")
    if not parts:
        return []
    return [
        f"Better Actuator Models does not support {listing(parts, 40)}: it would ignore them, and "
        "its simulation would differ."
    ]


def save_model(model: ServoModel, path: str | os.PathLike[str]) -> Path:
    """Write the parameter file of a model atomically, and create its folder."""
    from trueup.runs.store import atomic

    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return atomic.write_json(path, model_to_dict(model))


def published_models() -> dict[str, tuple[str, ...]]:
    """Friction models per motor that :func:`load_model` finds by name."""
    found: dict[str, set[str]] = {}
    for folder in _folders():
        for file in sorted(folder.glob("*/*.json")):
            found.setdefault(file.parent.name, set()).add(file.stem)
    return {motor: tuple(sorted(models)) for motor, models in sorted(found.items())}


def _published_file(motor: str, model: str) -> Path:
    for folder in _folders():
        file = folder / motor / f"{str(model).lower()}.json"
        if file.is_file():
            return file
    known = published_models()
    if motor in known:
        raise FitError(f"no file for motor {motor!r} with model {model!r}; available: "
                       f"{listing(known[motor])}.")  # fmt: skip
    where = listing(str(folder) for folder in _folders())
    raise FitError(
        f"no file for motor {motor!r}; available: {listing(known, 40)} (searched "
        f"{where}).{did_you_mean(motor, known)} Set {FOLDERS_VARIABLE} to a folder of files "
        "<motor>/<model>.json, or install better-actuator-models"
    )


def _folders() -> Iterator[Path]:
    named = os.environ.get(FOLDERS_VARIABLE, "")
    yield from (Path(folder).expanduser() for folder in named.split(os.pathsep) if folder)
    spec = importlib.util.find_spec("bam")
    for location in (spec.submodule_search_locations if spec else None) or ():
        if (Path(location) / "params").is_dir():
            yield Path(location) / "params"


def _number(value: Any, name: str, source: str) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value):
        raise ParameterError(f"{source}: {name}: expected a finite number, found {value!r}")
    return float(value)
