"""``trueup actuator plot`` and ``drive-backdrive``: figures of identified servo models."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trueup._marks import KEY, marked
from trueup.actuators import read_logs
from trueup.actuators.assess.model_errors import ModelErrors, model_errors
from trueup.actuators.report._drive_backdrive import SPEEDS, drive_backdrive
from trueup.actuators.report._drive_backdrive_report import (
    drive_backdrive_report,
    sentences,
)
from trueup.actuators.report._overlay import overlay_report
from trueup.actuators.report.overlay_figures import select_logs
from trueup.actuators.report.overlay_image import overlay_images
from trueup.actuators.selection.user_models import mark_of_models, user_models
from trueup.cli.actuator.evaluate import milli
from trueup.cli.output import Output
from trueup.errors import ParameterError


def run_plot(
    logdir: Path,
    params: Sequence[Path],
    target: Path,
    output: Output,
    *,
    servo: str | None,
    catalogue: Path | None,
    skip_bad: bool,
    simulation: dict[str, Any],
    only: Sequence[str],
    worst: int | None,
    png: bool,
    anyway: bool,
) -> int:
    """Draw logs, and the motions of the models of parameter files; returns the exit code."""
    skipped: list[str] = []
    logs = read_logs(logdir, uniform=bool(params), skip_bad=skip_bad, on_skip=skipped.append)
    models = user_models(params, catalogue, servo, logs, anyway)
    logs = [logs[i] for i in select_logs(logs, only)]
    errors: list[ModelErrors] = []
    if models:
        errors = model_errors(models, logs, **simulation)
    chosen = select_logs(logs, worst=worst, errors=errors)
    shown = [logs[i] for i in chosen]
    errors = [each.part(chosen) for each in errors]
    mark = mark_of_models(models)
    with marked(mark):
        files = [overlay_report(shown, errors).save(target)]
        if png:
            files += overlay_images(shown, errors, target.with_suffix(".png"))
    _print_errors(errors, output)
    for message in skipped:
        output.text(f"  ! {message}")
    for file in files:
        output.text(f"Wrote {file}")
    output.result(
        {
            "logs": [log.name for log in shown],
            "models": {m.label: _errors_dict(m) for m in errors},
            "files": [str(file) for file in files],
            "skipped": skipped,
            **({} if mark is None else {KEY: mark}),
        }
    )
    return 0


def run_drive_backdrive(
    params: Sequence[Path],
    catalogue: Path | None,
    max_torque: float | None,
    speeds: Sequence[float],
    target: Path,
    anyway: bool,
    output: Output,
) -> int:
    """Draw the limits of driving and backdriving; returns the exit code."""
    models = user_models(params, catalogue, anyway=anyway)
    if not models:
        raise ParameterError("the parameter file is missing: give it with --params FILE")
    limits = {
        m: drive_backdrive(model, max_torque, tuple(speeds) or SPEEDS)
        for m, model in models.items()
    }
    mark = mark_of_models(models)
    with marked(mark):
        page = drive_backdrive_report(list(limits.values()), list(limits))
        file = page.save(target)
    for label, each in limits.items():
        output.text(label, *(f"  {sentence}" for sentence in sentences(each)))
    output.text(f"Wrote {file}")
    output.result(
        {
            "models": {
                label: {
                    "speeds": each.speeds,
                    "motor_torque": each.motor,
                    "drive": each.drive,
                    "backdrive": each.backdrive,
                    "no_load_torque": each.no_load_torque,
                    "breakaway_torque": each.breakaway_torque,
                    "efficiency_forward": [
                        each.efficiencies(row)[0] for row in range(each.speeds.size)
                    ],
                    "efficiency_backward": [
                        each.efficiencies(row)[1] for row in range(each.speeds.size)
                    ],
                }
                for label, each in limits.items()
            },
            "files": [str(file)],
            **({} if mark is None else {KEY: mark}),
        }
    )
    return 0


def _errors_dict(m: ModelErrors) -> dict[str, Any]:
    return {
        "mae": float(m.mae.mean()),
        "by_log": dict(zip((log.name for log in m.logs), m.mae.tolist(), strict=True)),
        "speed_mae": dict(zip((log.name for log in m.logs), m.speed_mae.tolist(), strict=True)),
    }


def _print_errors(errors: list[ModelErrors], output: Output) -> None:
    if not errors:
        return
    rows = [[log.name, *(milli(m.mae[i]) for m in errors)] for i, log in enumerate(errors[0].logs)]
    rows.append(["mean", *(milli(m.mae.mean()) for m in errors)])
    output.table(["mean absolute error, mrad", *(m.label for m in errors)], rows)
