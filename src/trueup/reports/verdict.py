"""Section of a page with the verdict on a result: the answer first, the rest folded."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from trueup.errors import ReportError, listing
from trueup.reports.content import Group
from trueup.reports.findings import Finding, Findings, KeyFigure, KeyFigures
from trueup.reports.page import Section
from trueup.reports.rendering import Content
from trueup.reports.steps import Step, Steps
from trueup.reports.table import Cell, Column, Highlight, Table

MOST_REASONS = 3
"""Number of reasons for a verdict that are shown without unfolding."""

_TONES = {"use": "good", "look": "warning", "do not use": "serious"}


def verdict_section(
    verdict: Mapping[str, Any],
    title: str = "Verdict",
    anchors: Mapping[str, str] | None = None,
    *,
    figures: Sequence[KeyFigure] = (),
    causes: Sequence[Mapping[str, Any]] = (),
    steps: Sequence[Step] = (),
    further: Sequence[Finding] = (),
    compared: bool = True,
) -> Section:
    """Section with the grade, at most three of its reasons, and what to do next.

    The other reasons, the errors compared with those of the baselines, and the criteria are folded.

    Args:
        verdict: plain data of a :class:`trueup.fitting.Verdict`, as in ``solution.json``.
        title: heading.
        anchors: section of a reason -> anchor on the page if different, such as
            ``{"scores": "errors"}``.
        figures: further big numbers after the grade.
        causes: likely causes of an error, ranked: ``cause``, ``share`` of the error that it
            explains, ``sentence``.
        steps: what to do next.
        further: findings that are folded with the reasons beyond the third.
        compared: include the table of errors; False if the page has it elsewhere.

    Raises:
        ReportError: a grade is unknown.
    """
    grade, places = verdict["grade"], anchors or {}
    findings = [_finding(reason, places) for reason in verdict["reasons"]]
    more = [*findings[MOST_REASONS:], *further]
    content: list[Content] = [KeyFigures([KeyFigure(grade, "grade", tone=_tone(grade)), *figures])]
    if causes:
        content.append(_causes(causes, places))
    content.append(Findings(findings[:MOST_REASONS]))
    if more:
        content.append(Group(counted(len(more), "further finding"), Findings(more), True))
    if steps:
        content.append(Steps(steps))
    if verdict["comparisons"] and compared:
        errors = _comparisons(verdict["comparisons"])
        content.append(Group("Errors compared with the baselines", errors, collapsed=True))
    if verdict["criteria"]:
        met = sum(bool(row["met"]) for row in verdict["criteria"])
        name = f"Criteria: {met} of {len(verdict['criteria'])} met"
        content.append(Group(name, _criteria(verdict["criteria"]), collapsed=True))
    return Section(title, "verdict", content=content)


def counted(number: int, noun: str) -> str:
    """A number with its noun: ``1 further finding``, ``2 further findings``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def cause_sentence(cause: Mapping[str, Any]) -> str:
    """Sentence on a likely cause, with the share of the error that it explains."""
    text = str(cause.get("sentence") or cause.get("cause") or "").rstrip(".")
    share = float(cause.get("share") or 0.0)
    if math.isfinite(share) and share > 0 and "%" not in text:
        text += f" ({100 * share:.0f} % of the error)"
    return f"{text}."


def _causes(causes: Sequence[Mapping[str, Any]], places: Mapping[str, str]) -> Content:
    """The first cause, and the others folded."""
    found = [Finding("warning", cause_sentence(c), places.get("causes", "")) for c in causes]
    content: list[Content] = [Findings(found[:1])]
    if found[1:]:
        name = counted(len(found) - 1, "other candidate")
        content.append(Group(name, Findings(found[1:]), collapsed=True))
    return Group("Most likely cause", content)


def _finding(reason: Mapping[str, Any], anchors: Mapping[str, str]) -> Finding:
    section: str = reason["section"]
    return Finding(_tone(reason["grade"]), reason["sentence"], anchors.get(section, section))


def _tone(grade: str) -> str:
    if grade not in _TONES:
        raise ReportError(f"unknown grade {grade!r} of a verdict; available: {listing(_TONES)}")
    return _TONES[grade]


def _comparisons(rows: list[Mapping[str, Any]]) -> Table:
    """Errors of the result and of the baselines; entries common to all rows are in a note."""
    names = list(dict.fromkeys(name for row in rows for name in row["baselines"]))
    words = [
        ("data", ["held-out data" if row["held_out"] else "data of the fit" for row in rows]),
        ("error", [row["measure"] for row in rows]),
        ("unit", [row["unit"] for row in rows]),
    ]
    shared = {title: found[0] for title, found in words if len(set(found)) == 1}
    separate = [(title, found) for title, found in words if title not in shared]
    body = []
    for place, row in enumerate(rows):
        errors, finest = row["baselines"], _number(row["resolution"])
        own = max(_number(row["error"]), finest)
        better = [n for n in names if n in errors and max(_number(errors[n]), finest) < own]
        result = Cell(
            _number(row["error"]),
            "warning" if better else "",
            f"worse than {', '.join(better)}" if better else "",
        )
        numbers = [_number(errors[name]) if name in errors else None for name in names]
        cells = [found[place] for _, found in separate]
        body.append([row["channel"], *cells, result, *numbers])
    unit = shared.get("unit", "")
    sentence = ["".join([shared.get("error", "error"), f" in {unit}" if unit else ""])]
    sentence += [f"on {shared['data']}"] if "data" in shared else []
    notes = [" ".join(sentence).strip().replace("error", "Error", 1) + "."] if shared else []
    if any(isinstance(row[-len(names) - 1], Cell) and row[-len(names) - 1].tone for row in body):
        notes.append("Marked results are worse than a baseline.")
    return Table(
        [
            "channel",
            *(title for title, _ in separate),
            Column("result", digits=3, align="right"),
            *(Column(name, digits=3) for name in names),
        ],
        body,
        notes=notes,
    )


def _criteria(rows: list[Mapping[str, Any]]) -> Table:
    return Table(
        ["criterion", "value", "wanted", "unit", "met"],
        [
            [
                row["name"],
                _number(row["value"]),
                f"{'at most' if row['at_most'] else 'at least'} {_number(row['limit']):.4g}",
                row["unit"],
                "yes" if row["met"] else "no",
            ]
            for row in rows
        ],
        highlights=[Highlight("met", lambda word: word == "no", "warning")],
    )


def _number(value: Any) -> float:
    """A number of plain data; JSON stores non-finite ones as words or as null."""
    return float("inf") if value is None else float(value)
