"""Output of the result or the plan of ``trueup network train-motion``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueup._marks import marked
from trueup.cli.output import Output
from trueup.cli.run_results import DONE, code_of
from trueup.errors import ExperimentError
from trueup.networks.motion.evaluation import evaluate_motion
from trueup.networks.motion.rollout import HORIZONS
from trueup.networks.motion.training import Motion
from trueup.runs import Outcome
from trueup.runs.loop.progress import duration


def show_motion(outcome: Outcome, output: Output) -> None:
    """Print the angle errors of the held-out logs."""
    result = outcome.result
    where, words = "test" if result.parts.test else "validation", result.training.start.words
    compared = [(words, result.base_motions)]
    if result.network is not None:
        compared.append(("corrected", result.motions))
    names = list(result.motions)
    head = [f"{where} log", *(f"{label}, mrad" for label, _ in compared)]
    rows = [
        [name, *(f"{1e3 * motions[name].angle_error:.4g}" for _, motions in compared)]
        for name in names
    ]
    torques = [[motions[name].torque_error for _, motions in compared] for name in names]
    if all(torque is not None for of_log in torques for torque in of_log):
        head += [f"torque, {label}, N m" for label, _ in compared]
        for row, of_log in zip(rows, torques, strict=True):
            row += [f"{torque:.3g}" for torque in of_log]
    output.table(head, rows)
    output.text(f"RMS error of whole logs, {result.training.steps} gradient steps.")
    _show_horizons(compared, output)
    for gain, factor in result.training.base.gains.items():
        output.text(f"The firmware applies a factor of {factor:.4g} to the gain {gain:g}.")
    output.text(f"Run directory: {outcome.directory}", f"Report: {outcome.report}")


def _show_horizons(compared: Sequence[tuple[str, Mapping[str, Motion]]], output: Output) -> None:
    """Print the angle errors by the time after the last recorded state, over all logs."""
    rows = []
    for horizon in HORIZONS:
        errors = [
            [motion.horizons[horizon] for motion in motions.values() if horizon in motion.horizons]
            for _, motions in compared
        ]
        if errors[0]:
            means = (np.sqrt(np.mean(np.square(of_all))) for of_all in errors)
            rows.append([f"{horizon:g} s", *(f"{1e3 * mean:.4g}" for mean in means)])
    if rows:
        output.table(["ahead", *(f"{label}, mrad" for label, _ in compared)], rows)
        output.text("RMS error this long after the last recorded state, over all logs.")


def run_evaluate_motion(
    run: Path, logs: Path | None, others: tuple[Any, ...], anyway: bool, output: Output
) -> int:
    """Score a finished training on other servo logs; returns the exit code.

    Args:
      run: run directory of the training.
      logs: folder or file of the logs.
      others: values of options that such a run does not have.
      anyway: accept a training whose logs have changed.
      output: where the result is printed.
    """
    if logs is None:
        raise ExperimentError(f"{run} is scored on other servo logs: give their folder as --data")
    if any(others):
        raise ExperimentError(
            f"{run} is a training through the simulator, which is scored by the angle of servo "
            "logs: give --data alone, without --report, --inertia, --model-file, --joint and keys"
        )
    found = evaluate_motion(run, logs, anyway=anyway)
    with marked(found.mark):
        label = "corrected" if found.corrected else found.words
        head = ["log", f"{label}, mrad"]
        rows = [[name, f"{1e3 * error:.4g}"] for name, error in found.errors.items()]
        if found.base_errors and found.corrected:
            head.append(f"{found.words} before the training, mrad")
            for row in rows:
                row.append(f"{1e3 * found.base_errors[row[0]]:.4g}")
        output.table(head, rows)
        output.text("RMS error of whole logs.")
        _show_horizons([(label, found.motions)], output)
        output.text(*found.verdict.lines())
        output.result({"run": str(run), "data": str(logs), **found.to_dict()})
    return code_of(found.verdict)


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
