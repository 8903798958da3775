"""A batch of candidates of CMA-ES: what each of its rows is for."""

from dataclasses import dataclass

import numpy as np

from trueup.errors import FitError
from trueup.fitting._contenders import Contender


@dataclass
class Batch:
    """Candidates that were asked for, and what each row is for."""

    X: np.ndarray
    population: np.ndarray
    """Rows of the population ``(repeats, population)``."""
    places: np.ndarray
    """The population in the coordinates of the run ``(population, n)``."""
    again: np.ndarray
    """Rows that evaluate its first candidates a second time ``(repeats, m)``."""
    contenders: list[tuple[Contender, np.ndarray]]
    """Contenders and their rows."""
    noisy: bool
    start: int | None = None
    """Row of the start value."""


def append_repeated(rows: list[np.ndarray], candidates: np.ndarray, repeats: int) -> np.ndarray:
    """Append candidates ``repeats`` times; returns their rows ``(repeats, len(candidates))``."""
    first = sum(map(len, rows))
    rows.extend([candidates] * repeats)
    return first + np.arange(repeats * len(candidates)).reshape(repeats, len(candidates))


def match_rows(told: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Row of ``told`` for each row of ``asked``; equal rows keep their order."""
    if told.shape == asked.shape:
        if np.array_equal(told, asked):
            return np.arange(len(asked))
        left, right = np.lexsort(told.T[::-1]), np.lexsort(asked.T[::-1])
        if np.array_equal(told[left], asked[right]):
            order = np.empty(len(asked), int)
            order[right] = left
            return order
    raise FitError(
        f"CMA-ES was told {told.shape[0]} candidates that are not the {len(asked)} it asked for"
    )
