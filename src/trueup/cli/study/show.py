"""``trueup study show``, and how a finished study is printed."""

from pathlib import Path
from typing import Any

from trueup import runs
from trueup._marks import KEY
from trueup.cli.output import Output
from trueup.errors import RunDirectoryError
from trueup.runs import Outcome, RunState
from trueup.runs.kinds import function_of
from trueup.runs.loop.progress import duration

_ROWS = 40  # maximum number of printed parameters; the files contain all


def run_study_show(path: Path, anyway: bool, output: Output) -> int:
    """Print a run; returns the exit code."""
    from trueup.runs.study_page.record import read_study

    state = runs.state(path)
    kind = None
    if state.kind in runs.KINDS:
        kind = function_of(state.kind, "spec")
    if kind is not None and not kind.searched:
        raise RunDirectoryError(
            f"{state.directory.path} is {kind.noun} ({state.state}), not a search: see its results "
            f"with  trueup report {state.directory.path}"
        )
    mark = runs.check_inputs(state.directory, anyway=anyway).mark
    record = read_study(state.directory)
    summary = {
        "directory": str(state.directory.path),
        "kind": state.kind,
        "state": state.state,
        "name": record.name,
        "cost": state.cost,
        "message": record.message,
        "advice": record.advice or _advice(state),
        "parameters": record.parameters,
        "objectives": list(record.objectives),
        "evaluations": state.evaluations,
        "generations": state.generations,
        "failed_evaluations": state.failed,
        "failures": [{"reason": reason, "count": n} for reason, n in record.failures()],
        "seconds": state.seconds,
        "notes": record.notes,
        **({} if mark is None else {KEY: mark}),
    }
    output.result(summary)
    output.text(f"{record.name} ({state.kind}): {state.state}. {record.message}".rstrip())
    output.text(
        f"{state.evaluations} evaluations in {state.generations} generations, "
        f"{state.failed} of them invalid, {duration(state.seconds)}."
    )
    for reason, count in record.failures()[:5]:
        output.text(f"  {count} times: {reason}")
    output.text("")
    _parameter_table(record.parameters, output)
    output.text(*record.notes, *([summary["advice"]] if summary["advice"] else []))
    return 0


def show_summary(outcome: Outcome, output: Output) -> None:
    """Print the outcome of a study."""
    summary = outcome.summary
    output.text(f"\n{summary['name']}: {summary['status']}. {summary['message']}\n")
    _parameter_table(summary["parameters"], output)
    if summary["front"] is not None:
        costs, names = summary["front"]["costs"], summary["front"]["objectives"]
        output.text(
            f"The Pareto front has {len(costs)} candidates; the parameters above are a compromise "
            "on it. Candidates from the best of one cost to the best of another:"
        )
        shown = sorted({0, len(costs) // 4, len(costs) // 2, 3 * len(costs) // 4, len(costs) - 1})
        output.table(list(names), [[f"{c:.6g}" for c in costs[i]] for i in shown])
    output.text(*summary["notes"], summary["advice"])
    output.text("", f"Report: {outcome.report}", f"Files:  {outcome.directory}")


def _parameter_table(rows: list[dict[str, Any]], output: Output) -> None:
    if not rows:
        output.text("No valid candidate yet.")
        return
    output.table(
        ["parameter", "value", "unit", "start", "bounds", ""],
        [
            [
                r["name"],
                f"{r['value']:.6g}",
                r.get("unit", ""),
                _number(r.get("start")),
                f"{_number(r.get('lower'))} to {_number(r.get('upper'))}",
                "on a bound" if r.get("at_bound") else "",
            ]
            for r in rows[:_ROWS]
        ],
    )
    if len(rows) > _ROWS:
        output.text(f"and {len(rows) - _ROWS} more in solution.json and parameters.json.")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{float(value):.6g}"


def _advice(state: RunState) -> str:
    if state.state == "stopped":
        return f"Continue it with  trueup study resume {state.directory.path}"
    return ""
