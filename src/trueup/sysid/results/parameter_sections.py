"""Section of the report with the parameters: a list of estimates, or links and joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueup import reports
from trueup.sysid.assess.links import QUANTITIES

_MANY_OF_JOINTS = 9
"""Number of parameters of joints from which they are a table with one row per joint."""

_ATTRIBUTES = ("armature", "damping", "frictionloss", "stiffness", "springref")
_SCALES = {"m": ("mm", 1e3), "kg m^2": ("g m^2", 1e3)}
"""Units in which a link of a robot has numbers without leading zeros."""

_HEADS = {
    "centre x": "x",
    "centre y": "y",
    "centre z": "z",
    "moment 1": "largest",
    "moment 2": "middle",
    "moment 3": "smallest",
}


def parameter_section(
    summary: dict[str, Any], findings: Sequence[reports.Finding] = ()
) -> reports.Section:
    """Estimates with intervals; figures and what was not fitted are folded.

    A robot with unknown links begins with the physical quantities of its links and joints: the
    coordinates of an inertia have no meaning for a reader.

    Args:
      summary: content of ``solution.json``.
      findings: findings on parameters, folded below.
    """
    of_links = {link["parameter"] for link in summary.get("links") or ()}
    rows = [r for r in summary["parameters"] if r["parameter"] not in of_links]
    joints = joint_rows(rows, few=not of_links)
    in_joints = {r["name"] for row in joints.values() for r in row.values()}
    others = [r for r in rows if r["name"] not in in_joints]
    content: list[Any] = []
    if of_links:
        content.append(_link_table(summary["links"], _level(summary)))
    if joints:
        content += _joint_table(joints, _level(summary))
    if any(np.isnan(_number(r["low"])) for r in rows):
        content.append(reports.Text("No intervals: the fit is not an optimum."))
    if others:
        content.append(
            _table(others, _level(summary), "Other parameters" if joints or of_links else "")
        )
    base = (summary.get("torque") or {}).get("base_parameters") if of_links else None
    if base:
        content.append(reports.Group("Base parameters", base_table(base), collapsed=True))
    if findings:
        name = reports.counted(len(findings), "finding")
        content.append(reports.Group(name, reports.Findings(list(findings)), collapsed=True))
    content += _folded(summary, rows)
    return reports.Section("Parameters", "parameters", content=content)


def estimate(row: dict[str, Any]) -> str:
    """Estimate of a parameter with its interval, rounded by it."""
    return reports.format_estimate(_number(row["value"]), _number(row["low"]), _number(row["high"]))


def remark(row: dict[str, Any]) -> str:
    """What a reader has to know of an estimate; empty if nothing."""
    remarks = []
    low, high = _number(row["low"]), _number(row["high"])
    if row["at_bound"]:
        remarks.append("on a bound")
    if not row["determined"] and not np.isnan(low):
        fills = np.isfinite([low, high]).all() and low <= row["lower"] and high >= row["upper"]
        remarks.append("not determined" + (": the interval covers the bounds" if fills else ""))
    if row.get("model_error_ratio", 0.0) > row.get("model_error_limit", 1.0):
        value = reports.format_rounded(row["held_out_value"], 0.5 * (high - low))
        remarks.append(
            f"held-out data give {value}, {row['model_error_ratio']:.1f} times what noise explains"
        )
    if "profile_low" in row:
        span = reports.format_range(_number(row["profile_low"]), _number(row["profile_high"]))
        remarks.append(f"profile {span}")
    return "; ".join(remarks)


def joint_rows(
    rows: Sequence[dict[str, Any]], few: bool = True
) -> dict[str, dict[str, dict[str, Any]]]:
    """Parameters of joints by joint and attribute; empty where a list reads as well.

    Args:
      rows: parameters of a summary.
      few: whether a list is preferred for a small number.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        parts = row["target"][0].split("/") if len(row["target"]) == 1 else []
        if len(parts) == 3 and parts[0] == "joint" and parts[2] in _ATTRIBUTES:
            found.setdefault(parts[1], {}).setdefault(parts[2], row)
    total = sum(map(len, found.values()))
    if len(found) < 2 or (few and total < _MANY_OF_JOINTS):
        return {}
    return found


def link_quantity(quantity: dict[str, Any]) -> tuple[str, str, str]:
    """Estimate, CAD value and unit of a quantity of a link, in a unit without leading zeros."""
    unit, scale = _SCALES.get(quantity["unit"], (quantity["unit"], 1.0))
    value, half = (scale * _number(quantity[key]) for key in ("value", "half_width"))
    cad = scale * _number(quantity["cad"])
    shown = reports.format_estimate(value, value - half, value + half)
    return shown, reports.format_rounded(cad, half), unit


def base_table(rows: Sequence[dict[str, Any]]) -> reports.Table:
    """Combinations of inertial parameters that the motion determines."""
    return reports.Table(
        ["combination", "estimate", "model"],
        [
            [
                p["words"],
                reports.format_interval(_number(p["value"]), _number(p["half_width"])),
                reports.format_rounded(_number(p["model_value"]), _number(p["half_width"])),
            ]
            for p in rows
        ],
        notes=[
            "Combinations that the motion determines, by least squares with the noise of each "
            "joint; m mass, mc first moment, I moment of inertia about the origin of the body."
        ],
    )


def _level(summary: dict[str, Any]) -> str:
    return f"{100 * summary['level']:.3g} %"


