"""``trueup study resume``: continue a run of any kind."""

import importlib
from pathlib import Path

from trueup import runs
from trueup.cli.output import Output
from trueup.cli.run_results import print_outcome
from trueup.runs import Execution
from trueup.runs.loop.budget import Budget

PRINTERS = {
    "study": "trueup.cli.study.show:show_summary",
    "identification": "trueup.cli.robot.identify:show_summary",
    "servo": "trueup.cli.actuator.fit:show_summary",
    "comparison": "trueup.cli.actuator.compare:show_summary",
    "network": "trueup.cli.network.training:show_summary",
    "motion": "trueup.cli.network.motion_results:show_motion",
    "model motion": "trueup.cli.network.motion_results:show_motion",
    "gait": "trueup.cli.gait.optimize:show_summary",
    "explanation": "trueup.cli.robot.explain:show_summary",
    "design": "trueup.cli.robot.design_results:show_design",
    "bench design": "trueup.cli.robot.design_results:show_bench_design",
}
"""Kind -> function ``(outcome, output)`` that prints its outcome, imported when it is needed."""


def run_resume(
    directory: Path,
    limits: Budget,
    folder: Path | None,
    execution: Execution,
    verbose: bool,
    output: Output,
) -> int:
    """Run the command; returns the exit code."""
    outcome = runs.resume(
        directory, limits=limits, folder=folder, execution=execution, verbose=verbose
    )
    module, name = PRINTERS[outcome.kind].split(":")
    return print_outcome(outcome, output, getattr(importlib.import_module(module), name))
