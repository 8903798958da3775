"""Report of a designed recording."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueup import reports
from trueup.design.sections import first_sections, notes_section
from trueup.design.stick_figures import stick_figures

_MOST_PANELS = 24


def design_page(summary: dict[str, Any], motion: Mapping[str, np.ndarray]) -> reports.Page:
    """Build the page: verdict, predicted intervals, unidentifiable parameters, motion, limits.

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
    for section in first_sections(summary):
        page.add(section)
    page.add(reports.Section("Motion", "motion", content=_motion(summary, motion)))
    page.add(reports.Section("Limits", "limits", content=[_limits(summary)]))
    page.add(reports.Section("Noise", "noise", content=[_noise(summary)]))
    for section in notes_section(summary):
        page.add(section)
    return page


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
        stick_figures(motion["strip"], float(times[-1])),
        reports.Text(f"Pieces in order, each at rest at both ends: {families}."),
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
    notes = "SI units. The simulated motion satisfies the limits of position, speed and torque too."
    return reports.Table(columns, rows, notes=notes)


def _noise(summary: dict[str, Any]) -> reports.Table:
    rows = [
        [channel, reports.format_number(deviation), str(order), source]
        for channel, (deviation, order, source) in summary["noise"].items()
    ]
    return reports.Table(["signal", "standard deviation", "autoregressive order", "from"], rows)
