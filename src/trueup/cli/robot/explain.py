"""``trueup explain``: run the explanation of a gap and print it."""

from functools import partial
from pathlib import Path
from typing import Any

from trueup import runs
from trueup.cli.output import Output
from trueup.cli.run_results import DONE, print_outcome
from trueup.errors import RunDirectoryError
from trueup.explain.next_steps import next_steps
from trueup.explain.report import cause_row
from trueup.explain.run import plan_explanation, run_explanation
from trueup.explain.spec import ExplanationSpec
from trueup.reports import Steps
from trueup.runs import Outcome
from trueup.runs.kinds import read_spec
from trueup.runs.loop.progress import duration
from trueup.runs.store.run_directory import RunDirectory
from trueup.sysid.experiment.file import load_experiment
from trueup.sysid.experiment.settings import Experiment, on_device
from trueup.sysid.fit.spec import IdentificationSpec
from trueup.sysid.results.recording_sections import shortened


def run_explain(
    path: Path,
    causes: tuple[str, ...],
    level: float,
    seed: int | None,
    device: str | None,
    target: Path | None,
    resume: bool,
    overwrite: bool,
    dry_run: bool,
    anyway: bool,
    verbose: bool,
    output: Output,
) -> int:
    """Run the command; returns the exit code."""
    experiment, folder = _experiment_of(path)
    if seed is not None:
        experiment = experiment.model_copy(update={"seed": seed})
    experiment = on_device(experiment, device)
    spec = ExplanationSpec.of(experiment, folder, causes, level, anyway)
    directory = spec.run_directory(target)
    if dry_run:
        plan = runs.plan(plan_explanation, spec, directory, overwrite=True)
        return _show_plan(spec.name, plan, output)
    outcome = runs.start(
        run_explanation,
        spec,
        directory,
        resume=resume,
        overwrite=overwrite,
        verbose=verbose,
    )
    named = None if path.is_dir() else path
    return print_outcome(outcome, output, partial(show_summary, experiment=named))


def _experiment_of(path: Path) -> tuple[Experiment, Path]:
    """Experiment of a file, or of the run directory of an identification, with its folder.

    Raises:
      RunDirectoryError: a run of another kind.
    """
    if not path.is_dir():
        return load_experiment(path), path.parent
    spec = read_spec(RunDirectory.open(path))
    if not isinstance(spec, IdentificationSpec):
        raise RunDirectoryError(
            f"{path} is the run directory of {spec.noun}; explain requires an experiment file, or "
            "the run directory of an identification"
        )
    return spec.experiment, spec.folder


def show_summary(outcome: Outcome, output: Output, experiment: Path | None = None) -> None:
    """Print the outcome of an explanation.

    Args:
      outcome: the outcome.
      output: where it is printed.
      experiment: experiment file, for the commands of the next steps.
    """
    summary = outcome.summary
    gap, level = summary["gap"], f"{100 * summary['level']:.3g} %"
    output.text("")
    columns = ["rank", "cause", "explains", level, "unknowns", ""]
    output.table(columns, [cause_row(row) for row in summary["causes"]])
    noise = max(gap["noise"], 1e-300)
    freed = gap["all_free"]
    every = "" if freed is None else f", {freed / noise:.3g} with all causes freed"
    output.text(
        f"Held-out error in multiples of noise: {gap['model'] / noise:.3g} of the model, "
        f"{gap['explained'] / noise:.3g} with the named causes freed{every}."
    )
    if summary["torques"]:
        output.text(summary["torques"]["sentence"])
    for note in shortened(summary["notes"]):
        output.text(f"  - {note}")
    output.text("", *Steps(next_steps(summary, experiment)).lines())
    output.text("", f"Report: {outcome.report}", f"Files:  {outcome.directory}")


def _show_plan(name: str, plan: dict[str, Any], output: Output) -> int:
    output.result(plan)
    causes = ", ".join(f"{cause} ({count})" for cause, count in plan["causes"].items())
    output.text(
        f"{name}: causes with their number of unknowns: {causes}.",
        *([f"Not in the model: {', '.join(plan['absent'])}."] if plan["absent"] else []),
        f"Fitted to {', '.join(plan['training'])}, scored on {', '.join(plan['held_out'])}.",
        f"It takes about {duration(plan['seconds'])}, or up to five times as long if several "
        "causes act together.",
        f"It would be written to {plan['directory']}.",
        *shortened(plan["notes"]),
    )
    return DONE
