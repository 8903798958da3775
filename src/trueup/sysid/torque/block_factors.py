"""Factorisations of tall matrices that fall apart into blocks without common rows.

The torque of a joint depends on the links that it carries alone, so the legs of a robot whose base
is fixed have designs of their own. A factorisation of each block costs the square of the number of
its columns, for four legs a sixteenth of that of the whole matrix.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

_DETERMINED = 1e-7
"""Length of a combination of unit columns, relative to the longest one, below which nothing
determines it."""
_REFINED = 3  # times that least squares is solved for what is left


@dataclass(frozen=True)
class MinimumNorm:
    """A minimum-norm solution of least squares."""

    values: np.ndarray
    """``(k,)``, or ``(k, n)``; zero for a column of zeros."""
    rank: int
    """Number of combinations of columns that the rows determine."""


def blocks(A: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows and columns of a matrix ``(m, k)`` that have entries in common, but none with others.

    Rows and columns of zeros are in no block.
    """
    # the rows of a matrix have few patterns, as many as joints
    packed = np.packbits(A != 0, axis=1)
    patterns, which = np.unique(packed, axis=0, return_inverse=True)
    pattern, column = np.nonzero(np.unpackbits(patterns, axis=1, count=A.shape[1]))
    size = len(patterns) + A.shape[1]
    graph = coo_array((np.ones(len(pattern)), (pattern, len(patterns) + column)), (size, size))
    labels = connected_components(graph, directed=False)[1]
    of_rows, of_columns = labels[: len(patterns)][which.reshape(-1)], labels[len(patterns) :]
    for label in np.unique(labels[pattern]):
        yield np.flatnonzero(of_rows == label), np.flatnonzero(of_columns == label)


def triangle(A: np.ndarray, right: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The upper triangle R of a QR factorisation, and ``Q' right``.

    Args:
      A: ``(m, k)``.
      right: ``(m,)``; None: zeros.

    Returns:
      ``(k, k)`` and ``(k,)``.
    """
    k = A.shape[1]
    out, turned = np.zeros((k, k)), np.zeros(k)
    for rows, columns in blocks(A):
        own = A[np.ix_(rows, columns)]
        if right is not None:
            own = np.column_stack([own, right[rows]])
        R = np.asarray(np.linalg.qr(own, mode="r"))[: len(columns)]
        # the columns of a block are in order, so that its triangle is one in the whole, too
        out[np.ix_(columns[: len(R)], columns)] = R[:, : len(columns)]
        if right is not None:
            turned[columns[: len(R)]] = R[:, -1]
    return out, turned


def minimum_norm(A: np.ndarray, b: np.ndarray) -> MinimumNorm:
    """Least squares by normal equations of unit columns.

    They are ten times as fast as a factorisation of the long matrix; their squared condition number
    is made up for by refining the solution.

    Args:
      A: ``(m, k)``.
      b: ``(m,)``, or several ``(m, n)``.
    """
    size = np.linalg.norm(A, axis=0)
    size[size == 0] = 1.0
    parts = []
    for rows, columns in blocks(A):
        own = A[np.ix_(rows, columns)] / size[columns]
        parts.append((rows, columns, own, *np.linalg.eigh(own.T @ own)))
    longest = max((lengths[-1] for *_, lengths, _ in parts), default=0.0)
    out, rank = np.zeros((A.shape[1], *b.shape[1:])), 0
    for rows, columns, own, lengths, directions in parts:
        kept = lengths > _DETERMINED**2 * longest
        lengths, directions = lengths[kept], directions[:, kept]
        rank += len(lengths)
        inverse = directions / lengths
        values = np.zeros((len(columns), *b.shape[1:]))
        for _ in range(_REFINED):
            left = b[rows] - own @ values
            values += inverse @ (directions.T @ (own.T @ left))
        out[columns] = (values.T / size[columns]).T
    return MinimumNorm(out, rank)
