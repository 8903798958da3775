"""Displays of finished runs in notebooks: what their report shows unfolded."""

from typing import Any

from trueup._rich_display import Display
from trueup.fitting.judgement.verdict import Verdict
from trueup.reports import Note, verdict_section
from trueup.runs._report import report


def of_run(result: Any) -> Display:
    """A result with a run directory; its verdict alone where the run was not stored.

    Args:
      result: anything with ``directory``, and ``summary`` or ``verdict``.

    Raises:
      RunDirectoryError: the run directory is gone or damaged.
    """
    verdict = _verdict_of(result)
    name = type(result).__name__
    grade = name if verdict is None else f"{name}: {verdict.grade.value}"
    if result.directory is None:
        shown = () if verdict is None else (verdict_section(verdict.to_dict()),)
        return Display(f"{grade}, not stored", shown)
    page = report(result.directory, anyway=True)  # a page says itself that inputs have changed
    where = Note(f"The whole report: {result.directory / 'report.html'}")
    return Display(f"{grade}, in {result.directory}", (*page.shown_parts(), where))


def _verdict_of(result: Any) -> Verdict | None:
    known = getattr(result, "verdict", None)
    if known is not None:
        return known
    plain = (getattr(result, "summary", None) or {}).get("verdict")
    return None if plain is None else Verdict.from_dict(plain)
