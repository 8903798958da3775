"""``solution.json``: the result of a run as plain data."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueup._version import __version__
from trueup.errors import RunDirectoryError
from trueup.fitting.solution import ParetoFront, Solution, Status
from trueup.parameters import Space
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory, check_format_version

FORMAT_VERSION = 1
"""Version of the content of :func:`solution_content`."""


def space_records(space: Space) -> dict[str, dict[str, Any]]:
    """Bounds, start, scale and unit of each element, by name."""
    units = space.units or ("",) * space.size
    logit = np.zeros(space.size, bool) if space.logit is None else space.logit
    return {
        name: {
            "start": float(space.start[i]),
            "lower": float(space.lower[i]),
            "upper": float(space.upper[i]),
            "scale": "log" if space.log[i] else "logit" if logit[i] else "linear",
            "unit": units[i],
        }
        for i, name in enumerate(space.names)
    }


def solution_content(
    name: str, kind: str, space: Space, solution: Solution, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Content of ``solution.json`` for a search alone, before non-finite numbers are encoded."""
    at_bound = space.at_bound(solution.x)
    return {
        "format_version": FORMAT_VERSION,
        "trueup": __version__,
        "kind": kind,
        "name": name,
        "status": solution.status.value,
        "success": solution.success,
        "message": solution.message,
        "advice": advice(solution),
        "cost": solution.cost,
        "parameters": [
            {"name": n, "value": float(solution.x[i]), **r, "at_bound": bool(at_bound[i])}
            for i, (n, r) in enumerate(space_records(space).items())
        ],
        "front": None if solution.front is None else _front(solution.front),
        "notes": list(notes),
        "stats": solution.stats,
        "provenance": solution.provenance,
    }


def advice(solution: Solution) -> str:
    """Advice after a search over costs, which gives no confidence intervals."""
    if not np.isfinite(solution.cost):
        return (
            "No candidate was valid, and the values are the start values: see the reasons with  "
            "trueup study show, then correct the problem, its bounds or its start values."
        )
    if solution.status is Status.CONVERGED and solution.covariance is None:
        return (
            "Repeat it with another --seed: a minimum found by several seeds is probably global. "
            "Check parameters on a bound."
        )
    if solution.status is Status.ITERATION_LIMIT:
        return Status.EVALUATION_LIMIT.advice
    return solution.status.advice


def _front(front: ParetoFront) -> dict[str, Any]:
    return {"objectives": list(front.objectives), "costs": front.costs, "x": front.x}


def read_solution(directory: RunDirectory) -> dict[str, Any]:
    """Content of ``solution.json``, with decoded non-finite numbers.

    Raises:
      RunDirectoryError: the run has not finished, or the file is damaged or of a newer version.
    """
    if not directory.solution.is_file():
        raise RunDirectoryError(
            f"{directory.path} has no solution.json: the run has not finished; resume it with  "
            f"trueup study resume {directory.path}"
        )
    content = _numbers(atomic.read_json(directory.solution))
    wrong = _wrong_part(content)
    if wrong is not None:
        raise RunDirectoryError(
            f"{directory.solution} is damaged, or edited by hand: {wrong}. Restore it from a copy"
        )
    # those of older versions may have none
    check_format_version(directory.solution, content.get("format_version", 1), FORMAT_VERSION)
    return content


_NUMBERS_OF_PARAMETER = (
    *("value", "start", "nominal", "lower", "upper", "low", "high", "standard_error"),
    "held_out_value",
)


def _wrong_part(content: Any) -> str | None:
    """Defect of the parts that all kinds of runs share; None without one."""
    if not isinstance(content, dict):
        return "expected a mapping"
    for key, kind, words in _SHARED:
        if not isinstance(content.get(key), kind | type(None)):
            return f"{key} is {content[key]!r:.60}, expected {words}"
    if content.get("parameters", []) is None:
        return "parameters is None, expected a list"
    for record in content.get("parameters", []):
        if not isinstance(record, dict) or not isinstance(record.get("name"), str):
            return f"a parameter is {record!r:.60}, expected its name and value"
        for key in _NUMBERS_OF_PARAMETER:
            number = record.get(key, None if key != "value" else "")
            if isinstance(number, bool) or not isinstance(number, int | float | None):
                return f"{key} of {record['name']!r} is {number!r:.60}, expected a number"
    return None


_SHARED: tuple[tuple[str, Any, str], ...] = (
    ("parameters", list, "a list"),
    ("stats", dict, "a mapping"),
    ("cost", int | float, "a number"),
    ("notes", list, "a list"),
    ("status", str, "a text"),
    ("verdict", dict, "a mapping"),
)


def interval_of(record: dict[str, Any]) -> tuple[float, float] | None:
    """Interval of a parameter's record; None if its search has none."""
    if "low" in record:
        return record["low"], record["high"]
    if "interval" in record:
        low, high = record["interval"]
        return low, high
    return None


_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return _WORDS.get(value, value) if isinstance(value, str) else value
