"""The page of the next logs of a servo."""

from typing import Any

from trueup import reports


def bench_page(content: dict[str, Any]) -> reports.Page:
    """Build the page: logs, what each of them adds, intervals before and after.

    Args:
      content: content of ``bench_plan.json``.
    """
    number = reports.format_number
    page = reports.Page(
        f"Next logs: {content['servo']}",
        subtitle=f"{len(content['logs'])} of {content['candidates']} possible logs",
    )
    page.add(reports.verdict_section(content["verdict"], "Verdict on the fit"))
    rows = [
        [
            number(log["mass"]),
            number(log["length"]),
            number(log["kp"]),
            log["trajectory"],
            f"{100 * log['largest_after']:.3g} %",
        ]
        for log in content["logs"]
    ]
    columns = ["mass [kg]", "length [m]", "gain", "trajectory", "largest interval after it"]
    notes = [
        f"Before: {100 * content['largest_before']:.3g} % of the bounds. Largest over the "
        "parameters that these logs can determine.",
        "The simulated motion stays on the bench, and the servo holds each load with 60 % of its "
        "torque.",
    ]
    page.add(
        reports.Section(
            "Logs to record",
            "logs",
            content=[
                reports.Table(columns, rows, notes=notes),
                reports.Code("\n".join(log["command"] for log in content["logs"])),
            ],
        )
    )
    table = [
        [
            r["name"],
            number(r["value"]),
            f"{number(r['low'])} to {number(r['high'])}",
            r["unit"],
            f"{100 * r['before']:.3g} %",
            f"{100 * r['after']:.3g} %",
            r["unknown"],
        ]
        for r in content["parameters"]
    ]
    columns = ["parameter", "value", "predicted 95 % interval", "unit", "of its bounds now",
               "with these logs", ""]  # fmt: skip
    shown = [reports.Table(columns, table)]
    page.add(reports.Section("Predicted intervals", "parameters", content=shown))
    return page
