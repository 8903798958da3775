"""Search for a design as a problem, from pieces to relative intervals of all unknowns."""

from collections import OrderedDict
from typing import Any, Protocol

import numpy as np

from trueup.design.criterion import Criterion
from trueup.design.robot.piece_information import PieceInformation
from trueup.fitting.problem import LARGE_COST, Failures, Problem
from trueup.parameters import Space

_REMEMBERED = 4096


class Family(Protocol):
    """Family of pieces, each described by a row of numbers."""

    size: int
    """Size of a row."""

    def names(self) -> list[str]:
        """Name of each number of a row."""
        ...

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of a row ``(size,)``."""
        ...

    def rest(self) -> np.ndarray:
        """Row ``(size,)`` of a piece at rest in the pose."""
        ...

    def still(self, rows: np.ndarray) -> np.ndarray:
        """Whether rows ``(m, size)`` are at rest in the pose ``(m,)``."""
        ...


class Pieces(Protocol):
    """Simulator of pieces over all draws."""

    family: Any
    """A :class:`Family`."""
    draws: int
    """Robots or servos that a design must suit."""
    size: int
    """Number of unknowns."""
    batch: int
    """Number of pieces per simulation."""

    def information(self, rows: np.ndarray) -> list[PieceInformation]:
        """Information of pieces ``(m, size)``."""
        ...


class DesignProblem(Problem):
    """Cost of designs ``(n, slots * size)``: concatenated rows of pieces.

    Simulated pieces are cached: a design with one new piece costs one piece.

    Args:
      simulator: simulator of pieces.
      shares: fraction of each slot that is used for training ``(slots,)``; held-out data give no
        information.
      criterion: criterion of the design.
    """

    objectives = ("cost",)

    def __init__(self, simulator: Pieces, shares: np.ndarray, criterion: Criterion):
        self.simulator, self.shares, self.criterion = simulator, shares, criterion
        family = simulator.family
        self.slots, self.size = len(shares), family.size
        low, high = family.bounds()
        names = [f"piece{s + 1}_{name}" for s in range(self.slots) for name in family.names()]
        rest = np.tile(family.rest(), self.slots)
        self.space = Space(
            tuple(names),
            np.tile(low, self.slots),
            np.tile(high, self.slots),
            np.clip(rest, np.tile(low, self.slots), np.tile(high, self.slots)),
            np.zeros(len(names), bool),
        )
        self._found: OrderedDict[bytes, PieceInformation] = OrderedDict()
        self._seen = np.zeros((simulator.size,) * 2)
        self._count = 0

    def pieces(self, rows: np.ndarray) -> list[PieceInformation]:
        """Information of pieces ``(m, size)``; new ones are simulated in one batch."""
        keys = [np.ascontiguousarray(row).tobytes() for row in rows]
        new = {key: row for key, row in zip(keys, rows, strict=True) if key not in self._found}
        still = self.simulator.family.still(np.array(list(new.values())).reshape(-1, self.size))
        moving = [row for row, rests in zip(new.values(), still, strict=True) if not rests]
        made = iter(self.simulator.information(np.array(moving)) if moving else ())
        for key, rests in zip(new, still, strict=True):
            self._found[key] = piece = self._nothing() if rests else next(made)
            if not rests and piece.excess == 0:
                self._seen += piece.gram[0]
                self._count += 1
        out = [self._found[key] for key in keys]
        while len(self._found) > _REMEMBERED:
            self._found.popitem(last=False)
        return out

    def simulated_pieces(self) -> list[PieceInformation]:
        """Pieces in memory: those simulated last, and those at rest."""
        return list(self._found.values())

    def mean_gram(self) -> np.ndarray:
        """``J' J`` ``(p, p)`` of the estimate over all simulated pieces, per recording."""
        return self._seen * self.shares.sum() / max(self._count, 1)

    def _nothing(self) -> PieceInformation:
        """A piece at rest, counted with zero information."""
        zero = np.zeros((self.simulator.draws, self.simulator.size, self.simulator.size))
        return PieceInformation(zero, zero, 0.0)

    def totals(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums of ``J' J`` and ``J' R J`` ``(n, draws, p, p)``, and of the excess ``(n,)``."""
        found = self.pieces(X.reshape(-1, self.size))
        p, draws = self.simulator.size, self.simulator.draws
        gram, spread = np.zeros((2, len(X), draws, p, p))
        excess = np.zeros(len(X))
        for index, piece in enumerate(found):
            row, slot = divmod(index, self.slots)
            gram[row] += self.shares[slot] * piece.gram
            spread[row] += self.shares[slot] * piece.spread
            excess[row] += piece.excess
        return gram, spread, excess

    def answer(self, X: np.ndarray, failures: Failures) -> np.ndarray:
        """Relative intervals ``(n, draws * p)``, then the excess ``(n, 1)``."""
        gram, spread, excess = self.totals(X)
        intervals = self.criterion.intervals(gram, spread)
        return np.column_stack([intervals.reshape(len(X), -1), excess])

    def intervals_of(self, answer: np.ndarray) -> np.ndarray:
        """Relative intervals ``(n, draws, p)`` in a result."""
        return answer[:, :-1].reshape(len(answer), self.simulator.draws, self.simulator.size)

    def costs(self, X: np.ndarray, failures: Failures | None = None) -> np.ndarray:
        """Mean logarithm of the relative intervals ``(n, 1)``; large if limits are exceeded."""
        answer = self.answer(np.atleast_2d(X), {} if failures is None else failures)
        volume = self.criterion.volume(self.intervals_of(answer))
        return np.where(answer[:, -1] > 0, LARGE_COST, volume)[:, None]
