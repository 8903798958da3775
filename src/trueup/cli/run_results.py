"""Prints the outcome of a run, of whatever kind it is."""

import importlib
from typing import Any

from trueup.cli.output import Output
from trueup.runs import Outcome

DONE, NOT_CONVERGED = 0, 3

PRINTERS = {
    "study": "trueup.cli.study_show:show_summary",
    "identification": "trueup.cli.identify:show_summary",
    "servo": "trueup.cli.actuator_fit:show_summary",
    "comparison": "trueup.cli.actuator_compare:show_summary",
    "network": "trueup.cli.network_training:show_summary",
    "gait": "trueup.cli.gait_optimize:show_summary",
}
"""Kind -> function ``(outcome, output)`` that prints its outcome for people."""


def print_outcome(outcome: Outcome, output: Output) -> int:
    """Print a finished run, its verdict first; returns the exit code."""
    output.result(outcome_content(outcome))
    if outcome.verdict is not None:
        output.text("", *outcome.verdict.lines())
    module, name = PRINTERS[outcome.kind].split(":")
    getattr(importlib.import_module(module), name)(outcome, output)
    return DONE if outcome.complete else NOT_CONVERGED


def outcome_content(outcome: Outcome) -> dict[str, Any]:
    """Object of ``--json``."""
    files = {"directory": str(outcome.directory), "report": str(outcome.report)}
    return {**outcome.summary, **files}
