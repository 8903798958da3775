"""Section of the report with the error at each horizon."""

from collections.abc import Sequence
from typing import Any

from trueup import reports


def horizon_label(horizon: float | str) -> str:
    """``0.5 s``, or ``whole`` for whole recordings."""
    return horizon if isinstance(horizon, str) else f"{horizon:g} s"


def horizon_section(rows: Sequence[dict[str, Any]]) -> reports.Section:
    """Errors at each horizon, compared with predictors without a model.

    Args:
      rows: ``horizons`` of a summary.
    """
    table = reports.Table(
        [
            "horizon",
            "data",
            "channel",
            "unit",
            reports.Column("RMSE identified", digits=3),
            reports.Column("RMSE initial", digits=3),
            reports.Column("RMSE state held", digits=3),
            reports.Column("RMSE velocity held", digits=3),
            "remark",
        ],
        [
            [
                horizon_label(r["horizon"]),
                r["part"],
                r["channel"],
                r["unit"],
                r["identified"],
                r["initial"],
                r["state_held"],
                r["velocity_held"],
                "" if r["identified"] < min(r["state_held"], r["velocity_held"]) else "not better",
            ]
            for r in rows
        ],
        notes=[
            "Root mean square error at this time after the last measured state, from which the "
            "simulation restarts after each horizon; whole: one simulation per recording. State "
            "held: the value is constant. Velocity held: the position is extrapolated with the "
            "measured velocity."
        ],
        highlights=[reports.Highlight("remark", bool, "serious")],
    )
    return reports.Section("Error by horizon", "horizons", content=[table])
