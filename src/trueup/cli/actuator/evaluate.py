"""``trueup actuator evaluate``: the error of a parameter file on logs."""

import math
from pathlib import Path
from typing import Any

from trueup._marks import KEY
from trueup.actuators import load_model, read_logs
from trueup.actuators.assess._evaluate import Evaluation, evaluate
from trueup.actuators.catalogue.entries import find_servo, use_catalogue
from trueup.actuators.equations.friction_models import friction_model
from trueup.cli.output import Output


def show_evaluation(
    params: Path,
    logdir: Path | list[Path],
    actuator: str | None,
    model: str | None,
    skip_bad_logs: bool,
    simulation: dict[str, Any],
    output: Output,
    catalogue: Path | None = None,
    anyway: bool = False,
) -> int:
    """Print the errors of a parameter file on logs; returns the exit code."""
    use_catalogue(catalogue)
    if actuator is not None:
        find_servo(actuator)
    if model is not None:
        friction_model(model)
    found = load_model(params, servo=actuator, model=model, anyway=anyway)
    skipped: list[str] = []
    logs = read_logs(logdir, uniform=True, skip_bad=skip_bad_logs, on_skip=skipped.append)
    result = evaluate(found, logs, **simulation)
    output.table(["log", "error, mrad"], error_rows(result))
    output.text(
        f"Mean absolute position error of {params} on {len(logs)} logs: {milli(result.mae)} mrad.",
        trivial_sentence(result),
        *(f"  - {note}" for note in found.notes),
        *(f"  ! {message}" for message in skipped),
    )
    output.result(
        {
            **result.to_dict(),
            "actuator": found.servo.name,
            "model": found.friction.name,
            "params": str(params),
            "scheme": simulation["scheme"],
            "notes": list(found.notes),
            "skipped": skipped,
            **({KEY: mark} if (mark := found.provenance.get(KEY)) else {}),
        }
    )
    return 0


def error_rows(result: Evaluation) -> list[list[str]]:
    """Rows of a table of errors by log, the mean last."""
    rows = [[name, milli(error)] for name, error in result.by_log.items()]
    return [*rows, ["mean", milli(result.mae)]]


def trivial_sentence(result: Evaluation) -> str:
    """Sentence on the errors of two trivial predictions, which require no model."""
    return (
        f"Trivial predictions: the initial position has an error of {milli(result.at_rest)} mrad, "
        f"the goal position of {milli(result.at_goal)} mrad."
    )


def milli(value: float) -> str:
    """Text of a value in thousandths, or ``diverged``."""
    return f"{1e3 * value:.2f}" if math.isfinite(value) else "diverged"
