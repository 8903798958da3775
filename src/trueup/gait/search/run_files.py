"""Files of a gait optimisation in addition to its history: log of terms, and vectors."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from trueup.gait.search.configuration import GaitConfiguration
from trueup.gait.search.problem import GaitProblem
from trueup.runs.loop.generation import Generation
from trueup.runs.store import atomic
from trueup.runs.store.generation_lines import GenerationLines

TERMS_LOG = "terms.jsonl"
"""File of the terms in a run directory."""

LARGEST = 16 * 2**20
"""Limit of the log of terms [bytes]."""

LABELS = {
    "eff": "Effort",
    "eff_knee": "Eff_Knee",
    "vel": "Velocity",
    "vel_grf": "Vel_grf",
    "class": "Classic",
    "kine": "Kine",
    "kine_grf": "Kine_grf",
    "combined": "Combined",
    "kine_grf_musc": "Kine_grf_musc",
    "vel_musc": "vel_musc",
    "vel_musc_grf": "vel_musc_grf",
}
"""Kind of cost -> label in file names; custom weights are ``Weighted``."""


class TermsLog:
    """Log of the terms of every evaluation, one line per generation.

    A line is ``{"generation": g, "terms": {name: [value of each candidate]}}``; null for walks that
    are too short. A long log is thinned
    (:class:`~trueup.runs.store.generation_lines.GenerationLines`).

    Args:
      path: file to append to.
      problem: problem with the terms of its last batch.
    """

    def __init__(self, path: Path, problem: GaitProblem):
        self.problem = problem
        self._lines = GenerationLines(path, _number, LARGEST)

    def write(self, generation: Generation) -> None:
        """Append the terms of a generation."""
        terms = {
            name: [float(v) if np.isfinite(v) else None for v in values]
            for name, values in self.problem.terms.items()
        }
        line = json.dumps({"generation": generation.number, "terms": terms})
        self._lines.append(line, generation.number, generation.committed)

    def finish(self) -> None:
        """Complete the file at the end of a search."""
        self._lines.finish()


def _number(line: bytes) -> int | None:
    """Generation of a line; None for an unreadable one."""
    try:
        return int(json.loads(line)["generation"])
    except (ValueError, TypeError, KeyError):
        return None


def read_terms(path: Path) -> tuple[dict[int, dict[str, np.ndarray]], list[int]]:
    """Terms of each generation, and the numbers of unreadable lines.

    A truncated line results from a crash; other unreadable lines were changed externally.
    """
    found: dict[int, dict[str, np.ndarray]] = {}
    unreadable = []
    for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
        try:
            content: Any = json.loads(line)
            generation, terms = int(content["generation"]), dict(content["terms"])
            found[generation] = {
                name: np.array([np.nan if v is None else v for v in values], dtype=float)
                for name, values in terms.items()
            }
        except (ValueError, TypeError, KeyError):
            unreadable.append(number)
    return found, unreadable


def file_stem(configuration: GaitConfiguration, frontal: bool) -> str:
    """Common stem of the file names of a run: cost, plane and speed."""
    speed = f"{configuration.tgt_vel[0]:.2f}".replace(".", "_")
    plane = "3D" if frontal else "2D"
    label = LABELS[configuration.cost] if configuration.weights is None else "Weighted"
    return f"myorfl_{label}_{plane}_{speed}"


def write_vectors(
    folder: Path,
    configuration: GaitConfiguration,
    problem: GaitProblem,
    best: np.ndarray,
    best_last: np.ndarray,
) -> list[Path]:
    """Write ``*_Best.txt``, ``*_BestLast.txt`` and their ``*_Cost.txt``.

    Args:
      folder: output folder.
      configuration: configuration, which defines the file names.
      problem: problem.
      best: free entries of the best candidate ``(p,)``.
      best_last: free entries of the best candidate of the last generation ``(p,)``.
    """
    frontal = problem.scenarios[0].simulation.walker.frontal
    stem = file_stem(configuration, frontal)
    # a single walk where the best candidate is from the last generation, otherwise both in one
    # batch
    free = np.unique(np.stack([best, best_last]), axis=0)
    costs = problem.costs(free)[:, 0]
    written = []
    for ending, one in (("Best", best), ("BestLast", best_last)):
        (row,) = np.flatnonzero((free == one).all(axis=1))
        (vector,) = problem.parameters.complete(one[None])
        file = folder / f"{stem}_{ending}.txt"
        atomic.write_text(file, "".join(f"{value:.18e}\n" for value in vector))
        lines = [f"Cost : {float(costs[row])!r}"]
        lines += [f"{name} : {float(value[row])!r}" for name, value in problem.terms.items()]
        cost_file = folder / f"{stem}_{ending}_Cost.txt"
        atomic.write_text(cost_file, "\n".join(lines) + "\n")
        written += [file, cost_file]
    return written
