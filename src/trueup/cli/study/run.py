"""``trueup study run``."""

import dataclasses
from pathlib import Path
from typing import Any

from trueup import runs
from trueup.cli.output import Output
from trueup.cli.run_results import DONE, print_outcome
from trueup.cli.study.show import show_summary
from trueup.runs import Execution, StudySettings, StudySpec
from trueup.runs.loop.budget import Budget
from trueup.runs.studies import run


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """Use of the run directory, and verbosity."""

    output: Path | None
    resume: bool
    overwrite: bool
    dry_run: bool
    verbose: bool


def run_study(
    problem: str,
    dimension: int | None,
    start: Path | None,
    settings: StudySettings,
    limits: Budget,
    execution: Execution,
    options: RunOptions,
    output: Output,
) -> int:
    """Run the command; returns the exit code."""
    spec = StudySpec.of(problem, settings, limits, dimension=dimension, start=start)
    target = options.output or Path("runs") / spec.name
    spec = spec.model_copy(update={"name": target.name})
    if options.dry_run:
        plan = runs.plan(
            run.plan_study, spec, target, overwrite=options.overwrite, execution=execution
        )
        return _show_plan(spec.name, plan, output)
    outcome = runs.start(
        run.run_study,
        spec,
        target,
        resume=options.resume,
        overwrite=options.overwrite,
        execution=execution,
        verbose=options.verbose,
    )
    return print_outcome(outcome, output, show_summary)


def _show_plan(name: str, plan: dict[str, Any], output: Output) -> int:
    population, seconds = plan["population"], plan["seconds_per_generation"]
    output.result(plan)
    output.text(
        f"{name}: {len(plan['parameters'])} parameters, {len(plan['objectives'])} objective(s), "
        f"searched with {plan['method']}.",
        f"The first {population} candidates took {seconds:.2g} s here; {len(plan['invalid'])} "
        "were invalid.",
        f"It would be written to {plan['directory']}.",
        *plan["notes"],
    )
    return DONE
