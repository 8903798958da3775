"""``trueup design`` for a servo fit: the next logs to record."""

from collections.abc import Mapping
from typing import Any

from trueup.cli.command_settings import made_of
from trueup.cli.output import Output
from trueup.cli.robot.design_results import run_or_plan, show_bench_design, show_bench_plan
from trueup.cli.robot.design_values import search_of, share_of
from trueup.design import BenchChoices, BenchLimits
from trueup.design.bench.run import plan_bench_design, run_bench_design
from trueup.design.bench.spec import BenchDesignSpec
from trueup.errors import FitError


def run_bench(given: Any, values: Mapping[str, Any], output: Output) -> int:
    """Design logs with the settings of the command; returns the exit code.

    Args:
      given: the command, a :class:`trueup.cli.robot.design_commands.Design`.
      values: settings of the command, by name.
      output: output of the command.
    """
    if given.after is not None:
        raise FitError(f"{given.experiment} is itself the last servo fit: remove --after")
    wanted, duration = values.get("target_interval"), values.get("duration")
    choices = dict(values) if duration is None else {**values, "seconds": duration}
    spec = BenchDesignSpec.of(
        given.experiment,
        made_of(BenchChoices, choices),
        made_of(BenchLimits, values),
        target=None if wanted is None else share_of(wanted),
        predicted=given.predicted,
        anyway=given.anyway,
        **search_of(values),
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
