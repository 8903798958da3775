"""The page of a designed recording."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueup import reports
from trueup.posterior.excitation.stick_strip import stick_strip

_MOST_PANELS = 24


def design_page(summary: dict[str, Any], motion: Mapping[str, np.ndarray]) -> reports.Page:
    """Build the page: verdict, predicted intervals, what stays unknown, motion, limits.

    Args:
      summary: content of ``solution.json``.
      motion: ``times``, ``commands`` ``(T, n)`` and ``strip`` of ``motion.npz``.
    """
    times, joints = motion["times"], summary["joints"]
    page = reports.Page(
        f"Next recording: {summary['name']}",
        subtitle=f"{times[-1]:.3g} s, {len(joints)} joints, {len(summary['parameters'])} unknowns",
        provenance=summary.get("provenance"),
    )
    page.add(reports.verdict_section(summary["verdict"]))
    if summary["anyway"]:
        text = 'The verdict on the run that it follows is "do not use"; designed all the same.'
        page.add(
            reports.Section(
                "The run before", "run", content=[reports.Findings([("serious", text)])]
            )
        )
    page.add(reports.Section("Predicted intervals", "parameters", content=_intervals(summary)))
    unknown = [(r["name"], r["unknown"]) for r in summary["parameters"] if r["unknown"]]
    if unknown:
        page.add(
            reports.Section(
                "Unknown whatever is recorded",
                "unknown",
                content=[reports.Table(["parameter", "why"], unknown)],
            )
        )
    if summary["comparison"] is not None:
        page.add(_compared(summary["comparison"]))
    page.add(reports.Section("Motion", "motion", content=_motion(summary, motion)))
    page.add(reports.Section("Limits", "limits", content=[_limits(summary)]))
    page.add(reports.Section("Noise", "noise", content=[_noise(summary)]))
    if summary["notes"]:
        lines = [("info", note) for note in summary["notes"]]
        page.add(reports.Section("Notes", "notes", content=[reports.Findings(lines)]))
    return page


def _intervals(summary: dict[str, Any]) -> list[Any]:
    number = reports.format_number
    followed = summary["after"] is not None
    rows = []
    for r in summary["parameters"]:
        low, high = r["over_draws"]
        rows.append(
            [
                r["name"],
                number(r["value"]),
                f"{number(r['low'])} to {number(r['high'])}",
                r["unit"],
                _percent(r["relative"]),
                *([_percent(r["with_known"])] if followed else []),
                "" if r["chirp"] is None else _percent(r["chirp"]),
                f"{low:.2f} to {high:.2f}",
            ]
        )
    level = f"{100 * summary['level']:.3g} % interval"
    columns = [
        "parameter", "present value", f"predicted {level}", "unit", "share of what was allowed",
        *(["with former recordings"] if followed else []), "chirp", "over draws",
    ]  # fmt: skip
    notes = [
        "Share of what was allowed: width of the interval over that of the bounds, or of the "
        "prior's interval. Chirp: 0.1 to 10 Hz, all joints, within the same limits.",
        "Over draws: how much narrower or wider it is for robots that are still possible.",
        f"Computed as after an identification. {summary['method']}",
    ]
    return [reports.Table(columns, rows, notes=notes)]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %" if share < 1 else "all"


def _compared(comparison: dict[str, Any]) -> reports.Section:
    number = reports.format_number
    rows = [
        [r["name"], number(r["predicted"]), number(r["obtained"]), f"{r['ratio']:.2f}"]
        for r in comparison["parameters"]
    ]
    text = (
        f"Half-widths that {comparison['design']} predicted beside those that {comparison['run']} "
        f"gave: the middle ratio is {comparison['median']:.2f}, and "
        f"{100 * comparison['within']:.0f} % lie within 25 %."
    )
    table = reports.Table(["parameter", "predicted", "obtained", "obtained over predicted"], rows)
    return reports.Section("The last prediction", "comparison", content=[reports.Text(text), table])


def _motion(summary: dict[str, Any], motion: Mapping[str, np.ndarray]) -> list[Any]:
    times, commands = motion["times"], motion["commands"]
    panels = [
        reports.Panel(
            joint,
            "rad",
            [reports.Trace("command", times, commands[:, i], "fitted")],
            quantity="position",
        )
        for i, joint in enumerate(summary["joints"][:_MOST_PANELS])
    ]
    families = ", ".join(summary["families"])
    return [
        stick_strip(motion["strip"], float(times[-1])),
        reports.Text(f"Pieces in their order, each at rest at both ends: {families}."),
        reports.time_series_figure(panels, columns=2),
    ]


def _limits(summary: dict[str, Any]) -> reports.Table:
    number = reports.format_number
    rows = []
    for limit, reached in zip(summary["limits"], summary["reached"], strict=True):
        rows.append(
            [
                limit["joint"],
                f"{number(reached['low'])} to {number(reached['high'])}",
                f"{number(limit['lower'])} to {number(limit['upper'])}",
                number(reached["speed"]),
                number(limit["speed"]),
                number(reached["acceleration"]),
                number(limit["acceleration"]),
                number(limit["torque"]) if np.isfinite(limit["torque"]) else "none",
            ]
        )
    columns = [
        "joint",
        "position",
        "limit",
        "speed",
        "limit ",
        "acceleration",
        " limit",
        "torque limit",
    ]
    notes = "SI units. Positions, speeds and torques of the simulated motion keep them too."
    return reports.Table(columns, rows, notes=notes)


def _noise(summary: dict[str, Any]) -> reports.Table:
    rows = [
        [channel, reports.format_number(deviation), str(order), source]
        for channel, (deviation, order, source) in summary["noise"].items()
    ]
    return reports.Table(["signal", "standard deviation", "autoregressive order", "from"], rows)
