"""Sections of design reports: predicted intervals, unidentifiable parameters, last prediction."""

from typing import Any

from trueup import reports


def first_sections(summary: dict[str, Any]) -> list[reports.Section]:
    """Verdict, predicted intervals, unidentifiable parameters, last prediction.

    Args:
      summary: content of ``solution.json``.
    """
    sections = [reports.verdict_section(summary["verdict"])]
    table = interval_table(summary)
    sections.append(reports.Section("Predicted intervals", "parameters", content=table))
    unknown = [(r["name"], r["unknown"]) for r in summary["parameters"] if r["unknown"]]
    if unknown:
        why = reports.Table(["parameter", "why"], unknown)
        sections.append(reports.Section("Unidentifiable parameters", "unknown", content=[why]))
    if summary["comparison"] is not None:
        sections.append(compared_section(summary["comparison"]))
    return sections


def notes_section(summary: dict[str, Any]) -> list[reports.Section]:
    """Section of notes, if there are any."""
    lines = [("info", note) for note in summary["notes"]]
    if not lines:
        return []
    return [reports.Section("Notes", "notes", content=[reports.Findings(lines)])]


def interval_table(summary: dict[str, Any]) -> list[Any]:
    """Predicted intervals compared with those of a chirp."""
    followed = summary["after"] is not None
    rows = []
    for r in summary["parameters"]:
        low, high = r["over_draws"]
        rows.append(
            [
                r["name"],
                reports.format_estimate(r["value"], r["low"], r["high"]),
                r["unit"],
                _percent(r["relative"]),
                _percent(r["chirp"]),
                *([_percent(r["with_known"]), _percent(r["chirp_with_known"])] if followed else ()),
                f"{low:.2f} to {high:.2f}",
            ]
        )
    level = f"{100 * summary['level']:.3g} % interval"
    columns = [
        "parameter", f"present value, predicted {level}", "unit", "share",
        "chirp", *(("with former", "chirp with former") if followed else ()), "over draws",
    ]  # fmt: skip
    notes = [
        "Share: width of the interval over that of the bounds, or of the prior's interval, from "
        "this recording alone. Chirp: 0.1 to 10 Hz within the same limits, of the same duration."
        + (" With former: together with the former recordings." if followed else ""),
        "Over draws: relative change for robots within the present uncertainty.",
        f"Computed as in an identification. {summary['method']}",
    ]
    return [reports.Table(columns, rows, notes=notes), *_narrower(summary)]


def _narrower(summary: dict[str, Any]) -> list[Any]:
    """Width of each interval with a chirp over that with the design."""
    rows = [r for r in summary["parameters"] if r["chirp"] is not None and not r["unknown"]]
    if not rows:
        return []
    return [
        reports.bar_figure(
            [r["name"] for r in rows],
            [r["chirp_with_known"] / max(r["with_known"], 1e-12) for r in rows],
            label="interval with a chirp over that of the design",
            log=True,
            threshold=1.0,
            threshold_label="as wide",
            horizontal=True,
        )
    ]


def _percent(share: float | None) -> str:
    if share is None:
        return ""
    return f"{100 * share:.3g} %" if share < 1 else "all"


def compared_section(comparison: dict[str, Any]) -> reports.Section:
    """Predicted intervals of the last recording compared with the obtained ones."""
    number = reports.format_number
    rows = [
        [r["name"], number(r["predicted"]), number(r["obtained"]), f"{r['ratio']:.2f}"]
        for r in comparison["parameters"]
    ]
    text = (
        f"Half-widths that {comparison['design']} predicted, compared with those of "
        f"{comparison['run']}: the median ratio is {comparison['median']:.2f}, and "
        f"{100 * comparison['within']:.0f} % are within 25 %."
    )
    table = reports.Table(["parameter", "predicted", "obtained", "obtained over predicted"], rows)
    return reports.Section("The last prediction", "comparison", content=[reports.Text(text), table])
