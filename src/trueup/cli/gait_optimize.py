"""``trueup gait optimize``."""

from pathlib import Path
from typing import Any

from trueup.cli.gait_show import run_gait_evaluate
from trueup.cli.output import Output
from trueup.cli.run_results import print_outcome
from trueup.errors import GaitError
from trueup.gait import load_configuration
from trueup.gait._optimize import start_run
from trueup.gait.report.walk_words import survival_lines
from trueup.gait.search.earlier_runs import vector_file
from trueup.gait.search.given_walks import OF_SEARCHES, given_walk
from trueup.runs import Outcome
from trueup.studies import Budget


def run_optimize(
    configuration: str,
    target: Path | None,
    changes: dict[str, Any],
    limits: tuple[int | None, float | None],
    threads: int,
    output: Output,
    *,
    pickle: bool,
    resume: bool,
    overwrite: bool,
    verbose: bool,
) -> int:
    """Run the command; returns the exit code.

    Args:
      configuration: name or file of the configuration.
      target: run directory; that of the configuration where absent.
      changes: values that replace those of the configuration, by key.
      limits: evaluated candidates and time [s] at most.
      threads: threads that simulate.
      output: where the result is printed.
      pickle: whether ``target`` was given as ``--pickle-path``.
      resume: continue the run in ``target``.
      overwrite: replace the run in ``target``.
      verbose: show progress.
    """
    if pickle and target is not None and not (target / "run.json").is_file():
        raise GaitError(
            f"--pickle-path names a run directory, and {target} is none. A pickled search of "
            "another program can run any code, so it is never read: start from its best vector "
            "with --param-path FILE_OR_FOLDER instead"
        )
    full = load_configuration(configuration).with_changes(changes)
    if full.optim_mode == "evaluate":
        return _evaluate(configuration, changes, full.param_path, threads, output)
    outcome = start_run(
        configuration,
        target,
        changes=changes,
        limits=Budget(max_evaluations=limits[0], max_seconds=limits[1]),
        threads=threads,
        resume=resume or pickle,
        overwrite=overwrite,
        verbose=verbose,
    )
    return print_outcome(outcome, output, show_summary)


def show_summary(outcome: Outcome, output: Output) -> None:
    """Print a gait optimisation for people."""
    summary = outcome.summary
    output.text(
        *summary["notes"],
        f"{summary['status']}: {summary['message']}",
        f"The best walk costs {summary['cost']:.6g} and goes {summary['walked_m']:.2f} m in "
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
    output: Output,
) -> int:
    """Evaluate the vector of ``--param-path``, for the mode that searches nothing."""
    if param_path is None:
        raise GaitError(
            "the mode evaluate searches nothing: name the vector with --param-path, or use  "
            "trueup gait evaluate FILE"
        )
    others = {key: value for key, value in changes.items() if key not in OF_SEARCHES}
    walk = given_walk(vector_file(param_path), configuration, others, threads)
    return run_gait_evaluate(walk, output)
