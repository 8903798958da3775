"""HTML report of an identification, from plain data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueup import reports
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution
from trueup.runs.study_page.record import read_study
from trueup.runs.study_page.report import study_report
from trueup.sysid.assess.assessment import SequenceSignals
from trueup.sysid.results.horizon_section import horizon_section
from trueup.sysid.results.outputs import read_signals
from trueup.sysid.results.recording_sections import (
    quality_section,
    residual_section,
    signal_section,
)
from trueup.sysid.results.torque_section import torque_section

_DIRECTIONS = 6  # maximum number of drawn directions
_SEVERITY = {"problem": "serious", "warning": "warning", "good": "good"}


class ReportBuilder(reports.Page):
    """Report builder with the names of MuJoCo's toolbox."""

    def add_section(self, section: reports.Section) -> ReportBuilder:
        """Add a section; returns itself."""
        self.add(section)
        return self

    def build(self) -> str:
        """The whole page as HTML."""
        return self.html()


def report_of_run(directory: RunDirectory) -> reports.Page:
    """Report of a run directory; that of the search if the run is not finished."""
    if not directory.solution.is_file() and directory.study.is_file():
        return study_report(read_study(directory))
    return identification_report(read_solution(directory), read_signals(directory))


def identification_report(
    summary: dict[str, Any],
    signals: Sequence[SequenceSignals],
    videos: Sequence[reports.Content] = (),
    title: str | None = None,
) -> ReportBuilder:
    """Build the report.

    Args:
      summary: content of ``solution.json``.
      signals: measured, initial and fitted signals of every sequence.
      videos: overlay videos, or a note with the reason for none.
      title: heading; None: the name of the run.
    """
    page = ReportBuilder(
        title or summary["name"],
        subtitle=f"{summary['status']}: {summary['message']}",
        provenance=summary.get("provenance") or {},
    )
    if summary.get("verdict"):  # missing in older runs
        page.add(reports.verdict_section(summary["verdict"]))
    page.add(_overview(summary))
    page.add(_parameters(summary))
    page.add(signal_section(signals))
    page.add(_scores(summary, signals))
    if summary.get("horizons"):
        page.add(horizon_section(summary["horizons"]))
    if summary.get("torque"):
        page.add(torque_section(summary["torque"]))
    page.add(_identifiability(summary))
    page.add(residual_section(signals, summary.get("residuals", ())))
    if summary.get("cross_validation"):
        page.add(_cross_validation(summary))
    page.add(_course(summary))
    if summary.get("quality") or summary.get("notes"):
        page.add(quality_section(summary["quality"], summary["notes"]))
    if videos:
        page.add(reports.Section("Motion", "motion", content=list(videos)))
    return page


def _overview(summary: dict[str, Any]) -> reports.Section:
    rows = summary["parameters"]
    figures = [
        reports.KeyFigure(len(rows), "parameters identified"),
        reports.KeyFigure(
            sum(r["determined"] and not r["at_bound"] for r in rows),
            "determined",
            note="neither on a bound nor confounded with another",
        ),
    ]
    for part, label in (("training", "fit, training"), ("held-out", "fit, held out")):
        found = _fits(summary, part, "identified")
        if found:
            worst = min(found, key=lambda channel: found[channel])
            before = _fits(summary, part, "initial")
            was = f", {before[worst]:.3g} % before" if worst in before else ""
            figures.append(
                reports.KeyFigure(
                    found[worst],
                    f"{label}, worst channel",
                    "%",
                    f"{worst}{was}; 100 is exact, 0 the mean of the data",
                    "serious" if found[worst] <= 0 else "",
                )
            )
    findings = [
        reports.Finding(_SEVERITY[i["severity"]], _sentence(i["sentence"]), i.get("section", ""))
        for i in summary["insights"]
    ]
    return reports.Section(
        "Overview", "overview", content=[reports.KeyFigures(figures), reports.Findings(findings)]
    )


def _fits(summary: dict[str, Any], part: str, predictor: str) -> dict[str, float]:
    """NRMSE fit [%] of each channel."""
    return {
        r["channel"]: r["fit_percent"]
        for r in summary["scores"]
        if r["part"] == part and r["predictor"] == predictor
    }


