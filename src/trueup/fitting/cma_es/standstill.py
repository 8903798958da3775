"""Generations of CMA-ES without progress, which ``cma`` does not see."""

import math
from dataclasses import dataclass

_BARREN_GENERATIONS = 50
_SAME = 1e-4  # relative reduction of the cost that interrupts a plateau


@dataclass
class Standstill:
    """Generations of a run without a valid candidate, or without a lower cost."""

    barren: int = 0
    """Generations in a row without a valid candidate."""
    level: float = math.inf
    """Cost at the last reduction that counts."""
    flat: int = 0
    """Generations since that reduction."""

    def count(self, is_valid: bool, cost: float) -> None:
        """Take a generation.

        Args:
          is_valid: whether it has a valid candidate.
          cost: best cost of the run.
        """
        self.barren = 0 if is_valid else self.barren + 1
        if math.isinf(self.level) or cost < self.level - _SAME * abs(self.level):
            self.level, self.flat = cost, 0
        else:
            self.flat += 1

    def reasons(self, plateau: int | None) -> dict[str, int]:
        """Reason for the end of the run, empty if there is none.

        Args:
          plateau: generations without a lower cost that end it; None: any number.
        """
        if self.barren >= _BARREN_GENERATIONS:
            return {"invalid": self.barren}
        return {"plateau": self.flat} if plateau and self.flat >= plateau else {}
