"""Runs of ``trueup design``, and their print: plans and designs, of robots and of servos on their
bench."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from trueup import runs
from trueup.cli.output import Output
from trueup.cli.run_results import print_outcome
from trueup.reports.numbers import format_number

Show = Callable[[Any, Output], None]
"""Prints a plan or an outcome for people."""


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
      run, plan: do the design, and plan it.
      spec: what it is of.
      target: run directory.
      given: the command, a :class:`trueup.cli.robot.design_commands.Design`.
      output: where the result is printed.
      show, show_plan: print the outcome, and the plan.
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
    """Print a plan for people."""
    output.text(
        f"{len(plan['parameters'])} unknowns, {len(plan['joints'])} joints, "
        f"{len(plan['signals'])} signals; {plan['pieces']} pieces of motion, chosen from "
        f"{plan['library']} and polished.",
        f"A piece takes {plan['simulations_a_piece']} simulations, about "
        f"{plan['seconds_a_piece'] or 0:.2g} s; the search {plan['seconds']:.0f} s.",
        f"It would be written to {plan['directory']}.",
        *plan["notes"],
    )


def show_design(outcome: Any, output: Output) -> None:
    """Print a design for people."""
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
    """Print a plan of a servo's logs for people."""
    found = plan["conditions"]
    output.text(
        f"{plan['servo']}, {len(plan['parameters'])} unknowns: {plan['logs']} logs of "
        f"{plan['seconds_a_log']:.3g} s, with "
        f"{_words({c['mass'] for c in found})} kg at {_words({c['length'] for c in found})} m and "
        f"gains of {_words({c['kp'] for c in found})}.",
        f"{plan['designs']} designs are simulated with {plan['simulations_a_log']} servos each, "
        f"for {plan['seconds']:.0f} s at most; a few tens of seconds are usual.",
        f"It would be written to {plan['directory']}.",
    )


def show_bench_design(outcome: Any, output: Output) -> None:
    """Print a servo's designed logs for people."""
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
    output.table([*columns, "reaches [rad]"], rows)
    _show_intervals(summary, output)
    output.text(
        "",
        f"Record the logs in {outcome.directory}:",
        *(f"  {log['command']}" for log in summary["logs"]),
        "Process them, and fit them with the former ones from the former fit on: trueup actuator "
        f"fit ... --load-study {summary['after']} --output NEXT.json",
        f"Then: trueup design NEXT.json --predicted {outcome.directory}",
        f"Report: {outcome.report}",
    )


def _show_intervals(summary: dict[str, Any], output: Output) -> None:
    """Print predicted intervals, what stays unknown, the last prediction and notes."""
    followed = summary["after"] is not None
    rows = [
        [
            r["name"],
            format_number(r["value"]),
            f"{format_number(r['low'])} to {format_number(r['high'])}",
            r["unit"],
            _percent(r["relative"]),
            _percent(r["chirp"]),
            *([_percent(r["with_known"]), _percent(r["chirp_with_known"])] if followed else ()),
        ]
        for r in summary["parameters"]
    ]
    columns = ["parameter", "present", "predicted", "unit", "of bounds", "chirp"]
    output.text("")
    output.table([*columns, *(("with former", "chirp with former") if followed else ())], rows)
    for r in summary["parameters"]:
        if r["unknown"]:
            output.text(f"  - {r['name']} stays unknown: {r['unknown']}.")
    if summary["comparison"] is not None:
        c = summary["comparison"]
        output.text(
            f"  - Last prediction: obtained over predicted {c['median']:.2f} in the middle, "
            f"{100 * c['within']:.0f} % within 25 %."
        )
    for note in summary["notes"]:
        output.text(f"  - {note}")


def _words(values: Sequence[float] | set[float]) -> str:
    return ", ".join(f"{value:g}" for value in sorted(values))


def _percent(share: float | None) -> str:
    if share is None:
        return ""
    return f"{100 * share:.3g} %" if share < 1 else "all"
