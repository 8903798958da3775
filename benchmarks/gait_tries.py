"""Walks tried at random before a search: the gains of some muscles lower, and curves of a device.

A device that is put on a walk makes most candidates of a search fall, as the gains belong to the
walk without it, and the search spends its first generations on lasting. Curves drawn at random
together with gains of the muscles that the device helps find some that last at once. A walk
without a device gets the same number of tries with the same gains. Each counts as an evaluation,
though it is one walk where a candidate of a search walks once more for each perturbed repeat.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trueup.gait import GaitConfiguration, make_problem
from trueup.studies import atomic

HELPED = {
    "ankle": ("1_SOL_FG", "2_GAS_FG"),
    "hip": ("4_HFL_C_GLU_PG", "10_HFL_PG"),
    "hip_extension": ("1_GLU_FG", "2_HAM_FG"),
}
"""Gains of the muscles that work with each device."""

WORK = {"ankle": (0.1, 1.0), "hip": (0.4, 1.0), "hip_extension": (0.0, 0.6)}
"""Part of stance in which the muscles work that each device helps, where curves are drawn."""

LOWEST, HIGHEST = 0.3, 1.05
"""Range of the factor of the gains of helped muscles."""

SMALLEST, LARGEST = 0.003, 0.03
"""Range of the standard deviation of the factors of the other gains that are moved, less 1. It is
drawn for each try, log-uniform."""

BRIEFEST = 0.05
"""Shortest rise and fall of a curve, in parts of stance."""

AGAIN = 96
"""Cheapest tries, which are judged with the perturbations of the search."""

UNPERTURBED = {
    "perturbed_repeats": 0,
    "unperturbed_repeat": False,
    "perturbation_sizes": None,
}


class Tries(NamedTuple):
    """What is tried."""

    count: int
    """Walks without perturbations."""
    device: str
    moved: tuple[str, ...] | None
    """Gains that are moved, all where absent."""
    height: float
    """Of the curves, in parts of the largest torque: small ones last more often, and a search that
    begins with one stays with it."""


class Walks(NamedTuple):
    """Walks that were judged."""

    costs: np.ndarray
    """``(n,)``, with perturbations."""
    vectors: np.ndarray
    """``(n, size)``."""


def tried(
    path: Path, configuration: GaitConfiguration, body: np.ndarray, tries: Tries, seed: int
) -> tuple[Walks, int]:
    """The cheapest walks of those tried, kept in a file and taken from it when called again.

    Args:
      path: the file.
      configuration: of the search, with or without a device.
      body: gains and start of the walker ``(n,)``.
      tries: how many, and of what.
      seed: of the generator that draws them.

    Returns:
      The walks, their vectors with a device of size ``n + 4``, and the number of evaluations.
    """
    evaluations = tries.count + AGAIN
    if path.is_file():
        return Walks(*map(np.array, json.loads(path.read_text()))), evaluations
    problem = make_problem(configuration, threads=1)
    nominal = make_problem(configuration.with_changes(UNPERTURBED), threads=1)
    generator = np.random.default_rng(seed)
    names = [entry.name for entry in problem.parameters.entries if entry.group != "exoskeleton"]
    moved = np.array([tries.moved is None or name in tries.moved for name in names])
    size = np.exp(generator.uniform(np.log(SMALLEST), np.log(LARGEST), (tries.count, 1)))
    candidates = body * (1.0 + moved * size * generator.standard_normal((tries.count, len(body))))
    factors = generator.uniform(LOWEST, HIGHEST, (tries.count, len(HELPED[tries.device])))
    candidates[:, [names.index(name) for name in HELPED[tries.device]]] *= factors
    candidates[0] = body
    if configuration.exo:
        curves = drawn_curves(WORK[tries.device], tries.height, tries.count, generator)
        candidates = np.concatenate([candidates, curves], axis=1)
    costs = nominal.whole_costs(candidates)
    costs[0] = -np.inf  # the body as it is, which is judged again in any case
    cheapest = candidates[np.argsort(costs)[:AGAIN]]
    walks = Walks(problem.whole_costs(cheapest), cheapest)
    atomic.write_text(path, json.dumps([array.tolist() for array in walks]))
    return walks, evaluations


def drawn_curves(
    work: tuple[float, float], height: float, count: int, generator: np.random.Generator
) -> np.ndarray:
    """Curves over a part of stance: height, rise, time of the peak and fall, ``(count, 4)``.

    They begin in its first third, have their peak in the second and end in the last one. Briefer
    ones last more often, and give less.
    """
    begin, end = work
    third = (end - begin) / 3.0
    onset = generator.uniform(begin, begin + third, count)
    peak = generator.uniform(begin + third, end - third, count)
    over = generator.uniform(end - third, end, count)
    rise, fall = np.maximum(peak - onset, BRIEFEST), np.maximum(over - peak, BRIEFEST)
    return np.stack([np.full(count, height), rise, peak, fall], axis=1)
