"""``trueup gait optimize``."""

from pathlib import Path
from typing import Any

from trueup._marks import marked
from trueup.cli.gait.show import run_gait_evaluate
from trueup.cli.output import Output
from trueup.cli.run_results import DONE, print_outcome
from trueup.errors import GaitError
from trueup.gait import load_configuration
from trueup.gait._optimize import plan_optimize, start_run
from trueup.gait.report.walk_words import survival_lines
from trueup.gait.search.configuration import OF_SEARCHES
from trueup.gait.search.configuration_files import configuration_names
from trueup.gait.search.earlier_runs import vector_file
from trueup.gait.search.given_walks import given_walk
from trueup.runs import Outcome
from trueup.runs.loop.budget import Budget
from trueup.runs.loop.progress import duration


def run_optimize(
    configuration: str,
    target: Path | None,
    changes: dict[str, Any],
    limits: Budget,
    threads: int,
    output: Output,
    *,
    pickle: bool,
    resume: bool,
    overwrite: bool,
    dry_run: bool,
    anyway: bool,
    verbose: bool,
) -> int:
    """Run the command; returns the exit code.

    Args:
      configuration: name or file of the configuration.
      target: run directory; by default that of the configuration.
      changes: values that replace those of the configuration, by key.
      limits: evaluated candidates and time at most.
      threads: threads that simulate.
      output: where the result is printed.
      pickle: whether ``target`` is the value of ``--pickle-path``.
      resume: continue the run in ``target``.
      overwrite: replace the run in ``target``.
      dry_run: report the search, and write nothing.
      anyway: also start from a run with changed inputs.
      verbose: show progress.
    """
    if pickle and target is not None and not (target / "run.json").is_file():
        raise GaitError(
            f"--pickle-path {target} is not a run directory. The pickle file of another program "
            "can run any code, so it is never read: start from its best vector with --param-path "
            "FILE_OR_FOLDER"
        )
    full = load_configuration(configuration).with_changes(changes)
    if full.optim_mode == "evaluate":
        return _evaluate(configuration, changes, full.param_path, threads, anyway, output)
    if dry_run:
        if resume or pickle:
            raise GaitError("--dry-run reports on a new search; remove --resume")
        plan = plan_optimize(
            configuration,
            target,
            changes=changes,
            limits=limits,
            threads=threads,
            overwrite=overwrite,
            anyway=anyway,
        )
        return show_plan(plan, output)
    outcome = start_run(
        configuration,
        target,
        changes=changes,
        limits=limits,
        threads=threads,
        resume=resume or pickle,
        overwrite=overwrite,
        anyway=anyway,
        verbose=verbose,
    )
    return print_outcome(outcome, output, show_summary)


def without_configuration() -> str:
    """Message of a call without a configuration: usage, and the shipped names."""
    names = "\n".join(f"  {name}" for name in configuration_names())
    return (
        "no configuration is given. Usage:  trueup gait optimize CONFIG\n"
        f"CONFIG is a YAML, .bat or .sh file, or one of these names:\n{names}"
    )


def show_plan(plan: dict[str, Any], output: Output) -> int:
    """Print the plan of a search."""
    output.result(plan)
    output.text(*plan["notes"], f"{plan['unknowns']} unknowns.")
    rows = [
        [
            stage["name"] or "search",
            "no limit" if stage["generations"] is None else f"{stage['generations']}",
            f"{stage['candidates']}",
            f"{stage['walks_of_each']}",
            f"{stage['duration_s']:g}",
        ]
        for stage in plan["stages"]
    ]
    output.table(["stage", "generations", "candidates", "walks of each", "seconds"], rows)
    seconds = plan["seconds_at_most"]
    takes = "The number of generations has no limit."
    if seconds is not None:
        takes = f"The search takes at most {duration(seconds)} here; walks that fall end earlier."
    output.text(takes, f"It would be written to {plan['directory']}.")
    return DONE


def show_summary(outcome: Outcome, output: Output) -> None:
    """Print a gait optimisation for people."""
    summary = outcome.summary
    output.text(
        *summary["notes"],
        f"{summary['status']}: {summary['message']}",
        f"The best walk costs {summary['cost']:.6g}: {summary['walked_m']:.2f} m in "
        f"{summary['lasted_s']:.2f} s.",
        *survival_lines(summary.get("survival", {})),
        f"Report: {outcome.report}",
        f"Files:  {outcome.directory}",
    )


def _evaluate(
    configuration: str,
    changes: dict[str, Any],
    param_path: str | None,
    threads: int,
    anyway: bool,
    output: Output,
) -> int:
    """Evaluate the vector of ``param_path``, for the mode without search."""
    if param_path is None:
        raise GaitError(
            "the mode evaluate has no search: set its vector with --param-path, or use  trueup "
            "gait evaluate FILE"
        )
    others = {key: value for key, value in changes.items() if key not in OF_SEARCHES}
    walk = given_walk(vector_file(param_path), configuration, others, threads, anyway=anyway)
    with marked(walk.mark):
        return run_gait_evaluate(walk, output)
