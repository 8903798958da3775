"""Output of the result or the plan of ``trueup network train-motion``."""

from typing import Any

from trueup.cli.output import Output
from trueup.cli.run_results import DONE
from trueup.runs import Outcome
from trueup.runs.loop.progress import duration


def show_motion(outcome: Outcome, output: Output) -> None:
    """Print the angle errors of the held-out logs."""
    result = outcome.result
    rows = [
        [name, f"{1e3 * result.base_errors[name]:.4g}", f"{1e3 * error:.4g}"]
        for name, error in result.errors.items()
    ]
    where, words = "test" if result.parts.test else "validation", result.training.start.words
    head = [f"{where} log", f"{words}, mrad", "corrected, mrad"]
    pairs = [(result.base_motions[name], motion) for name, motion in result.motions.items()]
    torques = [[motion.torque_error for motion in pair] for pair in pairs]
    if all(torque is not None for pair in torques for torque in pair):
        head += [f"torque, {words}, N m", "torque, corrected, N m"]
        for row, pair in zip(rows, torques, strict=True):
            row += [f"{torque:.3g}" for torque in pair]
    output.table(head, rows)
    output.text(f"RMS error of whole logs, {result.training.steps} gradient steps.")
    for gain, factor in result.training.base.gains.items():
        output.text(f"The firmware applies a factor of {factor:.4g} to the gain {gain:g}.")
    output.text(f"Run directory: {outcome.directory}", f"Report: {outcome.report}")


def show_plan(content: dict[str, Any], output: Output) -> int:
    """Print the plan of a training; returns the exit code."""
    settings, errors = content["settings"], content["angle_error"]
    for part, names in content["logs"].items():
        output.text(f"{part}: {len(names)} logs ({', '.join(names)})")
    paces = ", ".join(
        f"{1e3 * pace:.3g} ms at {horizon:g} s"
        for horizon, pace in zip(settings["horizons"], content["step_seconds"], strict=True)
    )
    output.text(
        f"Angle error of the {content['base_words']}: {1e3 * errors['training']:.4g} mrad on "
        f"training logs, {1e3 * errors['validation']:.4g} mrad on validation logs",
        f"{settings['family']} of width {settings['hidden']}, at most {content['steps']} gradient "
        f"steps ({paces}): about {duration(content['seconds'])}",
    )
    output.result(content)
    return DONE
