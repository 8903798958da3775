"""``trueup actuator list``: servos, friction models, terms, parameters."""

import dataclasses
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trueup.actuators import EXTENDED_TERMS, FRICTION_MODELS, published_models
from trueup.actuators.catalogue.entries import find_servo, servos, use_catalogue
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.equations.extended_terms import terms_for
from trueup.actuators.equations.model_parameter import ModelParameter
from trueup.cli.output import Output

_COLUMNS = ["parameter", "start", "bounds", "unit", "models", "meaning"]


def run_list(actuator: str | None, catalogue: Path | None, output: Output) -> int:
    """Run the command; returns the exit code."""
    use_catalogue(catalogue)
    known = servos()
    if actuator is not None:
        known = {actuator: find_servo(actuator)}
    files = published_models()
    output.result(
        {
            "actuators": {name: _servo_record(servo) for name, servo in known.items()},
            "models": {
                name: {"title": model.title, "parameters": list(model.parameter_names)}
                for name, model in FRICTION_MODELS.items()
            },
            "terms": {name: _record(parameter) for name, parameter in EXTENDED_TERMS.items()},
            "published": {motor: list(names) for motor, names in files.items()},
        }
    )
    if actuator is not None:
        _show_servo(known[actuator], output)
        return 0
    output.table(
        ["servo", "type", "law", "supply V", "specific parameters"],
        [
            [s.name, s.title, s.law, _number(s.vin), ", ".join(p.name for p in s.parameters)]
            for s in known.values()
        ],
        "Servos",
    )
    output.table(
        ["model", "parameters", ""],
        [[m.name, str(len(m.parameters)), m.title] for m in FRICTION_MODELS.values()],
        "Friction models",
    )
    friction = {p.name: p for model in FRICTION_MODELS.values() for p in model.parameters}
    output.table(_COLUMNS, _rows(friction.values()), "Parameters of friction")
    output.table(_COLUMNS, _rows(EXTENDED_TERMS.values()), "Extended terms, selected by terms=")
    output.text("Parameters of one servo, with bounds:  trueup actuator list --actuator SERVO")
    return 0


def _show_servo(servo: Servo, output: Output) -> None:
    output.text(
        f"{servo.name}: {servo.title}. Law {servo.law}, supply {_number(servo.vin)} V, gain "
        f"{servo.kp:g}, error gain {servo.error_gain:g}, duty up to {servo.max_pwm:g}."
    )
    if servo.source:
        output.text(f"Source: {servo.source.rstrip('.')}.")
    for name, text in servo.disputed.items():
        output.text(f"Disputed: {name}: {text.rstrip('.')}.")
    terms = [t for t in terms_for(servo.law) if t not in {p.name for p in servo.parameters}]
    found: dict[str, ModelParameter] = {}
    for model in FRICTION_MODELS.values():
        found |= {p.name: p for p in servo.model_parameters(model, tuple(terms))}
    output.table(_COLUMNS, _rows(found.values()), "Parameters")


def _rows(parameters: Iterable[ModelParameter]) -> list[list[str]]:
    return [
        [
            p.name,
            f"{p.initial:g}",
            f"{p.lower:g} to {p.upper:g}",
            p.unit,
            _models_with(p.name),
            p.description,
        ]
        for p in parameters
    ]


def _models_with(name: str) -> str:
    models = [m.name for m in FRICTION_MODELS.values() if name in m.parameter_names]
    if not models:
        return "terms=" if name in EXTENDED_TERMS else "all"
    return "all" if len(models) == len(FRICTION_MODELS) else " ".join(models)


def _servo_record(servo: Servo) -> dict[str, Any]:
    plain = dataclasses.asdict(servo)
    del plain["parameters"]
    return {
        **plain,
        "parameters": {p.name: _record(p) for p in servo.parameters},
        "terms": list(terms_for(servo.law)),
    }


def _record(parameter: ModelParameter) -> dict[str, Any]:
    models = [m.name for m in FRICTION_MODELS.values() if parameter.name in m.parameter_names]
    return {**dataclasses.asdict(parameter), "models": models}


def _number(value: float) -> str:
    return f"{value:g}" if math.isfinite(value) else "-"
