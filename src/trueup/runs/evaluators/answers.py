"""Answers of workers for chunks, and their union for the batch."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from trueup.fitting.problem import LARGE_COST, LARGE_RESIDUAL, Failures, Problem

Blocks = list[tuple[int, int, np.ndarray]]
"""First row, row after the last, values ``(n, rows)``."""


@dataclass
class Answer:
    """Result of a worker for a chunk; plain data, so that it can be sent."""

    costs: np.ndarray | None = None
    """Costs ``(n, k)``, if requested."""
    blocks: Blocks = field(default_factory=list)
    """Blocks of residuals, if requested."""
    failures: Failures = field(default_factory=dict)
    """Row of the chunk -> reason why it is invalid."""
    seconds: float = 0.0
    """Time of the evaluation [s]."""


@dataclass
class Outcome:
    """Results of some rows of a batch."""

    rows: slice
    answer: Answer | None
    """The answer, or None if no worker survived the evaluation."""
    reason: str = ""
    """Reason for the missing answer."""


def merge_failures(outcomes: Sequence[Outcome], failures: Failures) -> None:
    """Add the failures of chunks to those of the batch, by rows of the batch."""
    for outcome in outcomes:
        if outcome.answer is None:
            rows = range(outcome.rows.start, outcome.rows.stop)
            failures.update((row, outcome.reason) for row in rows)
        else:
            first = outcome.rows.start
            failures.update((first + row, why) for row, why in outcome.answer.failures.items())


def merge_costs(outcomes: Sequence[Outcome], problem: Problem, n: int) -> np.ndarray:
    """Costs ``(n, k)`` of a batch; a candidate without an answer has the cost of an invalid one."""
    invalid = LARGE_COST
    if problem.has_residuals:
        invalid = 0.5 * LARGE_RESIDUAL**2 * max(problem.residual_size, 1)
    shapes = [o.answer.costs.shape for o in outcomes if o.answer and o.answer.costs is not None]
    tail = shapes[0][1:] if shapes else (len(problem.objectives),)
    costs = np.full((n, *tail), invalid)
    for outcome in outcomes:
        if outcome.answer is not None:
            costs[outcome.rows] = outcome.answer.costs
    return costs


def merge_blocks(
    outcomes: Sequence[Outcome], problem: Problem, n: int
) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of residuals of a batch, in the order of a single worker.

    If chunks have different blocks, each block is split at every edge of any chunk.
    """
    answered = [(o.rows, o.answer.blocks) for o in outcomes if o.answer is not None]
    layouts = [[(first, stop) for first, stop, _ in blocks] for _, blocks in answered]
    if not layouts:
        layout = _layout_of(problem)
    elif all(other == layouts[0] for other in layouts[1:]):
        layout = layouts[0]
    else:
        edges = sorted({edge for one in layouts for block in one for edge in block})
        answered = [(rows, _cut(blocks, edges)) for rows, blocks in answered]
        layout = [(first, stop) for first, stop, _ in answered[0][1]]
        answered = [(rows, sorted(blocks, key=lambda b: b[0])) for rows, blocks in answered]
        layout.sort()
    for k, (first, stop) in enumerate(layout):
        values = np.full((n, stop - first), LARGE_RESIDUAL)
        for rows, blocks in answered:
            values[rows] = blocks[k][2]
            blocks[k] = (first, stop, _NOTHING)  # free the memory of merged blocks
        yield slice(first, stop), values


_NOTHING = np.empty((0, 0))


def _layout_of(problem: Problem) -> list[tuple[int, int]]:
    """Blocks of a problem without any answer: its groups, then its priors."""
    edges = sorted(
        {0, problem.residual_size, problem.data_rows, *(g.first for g in problem.groups)}
    )
    return list(itertools.pairwise(edges))


def _cut(blocks: Blocks, edges: list[int]) -> Blocks:
    out: Blocks = []
    for first, stop, values in blocks:
        inner = [edge for edge in edges if first < edge < stop]
        for a, b in zip([first, *inner], [*inner, stop], strict=True):
            out.append((a, b, values[:, a - first : b - first]))
    return out
