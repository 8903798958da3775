"""Logs alone or with simulated motions over them, as one HTML page."""

from collections.abc import Mapping, Sequence

import numpy as np

from trueup import reports
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.report._overlay_figures import (
    error_table,
    motions_of,
    overlay_figure,
    points_per_curve,
    worst_first,
)
from trueup.actuators.search._model_errors import ModelErrors, model_errors
from trueup.errors import RecordingError, did_you_mean, listing

_OPEN = 3  # sections that start unfolded


def overlay_report(
    logs: Sequence[ServoLog],
    models: Mapping[str, ServoModel] | Sequence[ModelErrors] = (),
    *,
    title: str = "",
    scheme: str = "semi-implicit",
    reset_period: float | None = None,
    vin: float | None = None,
) -> reports.Page:
    """A page with a section for each log, those that the models explain worst first.

    Args:
        logs: evenly sampled logs of one servo; raw ones will do where there is no model.
        models: label -> model to simulate, or motions that are there already; none: only the logs.
        title: heading.
        scheme: how the bench steps, one of :data:`~trueup.actuators.SCHEMES`.
        reset_period: take position and speed from the log again after this time [s].
        vin: nominal bus voltage [V] in place of the logs' own.

    Raises:
        RecordingError: there is no log, or one cannot be simulated.
        ParameterError: a model is of another servo than the logs.
    """
    if not logs:
        raise RecordingError("there is no log to show")
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


def select_logs(
    logs: Sequence[ServoLog], patterns: Sequence[str] = (), worst: int | None = None,
    errors: Sequence[ModelErrors] = (),
) -> list[int]:  # fmt: skip
    """Numbers of the logs whose names match, the worst ones of them where ``worst`` is given.

    Args:
        logs: the logs.
        patterns: shell patterns such as ``*kp400*``, any of which a name may match; none: all.
        worst: how many logs to keep, those with the greatest error of the best model; without
            models, the first ones.
        errors: the models' errors.

    Raises:
        RecordingError: a pattern matches no log.
    """
    from fnmatch import fnmatchcase

    names = [log.name for log in logs]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise RecordingError(
                f"no log is named {pattern!r}; there are {listing(names)}."
                f"{did_you_mean(pattern, names)}"
            )
    if worst is not None and worst < 1:
        raise RecordingError(f"at least one log has to be shown, got {worst}")
    order = worst_first(errors) or list(range(len(logs)))
    chosen = [i for i in order if not patterns or any(fnmatchcase(names[i], p) for p in patterns)]
    return chosen[:worst]


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
