"""Displays of results in notebooks, in the words and tables of a report."""

from typing import Any

import numpy as np

from trueup._rich_display import Display
from trueup.fitting.judgement.verdict import Verdict
from trueup.fitting.solution import Solution
from trueup.parameters import ParameterDict
from trueup.reports.findings import Finding, Findings
from trueup.reports.numbers import format_estimate, format_number
from trueup.reports.table import Column, Table
from trueup.reports.verdict import counted, verdict_section


def of_part(part: Any) -> Display:
    """A part of a report."""
    return Display(getattr(part, "title", "") or "a part of a report", (part,))


def of_page(page: Any) -> Display:
    """A page: its lead and the sections that are not folded."""
    return Display(page.title, tuple(page.shown_parts()))


def of_verdict(verdict: Verdict) -> Display:
    """A verdict: grade, reasons and errors compared with the baselines."""
    reasons = verdict.reasons[:1]
    line = ". ".join([f"Verdict: {verdict.grade.value}", *(r.sentence for r in reasons)])
    return Display(line, (verdict_section(verdict.to_dict()),))


def of_solution(solution: Solution) -> Display:
    """A solution: its status, and parameters with their intervals."""
    tone = "good" if solution.success else "warning"
    ended = f"{solution.message} {solution.status.advice}"
    rows = []
    for k, (name, value) in enumerate(solution.parameters.items()):
        low, high = (np.nan, np.nan) if solution.intervals is None else solution.intervals[k]
        rows.append([name, format_estimate(value, float(low), float(high))])
    with_intervals = solution.intervals is not None
    title = "estimate with its interval" if with_intervals else "value"
    table = Table(["parameter", Column(title, align="right")], rows)
    line = (
        f"Solution: {solution.status.value}, cost {format_number(solution.cost, 6)}, "
        f"{counted(len(rows), 'parameter')}"
    )
    return Display(line, (Findings([Finding(tone, ended)]), table))


def of_parameters(parameters: ParameterDict) -> Display:
    """Parameters: values, bounds, and what they are in the model."""
    rows = []
    for parameter in parameters.values():
        state = "fixed" if parameter.frozen else "free"
        if parameter.tied_to:
            state = f"tied to {parameter.tied_to}"
        lower, upper = parameter.get_bounds()
        values = zip(parameter.element_names, parameter.as_vector(), lower, upper)
        for name, value, low, high in values:
            bounds = f"{format_number(float(low), 4)} to {format_number(float(high), 4)}"
            shown = bounds if np.isfinite([low, high]).any() else ""
            targets = ", ".join(parameter.targets)
            rows.append([name, float(value), parameter.unit, shown, state, targets])
    columns = ["parameter", Column("value", align="right"), "unit", "bounds", "state", "target"]
    table = Table(columns, rows)
    return Display(str(parameters), (table,))
