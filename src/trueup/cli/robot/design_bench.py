"""``trueup design`` on a servo fit: which logs to record next."""

from typing import Any

from trueup.cli.output import Output
from trueup.cli.robot.design_results import run_or_plan, show_bench_design, show_bench_plan
from trueup.design import BenchChoices, BenchLimits
from trueup.design.bench.run import plan_bench_design, run_bench_design
from trueup.design.bench.spec import BenchDesignSpec
from trueup.errors import FitError
from trueup.runs.loop.budget import Budget


def run_bench(given: Any, target_interval: float | None, output: Output) -> int:
    """Design logs with the options of the command; returns the exit code.

    Args:
      given: the command, a :class:`trueup.cli.robot.design_commands.Design`.
      target_interval: widest interval wanted, as a share of the bounds.
      output: where the result is printed.
    """
    if given.after is not None:
        raise FitError(
            f"{given.experiment} is a servo fit, which the next logs follow: leave --after out"
        )
    choices: dict[str, Any] = {
        "logs": given.logs,
        "masses": given.masses,
        "lengths": given.lengths,
        "gains": given.gains,
    }
    if given.duration is not None:
        choices["seconds"] = given.duration
    limits = {name: getattr(given, name) for name in ("reach", "speed", "heat")}
    spec = BenchDesignSpec.of(
        given.experiment,
        BenchChoices(**choices),
        BenchLimits(**{name: value for name, value in limits.items() if value is not None}),
        target=target_interval,
        predicted=given.predicted,
        anyway=given.anyway,
        library=given.library,
        seed=given.seed,
        limits=Budget(max_seconds=given.seconds, max_evaluations=given.evaluations),
    )
    target = given.output or spec.after.parent / f"{spec.name}_design"
    return run_or_plan(
        run_bench_design,
        plan_bench_design,
        spec,
        target,
        given,
        output,
        show=show_bench_design,
        show_plan=show_bench_plan,
    )
