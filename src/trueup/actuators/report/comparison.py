"""Report of a model comparison."""

import math
from collections.abc import Sequence

import numpy as np

from trueup import reports
from trueup.actuators.report._overlay import overlay_report
from trueup.actuators.report.choice_section import choice_section
from trueup.actuators.report.overlay_figures import error_table, worst_first
from trueup.actuators.selection._information_criteria import LIKELIHOODS
from trueup.actuators.selection.model_choice import ModelChoice
from trueup.actuators.selection.model_comparison import (
    GROUPED_BY,
    ComparedModel,
    ModelComparison,
    grouped,
)

_MRAD = 1e3


def comparison_report(
    comparison: ModelComparison,
    *,
    overlays: bool = True,
    notes: Sequence[str] = (),
    choice: ModelChoice | None = None,
) -> reports.Page:
    """Report of a comparison: recommended model and reason, errors by part, gain, mass and log.

    Args:
        comparison: comparison to report.
        overlays: add the logs with all simulated motions.
        notes: additional warnings, shown first.
        choice: selection of the extended terms of one of the models.
    """
    c = comparison
    held = int(c.is_held_out.sum())
    subtitle = (
        f"servo {c.logs[0].motor}; {len(c.models)} models; {len(c.logs) - held} training logs, "
        f"{held} held out"
    )
    page = reports.Page("Comparison of friction models", subtitle)
    page.add(reports.verdict_section(c.verdict(notes).to_dict()))
    page.add(_overview(c, notes), _errors(c), _criteria(c), _groups(c), _values(c))
    if choice is not None:
        page.add(choice_section(choice))
    order = worst_first([m.errors for m in c.models], c.kind)
    errors = [m.errors for m in c.models]
    table = error_table(errors, c.logs, order, c.is_held_out if held else None, kind=c.kind)
    page.add(reports.Section("Errors by log", content=[table]))
    if overlays:
        page.add(*(_folded(s) for s in overlay_report(c.logs, errors).sections[1:]))
    return page


def _overview(c: ModelComparison, notes: Sequence[str]) -> reports.Section:
    chosen = next(m for m in c.models if m.label == c.recommended)
    has_held = bool(c.is_held_out.any())
    figures = [
        reports.KeyFigure(
            c.recommended, "recommended model", note=chosen.model.friction.title, tone="good"
        ),
        reports.KeyFigure(chosen.training * _MRAD, "its training error", "mrad"),
    ]
    if has_held:
        error = chosen.held_out_standard_error * _MRAD
        note = f"± {error:.2g} over logs" if math.isfinite(error) else ""
        figures.append(
            reports.KeyFigure(chosen.held_out * _MRAD, "its held-out error", "mrad", note)
        )
    part = c.is_held_out if has_held else ~c.is_held_out
    nearest = min(c.trivial, key=lambda name: float(c.trivial[name][part].mean()))
    figures.append(
        reports.KeyFigure(
            float(c.trivial[nearest][part].mean()) * _MRAD, "trivial prediction", "mrad", nearest
        )
    )
    findings: list[tuple[str, str]] = [("good", c.reason)]
    diverged = [m.label for m in c.models if not np.isfinite(m.errors.error(c.kind)).all()]
    if diverged:
        findings.append(("serious", f"The simulation of {', '.join(diverged)} diverges."))
    trivial = float(c.trivial[nearest][part].mean())
    if (chosen.held_out if has_held else chosen.training) > trivial:
        findings.append(("serious", f"A trivial prediction, {nearest}, has a smaller error."))
    findings += [("warning", f"{note}.") for note in notes]
    for m in c.models:
        findings += [("warning", f"{m.label}: {note}.") for note in m.model.notes]
    return reports.Section(
        "Recommended model", content=[reports.KeyFigures(figures), reports.Findings(findings)]
    )


def _errors(c: ModelComparison) -> reports.Section:
    has_held = bool(c.is_held_out.any())
    columns = [
        reports.Column("model"),
        reports.Column("parameters"),
        reports.Column("training", "mrad", digits=4),
    ]
    if has_held:
        columns += [
            reports.Column("held out", "mrad", digits=4),
            reports.Column("excess over the best", "mrad", digits=3),
            reports.Column("its standard error", "mrad", digits=2),
        ]
    columns += [
        reports.Column("AIC", digits=4, note="difference to the smallest"),
        reports.Column("BIC", digits=4, note="difference to the smallest"),
        reports.Column("from"),
    ]
    rows = [_row(m, has_held) for m in c.models]
    table = reports.Table(
        columns,
        rows,
        highlights=[
            reports.Highlight(
                "model", lambda label: label == c.recommended, "good", "recommended", whole_row=True
            )
        ],
        notes="Means over logs of the "
        + ("mean absolute" if c.kind == "mae" else "root mean square")
        + " position error. The standard error is that of the difference to the best model, log by "
        "log. AIC and BIC: difference to the smallest, on the training logs.",
    )
    return reports.Section("Errors", content=[table, _error_bars(c)])


