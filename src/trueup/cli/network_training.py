"""Run ``trueup network train``."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from trueup.cli.network_data import tell_warnings
from trueup.cli.network_train import TrainNetwork
from trueup.cli.output import Output
from trueup.errors import ExperimentError, RunDirectoryError, listing
from trueup.fitting import Verdict
from trueup.networks import DataCheck
from trueup.networks.evaluation.metrics import SETTLING
from trueup.networks.evaluation.network_verdict import start_note
from trueup.networks.training.configuration import TrainingConfiguration, load_configuration
from trueup.networks.training.plan import plan_training
from trueup.networks.training.training_run import (
    TrainingResult,
    resumed_configuration,
    run_training,
)
from trueup.studies import Budget, RunDirectory, atomic
from trueup.studies.progress import duration

if TYPE_CHECKING:
    from trueup.reports import Page


def run_train(command: TrainNetwork, output: Output) -> int:
    """Train, or say what would be done; returns the exit code."""
    configuration = _configuration(command)
    if command.dry_run:
        return _dry_run(configuration, output)
    result = run_training(
        configuration,
        command.output,
        resume=command.resume,
        overwrite=command.overwrite,
        verbose=not (command.quiet or output.json),
        checked=lambda check: tell_warnings(check, output),
    )
    return report_training(result, output)


def resume_training(
    directory: RunDirectory,
    limits: Budget,
    folder: Path | None,
    execution: Any,
    verbose: bool,
    output: Output,
) -> int:
    """Continue a training with ``trueup study resume``; returns the exit code."""
    given = [name for name, value in asdict(limits).items() if value is not None]
    unknown = [f"--{name.replace('_', '-')}" for name in given]
    if unknown:
        raise RunDirectoryError(
            f"{directory.path} is the training of a network, which does not know {listing(unknown)}"
        )
    configuration = resumed_configuration(directory)
    result = run_training(
        configuration,
        directory.path,
        resume=True,
        verbose=verbose,
        checked=lambda check: tell_warnings(check, output),
    )
    return report_training(result, output)


def report_of_training(directory: RunDirectory) -> "Page":
    """The report of a finished training, from its run directory."""
    from trueup.networks.evaluation.report import training_report

    return training_report(directory.path)


def report_training(result: TrainingResult, output: Output) -> int:
    """Print the scores beside those of a linear model, and the report's verdict on them.

    Returns the exit code.
    """
    report = RunDirectory.open(result.directory).report
    rows = []
    for split in result.splits:
        network, linear = split.scores.total, split.scores.others["linear"]
        settled, settled_linear = split.scores.settled, split.scores.others_settled["linear"]
        rows.append(
            [
                split.name,
                split.scored_on,
                f"{network.rmse:.4g}",
                f"{network.r2:.4f}",
                f"{settled.rmse:.4g}",
                f"{linear.rmse:.4g}",
                f"{settled_linear.rmse:.4g}",
                duration(split.seconds),
            ]
        )
    columns = ["split", "scored on", "RMSE [N m]", "R2", "settled RMSE"]
    columns += ["linear RMSE", "settled linear RMSE", "training"]
    output.table(columns, rows)
    if len(result.splits) > 1:
        metrics = result.metrics
        output.text(
            f"RMSE {metrics['rmse']:.4g} N m, spread over the folds {metrics['rmse_std']:.2g}; "
            f"settled {metrics['settled_rmse']:.4g}, linear {metrics['settled_linear_rmse']:.4g}; "
            f"R2 {metrics['r2']:.4f}, spread {metrics['r2_std']:.2g}"
        )
    output.text(
        "Scores are over whole recordings from a cold start; settled leaves out the first "
        f"{SETTLING:g} s, in which the history of the linear model fills."
    )
    metrics = result.metrics
    note = "" if len(result.splits) > 1 else start_note(metrics)
    output.text(*filter(None, [note]), *Verdict.from_plain(metrics["verdict"]).lines())
    output.text(f"Run directory: {result.directory}", f"Report: {report}")
    output.result(
        {
            "directory": str(result.directory),
            "report": str(report),
            **atomic.to_plain(result.metrics),
        }
    )
    return 0


def _configuration(command: TrainNetwork) -> TrainingConfiguration:
    if command.resume:
        if command.overrides or command.config or command.seed is not None or command.overwrite:
            raise ExperimentError(
                "--resume goes on with a run as it was started: leave overrides, --config, --seed "
                "and --overwrite out, or start a new run with another --output"
            )
        if command.output is None:
            raise ExperimentError("--resume needs the run directory: give it with --output")
        return resumed_configuration(RunDirectory.open(command.output))
    seed = () if command.seed is None else (f"seed={command.seed}",)
    return load_configuration((*command.overrides, *seed), command.config)


def _dry_run(configuration: TrainingConfiguration, output: Output) -> int:
    checks: list[DataCheck] = []
    plan = plan_training(configuration, checks.append)
    values: dict[str, Any] = atomic.to_plain(dict(configuration.values))
    output.text(yaml.safe_dump(values, sort_keys=False))
    output.text(
        f"{plan.recordings} recordings at {plan.rate:g} Hz in {len(plan.groups)} groups: "
        f"{listing(plan.groups)}",
        *(
            f"{name}: {parts['training']} samples for training, {parts['validation']} for "
            f"validation, {parts['test']} for the test"
            for name, parts in plan.splits.items()
        ),
        f"{plan.networks} x {plan.family} with {plan.parameters} weights, {plan.epochs} epochs at "
        f"most: about {duration(plan.seconds)} if none stops early",
    )
    found = tell_warnings(checks[0], output)
    output.result({"configuration": values, "plan": plan.to_dict(), "findings": found})
    return 0
