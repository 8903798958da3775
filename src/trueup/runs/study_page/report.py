"""Report of a study from its run directory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueup.reports.content import Content, Group, Note, Text, Yaml
from trueup.reports.figure import figure_grid
from trueup.reports.findings import Finding, Findings, KeyFigure, KeyFigures
from trueup.reports.numbers import format_number
from trueup.reports.page import Page, Section
from trueup.reports.table import Column, Highlight, Table
from trueup.reports.verdict import verdict_section
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.study_page.figures import (
    cost_figure,
    front_figure,
    parallel_figure,
    parameter_figures,
    population_figure,
    search_figures,
)
from trueup.runs.study_page.record import StudyRecord, read_study
from trueup.runs.study_page.statistics import groups_of

_SHOWN_AT_ONCE = 12  # number of parameters with expanded figures
_BEST_SHARE = 0.05  # share of the candidates highlighted in parallel coordinates


def study_report(record: StudyRecord) -> Page:
    """Build the report of a study, which may be in progress.

    Args:
        record: record of :func:`trueup.runs.read_study`.
    """
    subtitle = f"{record.status}: {record.message}" if record.status else "not finished"
    page = Page(record.name, subtitle=subtitle, provenance=record.provenance)
    if record.verdict is not None:
        page.add(verdict_section(record.verdict))
    page.add(*study_sections(record))
    return page


def study_sections(record: StudyRecord) -> list[Section]:
    """Sections of a study's report, for the reports of capabilities that run one."""
    sections = [_overview(record)]
    if record.front is not None and len(record.front):
        sections.append(_front(record))
    if record.parameters:
        sections.append(_parameters(record))
    if len(record.history.X):
        sections.append(_course(record))
    if record.failures():
        sections.append(_failures(record))
    if record.settings:
        sections.append(Section("Settings", "settings", content=[Yaml(record.settings)]))
    return sections


def _overview(record: StudyRecord) -> Section:
    history = record.history
    last: Mapping[str, Any] = history.generations[-1] if history.generations else {}
    evaluations = history.evaluations
    count = int(last.get("generation", -1)) + 1
    figures = [
        KeyFigure(_best_cost(record), f"best {record.objectives[0]}"),
        KeyFigure(evaluations, "evaluations", note=f"in {count} generations"),
    ]
    seconds = float(last.get("seconds", 0.0))
    if seconds > 0:
        each = f"{1e3 * seconds / max(evaluations, 1):.3g} ms per candidate"
        figures.append(KeyFigure(seconds, "run time", "s", each))
    if evaluations:
        invalid = len(history.X) - int(record.valid().sum()) + history.removed.invalid
        share = 100.0 * invalid / evaluations
        tone = "warning" if share > 50 else ""
        figures.append(KeyFigure(share, "invalid candidates", "%", "", tone))
    notes: list[Content] = [Note(note) for note in record.notes]
    if history.removed.evaluations:
        said = (
            f"The file of this long study contains {len(history.generations)} of its {count} "
            "generations: the last ones, and of those before some at equal distances and the best. "
            "Figures and tables of candidates show these; the best candidate and all numbers of "
            "evaluations are of the whole study."
        )
        notes.append(Note(said))
    return Section(
        "Overview", "overview", content=[KeyFigures(figures), Findings(_findings(record)), *notes]
    )


def _findings(record: StudyRecord) -> list[Finding]:
    found = []
    at_bound = [row["name"] for row in record.parameters if row.get("at_bound")]
    if at_bound:
        names = ", ".join(at_bound[:6]) + (f" and {len(at_bound) - 6} more" * (len(at_bound) > 6))
        found.append(
            Finding(
                "warning",
                f"On a bound: {names}. The optimum may be beyond it: widen the bounds if "
                "physically plausible.",
                "parameters",
            )
        )
    if not record.status:
        found.append(Finding("info", "The search has not finished: this is its current state."))
    elif record.advice:
        good = record.status in ("converged", "exact", "target reached")
        found.append(Finding("good" if good else "info", record.advice))
    if not record.parameters:
        found.append(Finding("serious", "No candidate was valid yet.", "invalid-candidates"))
    return found


def _best_cost(record: StudyRecord) -> float | None:
    first = record.history.costs[record.valid(), 0]
    return float(first.min()) if len(first) else None


def _front(record: StudyRecord) -> Section:
    assert record.front is not None
    front = record.front
    table = Table(list(record.objectives), front[:200].tolist(), title="Costs along the front")
    content: list[Content] = [
        front_figure(record.history.costs[record.valid()], front, record.objectives),
        Group(f"The {len(front)} candidates", table, collapsed=True),
    ]
    return Section(
        "Pareto front",
        "pareto-front",
        "Non-dominated candidates; their parameters are in pareto_front.csv.",
        content,
    )


