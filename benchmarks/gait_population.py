"""A search by CMA-ES with large populations, for walks that only just stay up.

Such a walk has a rugged cost: of the candidates beside it many fall, and the cheapest ones are
lucky. A search that keeps its cheapest walks clings to lucky ones. Here each of 128 candidates
walks once as it is and once over a perturbation that no other generation has seen, and the mean of
the better half moves on: what falls pushes it to where fewer fall, and in a few generations most
of the candidates last. So gains get used to a device that felled all walks at first, and the curve
of its torque begins with some N m and rises for as long as that is worth something.

What a torque is worth at first can be told without a search: with the gains of a walk that has
been searched without a device, the cost of walks beside it with and without a small pulse, at
different times of stance (``gait_pulses.py``).

N. Hansen, "The CMA evolution strategy: a tutorial", arXiv:1604.00772.
"""

import json
from pathlib import Path
from typing import NamedTuple

import cma
import numpy as np

from trueup.gait import GaitConfiguration, ParameterVector, make_problem
from trueup.studies import atomic

POPULATION = 128
"""Candidates of a generation."""

REPEATS = 2
"""Walks of a candidate, the first as it is."""

LAST, CHEAPEST = 5, 24
"""Generations at the end, and how many of the cheapest candidates of each are left over."""

SHIFT, FACTOR, CURVE_SHIFT = 0.005, 0.01, 0.04
"""Standard deviations that a search begins with: of a gain, of its factor less 1, and of the
entries of a device's curve."""


class Moved(NamedTuple):
    """Which entries of a vector a search moves, from where and how far at first."""

    start: np.ndarray
    """Whole vector ``(size,)``."""
    free: np.ndarray
    """Indices of those that are moved ``(p,)``."""
    deviations: np.ndarray
    """Their standard deviations at first ``(p,)``."""
    bounds: np.ndarray
    """``(2, size)``."""
    curve: np.ndarray
    """Indices of the entries of a device's curve, none or four."""

    def vectors(self, points: np.ndarray) -> np.ndarray:
        """Whole vectors ``(n, size)`` of points of the search ``(n, p)``, within their bounds."""
        vectors = np.repeat(self.start[None], len(points), axis=0)
        vectors[:, self.free] += points * self.deviations
        vectors = np.clip(vectors, *self.bounds)
        vectors[:, self.curve] = within_stance(vectors[:, self.curve])
        return vectors


def entries_moved(
    parameters: ParameterVector, start: np.ndarray, gains: tuple[str, ...] | None
) -> Moved:
    """What a search from ``start (size,)`` moves: gains, all where absent, and a device's curve."""
    entries = parameters.entries
    curve = np.array([entry.group == "exoskeleton" for entry in entries])
    moves = curve | np.array([gains is None or entry.name in gains for entry in entries])
    deviations = np.where(curve, CURVE_SHIFT, np.hypot(SHIFT, FACTOR * start))
    bounds = np.array([(entry.lower, entry.upper) for entry in entries]).T
    free = np.flatnonzero(moves)
    return Moved(start, free, deviations[free], bounds, np.flatnonzero(curve))


def within_stance(curves: np.ndarray) -> np.ndarray:
    """Curves ``(n, 4)``, height, rise, time of the peak and fall, that stay within stance."""
    if not curves.size:
        return curves
    height, rise, peak, fall = curves.T
    peak = np.clip(peak, 0.1, 0.95)
    rise, fall = np.clip(rise, 0.05, peak), np.clip(fall, 0.03, 1.0 - peak)
    return np.stack([np.clip(height, 0.0, 1.0), rise, peak, fall], axis=1)


def searched(
    path: Path, configuration: GaitConfiguration, moved: Moved, generations: int, seed: int
) -> np.ndarray:
    """Search for some generations, or go on with those whose costs a file keeps.

    Args:
      path: the file, with the costs of each generation; it is written after each.
      configuration: of the walks; its repeats are :data:`REPEATS` here, with other perturbations
        in each generation.
      moved: what is searched.
      generations: how many there are in all.
      seed: of the candidates and the perturbations.

    Returns:
      The cheapest candidates of the last generations, and the mean after each, ``(n, size)``.
    """
    options = {"popsize": POPULATION, "seed": seed + 1, "verbose": -9}  # 0 is the time of day
    search = cma.CMAEvolutionStrategy(np.zeros(len(moved.free)), 1.0, options)
    kept: list[list[float]] = json.loads(path.read_text()) if path.is_file() else []
    left_over = []
    for generation in range(generations):
        points = np.array(search.ask())
        vectors = moved.vectors(points)
        if generation == len(kept):
            changes = {"seed": 1000 * seed + generation, "perturbed_repeats": REPEATS}
            problem = make_problem(configuration.with_changes(changes), threads=1)
            kept.append(problem.whole_costs(vectors).tolist())
            atomic.write_text(path, json.dumps(kept))
            if len(kept) % 5 == 0:
                told_generation(path.stem, generation + 1, np.array(kept[-1]), moved, search.mean)
        costs = np.array(kept[generation])
        search.tell(list(points), costs)
        if generation >= generations - LAST:
            left_over += [vectors[np.argsort(costs)[:CHEAPEST]], moved.vectors(search.mean[None])]
    return np.concatenate(left_over)


def told_generation(
    name: str, generation: int, costs: np.ndarray, moved: Moved, mean: np.ndarray
) -> None:
    """Print how far a search has come."""
    curve = moved.vectors(mean[None])[0, moved.curve]
    told = f", curve {' '.join(f'{value:.2f}' for value in curve)}" if len(curve) else ""
    tenth, half = np.quantile(costs, [0.1, 0.5])
    print(
        f"  {name}, generation {generation}: a tenth of the candidates cost less than "
        f"{tenth:.2f}, half less than {half:.4g}{told}",
        flush=True,
    )
