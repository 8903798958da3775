"""HTML report of an identification, from plain data: the answer first, the rest folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueup import reports
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution
from trueup.runs.study_page.record import read_study
from trueup.runs.study_page.report import study_report
from trueup.sysid.assess.assessment import SequenceSignals
from trueup.sysid.results.error_section import channel_errors, error_section
from trueup.sysid.results.horizon_section import horizon_section
from trueup.sysid.results.identifiability_section import identifiability_section
from trueup.sysid.results.next_steps import next_steps
from trueup.sysid.results.outputs import read_signals
from trueup.sysid.results.parameter_sections import parameter_section
from trueup.sysid.results.posterior_section import posterior_section
from trueup.sysid.results.recording_sections import (
    quality_section,
    residual_section,
    signal_section,
)
from trueup.sysid.results.replay import read_replay
from trueup.sysid.results.torque_section import torque_section

_SEVERITY = {"problem": "serious", "warning": "warning", "good": "good"}
_ITERATIONS = 60  # maximum number of iterations in the table
_NAMED = 3  # maximum number of recordings in the subtitle by name
_COLUMNS = 12  # maximum number of parameters as columns of a table


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
    return identification_report(
        read_solution(directory),
        read_signals(directory),
        directory=directory.path,
        replay=read_replay(directory),
    )


def identification_report(
    summary: dict[str, Any],
    signals: Sequence[SequenceSignals],
    videos: Sequence[reports.Content] = (),
    title: str | None = None,
    *,
    directory: Path | None = None,
    replay: reports.Replay | None = None,
) -> ReportBuilder:
    """Build the report.

    Verdict, parameters, and measured and predicted signals are shown; everything else is folded.

    Args:
      summary: content of ``solution.json``.
      signals: measured, initial and fitted signals of every sequence.
      videos: overlay videos, or a note with the reason for none.
      title: heading; None: the name of the run.
      directory: run directory, for the commands of the next steps.
      replay: step-through figure of the motion.
    """
    page = ReportBuilder(
        title or summary["name"],
        subtitle=_subtitle(summary, signals),
        provenance=summary.get("provenance") or {},
    )
    findings = findings_by_section(summary)
    used = {"parameters", "scores", "identifiability", "residuals", "cross-validation", "course"}
    used |= {"horizons"} if summary.get("horizons") else set()
    used |= {"inverse-dynamics"} if summary.get("torque") else set()
    other = [f for section, found in findings.items() if section not in used for f in found]
    page.add(_answer(summary, other, directory))
    page.add(parameter_section(summary, findings.get("parameters", ())))
    if summary.get("posterior"):
        page.add(posterior_section(summary, directory))
    page.add(signal_section(signals, replay))
    if videos:
        page.add(reports.Section("Film", "motion", content=list(videos)))
    units = {c: u for s in signals for c, u in zip(s.channels, s.units, strict=False)}
    page.add(error_section(summary, units, findings.get("scores", ())))
    if summary.get("horizons"):
        page.add(horizon_section(summary["horizons"], findings.get("horizons", ())))
    page.add(identifiability_section(summary, findings.get("identifiability", ())))
    if summary.get("torque"):
        is_fit = bool(signals) and all(c.endswith(" torque") for c in signals[0].channels)
        found = findings.get("inverse-dynamics", ())
        page.add(torque_section(summary["torque"], found, not summary.get("links"), is_fit))
    page.add(residual_section(signals, summary.get("residuals", ()), findings.get("residuals", ())))
    if summary.get("cross_validation"):
        page.add(_cross_validation(summary, findings.get("cross-validation", ())))
    page.add(_course(summary, findings.get("course", ())))
    if summary.get("quality") or summary.get("notes"):
        page.add(quality_section(summary["quality"], summary["notes"]))
    return page


def _subtitle(summary: Mapping[str, Any], signals: Sequence[SequenceSignals]) -> str:
    """Fitted parameters and data; the end of the search if it failed or no verdict says it."""
    if not summary.get("verdict") or not summary["success"]:
        return f"{summary['status']}: {summary['message']}"
    names = [s.name for s in signals if not s.held_out], [s.name for s in signals if s.held_out]
    training, held_out = (_names_of(part) for part in names)
    text = f"{reports.counted(len(summary['parameters']), 'parameter')} fitted to {training}"
    return f"{text}, tested on {held_out}" if held_out else text


def _names_of(names: Sequence[str]) -> str:
    """Names of a few recordings, the number of many."""
    return ", ".join(names) if len(names) <= _NAMED else f"{len(names)} recordings"


def findings_by_section(summary: Mapping[str, Any]) -> dict[str, list[reports.Finding]]:
    """Findings by the section that they are about, without the reasons of the verdict.

    Those on single coordinates of the inertia of a link, which mean nothing to a reader, are one.
    """
    coordinates = [f"{link['parameter']}[" for link in summary.get("links") or ()]
    left_out = 0
    reasons = (summary.get("verdict") or {}).get("reasons", ())
    known = {r["sentence"].rstrip(".").lower() for r in reasons}
    found: dict[str, list[reports.Finding]] = {}
    for insight in summary["insights"]:
        if insight["sentence"].rstrip(".").lower() in known:
            continue
        if any(name in insight["sentence"] for name in coordinates):
            left_out += 1
            continue
        section, text = insight.get("section", ""), _sentence(insight["sentence"])
        finding = reports.Finding(_SEVERITY[insight["severity"]], text)
        found.setdefault(section, []).append(finding)
    if left_out:
        text = (
            "The recordings determine base parameters, not each mass, centre and moment: "
            f"{reports.counted(left_out, 'combination')} of them stay at the prior, or at the "
            "model where there is none."
        )
        found.setdefault("identifiability", []).append(reports.Finding("info", text))
    return found


def _answer(
    summary: dict[str, Any], further: Sequence[reports.Finding], directory: Path | None
) -> reports.Section:
    """Verdict with the figures that a reader asks for first, and what to do next."""
    figures, steps = _figures(summary), next_steps(summary, directory)
    if summary.get("verdict"):
        return reports.verdict_section(
            summary["verdict"],
            figures=figures,
            causes=summary.get("causes") or (),
            steps=steps,
            further=further,
            compared=False,
        )
    # a report of the toolbox, and older runs
    content = [reports.KeyFigures(figures), reports.Findings(further), reports.Steps(steps)]
    return reports.Section("Overview", "verdict", content=content)


def _figures(summary: dict[str, Any]) -> list[reports.KeyFigure]:
    """Number of determined parameters, and the fit of the worst channel."""
    links = summary.get("links") or ()
    inertias = {link["parameter"] for link in links}
    rows = [r for r in summary["parameters"] if r["parameter"] not in inertias]
    determined = [r["determined"] and not r["at_bound"] for r in rows]
    determined += [q["from_data"] for link in links for q in link["quantities"]]
    figures = [
        reports.KeyFigure(
            f"{sum(determined)} of {len(determined)}",
            "quantities determined" if links else "parameters determined",
            tone="" if all(determined) else "warning",
        )
    ]
    errors = channel_errors(summary)
    for part, label in (("held-out", "fit on held-out data"), ("training", "fit on training data")):
        found = {c: e[part].fit_percent for c, e in errors.items() if part in e}
        if found:
            worst = min(found, key=found.__getitem__)
            figures.append(
                reports.KeyFigure(
                    found[worst],
                    f"{label}, worst channel",
                    "%",
                    f"{worst}; 100 is exact, 0 the mean of the data",
                    "serious" if found[worst] <= 0 else "",
                )
            )
            break
    return figures


def _sentence(text: str) -> str:
    """Text with a full stop, without capitalising names."""
    return text + ("" if text.endswith((".", "!", "?")) else ".")


def _column_names(summary: dict[str, Any]) -> list[str]:
    """Parameters as columns of a table; none where they are too many to read."""
    names = [r["name"] for r in summary["parameters"]]
    return names if len(names) <= _COLUMNS else []


def _cross_validation(
    summary: dict[str, Any], findings: Sequence[reports.Finding]
) -> reports.Section:
    crossed = summary["cross_validation"]
    names = _column_names(summary)
    rows = [
        [", ".join(part), train, held, *values[: len(names)]]
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
        content=[
            *([reports.Findings(list(findings))] if findings else []),
            reports.Table(["held out", "error fitted", "error held out", *names], rows),
        ],
        collapsed=True,
    )


def _course(summary: dict[str, Any], findings: Sequence[reports.Finding]) -> reports.Section:
    """History of the search."""
    history = [h for h in summary["history"] if np.isfinite(h["cost"])]
    content: list[Any] = [reports.Findings(list(findings))] if findings else []
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
        names = _column_names(summary)
        body = [
            [h["iteration"], h["evaluations"], h["cost"], h["mu"], h["step"], *h["x"][: len(names)]]
            for h in history
            if "mu" in h  # an iteration of least squares; generations have no single candidate
        ]
        content.append(
            reports.Table(
                ["iteration", "simulations", "cost", "regulariser", "step", *names],
                body[-_ITERATIONS:],
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
    return reports.Section("Search", "course", content=content, collapsed=True)


def save_path_of(path: str | Path) -> Path:
    """File of a report: ``path`` itself where it names an HTML file, else report.html in it."""
    path = Path(path)
    return path if path.suffix.lower() in (".html", ".htm") else path / "report.html"
