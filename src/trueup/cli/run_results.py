"""Output of the outcome of a run of any kind."""

from collections.abc import Callable
from typing import Any

from trueup.cli.output import Output
from trueup.reports.verdict import MOST_REASONS
from trueup.runs import Outcome

DONE, NOT_CONVERGED = 0, 3


def print_outcome(outcome: Outcome, output: Output, show: Callable[[Outcome, Output], None]) -> int:
    """Print a finished run, its verdict first; returns the exit code.

    Args:
      outcome: outcome of the run.
      output: where it is printed.
      show: function that prints the text for the kind of the run.
    """
    output.result(outcome_content(outcome))
    if outcome.verdict is not None:
        output.text("", *outcome.verdict.lines(MOST_REASONS))
    show(outcome, output)
    return DONE if outcome.complete else NOT_CONVERGED


def outcome_content(outcome: Outcome) -> dict[str, Any]:
    """Object of ``--json``."""
    files = {"directory": str(outcome.directory), "report": str(outcome.report)}
    return {**outcome.summary, **files}
