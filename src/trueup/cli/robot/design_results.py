"""Runs of ``trueup design`` and output of their plans and designs, for robots and servo benches."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from trueup import runs
from trueup.cli.output import Output
from trueup.cli.run_results import print_outcome
from trueup.reports.numbers import format_estimate, format_number

Show = Callable[[Any, Output], None]
"""Function that prints a plan or an outcome."""


def run_or_plan(
    run: Callable[[Any, runs.Session], runs.Outcome],
    plan: Callable[[Any, runs.Execution], dict[str, Any]],
    spec: runs.Spec,
    target: Path,
    given: Any,
    output: Output,
    *,
    show: Show,
    show_plan: Show,
) -> int:
    """Run a design, or print its plan; returns the exit code.

    Args:
      run, plan: functions that run and plan the design.
      spec: specification of the design.
      target: run directory.
      given: the command, a :class:`trueup.cli.robot.design_commands.Design`.
      output: output of the command.
      show, show_plan: functions that print the outcome and the plan.
    """
    if given.dry_run:
        planned = runs.plan(plan, spec, target, overwrite=True)
        output.result(planned)
        show_plan(planned, output)
        return 0
    outcome = runs.start(
        run,
        spec,
        target,
        resume=given.resume,
        overwrite=given.overwrite,
        verbose=not (given.quiet or output.json),
    )
    return print_outcome(outcome, output, show)


def show_plan(plan: dict[str, Any], output: Output) -> None:
    """Print a plan."""
    output.text(
        f"{len(plan['parameters'])} unknowns, {len(plan['joints'])} joints, "
        f"{len(plan['signals'])} signals; {plan['pieces']} segments of motion, chosen from "
        f"{plan['library']} and optimised.",
        f"A segment takes {plan['simulations_a_piece']} simulations, about "
        f"{plan['seconds_a_piece'] or 0:.2g} s; the search {plan['seconds']:.0f} s.",
        f"It would be written to {plan['directory']}.",
        *plan["notes"],
    )


def show_design(outcome: Any, output: Output) -> None:
    """Print a design."""
    summary = outcome.summary
    _show_intervals(summary, output)
    files = outcome.directory
    output.text(
        "",
        f"Motion: {files / 'motion.csv'}, {files / 'motion_ros2.yaml'}",
        f"Record it as {files / 'recording.csv'}, then: trueup identify "
        f"{files / 'next_experiment.yaml'}",
        f"Report: {outcome.report}",
    )


def show_bench_plan(plan: dict[str, Any], output: Output) -> None:
    """Print a plan of the logs of a servo."""
    found = plan["conditions"]
    output.text(
        f"{plan['servo']}, {len(plan['parameters'])} unknowns: {plan['logs']} logs of "
        f"{plan['seconds_a_log']:.3g} s, with "
        f"{_words({c['mass'] for c in found})} kg at {_words({c['length'] for c in found})} m and "
        f"gains of {_words({c['kp'] for c in found})}.",
        f"{plan['designs']} designs are simulated with {plan['simulations_a_log']} servos each, "
        f"for at most {plan['seconds']:.0f} s; a few tens of seconds are usual.",
        f"It would be written to {plan['directory']}.",
    )


def show_bench_design(outcome: Any, output: Output) -> None:
    """Print the designed logs of a servo."""
    summary = outcome.summary
    rows = [
        [
            log["file"],
            *(format_number(log[key]) for key in ("mass", "length", "kp")),
            log["family"],
            *(format_number(log[key]) for key in ("seconds", "limp", "angle")),
        ]
        for log in summary["logs"]
    ]
    columns = ["trajectory", "mass [kg]", "length [m]", "gain", "family", "[s]", "torque off [s]"]
    output.text("")
    output.table([*columns, "largest angle [rad]"], rows)
    _show_intervals(summary, output)
    output.text(
        "",
        f"Record the logs in {outcome.directory}:",
        *(f"  {log['command']}" for log in summary["logs"]),
        "Process them, and fit all logs with the last fit as start values: trueup actuator fit ... "
        f"--load-study {summary['after']} --output NEXT.json",
        f"Then: trueup design NEXT.json --predicted {outcome.directory}",
        f"Report: {outcome.report}",
    )


def _show_intervals(summary: dict[str, Any], output: Output) -> None:
    """Print predicted intervals, parameters that remain unknown, the last prediction and notes."""
    followed = summary["after"] is not None
    rows = [
        [
            r["name"],
            format_estimate(r["value"], r["low"], r["high"]),
            r["unit"],
            _percent(r["relative"]),
            _percent(r["chirp"]),
            *([_percent(r["with_known"]), _percent(r["chirp_with_known"])] if followed else ()),
        ]
        for r in summary["parameters"]
    ]
    columns = ["parameter", "present, predicted interval", "unit", "of bounds", "chirp"]
    output.text("")
    output.table([*columns, *(("with earlier", "chirp with earlier") if followed else ())], rows)
    for r in summary["parameters"]:
        if r["unknown"]:
            output.text(f"  - {r['name']} remains unknown: {r['unknown']}.")
    if summary["comparison"] is not None:
        c = summary["comparison"]
        output.text(
            f"  - Last prediction: the ratio of obtained to predicted width has the median "
            f"{c['median']:.2f}; {100 * c['within']:.0f} % are within 25 %."
        )
    for note in summary["notes"]:
        output.text(f"  - {note}")


def _words(values: Sequence[float] | set[float]) -> str:
    return ", ".join(f"{value:g}" for value in sorted(values))


def _percent(share: float | None) -> str:
    if share is None:
        return ""
    return f"{100 * share:.3g} %" if share < 1 else "all"
