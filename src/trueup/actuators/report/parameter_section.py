"""Parameters of a servo fit in reports: rows with intervals and remarks, table and figure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from trueup import reports
from trueup.actuators.catalogue.servo_model import ServoModel

_AT_BOUND = 1e-3  # distance from a bound, as a fraction of the range, that counts as on it
_FILLED = 1e-3  # likewise for an interval that covers the range between the bounds

MEANINGS = {
    "at a bound": "the search ended on the bound: the true value may lie beyond it; at a bound of "
    "zero the effect may be absent",
    "unknown": "the logs do not determine the value: any value within the bounds, with suitable "
    "values of the other parameters, explains them as well",
    "unreliable": "the motion is not linear within the interval, which is computed from "
    "derivatives: the true value may lie outside it more often than the level states",
}
"""Meaning of each remark in a table of parameters."""


def remark_of(row: Mapping[str, Any]) -> str:
    """Remark on a parameter, given its row of :func:`parameter_rows`."""
    if not row["fitted"]:
        return "not fitted"
    remarks = ["at a bound"] if row["at_bound"] else []
    remarks += [] if row["determined"] else ["unknown"]
    remarks += ["unreliable"] if row["unreliable"] and row["determined"] else []
    return "; ".join(remarks)


def meanings_of(remarks: Iterable[str]) -> list[str]:
    """One sentence for each remark that occurs."""
    said = {part for remark in remarks for part in remark.split("; ")}
    return [f"{name}: {meaning}." for name, meaning in MEANINGS.items() if name in said]


def parameter_rows(model: ServoModel, statistics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of the parameter table: statistics of each parameter, completed by the model."""
    said = {row["name"]: row for row in statistics.get("parameters") or ()}
    confidence = statistics.get("confidence") or {}
    determined = confidence.get("determined", [p.name for p in model.parameters])
    unreliable = confidence.get("unreliable", ())
    rows = []
    for p in model.parameters:
        row = {"lower": p.lower, "upper": p.upper, "start": None, **said.get(p.name, {})}
        value = float(model.values[p.name])
        low, high = row.get("interval", (None, None))
        if "interval" in row:  # files store infinite numbers as null or as text
            low, high = (
                -np.inf if low is None else float(low),
                float(np.inf if high is None else high),
            )
        lower, upper = float(row["lower"]), float(row["upper"])
        margin = _AT_BOUND * (upper - lower)
        near = min(value - lower, upper - value) < margin
        if low is not None and low < lower + _FILLED * margin and high > upper - _FILLED * margin:
            low, high = (
                -np.inf,
                np.inf,
            )  # the interval covers the range between the bounds: no information
        fitted = p.name in said or not said
        rows.append(
            {
                "name": p.name,
                "value": value,
                "unit": p.unit,
                "description": p.description,
                "lower": lower,
                "upper": upper,
                "start": row["start"],
                "low": low,
                "high": high,
                "log": p.log,
                "fitted": fitted,
                "at_bound": bool(row.get("at_bound", fitted and near)),
                "determined": not fitted or (p.name in determined and low != -np.inf),
                "unreliable": p.name in unreliable,
            }
        )
    return rows


def parameter_section(
    rows: Sequence[Mapping[str, Any]], known: Mapping[str, Any], model: ServoModel
) -> reports.Section:
    """Table and figure of the parameters: values, intervals, bounds and remarks."""
    confidence = known.get("confidence") or {}
    level = f"{100 * confidence.get('level', 0.95):.3g} % interval"
    with_interval = any(row["low"] is not None for row in rows)
    with_start = any(row["start"] is not None for row in rows)
    columns = [
        reports.Column("parameter"),
        reports.Column(f"estimate, {level}" if with_interval else "value", align="right"),
        reports.Column("unit"),
        *([reports.Column("start", digits=4)] if with_start else []),
        *([] if with_interval else [reports.Column("bounds", align="right")]),
        reports.Column("remark"),
    ]
    body = []
    for row in rows:
        name = reports.Cell(row["name"], note=row["description"])
        cells: list[object] = [name, _estimate(row), row["unit"]]
        cells += [row["start"]] if with_start else []
        bounds = [] if with_interval else [_span(row["lower"], row["upper"])]
        body.append([*cells, *bounds, remark_of(row)])
    notes = meanings_of(remark_of(row) for row in rows)
    notes += [str(remark) for remark in confidence.get("remarks", ())]
    if model.friction.name == "m6":
        notes.append(f"The quadratic term of M6 is {model.quadratic}.")
    content: list[Any] = [
        reports.Table(
            columns,
            body,
            notes=notes,
            highlights=[
                reports.Highlight(
                    "remark", lambda text: bool(text) and text != "not fitted", "warning"
                )
            ],
        )
    ]
    fitted = [row for row in rows if row["fitted"]]
    figure = reports.interval_figure(
        [row["name"] for row in fitted],
        [row["value"] for row in fitted],
        low=[row["low"] for row in fitted],
        high=[row["high"] for row in fitted],
        lower=[row["lower"] for row in fitted],
        upper=[row["upper"] for row in fitted],
        initial=[row["start"] for row in fitted] if with_start else None,
        units=[row["unit"] for row in fitted],
        log=[row["log"] for row in fitted],
    )
    content.append(reports.Group("Values between their bounds", figure, collapsed=True))
    return reports.Section("Parameters", "parameters", content=content)


def _estimate(row: Mapping[str, Any]) -> str:
    """Value with its interval, rounded by it; of a parameter that was not fitted, the value."""
    low, high = (float("nan") if row[end] is None else float(row[end]) for end in ("low", "high"))
    return reports.format_estimate(float(row["value"]), low, high)


def _span(low: float | None, high: float | None) -> str:
    """Range as text; empty if an end is unknown."""
    if low is None or high is None:
        return ""
    if np.isinf(low) and np.isinf(high):
        return "anything"
    return f"{reports.format_number(float(low), 4)} to {reports.format_number(float(high), 4)}"
