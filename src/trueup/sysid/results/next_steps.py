"""Steps after an identification, by its verdict, with the commands."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueup.fitting.judgement.identifiability_words import by_vector
from trueup.reports import Step
from trueup.reports.symptoms import page_of_reason

_SHOWN = 4


def next_steps(summary: Mapping[str, Any], directory: Path | None = None) -> list[Step]:
    """Steps after an identification.

    Args:
      summary: content of ``solution.json``.
      directory: its run directory, for the commands; None: ``RUN`` stands for it.
    """
    run = "RUN" if directory is None else shlex.quote(str(directory))
    grade = (summary.get("verdict") or {}).get("grade", "look")
    explain = Step(
        "Find what the model lacks, by freeing each candidate alone:", f"trueup explain {run}"
    )
    if grade == "do not use":
        mend = [Step("Mend the most likely cause, and identify again.")]
        known = mend if summary.get("causes") else []
        if summary.get("success", True):
            return [*known, explain, *_pages(summary)]
        check = Step(
            "The search did not end at an optimum. Check data, units and start values:",
            "trueup check EXPERIMENT",
        )
        return [*known, check]
    model = Step(f"Load the identified model: {_model(directory)}")
    loose = by_vector([r["name"] for r in summary["parameters"] if not r["determined"]])
    design = Step(
        f"{_subject(loose)} not determined. Design the recording that determines more"
        f"{_controller(summary)}:",
        f"trueup design {run}",
    )
    wanted = [design] if loose else []
    if grade == "use":
        export = Step(
            "Train a policy over what remains uncertain (or --form isaac-lab, playground):",
            f"trueup export dr {run} --form mjlab",
        )
        return [model, export, *wanted]
    doubtful = _is_doubtful(summary)
    return [_look_at(summary), *([explain] if doubtful else []), *wanted, model]


def _subject(names: list[str]) -> str:
    """The first of some parameters, with a verb."""
    more = len(names) - _SHOWN
    if more > 0:
        return f"{', '.join(names[:_SHOWN])} and {more} more are"
    *others, last = names or [""]
    return f"{', '.join(others)} and {last} are" if others else f"{last} is"


def _controller(summary: Mapping[str, Any]) -> str:
    """Inputs of a design besides the run where the model has no controller."""
    settings = (summary.get("provenance") or {}).get("settings") or {}
    model, search = (settings.get(part) or {} for part in ("model", "search"))
    if model.get("actuators") != "torque" and search.get("method") != "inverse-dynamics":
        return ""
    return (
        " (give it the robot's controller: model: {actuators: position, kp: ..., kd: ...} in the "
        "experiment)"
    )


def _model(directory: Path | None) -> str:
    """Identified models of a run."""
    if directory is None:
        return "the MJCF files in the run directory"
    found = sorted(map(str, directory.glob("*.xml")))
    return " and ".join(found) or "the MJCF files in the run directory"


def _is_doubtful(summary: Mapping[str, Any]) -> bool:
    """Whether a reason is about errors of the model rather than about intervals."""
    reasons = (summary.get("verdict") or {}).get("reasons", ())
    about = {r["section"] for r in reasons if r["grade"] != "use"}
    return bool(about - {"identifiability", "course"}) or bool(summary.get("causes"))


def _pages(summary: Mapping[str, Any]) -> list[Step]:
    """Page on the first reason against the result."""
    reasons = (summary.get("verdict") or {}).get("reasons", ())
    against = [page_of_reason(r["section"]) for r in reasons if r["grade"] == "do not use"]
    return [Step(page.sentence) for page in against[:1] if page]


def _look_at(summary: Mapping[str, Any]) -> Step:
    """The section of the page that the first reason is about."""
    reasons = (summary.get("verdict") or {}).get("reasons", ())
    for reason in reasons:
        if reason["grade"] != "use":
            place = _PLACES.get(reason["section"], "the first reason above")
            page = page_of_reason(reason["section"])
            return Step(f"Look at {place}.{f' {page.sentence}' if page else ''}")
    return Step("Look at the held-out data below.")


_PLACES = {
    "parameters": "the marked parameters",
    "identifiability": "the combinations that the data do not determine",
    "scores": "the errors on held-out data, and on which part of the motion they are large",
    "horizons": "the errors by horizon: from which one on is a prediction without a model better?",
    "inverse-dynamics": "the torque errors of each joint",
    "residuals": "the residuals, and when they are large",
    "course": "the history of the search",
    "data-quality": "the findings on the recordings",
}
