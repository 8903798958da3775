"""What a study writes beside its history: how to make it again, its solution, its front."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from trueup._version import __version__
from trueup.errors import RunDirectoryError, listing
from trueup.fitting import ParetoFront, Solution, Status, judge_search
from trueup.parameters import Space
from trueup.studies import RunDirectory, atomic
from trueup.studies.run_directory import check_format_version
from trueup.studies.yaml_file import read_mapping

FORMAT_VERSION = 1
KIND = "study"
FRONT_FILE = "pareto_front.csv"


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


def write_experiment(directory: RunDirectory, experiment: dict[str, Any]) -> None:
    """Write ``experiment.yaml``: everything that :func:`read_experiment` gives back."""
    content = {
        "kind": KIND,
        "format_version": FORMAT_VERSION,
        "trueup": __version__,
        **experiment,
    }
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
    atomic.write_text(directory.experiment, text)


def read_experiment(directory: RunDirectory) -> dict[str, Any]:
    """Content of ``experiment.yaml`` of a study.

    Raises:
      RunDirectoryError: the file is missing, damaged, of another kind of run or too new.
    """
    content = read_mapping(directory.experiment)
    if content.get("kind") != KIND:
        raise RunDirectoryError(f"{directory.path} is not the run of a study")
    check_format_version(directory.experiment, content.get("format_version"), FORMAT_VERSION)
    missing = [k for k in ("name", "problem", "parameters", "search") if k not in content]
    if missing:
        raise RunDirectoryError(f"{directory.experiment} is damaged: it lacks {listing(missing)}")
    return content


def solution_content(
    name: str, kind: str, space: Space, solution: Solution, notes: list[str], converges: bool
) -> dict[str, Any]:
    """Content of ``solution.json``; what is not finite is still a number here."""
    at_bound = space.at_bound(solution.x)
    return {
        "format_version": FORMAT_VERSION,
        "trueup": __version__,
        "kind": kind,
        "name": name,
        "verdict": judge_search(space, solution, converges).plain(),
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
        "notes": notes,
        "stats": solution.stats,
        "provenance": solution.provenance,
    }


def advice(solution: Solution) -> str:
    """What to do next after a search over costs, which says nothing about confidence."""
    if not np.isfinite(solution.cost):
        return (
            "No candidate was valid, and the values are those of the start: see the reasons with  "
            "trueup study show, then correct the problem, its bounds or its start values."
        )
    if solution.status is Status.CONVERGED and solution.covariance is None:
        return (
            "Run it with another --seed: a minimum that several seeds find is hardly a local one. "
            "Look at parameters on a bound."
        )
    if solution.status is Status.ITERATION_LIMIT:
        return Status.EVALUATION_LIMIT.advice
    return solution.status.advice


def write_front(directory: RunDirectory, names: tuple[str, ...], front: ParetoFront) -> Path:
    """Write the Pareto front as a table: a row a candidate, costs first."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*front.objectives, *names])
    table.writerows(np.column_stack([front.costs, front.x]).tolist())
    return atomic.write_text(directory.inside(FRONT_FILE), text.getvalue())


def _front(front: ParetoFront) -> dict[str, Any]:
    return {"objectives": list(front.objectives), "costs": front.costs, "x": front.x}
