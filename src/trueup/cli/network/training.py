"""Run ``trueup network train``."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from trueup import runs
from trueup.cli.network.data import print_findings, print_warnings
from trueup.cli.output import Output
from trueup.cli.run_results import DONE, code_of, outcome_content, print_outcome
from trueup.deploy.network_forms import (
    allowed_forms,
    forms_of_network,
    overrides_for,
    words_on_forms,
)
from trueup.errors import ExperimentError, listing
from trueup.networks.evaluation.metrics import SETTLING
from trueup.networks.evaluation.network_verdict import choice_words, start_note
from trueup.networks.training import TrainingResult, load_configuration
from trueup.networks.training.configuration import TrainingConfiguration
from trueup.networks.training.multirun import jobs_of, resume_jobs, start_jobs
from trueup.networks.training.run import plan_network
from trueup.networks.training.run_files import METRICS
from trueup.networks.training.train import resume_training, start_training, training_spec
from trueup.runs import Outcome
from trueup.runs.loop.progress import duration
from trueup.runs.store import atomic

_BASELINES = {"mean": "constant", "base": "base alone", "reference": "controller"}
"""Further baselines, with the columns of their settled RMSE in the table."""


@dataclass(frozen=True)
class Training:
    """Arguments of the command for a training."""

    overrides: tuple[str, ...]
    file: Path | None
    overwrite: bool
    anyway: bool
    form: str | None
    dry_run: bool

    def configuration(self, overrides: Sequence[str]) -> TrainingConfiguration:
        """Configuration of overrides, with those for the form added."""
        found = load_configuration(overrides, self.file, anyway=self.anyway)
        if self.form is None:
            return found
        more = overrides_for(self.form, found)
        return load_configuration([*overrides, *more], self.file, anyway=self.anyway)


def run_train(training: Training, target: Path | None, verbose: bool, output: Output) -> int:
    """Train, or print the plan; returns the exit code."""
    configuration = training.configuration(training.overrides)
    if training.dry_run:
        spec, directory = training_spec(configuration, target)
        # the run itself checks for files to overwrite
        plan = runs.plan(plan_network, spec, directory, overwrite=True)
        print_findings(plan["findings"], output)
        allowed = allowed_forms(configuration)
        plan["forms"] = {each.form: list(each.families) for each in allowed}
        return _show_plan(plan, words_on_forms(allowed), output)
    outcome = start_training(configuration, target, overwrite=training.overwrite, verbose=verbose)
    return print_outcome(outcome, output, show_summary)


def run_multirun(
    training: Training | None, target: Path | None, verbose: bool, output: Output
) -> int:
    """Train each job of a multirun, or print the jobs; returns the largest exit code.

    Args:
      training: what the command says; None to continue the multirun in ``target``.
      target: folder of the multirun; by default a new one, as Hydra names it.
      verbose: show progress on the error stream.
      output: where results are printed.
    """
    if training is None:
        if target is None:
            raise ExperimentError("--resume requires the run directory: give it with --output")
        finished = resume_jobs(target, verbose=verbose)
    else:
        jobs = jobs_of(training.overrides)
        if training.form is not None:
            jobs = [
                replace(job, overrides=training.configuration(job.overrides).overrides)
                for job in jobs
            ]
        if training.dry_run:
            lines = [f"job {job.number}: {' '.join(job.swept)}" for job in jobs]
            output.text(*lines, "Each is planned by --dry-run without --multirun")
            output.result({"jobs": [list(job.overrides) for job in jobs]})
            return DONE
        target = target or Path(time.strftime("multirun/%Y-%m-%d/%H-%M-%S"))
        finished = start_jobs(
            jobs, target, file=training.file, overwrite=training.overwrite,
            anyway=training.anyway, verbose=verbose,
        )  # fmt: skip
    rows, contents, code = [], [], DONE
    for job, outcome in finished:
        metrics = outcome.result.metrics
        verdict = outcome.verdict
        code = max(code, code_of(verdict, outcome.complete))
        contents.append({"swept": list(job.swept), **outcome_content(outcome)})
        rows.append(
            [
                str(job.number),
                " ".join(job.swept),
                "" if verdict is None else verdict.grade.value,
                f"{metrics['rmse']:.4g}",
                f"{metrics['r2']:.4f}",
            ]
        )
        output.text(f"job {job.number} ({' '.join(job.swept)}): {outcome.directory}")
    output.table(["job", "values", "verdict", "RMSE [N m]", "R2"], rows)
    output.text(f"Run directories: {target}/0 to {target}/{len(rows) - 1}")
    output.result({"directory": str(target), "jobs": contents})
    return code


def run_resume(directory: Path | None, verbose: bool, output: Output) -> int:
    """Continue a training with its settings; returns the exit code."""
    if directory is None:
        raise ExperimentError("--resume requires the run directory: give it with --output")
    return print_outcome(resume_training(directory, verbose=verbose), output, show_summary)


def show_summary(outcome: Outcome, output: Output) -> None:
    """Print the scores of a training, and those of a linear model and other baselines."""
    result: TrainingResult = outcome.result
    print_warnings(result.check, output)
    rows = []
    for split in result.splits:
        network, linear = split.scores.total, split.scores.others["linear"]
        settled, settled_linear = split.scores.settled, split.scores.others_settled["linear"]
        others = split.scores.others_settled
        rows.append(
            [
                split.name,
                split.scored_on,
                f"{network.rmse:.4g}",
                f"{network.r2:.4f}",
                f"{settled.rmse:.4g}",
                f"{linear.rmse:.4g}",
                f"{settled_linear.rmse:.4g}",
                *(f"{others[n].rmse:.4g}" if n in others else "" for n in _BASELINES),
                duration(split.seconds),
            ]
        )
    columns = ["split", "scored on", "RMSE [N m]", "R2", "settled RMSE"]
    columns += ["linear RMSE", "settled linear RMSE", *_BASELINES.values(), "training"]
    output.table(columns, rows)
    if len(result.splits) > 1:
        metrics = result.metrics
        output.text(
            f"Over the folds: RMSE {metrics['rmse']:.4g} N m, spread {metrics['rmse_std']:.2g}; "
            f"settled {metrics['settled_rmse']:.4g}, linear {metrics['settled_linear_rmse']:.4g}; "
            f"R2 {metrics['r2']:.4f}, spread {metrics['r2_std']:.2g}"
        )
    output.text(
        "Scores are over whole recordings from a cold start; settled excludes the first "
        f"{SETTLING:g} s, in which the history of the linear model is filled."
    )
    for split in result.splits:
        if choice := atomic.read_json(split.folder / METRICS).get("choice"):
            name = f"{split.name}: " if len(result.splits) > 1 else ""
            output.text(name + choice_words(choice, split.network))
    note = "" if len(result.splits) > 1 else start_note(result.metrics)
    output.text(*filter(None, [note]))
    if len(result.splits) == 1:
        forms = forms_of_network(result.splits[0].network)
        output.text(f"Can be exported as {listing(forms, 20)}")
    output.text(f"Run directory: {outcome.directory}", f"Report: {outcome.report}")


def _show_plan(content: dict[str, Any], forms: str, output: Output) -> int:
    plan = content["plan"]
    output.text(yaml.safe_dump(content["configuration"], sort_keys=False))
    output.text(
        f"{plan['recordings']} recordings at {plan['rate']:g} Hz in {len(plan['groups'])} groups: "
        f"{listing(plan['groups'])}",
        *(
            f"{name}: {parts['training']} samples for training, {parts['validation']} for "
            f"validation, {parts['test']} for the test"
            for name, parts in plan["splits"].items()
        ),
        f"Tried on the validation part: {', '.join(plan['candidates'])}"
        if len(plan["candidates"]) > 1
        else f"{plan['candidates'][0]} with {plan['parameters']} weights",
        f"{plan['networks']} networks to train, at most {plan['steps']} gradient steps each "
        f"({plan['epochs']} epochs of {plan['steps_an_epoch']}, {1e3 * plan['step_seconds']:.2g} "
        f"ms per step): about {duration(plan['seconds'])} without early stopping",
        forms,
    )
    output.result(content)
    return DONE
