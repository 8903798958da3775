"""Effort of a walk by muscle, compared with that of another walk."""

from typing import Any

import numpy as np

from trueup import reports
from trueup.gait.models.anatomy import Anatomy
from trueup.gait.report.norm_comparison import energy_note
from trueup.gait.report.walk_sections import muscle_pairs
from trueup.gait.walk.series import WalkSeries


def judged_frames(series: WalkSeries, strides: int) -> slice:
    """Frames of the effort: strides of the left leg, or the whole walk without a stride."""
    right, left = (series.strides(leg, strides) for leg in range(2))
    return slice(left[0].start, left[-1].end) if right and left else slice(-1)


def effort_of_muscles(series: WalkSeries, effort: float, strides: int) -> np.ndarray:
    """Contribution of each muscle to the effort of a walk ``(muscles,)`` [s/(kg m)].

    Args:
      series: walk.
      effort: effort of all muscles [s/(kg m)].
      strides: number of evaluated strides of each leg, the last ones.
    """
    squares = (series.activations[judged_frames(series, strides)] ** 2).sum(axis=0)
    return effort * squares / max(squares.sum(), np.finfo(float).tiny)


def effort_content(
    series: WalkSeries,
    effort: float,
    strides: int,
    anatomy: Anatomy,
    start: tuple[WalkSeries, float] | None = None,
    start_name: str = "",
) -> list[reports.Content]:
    """Figure and table of the effort of each muscle, both legs together, largest first.

    Args:
      series: walk.
      effort: effort of the walk [s/(kg m)].
      strides: number of evaluated strides of each leg, the last ones.
      anatomy: names of the parts of the walker.
      start: walk to compare with, and its effort.
      start_name: name of that walk.
    """
    own = effort_of_muscles(series, effort, strides)
    others, all_there = None, 0.0
    if start is not None:
        others, all_there = effort_of_muscles(*start, strides), start[1]
    legs = {name: pair for _, name, pair in muscle_pairs(series, anatomy)}
    paired = {muscle for pair in legs.values() for muscle in pair}
    legs |= {name: [k] for k, name in enumerate(series.muscles) if k not in paired}
    rows: list[list[Any]] = []
    for name, muscles in legs.items():
        value = float(own[muscles].sum())
        row: list[Any] = [name, value, 100.0 * value / effort]
        if others is not None:
            other = float(others[muscles].sum())
            row += [other, 100.0 * (value - other) / all_there]
        rows.append(row)
    rows.sort(key=lambda row: -row[1])
    columns: list[reports.Column | str] = [
        "muscle",
        reports.Column("effort", "s/(kg m)", digits=3),
        reports.Column("fraction of the effort", "%", digits=3),
    ]
    if others is not None:
        columns += [
            reports.Column(f"effort at the {start_name}", "s/(kg m)", digits=3),
            reports.Column("change", "% of its total effort", digits=3),
        ]
    figure = reports.bar_figure(
        [row[0] for row in rows],
        [row[2] for row in rows],
        label="fraction of the effort",
        unit="%",
        title="Effort by muscle",
        caption="Time integral of the squared activation, both legs together.",
        horizontal=True,
    )
    table = reports.Table(columns, rows)
    return [figure, reports.Group("Efforts of the muscles", table, collapsed=True)]


def energy_content(
    series: WalkSeries, strides: int, anatomy: Anatomy, speed: float
) -> list[reports.Content]:
    """Figure of the metabolic rate of each muscle, both legs together, the largest first.

    Args:
      series: walk.
      strides: number of evaluated strides of each leg, the last ones.
      anatomy: names of the parts of the walker.
      speed: speed of the walk [m/s], for the comparison with adults.
    """
    judged = judged_frames(series, strides)
    rates = series.muscle_powers[judged].mean(axis=0) / series.mass
    legs = {name: float(rates[pair].sum()) for _, name, pair in muscle_pairs(series, anatomy)}
    rows = sorted(legs.items(), key=lambda row: -row[1])
    note = energy_note(float(rates.sum()), speed) if series.slope == 0.0 else ""
    return [
        reports.bar_figure(
            [name for name, _ in rows],
            [rate for _, rate in rows],
            label="metabolic rate",
            unit="W/kg",
            title="Metabolic rate by muscle",
            caption=f"Both legs together; all muscles {rates.sum():.2f} W/kg"
            + (f", {note}." if note else "."),
            horizontal=True,
        )
    ]
