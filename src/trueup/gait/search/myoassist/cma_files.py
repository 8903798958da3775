"""Files of a CMA-ES search as text, in the format of the logger of the package cma.

``outcmaes/`` in a run directory contains ``fit.dat``, ``xmean.dat``, ``xrecentbest.dat``,
``stddev.dat`` and ``axlen.dat``, one line per generation, with the headers of
``cma.CMADataLogger``, which reads and plots them. Coordinates are the searched entries of the
parameter vector, in the order of ``parameters.json``.
"""

from pathlib import Path

import numpy as np

from trueup.fitting import CmaEs
from trueup.gait.search.staged_search import StagedSearch
from trueup.runs.loop.generation import Generation
from trueup.runs.store.generation_lines import GenerationLines

FOLDER = "outcmaes"
"""Folder of the files in a run directory."""

LARGEST = 4 * 2**20
"""Limit of each file [bytes]."""

_COLUMNS = {
    "fit": (
        "iteration, evaluation, sigma, axis ratio, bestever, best, median, worst objective function"
        " value, interquartile range, 25%tile, current best feasible f-value, elapsed wallclock"
        " time [s], further/more values"
    ),
    "axlen": (
        "iteration, evaluation, sigma, max axis length,  min axis length, all principal axes"
        " lengths  (sorted square roots of eigenvalues of C)"
    ),
    "stddev": (
        "iteration, evaluation, sigma, void, void,  stds==sigma*sigma_vec.scaling*sqrt(diag(C))"
    ),
    "xmean": "iteration, evaluation, void, void, void, xmean",
    "xrecentbest": "iter, evals, sigma, 0, fitness, xbest",
}
"""File -> header of its columns, as ``cma.CMADataLogger`` writes it."""


class CmaFiles:
    """Text files of a search, with a line per generation.

    A line is appended after each generation. Long files are thinned
    (:class:`~trueup.runs.store.generation_lines.GenerationLines`).

    Args:
      directory: folder of the files.
      seed: seed of the search, for the headers.
    """

    def __init__(self, directory: Path, seed: int):
        self.directory = directory
        self._files = {
            name: GenerationLines(
                directory / f"{name}.dat",
                _number,
                LARGEST,
                f'% # columns="{columns}", seed={seed}, <python>{{}}</python>',
            )
            for name, columns in _COLUMNS.items()
        }

    def write(self, generation: Generation) -> None:
        """Append the lines of a generation; nothing for a search that is not CMA-ES."""
        search = generation.search
        if isinstance(search, StagedSearch):
            search = search.last_search
        if not isinstance(search, CmaEs):
            return
        self.directory.mkdir(exist_ok=True)
        for name, values in _rows(generation, search).items():
            line = " ".join(_text(value) for value in values)
            self._files[name].append(line, generation.number, generation.committed)

    def finish(self) -> None:
        """Complete the files at the end of a search."""
        for file in self._files.values():
            file.finish()


def _number(line: bytes) -> int | None:
    """Generation of a line; None for an unreadable one."""
    number = line.partition(b" ")[0]
    # iterations of cma are counted from 1
    return int(number) - 1 if number.isdigit() else None


def _rows(generation: Generation, search: CmaEs) -> dict[str, list[float]]:
    """Numbers of each file."""
    costs = np.asarray(generation.costs, float)[:, 0]
    # cma has no invalid costs; they rank behind all others
    ranked = np.sort(np.where(np.isnan(costs), np.inf, costs))
    finite = ranked[np.isfinite(ranked)]
    best = int(np.argmin(np.where(np.isnan(costs), np.inf, costs)))
    quartiles = np.percentile(finite, [25, 75]) if len(finite) else np.full(2, np.nan)
    axes, step = np.sort(search.axis_lengths), search.step_size
    head = [generation.number + 1, generation.evaluations]
    deviations, _ = search.distribution
    return {
        "fit": [
            *head,
            step,
            axes[-1] / axes[0],
            generation.cost,
            ranked[0],
            ranked[len(ranked) // 2],
            ranked[-1],
            quartiles[1] - quartiles[0],
            quartiles[0],
            ranked[0],
            round(generation.seconds, 1),
        ],
        "axlen": [*head, step, axes[-1], axes[0], *axes],
        "stddev": [*head, step, 0, 0, *deviations],
        "xmean": [*head, 0, 0, 0, *search.mean],
        "xrecentbest": [*head, step, 0, ranked[0], *generation.X[best]],
    }


def _text(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))