def _parameters(summary: dict[str, Any]) -> reports.Section:
    rows = summary["parameters"]
    level = f"{100 * summary['level']:.3g} %"
    with_nominal = any(r["nominal"] != r["start"] for r in rows)
    columns = [
        reports.Column("parameter"),
        reports.Column("identified"),
        reports.Column("unit"),
        reports.Column(f"{level} interval", align="right"),
        reports.Column("start"),
        *([reports.Column("nominal")] if with_nominal else []),
        reports.Column("bounds", align="right"),
        reports.Column("remark"),
    ]
    body = []
    for r in rows:
        body.append(
            {
                "parameter": r["name"],
                "identified": r["value"],
                "unit": r["unit"],
                f"{level} interval": _span(r["low"], r["high"]),
                "start": r["start"],
                **({"nominal": r["nominal"]} if with_nominal else {}),
                "bounds": _span(r["lower"], r["upper"]),
                "remark": _remark(r),
            }
        )
    table = reports.Table(
        columns,
        body,
        highlights=[reports.Highlight("remark", bool, "warning")],
        notes=[summary["covariance"]["reason"], *summary["covariance"]["remarks"]],
    )
    content: list[Any] = [
        table,
        reports.interval_figure(
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
            title="Identified values and their intervals between the bounds",
        ),
    ]
    if summary["fixed"]:
        content.append(
            reports.Table(
                ["parameter", "value", "unit", "state"],
                [
                    [
                        f["name"],
                        np.array2string(np.asarray(f["value"]), precision=5),
                        f["unit"],
                        f["state"],
                    ]
                    for f in summary["fixed"]
                ],
                title="Not fitted",
            )
        )
    if len(rows) > 1:
        content.append(
            reports.heatmap_figure(
                np.asarray(summary["covariance"]["correlation"], float),
                summary["covariance"]["names"],
                title="Correlation of the estimates",
                caption="Near +1 or -1: the data determine only a combination of the two.",
            )
        )
    return reports.Section("Parameters", "parameters", content=content)


def _remark(row: dict[str, Any]) -> str:
    remarks = []
    if np.isnan(row["low"]):
        remarks.append("no interval: the fit is not an optimum")
    if row["at_bound"]:
        remarks.append("on a bound")
    if not row["determined"] and not np.isnan(row["low"]):
        fills = np.isfinite([row["low"], row["high"]]).all()
        remarks.append("not determined" + (": the interval covers the bounds" if fills else ""))
    if row.get("model_error_ratio", 0.0) > row.get("model_error_limit", 1.0):
        remarks.append(
            f"held-out data give {row['held_out_value']:.5g}, a difference "
            f"{row['model_error_ratio']:.1f} "
            f"times that of noise"
        )
    if "profile_low" in row:
        remarks.append(f"profile {_span(row['profile_low'], row['profile_high'])}")
    return "; ".join(remarks)


def _span(low: float, high: float) -> str:
    if np.isinf(low) and np.isinf(high):
        return "anything"
    if np.isnan(low):
        return "none"
    return f"{reports.format_number(low, 5)} to {reports.format_number(high, 5)}"


def _scores(summary: dict[str, Any], signals: Sequence[SequenceSignals]) -> reports.Section:
    units = {c: u for s in signals for c, u in zip(s.channels, s.units, strict=False)}
    found: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for r in summary["scores"]:
        found.setdefault((r["part"], r["channel"]), {})[r["predictor"]] = r
    rows = []
    for (part, channel), by in found.items():
        own = by["identified"]
        others = {name: r for name, r in by.items() if name not in ("identified", "initial")}
        trivial = min(others, key=lambda name: others[name]["rmse"])
        better = [
            name
            for name in ("initial", trivial)
            if name in by and by[name]["rmse"] < own["rmse"] * (1 - 1e-9)
        ]
        rows.append(
            [
                part,
                channel,
                units.get(channel, ""),
                own["rmse"],
                by["initial"]["rmse"] if "initial" in by else None,
                others[trivial]["rmse"],
                own["fit_percent"],
                own["vaf"],
                own["r2"],
                f"worse than {' and '.join(better)}" if better else "",
            ]
        )
    table = reports.Table(
        [
            "data",
            "channel",
            "unit",
            reports.Column("RMSE identified", digits=3),
            reports.Column("RMSE initial", digits=3),
            reports.Column("RMSE trivial", digits=3, note="the better of two constants"),
            reports.Column("fit", "%", format=_percent),
            reports.Column("VAF", "%", format=_percent),
            reports.Column("R2", format=_four_places),
            "remark",
        ],
        rows,
        notes=[
            "Fit: 100 (1 - |error| / |measured - mean|); 100 is exact, 0 as good as the mean, "
            "negative worse. Trivial: the better of the mean of the training data and the first "
            "value held, without the model."
        ],
        highlights=[reports.Highlight("remark", bool, "serious")],
    )
    return reports.Section("Scores", "scores", content=[table])


