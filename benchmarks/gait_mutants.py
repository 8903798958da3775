"""A search by mutation of the cheapest walks, screened by the walk without perturbations.

Where most candidates fall and costs are averages over perturbed repeats, CMA-ES stands still: its
20 candidates of a generation tell it little. Here a round makes a few hundred mutants of the
cheapest walks so far, walks each once without perturbations, and judges only the cheapest of them
with the perturbations of the configuration. It is an evolution strategy of the kind (mu + lambda)
with preselection: the cheapest walks stay, whatever their age.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gait_tries import UNPERTURBED
from trueup.gait import GaitConfiguration, GaitProblem, make_problem
from trueup.studies import atomic

MUTANTS, JUDGED, PARENTS, KEPT = 200, 60, 6, 120
"""In a round: mutants, how many are judged with perturbations, parents, and walks that stay."""

SMALLEST, LARGEST = 0.1, 2.0
"""Range of the size of a mutation, drawn for each mutant, log-uniform."""

SHIFT, FACTOR, CHANCE = 0.01, 0.04, 0.3
"""Standard deviations of what is added to an entry and of its factor less 1, at size 1, and the
chance that an entry has a factor."""

CURVE_SHIFT = 0.05
"""Standard deviation of what is added to the entries of a device's curve, at size 1."""


class Pool(NamedTuple):
    """The cheapest walks so far, in order."""

    rounds: int
    costs: np.ndarray
    """``(n,)``, with perturbations."""
    vectors: np.ndarray
    """``(n, size)``."""


def mutated(
    path: Path,
    configuration: GaitConfiguration,
    start: np.ndarray,
    rounds: int,
    moved: tuple[str, ...] | None,
    seed: int,
) -> tuple[GaitProblem, Pool]:
    """Search for some rounds, or go on with those that a file keeps.

    Args:
      path: the file; it is written after each round.
      configuration: of the walks.
      start: whole vector to begin with, ``(size,)``.
      rounds: how many there are in all.
      moved: gains that are moved, all entries where absent; the device's curve always is.
      seed: each round draws from a generator of this seed and of its number.

    Returns:
      The problem, and the cheapest walks.
    """
    problem = make_problem(configuration, threads=1)
    nominal = make_problem(configuration.with_changes(UNPERTURBED), threads=1)
    if path.is_file():
        pool = read_pool(path)
    else:
        pool = Pool(0, problem.whole_costs(start[None]), start[None])
    entries = problem.parameters.entries
    curve = np.array([entry.group == "exoskeleton" for entry in entries])
    moves = curve | np.array([moved is None or entry.name in moved for entry in entries])
    bounds = np.array([(entry.lower, entry.upper) for entry in entries]).T
    while pool.rounds < rounds:
        generator = np.random.default_rng((seed, pool.rounds))
        mutants = mutants_of(pool.vectors[:PARENTS], moves, curve, generator)
        mutants = np.clip(mutants, *bounds)
        if curve.any():
            mutants[:, curve] = within_stance(mutants[:, curve])
        judged = mutants[np.argsort(nominal.whole_costs(mutants), kind="stable")[:JUDGED]]
        costs = np.concatenate([pool.costs, problem.whole_costs(judged)])
        order = np.argsort(costs, kind="stable")[:KEPT]
        vectors = np.concatenate([pool.vectors, judged])[order]
        pool = Pool(pool.rounds + 1, costs[order], vectors)
        atomic.write_text(
            path, json.dumps([pool.rounds, pool.costs.tolist(), pool.vectors.tolist()])
        )
        if pool.rounds % 5 == 0:
            print(f"  {path.stem}, round {pool.rounds}: cost {pool.costs[0]:.4g}", flush=True)
    return problem, pool


def mutants_of(
    parents: np.ndarray, moves: np.ndarray, curve: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """Mutants of parents drawn at random, ``(MUTANTS, size)``.

    Args:
      parents: whole vectors ``(n, size)``.
      moves: entries that are mutated ``(size,)`` bool.
      curve: entries of the device's curve ``(size,)`` bool.
      generator: draws.
    """
    mutants = parents[generator.integers(0, len(parents), MUTANTS)]
    shape = mutants.shape
    size = np.exp(generator.uniform(np.log(SMALLEST), np.log(LARGEST), (MUTANTS, 1)))
    factor = 1.0 + FACTOR * size * generator.standard_normal(shape) * (
        generator.random(shape) < CHANCE
    )
    shift = size * generator.standard_normal(shape)
    body, device = moves & ~curve, moves & curve
    mutants[:, body] = (mutants * factor + SHIFT * shift)[:, body]
    mutants[:, device] = (mutants + CURVE_SHIFT * shift)[:, device]
    return mutants


def within_stance(curves: np.ndarray) -> np.ndarray:
    """Curves ``(n, 4)``, height, rise, time of the peak and fall, that stay within stance."""
    height, rise, peak, fall = curves.T
    peak = np.clip(peak, 0.1, 0.95)
    rise, fall = np.clip(rise, 0.05, peak), np.clip(fall, 0.03, 1.0 - peak)
    return np.stack([np.clip(height, 0.0, 1.0), rise, peak, fall], axis=1)


def read_pool(path: Path) -> Pool:
    """The walks that a file keeps."""
    rounds, costs, vectors = json.loads(path.read_text())
    return Pool(rounds, np.array(costs), np.array(vectors))
