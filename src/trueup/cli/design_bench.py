"""``trueup design`` on a servo fit: which logs to record next."""

from collections.abc import Sequence
from pathlib import Path

from trueup.cli.output import Output


def run_bench(
    run: Path,
    target: Path | None,
    logs: int,
    masses: Sequence[float],
    lengths: Sequence[float],
    gains: Sequence[float],
    anyway: bool,
    overwrite: bool,
    output: Output,
) -> int:
    """Plan logs and print them; returns the exit code."""
    from trueup.posterior.excitation.bench_plan import plan_bench
    from trueup.reports.numbers import format_number

    found = plan_bench(
        run,
        target,
        logs=logs,
        masses=masses,
        lengths=lengths,
        gains=gains,
        anyway=anyway,
        overwrite=overwrite,
    )
    content = found.content
    output.result(content)
    rows = [
        [
            str(k + 1),
            format_number(log["mass"]),
            format_number(log["length"]),
            format_number(log["kp"]),
            log["trajectory"],
            f"{100 * log['largest_after']:.3g} %",
        ]
        for k, log in enumerate(content["logs"])
    ]
    output.text(
        f"{content['servo']}: the largest interval is {100 * content['largest_before']:.3g} % of "
        "its bounds now."
    )
    output.table(["log", "mass [kg]", "length [m]", "gain", "trajectory", "largest after"], rows)
    table = [
        [
            r["name"],
            format_number(r["value"]),
            f"{format_number(r['low'])} to {format_number(r['high'])}",
            r["unit"],
            f"{100 * r['before']:.3g} %",
            f"{100 * r['after']:.3g} %",
        ]
        for r in content["parameters"]
    ]
    output.table(["parameter", "value", "predicted", "unit", "of bounds now", "then"], table)
    for r in content["parameters"]:
        if r["unknown"]:
            output.text(f"  - {r['name']} stays unknown: {r['unknown']}.")
    output.text(*(log["command"] for log in content["logs"]))
    if target is not None:
        output.text(str(target / "report.html"))
    return 0