def _parameters(record: StudyRecord) -> Section:
    rows = record.parameters
    columns = [
        Column("parameter"),
        Column("value"),
        Column("unit"),
        Column("start"),
        Column("bounds", align="right"),
        Column("remark"),
    ]
    body = [
        [
            row["name"],
            row["value"],
            row.get("unit", ""),
            row.get("start"),
            _span(row),
            "on a bound" if row.get("at_bound") else "",
        ]
        for row in rows
    ]
    content: list[Content] = [
        Table(columns, body, highlights=[Highlight("remark", bool, "warning")])
    ]
    by_name = {row["name"]: row for row in rows}
    if all(name in by_name for name in record.history.names) and record.valid().any():
        good, others, label = _good_candidates(record)
        ordered = [by_name[name] for name in record.history.names]
        figure = parallel_figure(record.history.X, good, others, ordered, label)
        content.append(figure.with_text(title="Parameters of the best candidates"))
    return Section("Parameters", "parameters", content=content)


def _good_candidates(record: StudyRecord) -> tuple[np.ndarray, np.ndarray, str]:
    """Rows of the front, or of the best share; rows of the other valid candidates; a name."""
    costs = record.history.costs
    if record.front is not None and len(record.front):
        on_front = {row.tobytes() for row in record.front}
        is_good = np.array([row.tobytes() in on_front for row in np.ascontiguousarray(costs)])
        is_good &= record.valid()
        if is_good.any():
            others = record.valid() & ~is_good
            return np.flatnonzero(is_good), np.flatnonzero(others), "Pareto front"
    first = _costs(record)
    order = np.argsort(first, kind="stable")[: int(np.isfinite(first).sum())]
    cut = max(1, round(_BEST_SHARE * len(order)))
    return order[:cut], order[cut:], f"best {100 * _BEST_SHARE:.0f} %"


def _course(record: StudyRecord) -> Section:
    history = record.history
    counted = history.counted
    groups = groups_of(history.generation, counted=counted)
    valid = record.valid()
    content: list[Content] = []
    for i, name in enumerate(record.objectives):
        costs = np.where(valid, history.costs[:, i], np.nan)
        if valid.any():
            content.append(cost_figure(costs, groups, name).with_text(title=f"History of {name}"))
    own = search_figures(history.generations)
    if own:
        content.append(figure_grid(own, 2, "State variables of the search"))
    costs = _costs(record)
    if np.bincount(groups.of).max(initial=0) > 1 and groups.count > 1 and valid.any():
        content.append(
            population_figure(costs, groups, record.objectives[0]).with_text(
                title="Sorted costs of each generation"
            )
        )
    by_name = {row["name"]: row for row in record.parameters}
    rows = [by_name.get(name, {"name": name}) for name in history.names]
    traces = parameter_figures(history.X, costs, groups_of(history.generation, 150, counted), rows)
    first, rest = traces[:_SHOWN_AT_ONCE], traces[_SHOWN_AT_ONCE:]
    content.append(figure_grid(first, 3, "History of the parameters"))
    if rest:
        title = f"History of {len(rest)} more parameters"
        content.append(Group(title, figure_grid(rest, 3), collapsed=True))
    return Section("Course", "course", content=content)


def _failures(record: StudyRecord) -> Section:
    rows = record.failures()
    total = sum(count for _, count in rows)
    table = Table(
        ["reason", "candidates", Column("share", "%", digits=3)],
        [[reason, count, 100.0 * count / total] for reason, count in rows[:50]],
    )
    said = f"{total} of {record.history.evaluations} candidates were invalid."
    return Section("Invalid candidates", "invalid-candidates", content=[Text(said), table])


def _costs(record: StudyRecord) -> np.ndarray:
    """First cost of each evaluation ``(n,)``, NaN where invalid."""
    return np.where(record.valid(), record.history.costs[:, 0], np.nan)


def _span(row: Mapping[str, Any]) -> str:
    if "lower" not in row or "upper" not in row:
        return ""
    low, high = float(row["lower"]), float(row["upper"])
    if np.isinf(low) and np.isinf(high):
        return "none"
    return f"{format_number(low)} to {format_number(high)}"


def report_of_search(directory: RunDirectory) -> Page:
    """The page of a run's search, from its directory; the run may be in progress."""
    return study_report(read_study(directory))
