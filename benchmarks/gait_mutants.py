"""A search by mutation of the cheapest walks, screened by the walk without perturbations.

Where most candidates fall and costs are averages over perturbed repeats, CMA-ES stands still: its
20 candidates of a generation tell it little. Here a round makes a few hundred mutants of the
cheapest walks so far, walks each once without perturbations, and judges only the cheapest of them
with the perturbations of the configuration. It is an evolution strategy of the kind (mu + lambda)
with preselection: the cheapest walks stay, whatever their age.

A search that begins with the cheapest walk alone ends beside it, and the cheapest of many that
were tried need not be the one that can become the cheapest. So it begins with several, each the
first of a lineage: a walk belongs to the lineage of its parent, all lineages get the same number
of mutants, and in the course of the rounds those that have come less far are given up.

Half of the mutants also go along the difference of two walks of their lineage: the walks that are
left have spread along the directions in which the cost hardly changes, as in differential evolution
(Storn and Price 1997, J. Glob. Optim. 11:341).

A device's torque that is free becomes small: small torques upset fewer walks. So there is a least
height of the curve, which rises from round to round, and walks that have come to lie far below it
are given up.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gait_tries import UNPERTURBED, Walks
from trueup.gait import GaitConfiguration, GaitProblem, make_problem
from trueup.studies import atomic

MUTANTS, JUDGED = 192, 32
"""In a round: mutants, and how many of them are judged with perturbations."""

PARENTS, KEPT = 6, 96
"""Parents of a lineage, and how many of its walks stay."""

LINEAGES = (16, 8, 4, 2, 1)
"""How many lineages there are in equal parts of the rounds."""

SMALLEST, LARGEST = 0.1, 2.0
"""Range of the size of a mutation, drawn for each mutant, log-uniform."""

SHIFT, FACTOR, CHANCE = 0.01, 0.04, 0.3
"""Standard deviations of what is added to an entry and of its factor less 1, at size 1, and the
chance that an entry has a factor."""

CROSSED, CROSSED_SIZE = 0.5, 0.3
"""Part of the mutants that go along the difference of two walks, and factor of the size of their
other changes."""

SHORTEST, LONGEST = 0.2, 1.0
"""Range of the factor of that difference, drawn for each mutant, log-uniform."""

BELOW = 0.05
"""How far below the least height a device's curve may lie, in parts of its largest torque."""

CURVE_SHIFT = 0.05
"""Standard deviation of what is added to the entries of a device's curve, at size 1."""


class Pool(NamedTuple):
    """The cheapest walks so far of each lineage, in the order of their costs."""

    rounds: int
    costs: np.ndarray
    """``(n,)``, with perturbations."""
    vectors: np.ndarray
    """``(n, size)``."""
    lineages: np.ndarray
    """``(n,)`` int."""