def _error_bars(c: ModelComparison) -> reports.Figure:
    """Bar chart of training and held-out error of each model."""
    labels = [f"{m.label} ({m.parameters})" for m in c.models]
    parts = [("training", "series-1", [m.training * _MRAD for m in c.models])]
    if c.is_held_out.any():
        parts.append(("held out", "series-2", [m.held_out * _MRAD for m in c.models]))
    places = list(range(len(labels)))
    data = []
    for name, colour, values in parts:
        finite = [round(v, 3) if math.isfinite(v) else None for v in values]
        trace = {"type": "bar", "name": name, "legendgroup": name, "x": places, "y": finite}
        trace["marker"] = {"color": f"@{colour}"}
        if name == "held out":
            spread = [m.held_out_standard_error * _MRAD for m in c.models]
            shown = [round(v, 3) if math.isfinite(v) else None for v in spread]
            trace["error_y"] = {"type": "data", "array": shown, "color": "@ink", "thickness": 1.2}
        data.append(trace)
    layout = {
        "barmode": "group",
        "bargap": 0.3,
        "xaxis": {"tickvals": places, "ticktext": labels, "showgrid": False, "automargin": True},
        "yaxis": {"title": {"text": "error [mrad]"}, "rangemode": "tozero"},
    }
    legend = [reports.LegendEntry(name, colour, "bar", name) for name, colour, _ in parts]
    described = "; ".join(
        f"{label} {name} {value:.1f}"
        for name, _, values in parts
        for label, value in zip(labels, values, strict=True)
    )
    plot = reports.Plot(data, layout, height=280, description=f"error in mrad: {described}")
    caption = "In brackets: number of parameters."
    if len(parts) > 1:
        caption += " Whiskers: one standard error over the held-out logs."
    return reports.Figure((plot,), legend, "Training and held-out error", caption)


def _row(m: ComparedModel, has_held: bool) -> list[object]:
    row: list[object] = [m.label, m.parameters, m.training * _MRAD]
    if has_held:
        row += [
            m.held_out * _MRAD,
            m.behind_best * _MRAD,
            m.behind_best_standard_error * _MRAD if m.behind_best > 0 else None,
        ]
    return [*row, m.criteria.aic_difference, m.criteria.bic_difference, m.origin]


def _criteria(c: ModelComparison) -> reports.Section:
    likelihood = LIKELIHOODS[c.kind]
    inflation = c.samples / c.effective_samples
    text = (
        f"The {c.samples:,} samples of the training logs correspond to {c.effective_samples:.0f} "
        f"independent ones: residuals are correlated over about {inflation:.0f} samples. The "
        f"log-likelihood ({likelihood} residuals, whose maximum likelihood is the smallest error) "
        "is divided by that inflation of the variance before the penalty for parameters "
        "(quasi-likelihood, Burnham and Anderson 2002, section 2.5); samples counted as "
        "independent would favour any model that is slightly better. The effective number is n / "
        "(1 + 2 sum of autocorrelations), with the sum truncated as in Geyer (1992), from the "
        "residuals of the model with the smallest training error."
    )
    rows = [
        [
            m.label,
            m.parameters,
            m.criteria.aic,
            m.criteria.bic,
            m.criteria.aic_difference,
            m.criteria.bic_difference,
            m.criteria.own_effective_samples,
        ]
        for m in c.models
    ]
    table = reports.Table(
        [
            "model",
            "parameters",
            reports.Column("AIC", digits=5),
            reports.Column("BIC", digits=5),
            reports.Column("AIC difference", digits=4),
            reports.Column("BIC difference", digits=4),
            reports.Column("effective samples, own residuals", digits=3),
        ],
        rows,
    )
    return reports.Section("Information criteria", content=[table, reports.Note(text)])


def _groups(c: ModelComparison) -> reports.Section:
    tables = []
    for by in GROUPED_BY:
        groups = c.groups(by)
        if len(groups) < 2:
            continue
        numbers = grouped(c.logs, by)
        rows = [
            [value, len(numbers[value]), _parts(c, numbers[value]), *(errors * _MRAD).tolist()]
            for value, errors in groups.items()
        ]
        unit = {"mass": "kg", "length": "m"}.get(by, "")
        columns = [
            reports.Column(by, unit, align="left"),
            reports.Column("logs"),
            reports.Column("part"),
            *(reports.Column(m.label, "mrad", digits=3) for m in c.models),
        ]
        tables.append(reports.Table(columns, rows, title=f"By {by}"))
    return reports.Section(
        "Errors by gain, mass and trajectory",
        content=tables or [reports.Text("All logs have the same gain, mass and trajectory.")],
    )


def _parts(c: ModelComparison, numbers: list[int]) -> str:
    held = c.is_held_out[numbers]
    return "held out" if held.all() else "both" if held.any() else "training"


def _values(c: ModelComparison) -> reports.Section:
    parameters = {p.name: p for m in c.models for p in m.model.parameters}
    rows = [
        [name, p.unit, *(m.model.values.get(name) for m in c.models), p.description]
        for name, p in parameters.items()
    ]
    columns = [
        reports.Column("parameter"),
        reports.Column("unit"),
        *(reports.Column(m.label, digits=4) for m in c.models),
        reports.Column("meaning"),
    ]
    return reports.Section("Parameters", content=[reports.Table(columns, rows)], collapsed=True)


def _folded(section: reports.Section) -> reports.Section:
    return reports.Section(
        section.title, summary=section.summary, content=section.content, collapsed=True
    )