def _percent(value: Any) -> str:
    return f"{value:.2f}"


def _four_places(value: Any) -> str:
    return f"{value:.4f}"


def _identifiability(summary: dict[str, Any]) -> reports.Section:
    found = summary["identifiability"]
    content: list[Any] = [reports.Text(_sentence(s)) for s in found["sentences"]]
    content.append(
        reports.bar_figure(
            [str(i + 1) for i in range(len(found["singular_values"]))],
            np.asarray(found["singular_values"], float),
            label="singular value",
            name_label="direction",
            log=True,
            title="Sensitivity to each direction of relative changes (singular values)",
        )
    )
    content += _directions(found, [r["name"] for r in summary["parameters"]])
    return reports.Section("Identifiability", "identifiability", content=content)


def _directions(found: dict[str, Any], names: list[str]) -> list[Any]:
    """Undetermined and weakly determined directions that involve parameters."""
    rows = [
        (title, [d["coefficients"].get(n, 0.0) for n in names])
        for title, kind in (("not determined", "directions"), ("weak", "weak"))
        for d in found[kind]
    ]
    # skip initial states of windows, which are unknowns but not parameters
    shown = [(title, row) for title, row in rows if np.any(row)]
    content: list[Any] = []
    if shown:
        content.append(
            reports.direction_figure(
                names,
                np.array([row for _, row in shown[:_DIRECTIONS]]),
                titles=[title for title, _ in shown[:_DIRECTIONS]],
                title="Combinations that the data do not determine",
                caption="Relative change of each parameter along the direction.",
            )
        )
    left_out = len(rows) - len(shown)
    if left_out:
        what = "combination holds" if left_out == 1 else "combinations hold"
        content.append(
            reports.Text(f"{left_out} {what} initial states of windows only, and is not drawn.")
        )
    return content


def _sentence(text: str) -> str:
    """Text with a full stop, without capitalising names."""
    return text + ("" if text.endswith((".", "!", "?")) else ".")


def _cross_validation(summary: dict[str, Any]) -> reports.Section:
    crossed = summary["cross_validation"]
    names = [r["name"] for r in summary["parameters"]]
    rows = [
        [", ".join(part), train, held, *values]
        for part, train, held, values in zip(
            crossed["held_out"],
            crossed["training_error"],
            crossed["held_out_error"],
            crossed["values"],
            strict=True,
        )
    ]
    return reports.Section(
        "Cross-validation",
        "cross-validation",
        content=[reports.Table(["held out", "error fitted", "error held out", *names], rows)],
    )


def _course(summary: dict[str, Any]) -> reports.Section:
    history = [h for h in summary["history"] if np.isfinite(h["cost"])]
    content: list[Any] = []
    if history:
        evaluations = [h["evaluations"] for h in history]
        content.append(
            reports.line_figure(
                [reports.Trace("cost", evaluations, [h["cost"] for h in history], "fitted")],
                x_label="simulations",
                y_label="cost",
                log_y=True,
                markers=True,
                title="History of the fit",
            )
        )
        names = [r["name"] for r in summary["parameters"]]
        body = [
            [h["iteration"], h["evaluations"], h["cost"], h["mu"], h["step"], *h["x"]]
            for h in history
            if "mu" in h  # an iteration of least squares; generations have no single candidate
        ]
        content.append(
            reports.Table(
                ["iteration", "simulations", "cost", "regulariser", "step", *names], body[-60:]
            )
        )
    stats = summary["stats"]
    content.append(
        reports.Text(
            f"{stats.get('evaluations', 0)} simulations in {stats.get('seconds', 0.0):.2f} s, "
            f"{stats.get('failed_evaluations', 0)} of them failed. {summary['advice']}"
        )
    )
    content += [reports.Note(sentence) for sentence in summary.get("models", ())]
    return reports.Section("Course", "course", content=content)


def save_path_of(path: str | Path) -> Path:
    """File of a report: ``path`` itself where it names an HTML file, else report.html in it."""
    path = Path(path)
    return path if path.suffix.lower() in (".html", ".htm") else path / "report.html"
