"""``trueup actuator plot`` and ``drive-backdrive``: what identified servo models say."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trueup.actuators import ServoLog, ServoModel, load_catalogue, read_logs
from trueup.actuators.catalogue.parameter_file import load_models
from trueup.actuators.report._drive_backdrive import SPEEDS, drive_backdrive
from trueup.actuators.report._drive_backdrive_report import (
    drive_backdrive_image,
    drive_backdrive_report,
    sentences,
)
from trueup.actuators.report._overlay_report import overlay_report
from trueup.actuators.report.overlay_figures import select_logs
from trueup.actuators.report.overlay_image import overlay_images
from trueup.actuators.search.model_errors import ModelErrors, model_errors, names_in_logs
from trueup.cli.actuator_evaluate import milli
from trueup.cli.actuator_show_commands import (
    DriveBackdriveLimits,
    PlotServoLogs,
)
from trueup.cli.output import Output
from trueup.errors import ParameterError, listing


def run_plot(arguments: PlotServoLogs, output: Output) -> int:
    """Draw logs and simulated motions; returns the exit code."""
    if arguments.sim and not arguments.params:
        raise ParameterError("--sim needs the parameters of a model: --params FILE")
    if arguments.params and not arguments.sim:
        raise ParameterError("parameter files are given, but nothing to do with them: add --sim")
    skipped: list[str] = []
    logs = read_logs(
        arguments.logdir,
        uniform=arguments.sim,
        skip_bad=arguments.skip_bad_logs,
        on_skip=skipped.append,
    )
    models = given_models(arguments.params, arguments.catalogue, arguments.actuator, logs)
    logs = [logs[i] for i in select_logs(logs, arguments.only)]
    errors: list[ModelErrors] = []
    if models:
        errors = model_errors(
            models,
            logs,
            scheme=arguments.scheme,
            reset_period=arguments.reset_period,
            vin=arguments.vin,
        )
    chosen = select_logs(logs, worst=arguments.worst, errors=errors)
    shown = [logs[i] for i in chosen]
    errors = [each.part(chosen) for each in errors]
    files = [overlay_report(shown, errors).save(arguments.output)]
    if arguments.png:
        files += overlay_images(shown, errors, arguments.output.with_suffix(".png"))
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
        }
    )
    return 0


def run_drive_backdrive(arguments: DriveBackdriveLimits, output: Output) -> int:
    """Draw the limits of driving and backdriving; returns the exit code."""
    models = given_models(arguments.params, arguments.catalogue)
    if not models:
        raise ParameterError("no parameter file is given: --params FILE")
    speeds = arguments.speeds or SPEEDS
    limits = {
        m: drive_backdrive(model, arguments.max_torque, speeds) for m, model in models.items()
    }
    page = drive_backdrive_report(list(limits.values()), list(limits))
    files = [page.save(arguments.output)]
    if arguments.png:
        png = arguments.output.with_suffix(".png")
        files.append(drive_backdrive_image(list(limits.values()), list(limits), png))
    for label, each in limits.items():
        output.text(label, *(f"  {sentence}" for sentence in sentences(each)))
    for file in files:
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
            "files": [str(file) for file in files],
        }
    )
    return 0


def given_models(
    params: Sequence[Sequence[Path]],
    catalogue: Path | None,
    servo: str | None = None,
    logs: Sequence[ServoLog] = (),
) -> dict[str, ServoModel]:
    """Models of the parameter files of ``--params``, by label.

    Raises:
      ParameterError: a file cannot be used, or is of another servo than ``servo`` or the logs.
    """
    if catalogue is not None:
        load_catalogue(catalogue, replace=True)
    files = list(dict.fromkeys(file for several in params for file in several))
    models = load_models(files, servo=servo)
    for file, model in zip(files, models.values(), strict=True):
        others = {log.motor for log in logs} - names_in_logs(model.servo.name)
        if others:
            raise ParameterError(
                f"{file}: parameters of the servo {model.servo.name!r}, but the logs are of "
                f"{listing(sorted(others))} ({logs[0].source} ...): give files of that servo"
            )
    return models


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
