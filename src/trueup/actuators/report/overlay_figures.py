"""Figures of logs with simulated motions, and tables of their errors."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np

from trueup import reports
from trueup.actuators.assess.model_errors import ModelErrors
from trueup.actuators.logs.servo_log import Array, ServoLog
from trueup.errors import RecordingError, did_you_mean, listing

PAGE_BYTES = 4_500_000
"""Size limit of the curves of one page [bytes]; with the plotting code a page stays below 8 MB."""

_BYTES_PER_POINT = 15  # a time and a value as text
_FEWEST, _MOST = 120, 1000  # limits of the points per curve
_MILLIRADIANS = 1e3


def points_per_curve(logs: int, models: int) -> int:
    """Number of points per curve that keeps the page within :data:`PAGE_BYTES`."""
    curves = logs * (4 + 5 * models)
    return int(np.clip(PAGE_BYTES // (curves * _BYTES_PER_POINT), _FEWEST, _MOST))


def overlay_figure(
    log: ServoLog, motions: Mapping[str, Mapping[str, Array]], points: int = _MOST
) -> reports.Figure:
    """Figure of one log and simulated motions: position, error, speed, duty cycle, torque.

    Args:
        log: log.
        motions: by label of the model, its ``position`` [rad], ``speed`` [rad/s], ``duty`` and
            ``torque`` [N m], each ``(n,)``.
        points: number of points per curve.
    """
    style = "fitted" if len(motions) == 1 else "other"

    def curve(name: str, values: Array, style: str, step: bool = False) -> reports.Trace:
        times, kept = reports.decimate(log.times, values, points)
        return reports.Trace(name, times, kept, style, step)

    def simulated(channel: str) -> list[reports.Trace]:
        return [curve(label, motion[channel], style) for label, motion in motions.items()]

    goal = np.where(log.torque_enable, log.goal_position, np.nan)
    errors = [
        curve(label, motion["position"] - log.position, style) for label, motion in motions.items()
    ]
    panels = [
        reports.Panel(
            "position",
            "rad",
            [
                curve("measured", log.position, "measured"),
                curve("goal", goal, "trivial", step=True),
                *simulated("position"),
            ],
            residuals=errors,
        ),
        reports.Panel(
            "speed", "rad/s", [curve("measured", log.speed, "measured"), *simulated("speed")]
        ),
    ]
    duty = [] if log.load is None else [curve("measured", log.load, "measured")]
    duty += [t for t in simulated("duty") if np.isfinite(np.asarray(t.values, float)).any()]
    if duty:
        panels.append(reports.Panel("duty cycle of the bridge", "", duty))
    if motions:
        panels.append(reports.Panel("motor torque, simulated", "N m", simulated("torque")))
    samples, shown = len(log), min(points, len(log))
    caption = "The goal is not drawn while torque is off."
    if shown < samples:
        caption += (
            f" Curves of {samples:,} samples are drawn with {shown:,} points; the smallest and the "
            "largest sample of each interval are kept."
        )
    return reports.time_series_figure(panels, caption=caption, spans=_off_spans(log))


def motions_of(errors: Sequence[ModelErrors], number: int) -> dict[str, dict[str, Array]]:
    """Motions of all models in one log, in the form of :func:`overlay_figure`."""
    return {
        m.label: {
            "position": m.position[number],
            "speed": m.speed[number],
            "duty": m.duty[number],
            "torque": m.torque[number],
        }
        for m in errors
    }


def error_table(
    errors: Sequence[ModelErrors],
    logs: Sequence[ServoLog],
    order: Sequence[int],
    held_out: Sequence[bool] | np.ndarray | None = None,
    title: str = "",
    kind: str = "mae",
) -> reports.Table:
    """Table of the error [mrad] of each model on each log; the smallest of a log is marked.

    Args:
        errors: errors of the models.
        logs: logs, as in ``errors``.
        order: indices of the logs in the order of the rows.
        held_out: whether each log is held out.
        title: heading.
        kind: ``"mae"`` or ``"rmse"``.
    """
    values = {m.label: m.error(kind) * _MILLIRADIANS for m in errors}
    columns: list[reports.Column] = [reports.Column("log"), reports.Column("kp")]
    several_masses = len({log.mass for log in logs}) > 1
    if several_masses:
        columns.append(reports.Column("mass", "kg", digits=4))
    if held_out is not None:
        columns.append(reports.Column("part"))
    columns += [reports.Column(label, "mrad", digits=3) for label in values]
    rows = []
    for i in order:
        best = min((float(e[i]) for e in values.values()), default=np.nan)
        row: list[object] = [logs[i].name, logs[i].kp]
        row += [logs[i].mass] if several_masses else []
        if held_out is not None:
            row.append("held out" if held_out[i] else "training")
        for e in values.values():
            is_best = len(values) > 1 and float(e[i]) == best
            row.append(reports.Cell(float(e[i]), "good" if is_best else ""))
        rows.append(row)
    note = f"{'Mean absolute' if kind == 'mae' else 'Root mean square'} error of the position."
    if len(values) > 1:
        note += " Marked: the smallest of each log."
    return reports.Table(columns, rows, title=title, notes=note)


def worst_first(errors: Sequence[ModelErrors], kind: str = "mae") -> list[int]:
    """Indices of the logs, in order of decreasing error of the best model."""
    if not errors:
        return []
    best = min(errors, key=lambda m: float(np.mean(m.error(kind))))
    return np.argsort(-best.error(kind), kind="stable").tolist()


def select_logs(
    logs: Sequence[ServoLog],
    patterns: Sequence[str] = (),
    worst: int | None = None,
    errors: Sequence[ModelErrors] = (),
) -> list[int]:
    """Indices of the logs whose names match a pattern, optionally only the worst ones.

    Args:
        logs: logs.
        patterns: shell patterns such as ``*kp400*``; a name must match one of them; none: all.
        worst: number of logs to keep, in order of decreasing error of the best model; without
            models, the first ones.
        errors: errors of the models.

    Raises:
        RecordingError: a pattern matches no log.
    """
    names = [log.name for log in logs]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise RecordingError(
                f"no log matches {pattern!r}; available: {listing(names)}."
                f"{did_you_mean(pattern, names)}"
            )
    if worst is not None and worst < 1:
        raise RecordingError(f"the number of logs to show must be at least 1, got {worst}")
    order = worst_first(errors) or list(range(len(logs)))
    chosen = [i for i in order if not patterns or any(fnmatchcase(names[i], p) for p in patterns)]
    return chosen[:worst]


def _off_spans(log: ServoLog) -> list[reports.Span]:
    """Intervals without torque."""
    off = np.concatenate([[False], ~log.torque_enable, [False]])
    edges = np.flatnonzero(off[1:] != off[:-1])
    ends = np.minimum(edges[1::2], len(log) - 1)
    return [
        reports.Span(float(log.times[a]), float(log.times[b]), "torque off")
        for a, b in zip(edges[::2], ends, strict=True)
        if b > a
    ]
