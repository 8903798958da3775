"""Logs and simulated motions over each other, as figures of a report."""

from collections.abc import Mapping, Sequence

import numpy as np

from trueup import reports
from trueup.actuators.logs.servo_log import Array, ServoLog
from trueup.actuators.search._model_errors import ModelErrors

PAGE_BYTES = 4_500_000
"""What the curves of one page may take; with the code that draws them it stays below 8 MB."""

_BYTES_PER_POINT = 15  # of a time and a value, as text
_FEWEST, _MOST = 120, 1000  # points a curve
_MILLIRADIANS = 1e3


def points_per_curve(logs: int, models: int) -> int:
    """How many points each curve may have for the page to stay small."""
    curves = logs * (4 + 5 * models)
    return int(np.clip(PAGE_BYTES // (curves * _BYTES_PER_POINT), _FEWEST, _MOST))


def overlay_figure(
    log: ServoLog, motions: Mapping[str, Mapping[str, Array]], points: int = _MOST
) -> reports.Figure:
    """One log with the motions of several models: position and its error, speed, duty, torque.

    Args:
        log: the log.
        motions: label of a model -> its ``position`` [rad], ``speed`` [rad/s], ``duty`` and
            ``torque`` [N m], each ``(n,)``.
        points: points that each curve keeps.
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
    caption = "The goal is left out while torque is off."
    if shown < samples:
        caption += (
            f" Curves of {samples:,} samples are drawn with {shown:,} points; the smallest and the "
            "largest sample of every stretch are kept."
        )
    return reports.time_series_figure(panels, caption=caption, spans=_off_spans(log))


def motions_of(errors: Sequence[ModelErrors], number: int) -> dict[str, dict[str, Array]]:
    """Motions of all models in one log, as :func:`overlay_figure` takes them."""
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
    """Error [mrad] of every model on every log, the best of each log marked, means below.

    Args:
        errors: the models.
        logs: the logs, as in the models.
        order: numbers of the logs in the order of the rows.
        held_out: whether a log is held out, one a log.
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
    """Numbers of the logs, that with the greatest error of the best model first."""
    if not errors:
        return []
    best = min(errors, key=lambda m: float(np.mean(m.error(kind))))
    return np.argsort(-best.error(kind), kind="stable").tolist()


def _off_spans(log: ServoLog) -> list[reports.Span]:
    """Stretches without torque."""
    off = np.concatenate([[False], ~log.torque_enable, [False]])
    edges = np.flatnonzero(off[1:] != off[:-1])
    ends = np.minimum(edges[1::2], len(log) - 1)
    return [
        reports.Span(float(log.times[a]), float(log.times[b]), "torque off")
        for a, b in zip(edges[::2], ends, strict=True)
        if b > a
    ]
