"""Report of a servo's designed logs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueup import reports
from trueup.design.sections import first_sections, notes_section


def bench_page(summary: dict[str, Any], motion: Mapping[str, np.ndarray]) -> reports.Page:
    """Build the page: verdict, intervals compared with those of a chirp, logs, motion, limits.

    Args:
      summary: content of ``solution.json``.
      motion: content of ``motion.npz``.
    """
    logs = summary["logs"]
    seconds = sum(log["seconds"] for log in logs)
    page = reports.Page(
        f"Next logs: {summary['servo']}",
        subtitle=f"{len(logs)} logs, {seconds:.3g} s, {len(summary['parameters'])} unknowns",
        provenance=summary.get("provenance"),
    )
    verdict, *others = first_sections(summary)
    page.add(verdict)
    page.add(reports.Section("Logs to record", "logs", content=_logs(summary)))
    page.add(reports.Section("Motion", "motion", content=[_motion(summary, motion)]))
    for section in (*others, *notes_section(summary)):
        page.add(section)
    return page


def _logs(summary: dict[str, Any]) -> list[Any]:
    number = reports.format_number
    rows = [
        [
            log["file"],
            number(log["mass"]),
            number(log["length"]),
            number(log["kp"]),
            log["family"],
            number(log["limp"]),
            number(log["angle"]),
            number(log["speed"]),
            f"{100 * log['torque']:.0f} %",
        ]
        for log in summary["logs"]
    ]
    columns = [
        "trajectory", "mass [kg]", "length [m]", "gain", "family", "torque off [s]",
        "reaches [rad]", "[rad/s]", "heat",
    ]  # fmt: skip
    limits, chirp = summary["limits"], summary["chirp"]
    notes = [
        f"Limits: {number(limits['reach'])} rad, {number(limits['speed'])} rad/s, heat "
        f"{100 * limits['heat']:.0f} %, including a margin of {100 * limits['margin']:.0f} %. "
        "Heat: root mean square of the torque over the stall torque.",
    ]
    if chirp is not None:
        notes.append(
            f"The chirp for comparison has {number(chirp['mass'])} kg at {number(chirp['length'])} "
            f"m, a gain of {number(chirp['kp'])} and {number(chirp['amplitude'])} rad, with the "
            "same number and duration of logs long."
        )
    commands = "\n".join(log["command"] for log in summary["logs"])
    return [reports.Table(columns, rows, notes=notes), reports.Code(commands)]


def _motion(summary: dict[str, Any], motion: Mapping[str, np.ndarray]) -> Any:
    panels = []
    for k, log in enumerate(summary["logs"]):
        goal = np.where(motion["enable"][k], motion["goals"][k], np.nan)
        title = f"{log['file']}: {log['mass']:g} kg, {log['length']:g} m, gain {log['kp']:g}"
        traces = [
            reports.Trace("goal", motion["times"], goal, "measured"),
            reports.Trace("predicted", motion["times"], motion["positions"][k], "fitted"),
        ]
        panels.append(reports.Panel(title, "rad", traces, quantity="position"))
    return reports.time_series_figure(panels, columns=1)
