"""Report of an export: verdict, band over held-out recordings, spread and correlation."""

from typing import Any

import numpy as np

from trueup import reports
from trueup.knowledge.draws import Draws
from trueup.knowledge.held_out_check import HeldOutCheck, SequenceBand

_MOST_BANDS = 6


def randomisation_report(
    description: dict[str, Any], draws: Draws, check: HeldOutCheck | None
) -> reports.Page:
    """Build the page.

    Args:
      description: content of ``dr.json``.
      draws: the draws.
      check: their check on held-out recordings; None without held-out data.
    """
    page = reports.Page(
        f"Randomisation: {description['run']}",
        subtitle=f"{description['draws']} draws for {description['form']}",
        provenance=description["provenance"],
    )
    page.add(reports.verdict_section(description["verdict"], "Verdict on the run"))
    page.add(reports.Section("Draws", "drawn", content=_summary(description)))
    if check is not None and check.bands:
        content: list[Any] = [
            reports.Text(
                "Middle 90 % of the motion of all draws; below, all relative to the identified "
                "motion. The shaded part excludes no draws: it only scores them."
            )
        ]
        content += [_band_figure(band) for band in check.bands[:_MOST_BANDS]]
        page.add(reports.Section("Band over the held-out recordings", "band", content=content))
    page.add(reports.Section("Parameters", "parameters", content=_parameters(description, draws)))
    return page


def _summary(description: dict[str, Any]) -> list[Any]:
    lines: list[tuple[str, str]] = []
    if description["checked"]:
        drawn, excluded, failed = (description[k] for k in ("drawn", "excluded", "failed"))
        lines.append(
            (
                "info",
                f"{drawn} draws were simulated over the held-out recordings: {excluded} are "
                f"excluded by them, {failed} fail in simulation.",
            )
        )
    elif "fleet" in description:
        runs, outlying = description["fleet"]["runs"], description["fleet"]["outlying"]
        lines.append(
            (
                "info",
                f"Draws are robots of a fleet of {len(runs) - len(outlying)}: they are not checked "
                "on recordings of single robots.",
            )
        )
        lines += [("warning", f"Excluded: {o['run']}: {o['reason']}.") for o in outlying]
    else:
        lines.append(("warning", "No data were held out: the draws are not checked by simulation."))
    lines += [("info", note) for note in description["notes"]]
    for band in description["band"]:
        worst = min(band["inside"], key=lambda name: band["inside"][name])
        lines.append(
            (
                "info",
                f"{band['recording']}: of the scoring part, "
                f"{100 * np.mean(list(band['inside'].values())):.0f} % is within the band "
                f"including noise (90 % expected); smallest for {worst}: "
                f"{100 * band['inside'][worst]:.0f} %.",
            )
        )
    for name, factor in description["widened"].items():
        if factor >= 1.05:
            lines.append(
                ("info", f"{name}: spread widened by a factor of {factor:.2g} for model error.")
            )
    lines.append(
        (
            "info",
            "Correlation narrows a parameter by a factor of "
            f"{description['correlation_factor']:.2g} (median) given the others: ranges of single "
            "parameters lose this.",
        )
    )
    lines += [("warning", text) for text in description["not_taken"]]
    return [reports.Findings(lines)]


def _band_figure(band: SequenceBand) -> Any:
    low, high = band.band
    scoring = band.times[band.scoring]
    spans = (
        [reports.Span(float(scoring[0]), float(scoring[-1]), "scoring only")]
        if len(scoring)
        else []
    )
    panels = []
    for c, (channel, unit) in enumerate(zip(band.channels, band.units, strict=True)):
        traces = [
            reports.Trace("measured", band.times, band.measured[:, c], style="measured"),
            reports.Trace("identified", band.times, band.fitted[:, c], style="fitted"),
            reports.Trace("90 % of draws", band.times, low[:, c], style="initial"),
            reports.Trace("90 % of draws", band.times, high[:, c], style="initial"),
        ]
        # a narrow band is visible only relative to the identified motion
        below = [
            reports.Trace(t.name, band.times, np.asarray(t.values) - band.fitted[:, c], t.style)
            for t in traces
            if t.style != "fitted"
        ]
        panels.append(reports.Panel(channel, unit, traces, below))
    return reports.time_series_figure(panels, title=band.name, spans=spans)


def _parameters(description: dict[str, Any], draws: Draws) -> list[Any]:
    rows = [
        [r["name"], *(reports.format_number(r[k]) for k in ("low", "median", "high")), r["unit"]]
        for r in description["parameters"]
    ]
    content: list[Any] = [
        reports.Table(["parameter", "5 %", "median", "95 %", "unit"], rows),
    ]
    if 1 < len(draws.names) <= 60:
        content.append(
            reports.heatmap_figure(draws.correlation(), draws.names, title="Correlation of draws")
        )
    return content