def _link_table(links: Sequence[dict[str, Any]], level: str) -> reports.Table:
    """One row per link; each cell has the estimate above the value of the model."""
    names = [
        n for n, _ in QUANTITIES if any(n == q["name"] for k in links for q in k["quantities"])
    ]
    columns: list[Any] = ["link"]
    for name in names:
        unit = next(
            link_quantity(q)[2] for k in links for q in k["quantities"] if q["name"] == name
        )
        group = name.split()[0]
        title = {"centre": "centre of mass", "moment": "principal moments"}.get(group, "mass")
        columns.append(
            reports.Column(_HEADS.get(name, "estimate"), unit, align="right", group=title)
        )
    body = []
    for link in links:
        by_name = {q["name"]: q for q in link["quantities"]}
        body.append([link["body"], *(_link_cell(by_name.get(name)) for name in names)])
    return reports.Table(
        columns,
        body,
        title="Links",
        notes=[
            f"Estimate with its {level} interval, and below it the value of the model. The centre "
            "of mass is in the frame of the body, principal moments are about it. Grey: the "
            "recordings say less than the prior, or nothing."
        ],
        sortable=False,
    )


def _link_cell(quantity: dict[str, Any] | None) -> Any:
    if quantity is None:
        return None
    shown, cad, _ = link_quantity(quantity)
    return reports.Stacked(shown, cad, muted=not quantity["from_data"])


def _joint_table(joints: dict[str, dict[str, dict[str, Any]]], level: str) -> list[Any]:
    """One row per joint, and remarks on estimates that need one."""
    names = [n for n in _ATTRIBUTES if any(n in row for row in joints.values())]
    units = {n: next(row[n]["unit"] for row in joints.values() if n in row) for n in names}
    body, remarks = [], []
    for joint, row in joints.items():
        cells: list[Any] = [joint]
        for name in names:
            if name not in row:
                cells.append(None)
                continue
            text = remark(row[name])
            start = reports.format_number(row[name]["start"], 4)
            stacked = reports.Stacked(estimate(row[name]), start)
            cells.append(reports.Cell(stacked, "warning" if text else "", text))
            if text:
                remarks.append(("warning", f"{row[name]['name']}: {text}."))
        body.append(cells)
    table = reports.Table(
        ["joint", *(reports.Column(n, units[n], align="right") for n in names)],
        body,
        title="Joints",
        notes=[f"Estimate with its {level} interval, and below it the start value."],
        sortable=False,
    )
    return [table, *([reports.Findings(remarks)] if remarks else [])]


def _table(rows: Sequence[dict[str, Any]], level: str, title: str) -> reports.Table:
    with_nominal = any(r["nominal"] != r["start"] for r in rows)
    with_remarks = any(remark(r) for r in rows)
    columns = [
        reports.Column("parameter"),
        reports.Column(f"estimate, {level} interval", align="right"),
        reports.Column("unit"),
        reports.Column("start", digits=4),
        *([reports.Column("model", digits=4)] if with_nominal else []),
        *([reports.Column("remark")] if with_remarks else []),
    ]
    body = [
        [
            r["name"],
            estimate(r),
            r["unit"],
            r["start"],
            *([r["nominal"]] if with_nominal else []),
            *([remark(r)] if with_remarks else []),
        ]
        for r in rows
    ]
    highlights = [reports.Highlight("remark", bool, "warning")] if with_remarks else []
    return reports.Table(columns, body, title=title, highlights=highlights)


def _folded(summary: dict[str, Any], rows: Sequence[dict[str, Any]]) -> list[Any]:
    """Figures of intervals and correlation, how intervals were computed, what was not fitted."""
    content: list[Any] = []
    if rows:
        with_nominal = any(r["nominal"] != r["start"] for r in rows)
        figure = reports.interval_figure(
            [r["name"] for r in rows],
            [r["value"] for r in rows],
            low=[r["low"] for r in rows],
            high=[r["high"] for r in rows],
            lower=[r["lower"] for r in rows],
            upper=[r["upper"] for r in rows],
            initial=[r["start"] for r in rows],
            nominal=[r["nominal"] for r in rows] if with_nominal else None,
            units=[r["unit"] for r in rows],
            log=[r["log"] for r in rows],
        )
        content.append(reports.Group("Estimates between their bounds", figure, collapsed=True))
    found = summary["covariance"]
    notes: list[Any] = [reports.Text(text) for text in (found["reason"], *found["remarks"]) if text]
    names = {r["name"] for r in rows}
    kept = [i for i, name in enumerate(found["names"]) if name in names]
    if len(kept) > 1:
        notes.append(
            reports.heatmap_figure(
                np.asarray(found["correlation"], float)[np.ix_(kept, kept)],
                [found["names"][i] for i in kept],
                caption="Near +1 or -1: the data determine only a combination of the two.",
            )
        )
    if notes:
        title = "Intervals and their correlation" if len(kept) > 1 else "Intervals"
        content.append(reports.Group(title, notes, collapsed=True))
    if summary["fixed"]:
        content.append(reports.Group("Not fitted", _fixed_table(summary["fixed"]), collapsed=True))
    return content


def _fixed_table(rows: Sequence[dict[str, Any]]) -> reports.Table:
    return reports.Table(
        ["parameter", "value", "unit", "state"],
        [
            [
                f["name"],
                np.array2string(np.asarray(f["value"]), precision=5),
                f["unit"],
                f["state"],
            ]
            for f in rows
        ],
    )


def _number(value: Any) -> float:
    """A number of plain data, in which a missing one is null."""
    return float("nan") if value is None else float(value)