def mutated(
    path: Path,
    configuration: GaitConfiguration,
    first: Walks,
    rounds: int,
    moved: tuple[str, ...] | None,
    seed: int,
    least: tuple[float, float] = (0.0, 0.0),
) -> tuple[GaitProblem, Pool]:
    """Search for some rounds, or go on with those that a file keeps.

    Args:
      path: the file; it is written after each round.
      configuration: of the walks.
      first: walks that were judged already; each of the cheapest begins a lineage.
      rounds: how many there are in all.
      moved: gains that are moved, all entries where absent; the device's curve always is.
      seed: each round draws from a generator of this seed and of its number.
      least: least height of a device's curve at first, and what it rises by in each round, in parts
        of the largest torque.

    Returns:
      The problem, and the cheapest walks of the lineage that is left.
    """
    problem = make_problem(configuration, threads=1)
    nominal = make_problem(configuration.with_changes(UNPERTURBED), threads=1)
    if path.is_file():
        pool = read_pool(path)
    else:
        pool = surviving(Pool(0, first.costs, first.vectors, np.arange(len(first.costs))), rounds)
    entries = problem.parameters.entries
    curve = np.array([entry.group == "exoskeleton" for entry in entries])
    moves = curve | np.array([moved is None or entry.name in moved for entry in entries])
    bounds = np.array([(entry.lower, entry.upper) for entry in entries]).T
    while pool.rounds < rounds:
        generator = np.random.default_rng((seed, pool.rounds))
        parents = parents_of(pool, generator)
        lineages = pool.lineages[parents]
        apart = differences_of(pool, lineages, generator)
        mutants = mutants_of(pool.vectors[parents], apart, moves, curve, generator)
        mutants = np.clip(mutants, *bounds)
        if curve.any():
            height = min(least[0] + least[1] * pool.rounds, 1.0)
            mutants[:, curve] = within_stance(mutants[:, curve], height)
            pool = high_enough(pool, curve, height - BELOW)
        costs = nominal.whole_costs(mutants)
        judged = cheapest_of_each(costs, lineages, JUDGED // len(np.unique(lineages)))
        pool = surviving(
            Pool(
                pool.rounds + 1,
                np.concatenate([pool.costs, problem.whole_costs(mutants[judged])]),
                np.concatenate([pool.vectors, mutants[judged]]),
                np.concatenate([pool.lineages, lineages[judged]]),
            ),
            rounds,
        )
        atomic.write_text(path, json.dumps([pool.rounds, *(a.tolist() for a in pool[1:])]))
        if pool.rounds % 5 == 0:
            print(f"  {path.stem}, round {pool.rounds}: cost {pool.costs[0]:.4g}", flush=True)
    return problem, pool


def surviving(pool: Pool, rounds: int) -> Pool:
    """A pool without the lineages that are given up by now, and the walks that do not stay."""
    part = min(pool.rounds * len(LINEAGES) // rounds, len(LINEAGES) - 1)
    order = np.argsort(pool.costs, kind="stable")
    names, seen = np.unique(pool.lineages[order], return_index=True)
    living = names[np.argsort(seen)][: LINEAGES[part]]
    stays = cheapest_of_each(pool.costs, pool.lineages, KEPT)
    stays = stays[np.isin(pool.lineages[stays], living)]
    return Pool(pool.rounds, *(array[stays] for array in pool[1:]))


def high_enough(pool: Pool, curve: np.ndarray, height: float) -> Pool:
    """A pool without the walks whose curve, the entries ``curve (size,)``, is lower."""
    stays = pool.vectors[:, np.flatnonzero(curve)[0]] >= height
    return Pool(pool.rounds, *(array[stays] for array in pool[1:]))


def cheapest_of_each(costs: np.ndarray, lineages: np.ndarray, count: int) -> np.ndarray:
    """Indices of the cheapest of each lineage, in the order of the costs."""
    order = np.argsort(costs, kind="stable")
    rank = np.empty(len(order), int)
    for lineage in np.unique(lineages):
        of_it = order[lineages[order] == lineage]
        rank[of_it] = np.arange(len(of_it))
    return order[rank[order] < count]


def parents_of(pool: Pool, generator: np.random.Generator) -> np.ndarray:
    """Indices of a parent for each mutant: each lineage has as many, from its cheapest walks."""
    parents = cheapest_of_each(pool.costs, pool.lineages, PARENTS)
    names = np.unique(pool.lineages)
    drawn = [
        generator.choice(parents[pool.lineages[parents] == name], MUTANTS // len(names))
        for name in names
    ]
    return np.concatenate(drawn)


def differences_of(pool: Pool, lineages: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The difference of two walks of a lineage for each of ``lineages (n,)``, ``(n, size)``."""
    differences = np.zeros((len(lineages), pool.vectors.shape[1]))
    for lineage in np.unique(lineages):
        mutants = lineages == lineage
        one, other = generator.choice(
            np.flatnonzero(pool.lineages == lineage), (2, int(mutants.sum()))
        )
        differences[mutants] = pool.vectors[one] - pool.vectors[other]
    return differences


def mutants_of(
    parents: np.ndarray,
    differences: np.ndarray,
    moves: np.ndarray,
    curve: np.ndarray,
    generator: np.random.Generator,
) -> np.ndarray:
    """A mutant of each parent, ``(n, size)``.

    Args:
      parents: whole vectors ``(n, size)``.
      differences: directions that some go along ``(n, size)``.
      moves: entries that are mutated ``(size,)`` bool.
      curve: entries of the device's curve ``(size,)`` bool.
      generator: draws.
    """
    shape = parents.shape
    each = (len(parents), 1)
    size = np.exp(generator.uniform(np.log(SMALLEST), np.log(LARGEST), each))
    crossed = generator.random(each) < CROSSED
    size = np.where(crossed, CROSSED_SIZE * size, size)
    along = crossed * np.exp(generator.uniform(np.log(SHORTEST), np.log(LONGEST), each))
    factor = 1.0 + FACTOR * size * generator.standard_normal(shape) * (
        generator.random(shape) < CHANCE
    )
    shift = size * generator.standard_normal(shape)
    mutants = parents.copy()
    body, device = moves & ~curve, moves & curve
    mutants[:, body] = (parents * factor + SHIFT * shift)[:, body]
    mutants[:, device] = (parents + CURVE_SHIFT * shift)[:, device]
    mutants[:, moves] += (along * differences)[:, moves]
    return mutants


def within_stance(curves: np.ndarray, least: float = 0.0) -> np.ndarray:
    """Curves ``(n, 4)``, height, rise, time of the peak and fall, that stay within stance.

    ``least`` is their least height.
    """
    height, rise, peak, fall = curves.T
    peak = np.clip(peak, 0.1, 0.95)
    rise, fall = np.clip(rise, 0.05, peak), np.clip(fall, 0.03, 1.0 - peak)
    return np.stack([np.clip(height, least, 1.0), rise, peak, fall], axis=1)


def read_pool(path: Path) -> Pool:
    """The walks that a file keeps."""
    rounds, *arrays = json.loads(path.read_text())
    return Pool(rounds, *map(np.array, arrays))
