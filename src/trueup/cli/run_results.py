"""Output of the outcome of a run of any kind."""

from collections.abc import Callable
from typing import Any

from trueup.cli.output import Output
from trueup.fitting import Grade, Verdict
from trueup.reports.verdict import MOST_REASONS
from trueup.runs import Outcome

DONE, NOT_USABLE = 0, 3
"""Exit codes: finished, and finished without convergence or with the verdict "do not use"."""


def code_of(verdict: Verdict | None, complete: bool = True) -> int:
    """Exit code of a result.

    Args:
      verdict: its verdict; None without one.
      complete: whether its search is complete.
    """
    refused = verdict is not None and verdict.grade is Grade.DO_NOT_USE
    return DONE if complete and not refused else NOT_USABLE


def print_outcome(outcome: Outcome, output: Output, show: Callable[[Outcome, Output], None]) -> int:
    """Print a finished run, its verdict first; returns the exit code.

    Args:
      outcome: outcome of the run.
      output: where it is printed.
      show: function that prints the text for the kind of the run.
    """
    output.result(outcome_content(outcome))
    verdict = outcome.verdict
    if verdict is not None:
        output.text("", *verdict.lines(MOST_REASONS))
    show(outcome, output)
    return code_of(verdict, outcome.complete)


def outcome_content(outcome: Outcome) -> dict[str, Any]:
    """Object of ``--json``."""
    files = {"directory": str(outcome.directory), "report": str(outcome.report)}
    return {**outcome.summary, **files}
