"""``trueup gait optimize``."""

import dataclasses

from trueup.cli.gait_commands import EvaluateGait, OptimizeGait
from trueup.cli.gait_options import GaitOverrides
from trueup.cli.gait_show import run_gait_evaluate
from trueup.cli.output import Output
from trueup.cli.run_results import print_outcome
from trueup.errors import GaitError
from trueup.gait import load_configuration
from trueup.gait._optimize import start_run
from trueup.gait.report.walk_words import survival_lines
from trueup.gait.search.earlier_runs import vector_file
from trueup.gait.search.given_walks import OF_SEARCHES
from trueup.runs import Outcome
from trueup.studies import Budget


def run_optimize(command: OptimizeGait, output: Output) -> int:
    """Run the command; returns the exit code."""
    if command.pickle_path is not None:
        if command.save_path is not None or command.overwrite:
            raise GaitError("--pickle-path is --save-path and --resume in one: leave those out")
        if not (command.pickle_path / "run.json").is_file():
            raise GaitError(
                f"--pickle-path names a run directory, and {command.pickle_path} is none. A "
                "pickled search of another program can run any code, so it is never read: start "
                "from its best vector with --param-path FILE_OR_FOLDER instead"
            )
        command = dataclasses.replace(command, save_path=command.pickle_path, resume=True)
    configuration = load_configuration(command.configuration).with_changes(command.changes)
    if configuration.optim_mode == "evaluate":
        return _evaluate(command, configuration.param_path, output)
    outcome = start_run(
        command.configuration,
        command.save_path,
        changes=command.changes,
        limits=Budget(max_evaluations=command.max_evaluations, max_seconds=command.max_seconds),
        threads=command.threads,
        resume=command.resume,
        overwrite=command.overwrite,
        verbose=not (command.quiet or output.json),
    )
    return print_outcome(outcome, output)


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


def _evaluate(command: OptimizeGait, param_path: str | None, output: Output) -> int:
    """Evaluate the vector of ``--param-path``, for the mode that searches nothing."""
    if param_path is None:
        raise GaitError(
            "the mode evaluate searches nothing: name the vector with --param-path, or use  "
            "trueup gait evaluate FILE"
        )
    overrides = {
        entry.name: getattr(command, entry.name)
        for entry in dataclasses.fields(GaitOverrides)
        if entry.name not in OF_SEARCHES
    }
    evaluated = EvaluateGait(
        **overrides,
        target=vector_file(param_path),
        config=command.configuration,
        threads=command.threads,
        json=command.json,
    )
    return run_gait_evaluate(evaluated, output)
