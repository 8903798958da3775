"""Prints what ``trueup network train-motion`` did, or would do."""

from typing import Any

from trueup.cli.output import Output
from trueup.cli.run_results import DONE
from trueup.runs import Outcome
from trueup.studies.progress import duration


def show_motion(outcome: Outcome, output: Output) -> None:
    """Print the angle errors of the held-out logs."""
    result = outcome.result
    rows = [
        [name, f"{1e3 * result.base_errors[name]:.4g}", f"{1e3 * error:.4g}"]
        for name, error in result.errors.items()
    ]
    where = "test" if result.parts.test else "validation"
    output.table([f"{where} log", "servo model, mrad", "corrected, mrad"], rows)
    output.text(f"RMS angle error of whole logs, {result.training.steps} gradient steps.")
    output.text(f"Run directory: {outcome.directory}", f"Report: {outcome.report}")


def show_plan(content: dict[str, Any], output: Output) -> int:
    """Print what would be trained; returns the exit code."""
    settings, errors = content["settings"], content["angle_error"]
    for part, names in content["logs"].items():
        output.text(f"{part}: {len(names)} logs ({', '.join(names)})")
    paces = ", ".join(
        f"{1e3 * pace:.3g} ms at {horizon:g} s"
        for horizon, pace in zip(settings["horizons"], content["step_seconds"], strict=True)
    )
    output.text(
        f"Angle error of the servo model: {1e3 * errors['training']:.4g} mrad on training logs, "
        f"{1e3 * errors['validation']:.4g} mrad on validation logs",
        f"{settings['family']} of width {settings['hidden']}, {content['steps']} gradient steps at "
        f"most ({paces}): about {duration(content['seconds'])}",
    )
    output.result(content)
    return DONE
