"""Why ``cma`` ended a run: its keys as a status and a sentence."""

from collections.abc import Mapping
from typing import Any

from trueup.fitting.solution import Status

# In the order in which they are told when several hold: the most telling first.
_REASONS: dict[str, tuple[Status, str]] = {
    "ftarget": (Status.TARGET_REACHED, "the cost reached the target of {value}"),
    "tolfun": (
        Status.CONVERGED,
        "the costs of the last generations differ by less than {value}",
    ),
    "tolfunhist": (
        Status.CONVERGED,
        "the best costs of the last generations differ by less than {value}",
    ),
    "tolfunrel": (
        Status.CONVERGED,
        "the costs of a generation differ by less than {value} of the whole improvement",
    ),
    "tolx": (
        Status.CONVERGED,
        "the steps are below {value} of the start deviations",
    ),
    "noeffectaxis": (Status.CONVERGED, "a step along a main axis is lost in rounding"),
    "noeffectcoord": (Status.CONVERGED, "a step along a parameter is lost in rounding"),
    "tolflatfitness": (
        Status.STALLED,
        "most candidates of a generation have the same cost: the cost may be flat here, or rounded",
    ),
    "tolstagnation": (Status.STALLED, "no improvement over {value} generations"),
    "tolxstagnation": (Status.STALLED, "the mean has stopped moving"),
    "tolconditioncov": (
        Status.STALLED,
        "the axes of the distribution differ by a condition number above {value}: parameters "
        "compensate each other, or their scales differ too much",
    ),
    "tolfacupx": (
        Status.STALLED,
        "the steps grew beyond {value} times the start deviations: they were too small, or the "
        "cost falls without end",
    ),
    "tolupsigma": (
        Status.STALLED,
        "the step size grew beyond {value} times what the distribution explains: the cost falls "
        "slowly without end",
    ),
    "maxfevals": (Status.EVALUATION_LIMIT, "the limit of {value} evaluations"),
    "maxiter": (Status.ITERATION_LIMIT, "the limit of {value} generations of a run"),
    "invalid": (Status.STALLED, "no valid candidate in {value} generations in a row"),
}


def describe_stop(reasons: Mapping[str, Any]) -> tuple[Status, str]:
    """Status and sentence of the keys that ended a run; unknown keys are told as they are."""
    for key, (status, sentence) in _REASONS.items():
        if key in reasons:
            return status, f"{sentence.format(value=_number(reasons[key]))} ({key})"
    return Status.STALLED, f"cma ended the run ({', '.join(sorted(reasons)) or 'no reason'})"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (int, float)) else str(value)
