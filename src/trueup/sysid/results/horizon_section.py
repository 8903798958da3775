"""Section of the report with the error at each horizon."""

from collections.abc import Sequence
from typing import Any

from trueup import reports
from trueup.sysid.results.identifiability_section import tone_of


def horizon_label(horizon: float | str) -> str:
    """``0.5 s``, or ``whole`` for whole recordings."""
    return horizon if isinstance(horizon, str) else f"{horizon:g} s"


def horizon_section(
    rows: Sequence[dict[str, Any]], findings: Sequence[reports.Finding] = ()
) -> reports.Section:
    """Errors at each horizon, compared with predictors without a model.

    Args:
      rows: ``horizons`` of a summary.
      findings: findings on these errors.
    """
    horizons = list(dict.fromkeys(r["horizon"] for r in rows))
    columns: list[str | reports.Column] = ["channel", "unit"]
    for horizon in horizons:
        group = horizon_label(horizon)
        columns += [
            reports.Column("identified", digits=3, align="right", group=group),
            reports.Column("held", digits=3, group=group),
        ]
    body: list[list[object]] = []
    for channel in dict.fromkeys(r["channel"] for r in rows):
        by = {r["horizon"]: r for r in rows if r["channel"] == channel}
        cells: list[object] = [channel, next(iter(by.values()))["unit"]]
        for horizon in horizons:
            cells += _cells(by.get(horizon))
        body.append(cells)
    part = "Held-out" if rows[0]["part"] == "held-out" else "Training"
    table = reports.Table(
        columns,
        body,
        notes=[
            f"{part} data: root mean square error at this time after the last measured state, from "
            "which the simulation restarts after each horizon; whole: one simulation per "
            "recording. Held: the better of the last value held, and extrapolated with the last "
            "velocity. Marked: not better than held."
        ],
    )
    content: list[reports.Content] = [reports.Findings(list(findings))] if findings else []
    return reports.Section(
        "Errors by horizon",
        "horizons",
        content=[*content, table],
        collapsed=True,
        tone=tone_of(findings),
    )


def _cells(row: dict[str, Any] | None) -> list[object]:
    """Errors of one channel at one horizon."""
    if row is None:
        return [None] * 2
    name = min(("state_held", "velocity_held"), key=row.__getitem__)
    better = row["identified"] < row[name]
    return [
        reports.Cell(row["identified"], "" if better else "serious"),
        reports.Cell(row[name], note=name.replace("_", " ")),
    ]
