"""Report of logs with simulated motions, as an HTML page."""

from collections.abc import Mapping, Sequence

import numpy as np

from trueup import reports
from trueup.actuators.assess.model_errors import ModelErrors, model_errors
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.report.overlay_figures import (
    error_table,
    motions_of,
    overlay_figure,
    points_per_curve,
    worst_first,
)
from trueup.errors import RecordingError

_OPEN = 3  # number of sections that start unfolded


def overlay_report(
    logs: Sequence[ServoLog],
    models: Mapping[str, ServoModel] | Sequence[ModelErrors] = (),
    *,
    title: str = "",
    scheme: str = "semi-implicit",
    reset_period: float | None = None,
    vin: float | None = None,
) -> reports.Page:
    """Report with a section for each log, in order of decreasing error.

    Args:
        logs: evenly sampled logs of one servo; raw logs suffice without a model.
        models: models to simulate by label, or motions already simulated; empty: only the logs.
        title: heading.
        scheme: integration scheme, one of ``SCHEMES``.
        reset_period: interval at which position and speed are reset to the log's [s].
        vin: nominal bus voltage [V], instead of that of the logs.

    Raises:
        RecordingError: no logs, or one that cannot be simulated.
        ParameterError: a model belongs to another servo than the logs.
    """
    if not logs:
        raise RecordingError("no logs to show: give at least one")
    if isinstance(models, Mapping):
        errors = (
            model_errors(models, logs, scheme=scheme, reset_period=reset_period, vin=vin)
            if models
            else []
        )
    else:
        errors = list(models)
    order = worst_first(errors) or list(range(len(logs)))
    subtitle = f"{len(logs)} logs of the servo {logs[0].motor}"
    page = reports.Page(title or "Servo logs", subtitle)
    if errors:
        page.add(_summary(errors, logs, order))
    points = points_per_curve(len(logs), len(errors))
    for place, i in enumerate(order):
        figure = overlay_figure(logs[i], motions_of(errors, i), points)
        page.add(
            reports.Section(
                logs[i].name,
                summary=_described(logs[i], errors, i),
                content=[figure],
                collapsed=place >= _OPEN,
            )
        )
    return page


def _summary(
    errors: Sequence[ModelErrors], logs: Sequence[ServoLog], order: Sequence[int]
) -> reports.Section:
    figures = [
        reports.KeyFigure(float(np.mean(m.mae)) * 1e3, m.label, "mrad", "mean over the logs")
        for m in errors
    ]
    return reports.Section(
        "Errors", content=[reports.KeyFigures(figures), error_table(errors, logs, order)]
    )


def _described(log: ServoLog, errors: Sequence[ModelErrors], number: int) -> str:
    parts = [f"{log.trajectory}, kp {log.kp:g}, {log.mass:g} kg at {log.length:g} m"]
    parts += [f"{m.label} {m.mae[number] * 1e3:.1f} mrad" for m in errors]
    return "; ".join(parts)
